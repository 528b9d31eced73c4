/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel's bridge tells is followed. What workers tell is learned, and told to the
 * kernel's bridge. For bridge.c. */
#ifndef SHUNT_BRIDGE_FOLLOW_H
#define SHUNT_BRIDGE_FOLLOW_H

#include "bridge/bridge.h"

/* shunt_bridge_fdb_ops keep a bridge as the kernel has it. Their arg is the bridge. */
extern const struct shunt_fdb_ops shunt_bridge_fdb_ops;

/* shunt_bridge_set_age takes the shortest of the bridges' ageing times. With the guard. */
void shunt_bridge_set_age(struct shunt_bridge *b);

#endif
