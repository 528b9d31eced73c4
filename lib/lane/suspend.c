// SPDX-License-Identifier: BSD-2-Clause
#include "lane/suspend.h"

#include <errno.h>

#include "engine/worker.h"

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

bool shunt_suspend_may(const struct shunt_engine *engine, const struct shunt_port *port)
{
	return port->xdp && port->lane.requested == SHUNT_REQUEST_AUTO && !port->share.is_set &&
	       !engine->config->rule_cnt && !engine->config->external;
}

/* Nothing that comes in on it is to be steered. */
static bool is_idle(const struct shunt_engine *engine, const struct shunt_port *port)
{
	const struct shunt_lane_choice *lane = &port->lane;

	return shunt_suspend_may(engine, port) && lane->wanted == SHUNT_LANE_KERNEL &&
	       !lane->is_gone && !lane->is_taken_off;
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

		if (shunt_config_reaches(config, i, port->index) && !is_idle(engine, from) &&
		    !sends_bare(from, port))
			return true;
	}
	return false;
}

static void forget_refusal(struct shunt_lane_choice *lane)
{
	lane->is_refused = false;
	lane->retry = (struct shunt_retry){0};
}

/* Of a device that does not take the program back its lane is kernel, which the next choice says.
 */
static bool resume(struct shunt_port *port)
{
	struct shunt_lane_choice *lane = &port->lane;
	const bool was_refused = lane->is_refused;

	if (lane->is_blocked || !shunt_retry_is_due(&lane->retry))
		return false;
	lane->is_suspended = shunt_xdp_resume(port->xdp, &lane->refusal) != 0;
	lane->is_refused = lane->is_suspended;
	if (lane->is_refused)
		shunt_retry_refused(&lane->retry);
	else
		forget_refusal(lane);
	return lane->is_refused != was_refused;
}

/* *is_new: the next choice is another. */
static int follow(const struct shunt_engine *engine, struct shunt_port *port, bool *is_new,
		  struct shunt_err *err)
{
	const bool is_needed_now = is_needed(engine, port);
	int ret;

	if (!port->xdp || port->lane.is_gone)
		return 0;
	if (!is_needed_now)
		forget_refusal(&port->lane);
	if (is_needed_now != port->lane.is_suspended ||
	    (!is_needed_now && would_reset(engine, port)))
		return 0;
	if (is_needed_now) {
		*is_new |= resume(port);
		return 0;
	}
	ret = shunt_xdp_suspend(port->xdp, err);
	port->lane.is_suspended = !ret;
	return ret;
}

int shunt_suspend_follow(struct shunt_engine *engine, struct shunt_err *err)
{
	bool is_new = false;
	unsigned i;
	int ret = 0;

	for (i = 0; i < engine->port_cnt && !ret; i++)
		ret = follow(engine, &engine->ports[i], &is_new, err);
	return is_new && !ret ? shunt_engine_follow_lanes(engine, err) : ret;
}
