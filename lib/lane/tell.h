/* SPDX-License-Identifier: BSD-2-Clause */
/* What the ports' steering programs are told: rules, mode, lane, other ports. */
#ifndef SHUNT_LANE_TELL_H
#define SHUNT_LANE_TELL_H

#include "lane/lanes.h"

/* shunt_lanes_far_ifindex returns the device that what comes in on `from` is redirected to for
 * `to`: its own, that of its detour, or 0, none. Thread: control. */
unsigned shunt_lanes_far_ifindex(const struct shunt_port *from, const struct shunt_port *to);

/* shunt_lanes_tell tells the program of one port its lane, or its share, and the other ports anew.
 * shunt_lanes_tell_all tells those of every port. Both return 0 or -errno with err set. Thread:
 * control. */
int shunt_lanes_tell(struct shunt_lanes *lanes, struct shunt_port *port, struct shunt_err *err);
int shunt_lanes_tell_all(struct shunt_lanes *lanes, struct shunt_err *err);

#endif
