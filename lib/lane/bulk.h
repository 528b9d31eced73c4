/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks for TCP in bulk (choice/bulk.h) on every port where the kernel would do better. */
#ifndef SHUNT_LANE_BULK_H
#define SHUNT_LANE_BULK_H

#include "lane/lanes.h"

/* shunt_lanes_look_for_bulk closes a second of every port. Thread: control, every second, before
 * lanes are chosen. Cost: no syscall; a netlink exchange for a port with bulk. */
void shunt_lanes_look_for_bulk(struct shunt_lanes *lanes);

#endif
