/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts that a lane is chosen by (choice/choice.h), asked where they are known. */
#ifndef SHUNT_LANE_FACTS_H
#define SHUNT_LANE_FACTS_H

#include "lane/lanes.h"

/* shunt_lane_facts_open fills in what stays, the configuration's and the driver's facts of every
 * port, and asks whether the devices take frames from XDP. Thread: init. */
void shunt_lane_facts_open(struct shunt_lanes *lanes);

/* shunt_lane_facts_ask asks for all that may change. Returns whether any device began or ceased to
 * take frames from XDP, or any port to leave tagged frames to the kernel. Thread: control, without
 * the guard. Cost: three netlink exchanges a port, a syscall a queue. */
bool shunt_lane_facts_ask(struct shunt_lanes *lanes);

/* shunt_lane_facts_ask_sockets asks whether the port's queues are zero-copy. A port without sockets
 * is not. Thread: control. Cost: a syscall a queue. */
void shunt_lane_facts_ask_sockets(struct shunt_port *port);

#endif
