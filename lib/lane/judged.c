// SPDX-License-Identifier: BSD-2-Clause
#include "lane/judged.h"

#include "router/router.h"

#include <errno.h>

#include "bridge/bridge.h"
#include "device/link.h"
#include "firewall/firewall.h"

/* routes: a bond's frames pass it as a device, and a bridge's also the bridge's hooks. */
static int ask_master(const struct shunt_lanes *lanes, unsigned port, bool routes,
		      struct shunt_judged *judged)
{
	struct shunt_firewall_calls calls = {0};
	int ret = shunt_link_master((unsigned)judged->ifindex, &judged->master);

	judged->is_bridged =
		routes ? lanes->bridge && shunt_bridge_routes(lanes->bridge, port) : judged->master;
	if (!ret && judged->master && judged->is_bridged)
		ret = shunt_firewall_calls_ask(judged->master, &calls);
	judged->calls_ip = calls.ip;
	judged->calls_arp = calls.arp;
	return ret == -ENODEV ? 0 : ret; /* what is gone has no frames */
}

/* The last answer stands while the kernel gives none: it may be busy for seconds. */
static void keep(const struct shunt_judged *last, struct shunt_judged *judged)
{
	judged->is_untold = !last->ifindex || last->is_untold;
	judged->master = last->master;
	judged->is_bridged = last->is_bridged;
	judged->calls_ip = last->calls_ip;
	judged->calls_arp = last->calls_arp;
}

void shunt_lane_judged_ask(const struct shunt_lanes *lanes, const struct shunt_port *port,
			   struct shunt_judged *judged)
{
	const struct shunt_judged last = port->lane.judged; /* may be where the answer goes */
	const bool bridges = shunt_ports_bridges(lanes->ports, port->index);

	*judged = (struct shunt_judged){.ifindex = port->netdev.ifindex,
					.leave_by = port->lane.facts.far,
					.is_routed = shunt_ports_routes(lanes->ports, port->index)};
	if ((bridges || (judged->is_routed && port->xdp)) &&
	    ask_master(lanes, port->index, !bridges, judged))
		keep(&last, judged);
}

bool shunt_lanes_asks_firewall(const struct shunt_lanes *lanes, unsigned port)
{
	return lanes->firewall &&
	       (shunt_ports_routes(lanes->ports, port) || shunt_ports_bridges(lanes->ports, port));
}

static void copy_judged(const struct shunt_lanes *lanes, struct shunt_judged *out)
{
	unsigned i;

	for (i = 0; i < lanes->ports->cnt; i++)
		out[i] = lanes->ports->at[i].lane.judged;
}

const struct shunt_judge *shunt_lane_judge(const struct shunt_lanes *lanes, unsigned port)
{
	struct shunt_judged judged[SHUNT_PORT_MAX];
	const struct shunt_judges *judges;

	if (!shunt_lanes_asks_firewall(lanes, port))
		return NULL;
	judges = shunt_firewall_judges(lanes->firewall);
	if (!judges->cnt)
		return NULL;
	copy_judged(lanes, judged);
	return shunt_judge_find(judges, judged, lanes->ports->cnt, port);
}

/* Whatever program the port has. */
static bool leaves_flows(const struct shunt_lanes *lanes, unsigned port)
{
	struct shunt_judged judged[SHUNT_PORT_MAX];

	if (!lanes->firewall || shunt_ports_mode(lanes->ports, port) != SHUNT_FORWARD_ROUTE)
		return false;
	copy_judged(lanes, judged);
	return shunt_judges_leave_flows(shunt_firewall_judges(lanes->firewall), judged,
					lanes->ports->cnt, port);
}

bool shunt_lane_leaves_flows(const struct shunt_lanes *lanes, unsigned port)
{
	const struct shunt_xdp *xdp = lanes->ports->at[port].xdp;

	/* the programs know connections of the tables main and local */
	if (lanes->router && lanes->router->spaced >> port & 1)
		return false;
	return xdp && shunt_xdp_asks_flows(xdp) && leaves_flows(lanes, port);
}

bool shunt_lane_flow_is_above(const struct shunt_lanes *lanes, unsigned port)
{
	const struct shunt_judged *judged = &lanes->ports->at[port].lane.judged;
	int device = 0;

	if (lanes->firewall)
		device = shunt_judges_flow_device(shunt_firewall_judges(lanes->firewall), judged);
	return device && device != judged->ifindex;
}

bool shunt_lane_lacks_flows(const struct shunt_lanes *lanes, unsigned port)
{
	const struct shunt_xdp *xdp = lanes->ports->at[port].xdp;
	bool lacks;

	if (!xdp || shunt_xdp_asks_flows(xdp) || !shunt_guard_try(lanes->ports->guard))
		return false;
	lacks = shunt_lane_judge(lanes, port) && leaves_flows(lanes, port);
	shunt_guard_leave(lanes->ports->guard);
	return lacks;
}

bool shunt_lane_judge_print(const struct shunt_lanes *lanes, unsigned port, char *out, unsigned len)
{
	const struct shunt_judge *judge;

	*out = 0;
	if (!shunt_guard_try(lanes->ports->guard))
		return false;
	judge = shunt_lane_judge(lanes, port);
	if (judge)
		shunt_judge_print(judge, out, len);
	shunt_guard_leave(lanes->ports->guard);
	return judge;
}

/* Whatever lane is in force: another may have been chosen already, and be put in force next. */
bool shunt_lanes_bar_judged(struct shunt_lanes *lanes)
{
	bool are_any = false;
	unsigned i;

	for (i = 0; i < lanes->ports->cnt; i++) {
		const struct shunt_port *port = &lanes->ports->at[i];

		if (!port->xdp || lanes->ports->config->firewall == SHUNT_FIREWALL_IGNORE ||
		    !shunt_lane_judge(lanes, i))
			continue;
		if (port->lane.asks_flows && shunt_lane_leaves_flows(lanes, i))
			continue;
		shunt_xdp_bar(port->xdp, true);
		are_any = true;
	}
	lanes->bar_cnt += are_any;
	return are_any;
}

void shunt_lanes_forget_flows(struct shunt_lanes *lanes)
{
	unsigned i;

	for (i = 0; i < lanes->ports->cnt; i++)
		if (lanes->ports->at[i].xdp)
			shunt_xdp_forget_flows(lanes->ports->at[i].xdp);
}

void shunt_lanes_unbar(struct shunt_lanes *lanes)
{
	unsigned i;

	if (!shunt_guard_try(lanes->ports->guard))
		return;
	for (i = 0; i < lanes->ports->cnt && lanes->bar_cnt == lanes->seen_bar_cnt; i++) {
		struct shunt_port *port = &lanes->ports->at[i];

		if (port->xdp)
			shunt_xdp_bar(port->xdp, false);
		port->lane.asks_flows = port->lane.facts.asks_flows;
	}
	shunt_guard_leave(lanes->ports->guard);
}
