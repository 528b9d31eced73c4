/* SPDX-License-Identifier: BSD-2-Clause */
/* What the ports' steering programs are told: rules, mode, lane, other ports. */
#ifndef SHUNT_LANE_TELL_H
#define SHUNT_LANE_TELL_H

#include "lane/lanes.h"

/* shunt_lanes_far_ifindex returns the device that what comes in on `from` is redirected to for
 * `to`: its own, that of its detour, or 0, none. Thread: control. */
unsigned shunt_lanes_far_ifindex(const struct shunt_port *from, const struct shunt_port *to);

/* shunt_lanes_open_gates tells every port's program rules, mode, lane and the other ports, and
 * opens it. shunt_lanes_tell tells the program of one port its lane, or its share, and the other
 * ports anew. shunt_lanes_tell_all tells those of every port. shunt_lanes_tell_ports tells one
 * port's only which other ports take frames from it. All return 0 or -errno with err set. Thread:
 * control. */
int shunt_lanes_open_gates(struct shunt_lanes *lanes, struct shunt_err *err);
int shunt_lanes_tell(struct shunt_lanes *lanes, struct shunt_port *port, struct shunt_err *err);
int shunt_lanes_tell_all(struct shunt_lanes *lanes, struct shunt_err *err);
int shunt_lanes_tell_ports(const struct shunt_lanes *lanes, const struct shunt_port *port,
			   struct shunt_err *err);

/* shunt_lanes_prepare_crossing configures the programs of a takeover's bridges (are_bridges), or of
 * its cross-connects, before they are attached: rules, mode, other ports. Those for which the
 * kernel forwards are left out. Returns 0 or -errno with err set. shunt_lanes_cross asks the
 * firewall what it judges, then has frames of those ports cross from now on without sockets
 * (shunt_xdp_cross). Thread: control. */
int shunt_lanes_prepare_crossing(struct shunt_lanes *lanes, bool are_bridges,
				 struct shunt_err *err);
void shunt_lanes_cross(struct shunt_lanes *lanes);

#endif
