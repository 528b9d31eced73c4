/* SPDX-License-Identifier: BSD-2-Clause */
/* Which ports' frames the host's firewall would judge (firewall/judge.h). Only ports of modes
 * route, bridge and mix are asked about: what the kernel would forward between others it never
 * sees. */
#ifndef SHUNT_LANE_JUDGED_H
#define SHUNT_LANE_JUDGED_H

#include "firewall/judge.h"
#include "lane/lanes.h"

/* shunt_lane_judged_ask asks what decides that: the bridge above a port, and what that bridge
 * calls. Where the kernel does not answer, the port's answer before stands; where there was none,
 * every judge counts. Thread: control, without the guard. Cost: two netlink exchanges where the
 * port bridges. */
void shunt_lane_judged_ask(const struct shunt_lanes *lanes, const struct shunt_port *port,
			   struct shunt_judged *out);

/* shunt_lanes_bar_judged gives all frames of ports that are judged now to the kernel, at once.
 * Those whose programs forward approved connections alone go on, where rules leave them these.
 * Returns whether there are such. Their lanes are to be chosen anew (lanes.h), which takes longer,
 * and takes the bars away. Thread: the one that holds the guard. Cost: a store a port. */
bool shunt_lanes_bar_judged(struct shunt_lanes *lanes);

/* shunt_lanes_forget_flows has the programs ask the kernel again about each connection. On any
 * event of the firewall: a port may have changed flowtables, with the same judges as before.
 * Thread: the follower, under the guard. */
void shunt_lanes_forget_flows(struct shunt_lanes *lanes);

/* shunt_lanes_unbar takes the bars away, unless judges barred more ports since the facts in force
 * were asked. Thread: control, without the guard, when the programs were told. */
void shunt_lanes_unbar(struct shunt_lanes *lanes);

/* shunt_lane_judge returns the first judge that frames of the port would meet in the kernel, NULL
 * where there is none. It is valid while the guard is held. Thread: the one that holds it. */
const struct shunt_judge *shunt_lane_judge(const struct shunt_lanes *lanes, unsigned port);

/* shunt_lane_leaves_flows says whether what judges the port's frames leaves approved connections to
 * its program (firewall/judge.h), which can ask for them. Thread: the one that holds the guard. */
bool shunt_lane_leaves_flows(const struct shunt_lanes *lanes, unsigned port);

/* shunt_lane_flow_is_above says whether a flowtable has the bridge or bond that the port belongs
 * to, and not the port. Thread: the one that holds the guard. */
bool shunt_lane_flow_is_above(const struct shunt_lanes *lanes, unsigned port);

/* shunt_lane_lacks_flows says that connections could be left to the port's program, had it been
 * loaded for that: a flowtable has come since. Thread: control, without the guard. */
bool shunt_lane_lacks_flows(const struct shunt_lanes *lanes, unsigned port);

/* shunt_lanes_asks_firewall says whether the port's mode is one that the firewall is asked about.
 * Thread: any. */
bool shunt_lanes_asks_firewall(const struct shunt_lanes *lanes, unsigned port);

/* shunt_lane_judge_print writes what judges the port's frames into out. Returns false, out being
 * "", where nothing does. Thread: control, without the guard. */
bool shunt_lane_judge_print(const struct shunt_lanes *lanes, unsigned port, char *out,
			    unsigned len);

#endif
