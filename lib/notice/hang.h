/* SPDX-License-Identifier: BSD-2-Clause */
/* Workers that give no sign of life: who hangs, or gets no CPU. The steering programs know within
 * 50 ms and have his frames be the kernel's; this is for the people. */
#ifndef SHUNT_NOTICE_HANG_H
#define SHUNT_NOTICE_HANG_H

#include "engine/engine.h"

/* shunt_hang_warn writes a sentence for every worker who gave no sign of life for a second and has
 * not by the next call, once, and for one who does again; at most max. Returns how many. Thread:
 * control. */
unsigned shunt_hang_warn(struct shunt_engine *engine, struct shunt_err *out, unsigned max);

#endif
