// SPDX-License-Identifier: BSD-2-Clause
#include "lane/facts.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "bridge/bridge.h"
#include "device/driver.h"
#include "device/kernel.h"
#include "device/tags.h"
#include "device/netdev_xdp.h"
#include "io/xsk.h"
#include "lane/detours.h"
#include "lane/judged.h"
#include "router/router.h"

/* --- what stays ------------------------------------------------------------------------------- */

static uint64_t far_of(const struct shunt_config *config, unsigned port)
{
	uint64_t far = 0;
	unsigned i;

	for (i = 0; i < config->port_cnt; i++)
		far |= (uint64_t)shunt_config_reaches(config, port, i) << i;
	return far;
}

/* A generic program wants room before each frame, which most drivers' socket buffers lack. So the
 * kernel makes another buffer for the frame. Where it keeps no pages for that, it allocates, clears
 * and frees memory. */
static bool is_generic_dear(const struct shunt_driver *driver)
{
	struct shunt_kernel kernel;

	shunt_kernel_query(&kernel);
	return !driver->has_generic_room && !shunt_kernel_has(&kernel, SHUNT_KERNEL_generic_pages);
}

/* The kernel knows nothing of a cross-connect. Without a kernel bridge beneath, it drops the frames
 * that it gets. */
static bool has_fallback(const struct shunt_ports *ports, const struct shunt_port *port)
{
	return !shunt_ports_hears_all(ports, port->index) || port->netdev.has_master;
}

static void open_one(const struct shunt_ports *ports, struct shunt_port *port)
{
	const struct shunt_driver *driver = shunt_driver_of(port->netdev.driver);
	struct shunt_lane_facts *f = &port->lane.facts;

	f->requested = shunt_config_lane(ports->config, port->index);
	f->far = far_of(ports->config, port->index);
	f->has_nodes = ports->config->front_cnt;
	f->is_device = port->xdp;
	if (!port->xdp)
		return;
	f->is_generic = port->config->driver_mode == SHUNT_DRIVER_GENERIC;
	f->has_fallback = has_fallback(ports, port);
	f->crosses = shunt_ports_crosses_alone(ports, port);
	f->sends_bare = driver->sends_bare;
	f->lacks_headroom = driver->lacks_headroom;
	f->is_generic_dear = f->is_generic && is_generic_dear(driver);
}

/* --- what may change -------------------------------------------------------------------------- */

static void ask_device(struct shunt_port *port)
{
	struct shunt_lane_facts *f = &port->lane.facts;
	struct shunt_netdev_xdp xdp;
	char name[IF_NAMESIZE];

	/* A device that is gone takes nothing. */
	f->takes = false;
	f->is_gone = !if_indextoname(port->netdev.ifindex, name);
	if (f->is_gone || shunt_netdev_xdp_query(port->netdev.ifindex, &xdp, NULL))
		return;
	f->is_confirmed = xdp.is_known;
	f->takes = xdp.is_known ? xdp.features & SHUNT_NETDEV_XDP_ndo_xmit
				: shunt_driver_of(port->netdev.driver)->takes_redirected;
}

static void ask_program(struct shunt_port *port)
{
	struct shunt_lane_facts *f = &port->lane.facts;
	const bool took = f->takes, was_suspended = f->is_suspended;
	struct shunt_xdp_info info = {0};
	int rc;

	ask_device(port);
	rc = f->is_gone ? 0 : shunt_xdp_info(port->xdp, &info, NULL);
	f->is_taken_off = rc == -ENOENT;
	f->is_suspended = f->is_gone ? was_suspended : info.suspended;
	f->is_blocked = info.blocked;
	/* Without a program some drivers take nothing. With it, this one would. */
	if (was_suspended && info.suspended && !f->sends_bare)
		f->takes = took;
}

