/* SPDX-License-Identifier: BSD-2-Clause */
/* What a device's change means for the FIB: a part of mirror/fib.h. */
#ifndef SHUNT_MIRROR_FIB_LINK_H
#define SHUNT_MIRROR_FIB_LINK_H

#include "mirror/fib.h"

/* shunt_mirror_fib_link_changed brings up to date what is above a device that came, changed or
 * went, and has the rest looked at by the next flush. ctx: the FIB. */
void shunt_mirror_fib_link_changed(void *ctx, uint32_t ifindex);

#endif
