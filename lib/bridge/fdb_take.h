/* SPDX-License-Identifier: BSD-2-Clause */
/* What a message of the kernel's says of a bridge, its ports and its stations; for fdb.c. */
#ifndef SHUNT_BRIDGE_FDB_TAKE_H
#define SHUNT_BRIDGE_FDB_TAKE_H

#include "bridge/fdb.h"

/* shunt_fdb_take reads one message, of a dump or an event, and calls the ops that it is for; none
 * for a message about something else, or one that is cut short. Thread: control. */
void shunt_fdb_take(const struct nlmsghdr *nlh, const struct shunt_fdb_ops *ops, void *arg);

#endif
