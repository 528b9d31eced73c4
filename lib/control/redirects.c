// SPDX-License-Identifier: BSD-2-Clause
#include "control/redirects.h"

int shunt_redirects_open(struct shunt_engine *engine, struct shunt_err *err)
{
	uint32_t ifindexes[SHUNT_PORT_MAX] = {0};
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++)
		if (engine->ports[i].xdp)
			ifindexes[i] = (uint32_t)engine->ports[i].netdev.ifindex;
	return shunt_xdp_fail_open(&engine->redirects, ifindexes, engine->port_cnt, err);
}
