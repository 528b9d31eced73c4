/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts a share (choice/share.h) in force by hand, for a careful roll-out and to compare lanes on
 * the same traffic. `auto` ends it: from the next frame on the port's own lane has everything.
 *
 *	shunt_lanes_share_set(lanes, "eth1", words, cnt, &err);	user=25% xdp=50% kernel=25%
 *	shunt_lanes_share_set(lanes, "eth1", (const char *[]){"auto"}, 1, &err);
 */
#ifndef SHUNT_LANE_SHARE_H
#define SHUNT_LANE_SHARE_H

#include "lane/lanes.h"

/* shunt_lanes_share_has_xdp says whether a port that this one's frames can leave by takes frames
 * from XDP. Thread: control. */
bool shunt_lanes_share_has_xdp(const struct shunt_lanes *lanes, const struct shunt_port *port);

/* shunt_lanes_share_is_in_force says whether a share steers the port now: one is set, and the
 * frames are not left to the kernel whatever lane is asked for. Thread: control. */
bool shunt_lanes_share_is_in_force(const struct shunt_port *port);

/* shunt_lanes_share_set parses and puts in force. Returns 0, or -errno with err set and nothing
 * changed: no such port, a lane that the port cannot have. Thread: control. Cost: one grace period.
 */
int shunt_lanes_share_set(struct shunt_lanes *lanes, const char *port, const char *const *words,
			  unsigned cnt, struct shunt_err *err);

#endif
