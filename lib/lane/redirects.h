/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts frames that the ports' programs redirected in vain, for show drops. */
#ifndef SHUNT_LANE_REDIRECTS_H
#define SHUNT_LANE_REDIRECTS_H

#include "lane/lanes.h"
#include "xdp/fail.h"

/* shunt_lane_redirects_open counts failed redirects of the ports' devices from now on, in
 * lanes->redirects. Without the rights or the tracepoints that stays NULL and the reason is kept:
 * forwarding does not need it. Thread: init. */
void shunt_lane_redirects_open(struct shunt_lanes *lanes);

/* shunt_lane_redirects_set_detour counts what fails at the port's detour as the port's, too.
 * Thread: control. */
void shunt_lane_redirects_set_detour(const struct shunt_lanes *lanes,
				     const struct shunt_port *port);

#endif
