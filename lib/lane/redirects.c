// SPDX-License-Identifier: BSD-2-Clause
#include "lane/redirects.h"

void shunt_redirects_open(struct shunt_engine *engine)
{
	uint32_t ifindexes[SHUNT_PORT_MAX] = {0};
	bool is_needed = false;
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++) {
		is_needed |= engine->ports[i].xdp != NULL;
		if (engine->ports[i].xdp)
			ifindexes[i] = (uint32_t)engine->ports[i].netdev.ifindex;
	}
	if (is_needed)
		shunt_xdp_fail_open(&engine->redirects, ifindexes, engine->port_cnt,
				    &engine->redirects_err);
}

void shunt_redirects_set_detour(const struct shunt_engine *engine, const struct shunt_port *port)
{
	if (engine->redirects)
		shunt_xdp_fail_set_detour(engine->redirects, port->index, port->detour_ifindex);
}

unsigned shunt_redirects_warn(const struct shunt_engine *engine, struct shunt_err *out,
			      unsigned max)
{
	unsigned i;

	for (i = 0; i < engine->port_cnt && max && !engine->redirects; i++) {
		if (!engine->ports[i].xdp || engine->ports[i].lane.in_use != SHUNT_LANE_XDP)
			continue;
		*out = engine->redirects_err;
		return 1;
	}
	return 0;
}
