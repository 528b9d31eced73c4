// SPDX-License-Identifier: BSD-2-Clause
#include "control/suspend.h"

#include <errno.h>

void shunt_suspend_look(struct shunt_port *port)
{
	port->carrier_changes = shunt_netdev_carrier_changes(port->name);
}

/* Of a port that forwards already: its driver starts the device anew for another program. */
static bool would_reset(const struct shunt_engine *engine, const struct shunt_port *port)
{
	return engine->started_ns && !port->lane.is_suspended &&
	       shunt_netdev_carrier_changes(port->name) != port->carrier_changes;
}

/* Nothing that comes in on it is to be steered. */
static bool is_idle(const struct shunt_engine *engine, const struct shunt_port *port)
{
	const struct shunt_lane_choice *lane = &port->lane;

	return port->xdp && lane->requested == SHUNT_REQUEST_AUTO &&
	       lane->in_use == SHUNT_LANE_KERNEL && !lane->is_gone && !lane->is_taken_off &&
	       !port->share.is_set && !engine->config->rule_cnt;
}

/* What from sends to the port goes there whether or not that has a program. */
static bool sends_bare(const struct shunt_port *from, const struct shunt_port *port)
{
	if (from->config->driver_mode == SHUNT_DRIVER_GENERIC)
		return true;
	return shunt_lane_sends_bare(port) && !shunt_lane_is_zerocopy(port);
}

static bool is_needed(const struct shunt_engine *engine, const struct shunt_port *port)
{
	const struct shunt_config *config = engine->config;
	unsigned i;

	if (!is_idle(engine, port))
		return true;
	for (i = 0; i < engine->port_cnt; i++) {
		const struct shunt_port *from = &engine->ports[i];

		if (from != port &&
		    (shunt_config_peer(config, i) == (int)port->index ||
		     shunt_config_are_joined(config, i, port->index)) &&
		    !is_idle(engine, from) && !sends_bare(from, port))
			return true;
	}
	return false;
}

static int follow(const struct shunt_engine *engine, struct shunt_port *port, struct shunt_err *err)
{
	const bool is_needed_now = is_needed(engine, port);
	int ret;

	if (!port->xdp || port->lane.is_gone || engine->config->external ||
	    is_needed_now != port->lane.is_suspended)
		return 0;
	if (!is_needed_now && would_reset(engine, port))
		return 0;
	ret = is_needed_now ? shunt_xdp_resume(port->xdp, err) : shunt_xdp_suspend(port->xdp, err);
	port->lane.is_suspended = !is_needed_now && !ret;
	return ret == -EBUSY ? 0 : ret; /* the next choice sees who is there */
}

int shunt_suspend_follow(struct shunt_engine *engine, struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < engine->port_cnt && !ret; i++)
		ret = follow(engine, &engine->ports[i], err);
	return ret;
}
