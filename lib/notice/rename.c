// SPDX-License-Identifier: BSD-2-Clause
#include "notice/rename.h"

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

static bool is_configured(const struct shunt_config *config, const char *name)
{
	unsigned i;

	for (i = 0; i < config->port_cnt; i++)
		if (!strcmp(config->ports[i].name, name))
			return true;
	return false;
}

void shunt_rename_back(const struct shunt_engine *engine, struct shunt_config *config)
{
	unsigned i, k;

	for (i = 0; i < config->port_cnt; i++) {
		char *name = config->ports[i].name;

		for (k = 0; k < engine->port_cnt && !is_configured(engine->config, name); k++)
			if (!strcmp(engine->ports[k].name, name))
				memcpy(name, engine->ports[k].config->name,
				       sizeof(config->ports[i].name));
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
