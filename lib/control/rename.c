// SPDX-License-Identifier: BSD-2-Clause
#include "control/rename.h"

#include <net/if.h>
#include <string.h>

void shunt_rename_follow(struct shunt_engine *engine)
{
	char now[IF_NAMESIZE];
	unsigned i, w;

	for (i = 0; i < engine->port_cnt; i++) {
		struct shunt_port *port = &engine->ports[i];

		if (!port->xdp || !if_indextoname(port->netdev.ifindex, now) ||
		    !strcmp(port->name, now))
			continue;
		memcpy(port->name, now, sizeof(now));
		port->is_rename_new = true;
		for (w = 0; w < engine->worker_cnt; w++)
			shunt_graph_name_port(&engine->workers[w]->graph, i, now);
	}
}

bool shunt_rename_sentence(const struct shunt_port *port, struct shunt_err *out)
{
	if (!strcmp(port->name, port->config->name))
		return false;
	shunt_err_set(out, 0,
		      "%s: the device was called %s when shuntd was started, and is served as "
		      "before; the next start has to name it %s",
		      port->name, port->config->name, port->name);
	return true;
}

unsigned shunt_rename_warn(struct shunt_engine *engine, struct shunt_err *out, unsigned max)
{
	unsigned cnt = 0, i;

	for (i = 0; i < engine->port_cnt && cnt < max; i++) {
		struct shunt_port *port = &engine->ports[i];

		if (port->is_rename_new)
			cnt += shunt_rename_sentence(port, &out[cnt]);
		port->is_rename_new = false;
	}
	return cnt;
}