void shunt_lane_facts_ask_sockets(struct shunt_port *port)
{
	struct shunt_xsk_in_use in_use;
	bool *is_zerocopy = &port->lane.facts.is_zerocopy;
	unsigned q;

	*is_zerocopy = port->xdp;
	for (q = 0; q < port->queue_cnt && *is_zerocopy; q++)
		*is_zerocopy = port->queues && port->queues[q] &&
			       !shunt_xsk_in_use(port->queues[q], &in_use) && in_use.zerocopy;
}

/* Whether the driver restarts the device when its program changes. A port that forwards already
 * must not be interrupted by that. */
static bool restarts(const struct shunt_lanes *lanes, const struct shunt_port *port)
{
	const struct shunt_lane_facts *f = &port->lane.facts;

	return lanes->is_started && f->requested == SHUNT_REQUEST_AUTO && !f->is_pinned &&
	       !f->is_suspended &&
	       shunt_netdev_carrier_changes(port->name) != port->lane.carrier_changes;
}

/* --- what the follower keeps ------------------------------------------------------------------ */

/* What is asked without the guard, and goes with what is read with it. */
struct asked {
	struct shunt_judged judged[SHUNT_PORT_MAX];
	bool takes_tags[SHUNT_PORT_MAX];
};

static void ask_around(const struct shunt_lanes *lanes, struct asked *out)
{
	unsigned i;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < lanes->ports->cnt; i++) {
		const struct shunt_port *port = &lanes->ports->at[i];

		if (!port->xdp)
			continue;
		shunt_lane_judged_ask(lanes, port, &out->judged[i]);
		out->takes_tags[i] = shunt_tags_taken(port->name, port->netdev.driver).feature;
	}
}

static bool is_judged(const struct shunt_lanes *lanes, unsigned port)
{
	return lanes->ports->config->firewall != SHUNT_FIREWALL_IGNORE &&
	       shunt_lane_judge(lanes, port);
}

/* What is in force is this, or less, from now on: the follower bars by that. */
static bool ask_for_flows(const struct shunt_lanes *lanes, unsigned port)
{
	struct shunt_port_lane *lane = &lanes->ports->at[port].lane;
	const bool before = lane->facts.asks_flows;
	const bool is_above = shunt_lane_flow_is_above(lanes, port);
	const bool is_other = is_above != lane->is_flow_above;

	lane->is_flow_above = is_above;
	lane->facts.asks_flows = is_judged(lanes, port) && shunt_lane_leaves_flows(lanes, port);
	lane->asks_flows &= lane->facts.asks_flows;
	return lane->facts.asks_flows != before || is_other;
}

static enum shunt_lane_reason left_by(const struct shunt_lanes *lanes, unsigned port,
				      bool takes_tags)
{
	enum shunt_lane_reason left =
		lanes->bridge ? shunt_bridge_leaves(lanes->bridge, port) : SHUNT_LANE_REASON_none;

	if (left == SHUNT_LANE_REASON_none && takes_tags)
		left = SHUNT_LANE_REASON_tags;
	if (left == SHUNT_LANE_REASON_none && is_judged(lanes, port) &&
	    !shunt_lane_leaves_flows(lanes, port))
		left = SHUNT_LANE_REASON_firewall;
	if (left == SHUNT_LANE_REASON_none && lanes->router && !lanes->router->is_following &&
	    shunt_ports_routes(lanes->ports, port))
		left = SHUNT_LANE_REASON_unfollowed;
	if (left == SHUNT_LANE_REASON_none && lanes->router &&
	    lanes->router->diverted >> port & 1 &&
	    shunt_ports_mode(lanes->ports, port) == SHUNT_FORWARD_ROUTE)
		return SHUNT_LANE_REASON_policy_routing;
	if (left == SHUNT_LANE_REASON_none && lanes->router && lanes->router->foreign >> port & 1)
		return SHUNT_LANE_REASON_master;
	return left;
}

bool shunt_lanes_follows(const struct shunt_lanes *lanes, unsigned port)
{
	return shunt_ports_routes(lanes->ports, port) ||
	       (lanes->bridge && shunt_bridge_is_over(lanes->bridge, port)) ||
	       (shunt_lanes_asks_firewall(lanes, port) &&
		lanes->ports->config->firewall != SHUNT_FIREWALL_IGNORE);
}

