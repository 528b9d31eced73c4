/* SPDX-License-Identifier: BSD-2-Clause */
/* Which ports' frames the host's firewall would judge (firewall/judge.h). Only ports of modes
 * route, bridge and mix are asked about: what the kernel would forward between others it never
 * sees. */
#ifndef SHUNT_LANE_JUDGED_H
#define SHUNT_LANE_JUDGED_H

#include "firewall/judge.h"
#include "lane/lanes.h"

/* shunt_lane_judged_ask asks what decides that: the bridge above a port, and what that bridge
 * calls. Thread: control. Cost: two netlink exchanges where the port bridges. */
void shunt_lane_judged_ask(const struct shunt_lanes *lanes, struct shunt_port *port);

/* shunt_lanes_shut_judged gives all frames of ports that are judged now to the kernel, at once.
 * Their lanes are to be chosen anew (lanes.h), which takes longer. Thread: control. Cost: a store a
 * port.
 */
void shunt_lanes_shut_judged(const struct shunt_lanes *lanes);

/* shunt_lane_judge returns the first judge that frames of the port would meet in the kernel, NULL
 * where there is none. It stays valid until the firewall is asked again. Thread: control. */
const struct shunt_judge *shunt_lane_judge(const struct shunt_lanes *lanes, unsigned port);

/* shunt_lanes_asks_firewall says whether the port's mode is one that the firewall is asked about.
 * Thread: any. */
bool shunt_lanes_asks_firewall(const struct shunt_lanes *lanes, unsigned port);

/* shunt_lane_judge_print writes what judges the port's frames into out and returns it: "nothing any
 * more" where that went since the lane was chosen. Thread: control. */
const char *shunt_lane_judge_print(const struct shunt_lanes *lanes, unsigned port, char *out,
				   unsigned len);

#endif
