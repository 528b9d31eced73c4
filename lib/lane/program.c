// SPDX-License-Identifier: BSD-2-Clause
#include "lane/program.h"

#include <errno.h>

#include "base/clock.h"
#include "lane/judged.h"

/* A flowtable has come that the program does not ask. Returns whether the lanes have to be chosen
 * again. */
static bool ask_flows(const struct shunt_lanes *lanes, struct shunt_port *port)
{
	struct shunt_port_lane *lane = &port->lane;
	const uint64_t now_ns = shunt_clock_ns();
	const bool is_due = shunt_backoff_is_due(&lane->flows_backoff, now_ns);

	if (lane->facts.is_gone || !is_due || !shunt_lane_lacks_flows(lanes, port->index))
		return false;
	if (shunt_xdp_ask_flows(port->xdp, &lane->flows_refusal)) {
		shunt_backoff_refused(&lane->flows_backoff, now_ns);
		return false;
	}
	lane->flows_backoff = (struct shunt_backoff){0};
	return true;
}

/* Returns whether the lanes have to be chosen again: where a device does not take its program back,
 * the lane is kernel. */
static bool resume(struct shunt_port *port)
{
	struct shunt_port_lane *lane = &port->lane;
	const bool was_refused = shunt_backoff_was_refused(&lane->backoff);
	const uint64_t now_ns = shunt_clock_ns();

	if (lane->facts.is_blocked || !shunt_backoff_is_due(&lane->backoff, now_ns))
		return false;
	lane->facts.is_suspended = shunt_xdp_resume(port->xdp, &lane->refusal) != 0;
	if (lane->facts.is_suspended)
		shunt_backoff_refused(&lane->backoff, now_ns);
	else
		lane->backoff = (struct shunt_backoff){0};
	return lane->facts.is_suspended != was_refused;
}

static int follow(struct shunt_port *port, bool *is_again, struct shunt_err *err)
{
	const bool is_needed = port->lane.choice.has_program;
	int ret;

	if (!port->xdp || port->lane.facts.is_gone)
		return 0;
	if (!is_needed)
		port->lane.backoff = (struct shunt_backoff){0};
	if (is_needed != port->lane.facts.is_suspended)
		return 0;
	if (is_needed) {
		*is_again |= resume(port);
		return 0;
	}
	ret = shunt_xdp_suspend(port->xdp, err);
	port->lane.facts.is_suspended = !ret;
	/* Without a helper it stays, and gives all to the kernel. A notice says so, once. */
	return ret == -ENOTCONN ? 0 : ret;
}

int shunt_lane_programs_follow(struct shunt_lanes *lanes, bool *is_again, struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	*is_again = false;
	for (i = 0; i < lanes->ports->cnt && !ret; i++)
		ret = follow(&lanes->ports->at[i], is_again, err);
	for (i = 0; i < lanes->ports->cnt && !ret; i++)
		if (lanes->ports->at[i].xdp)
			*is_again |= ask_flows(lanes, &lanes->ports->at[i]);
	return ret;
}
