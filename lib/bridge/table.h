/* SPDX-License-Identifier: BSD-2-Clause */
/* The MAC table in memory that lane xdp reads too; for this folder. */
#ifndef SHUNT_BRIDGE_TABLE_H
#define SHUNT_BRIDGE_TABLE_H

#include "bridge/bridge.h"

/* shunt_bridge_open_table makes the table. Where ports are devices it lies in a map that their
 * programs can read. Returns 0 or -errno with err set; shunt_bridge_destroy gives all of it back.
 * Thread: control. */
int shunt_bridge_open_table(struct shunt_bridge *b, uint64_t seed, struct shunt_err *err);

/* shunt_bridge_publish tells lane xdp which ports may forward, and the time. With the guard. */
void shunt_bridge_publish(struct shunt_bridge *b);

#endif
