// SPDX-License-Identifier: BSD-2-Clause
#include "lane/redirects.h"

void shunt_lane_redirects_open(struct shunt_lanes *lanes)
{
	const struct shunt_ports *ports = lanes->ports;
	uint32_t ifindexes[SHUNT_PORT_MAX] = {0};
	unsigned i;

	for (i = 0; i < ports->cnt; i++)
		if (ports->at[i].xdp)
			ifindexes[i] = (uint32_t)ports->at[i].netdev.ifindex;
	if (shunt_ports_any_device(ports))
		shunt_xdp_fail_open(&lanes->redirects, ifindexes, ports->cnt,
				    &lanes->redirects_err);
}

void shunt_lane_redirects_set_detour(const struct shunt_lanes *lanes, const struct shunt_port *port)
{
	if (lanes->redirects)
		shunt_xdp_fail_set_detour(lanes->redirects, port->index, port->detour.ifindex);
}