/* The follower hangs with the guard. */
static void leave_followed(struct shunt_lanes *lanes)
{
	unsigned i;

	for (i = 0; i < lanes->ports->cnt; i++)
		if (shunt_lanes_follows(lanes, i))
			lanes->ports->at[i].lane.facts.left = SHUNT_LANE_REASON_unfollowed;
}

/* What came in on one of the devices above it may leave by another. */
static bool ask_for_devices(const struct shunt_lanes *lanes, unsigned port)
{
	uint64_t *far = &lanes->ports->at[port].lane.facts.far, before = *far;
	const uint64_t itself = 1ULL << port;

	if (lanes->router)
		*far = lanes->router->devices->cnts[port] ? *far | itself : *far & ~itself;
	return *far != before;
}

static bool ask_for_tags(const struct shunt_lanes *lanes, unsigned port)
{
	struct shunt_port_lane *lane = &lanes->ports->at[port].lane;
	const bool before = lane->leaves_tags;

	lane->leaves_tags = lanes->bridge && shunt_bridge_leaves_tags(lanes->bridge, port);
	return lane->leaves_tags != before;
}

/* Returns whether the programs have to be told something. */
static bool ask_follower(struct shunt_lanes *lanes)
{
	bool is_new = false;
	struct asked asked;
	unsigned i;

	ask_around(lanes, &asked);
	if (!shunt_guard_try(lanes->ports->guard)) {
		leave_followed(lanes);
		return false;
	}
	for (i = 0; i < lanes->ports->cnt; i++)
		lanes->ports->at[i].lane.judged = asked.judged[i];
	for (i = 0; i < lanes->ports->cnt; i++)
		lanes->ports->at[i].lane.facts.left = left_by(lanes, i, asked.takes_tags[i]);
	for (i = 0; i < lanes->ports->cnt; i++) {
		is_new |= ask_for_devices(lanes, i);
		is_new |= ask_for_tags(lanes, i);
		is_new |= ask_for_flows(lanes, i);
	}
	lanes->seen_bar_cnt = lanes->bar_cnt;
	shunt_guard_leave(lanes->ports->guard);
	return is_new;
}

/* --- all of it -------------------------------------------------------------------------------- */

static void ask_one(const struct shunt_lanes *lanes, struct shunt_port *port)
{
	const struct shunt_config *config = lanes->ports->config;
	struct shunt_lane_facts *f = &port->lane.facts;

	f->before = port->lane.choice.lane;
	f->lacks_tables = shunt_ports_mode(lanes->ports, port->index) == SHUNT_FORWARD_ROUTE &&
			  !(lanes->router && lanes->router->has_routes);
	if (!port->xdp)
		return;
	ask_program(port);
	shunt_lane_facts_ask_sockets(port);
	f->is_pinned = port->share.is_set || config->rule_cnt || config->external;
	f->restarts = restarts(lanes, port);
	f->is_refused = shunt_backoff_was_refused(&port->lane.backoff);
	f->is_bulk = port->bulk.is_seen;
	f->can_detour = shunt_lane_detours_can(lanes, port);
	f->has_no_detour = shunt_backoff_was_refused(&port->detour.backoff);
}

bool shunt_lane_facts_ask(struct shunt_lanes *lanes)
{
	bool is_new = ask_follower(lanes), took;
	unsigned i;

	for (i = 0; i < lanes->ports->cnt; i++) {
		struct shunt_port *port = &lanes->ports->at[i];

		took = port->lane.facts.takes;
		ask_one(lanes, port);
		is_new |= took != port->lane.facts.takes;
	}
	return is_new;
}

void shunt_lane_facts_open(struct shunt_lanes *lanes)
{
	unsigned i;

	for (i = 0; i < lanes->ports->cnt; i++) {
		struct shunt_port *port = &lanes->ports->at[i];

		open_one(lanes->ports, port);
		if (port->xdp)
			ask_device(port);
	}
}
