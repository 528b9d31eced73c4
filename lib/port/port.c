// SPDX-License-Identifier: BSD-2-Clause
#include "port/port.h"

#include <string.h>

enum shunt_forward_mode shunt_ports_mode(const struct shunt_ports *ports, unsigned port)
{
	return (enum shunt_forward_mode)shunt_config_mode(ports->config, port);
}

bool shunt_ports_routes(const struct shunt_ports *ports, unsigned port)
{
	const enum shunt_forward_mode mode = shunt_ports_mode(ports, port);

	return mode == SHUNT_FORWARD_ROUTE || mode == SHUNT_FORWARD_MIX;
}

bool shunt_ports_bridges(const struct shunt_ports *ports, unsigned port)
{
	const enum shunt_forward_mode mode = shunt_ports_mode(ports, port);

	return mode == SHUNT_FORWARD_BRIDGE || mode == SHUNT_FORWARD_MIX;
}

bool shunt_ports_any_routes(const struct shunt_ports *ports)
{
	return shunt_config_uses(ports->config, SHUNT_FORWARD_MIX) ||
	       shunt_config_uses(ports->config, SHUNT_FORWARD_ROUTE);
}

bool shunt_ports_hears_all(const struct shunt_ports *ports, unsigned port)
{
	const enum shunt_forward_mode mode = shunt_ports_mode(ports, port);

	return mode == SHUNT_FORWARD_XCONNECT || mode == SHUNT_FORWARD_MACREWRITE ||
	       shunt_ports_bridges(ports, port);
}

bool shunt_ports_crosses_alone(const struct shunt_ports *ports, const struct shunt_port *port)
{
	return port->xdp && !port->lane.facts.has_fallback &&
	       shunt_config_crosses_alone(ports->config, port->index);
}

int shunt_ports_at(const struct shunt_ports *ports, uint32_t ifindex)
{
	unsigned i;

	for (i = 0; i < ports->cnt; i++)
		if (ports->at[i].xdp && (uint32_t)ports->at[i].netdev.ifindex == ifindex)
			return (int)i;
	return -1;
}

bool shunt_ports_any_device(const struct shunt_ports *ports)
{
	unsigned i;

	for (i = 0; i < ports->cnt; i++)
		if (ports->at[i].xdp)
			return true;
	return false;
}

bool shunt_ports_have_rule(const struct shunt_ports *ports, enum shunt_lane lane)
{
	unsigned i;

	for (i = 0; i < ports->config->rule_cnt; i++)
		if (ports->config->rules[i].lane == lane)
			return true;
	return false;
}

struct shunt_port *shunt_ports_named(const struct shunt_ports *ports, const char *name)
{
	unsigned i;

	for (i = 0; i < ports->cnt; i++)
		if (!strcmp(ports->at[i].name, name))
			return &ports->at[i];
	for (i = 0; i < ports->cnt; i++)
		if (!strcmp(ports->at[i].config->name, name))
			return &ports->at[i];
	return NULL;
}
