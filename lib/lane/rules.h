/* SPDX-License-Identifier: BSD-2-Clause */
/* Steering rules put in force, at start and while frames pass. */
#ifndef SHUNT_LANE_RULES_H
#define SHUNT_LANE_RULES_H

#include "lane/lanes.h"

/* shunt_lane_rules_put gives one port's steering program the configuration's rules. Returns 0 or
 * -errno with err set. Thread: control. */
int shunt_lane_rules_put(const struct shunt_config *config, struct shunt_xdp *xdp,
			 struct shunt_err *err);

/* shunt_lane_rules_swap puts the rules of `with` in force on every port, and gives it those that
 * the ports' configuration had. A port changes from all of the old ones to all of the new between
 * two frames. Returns 0, or -errno with err set and everything as it was. Thread: control, after
 * start. Cost: a grace period a port. */
int shunt_lane_rules_swap(struct shunt_lanes *lanes, struct shunt_config *with,
			  struct shunt_err *err);

#endif
