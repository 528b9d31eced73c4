// SPDX-License-Identifier: BSD-2-Clause
#include "lane/tell.h"

#include <errno.h>
#include <string.h>

#include "bridge/bridge.h"
#include "firewall/origin.h"
#include "lane/judged.h"
#include "lane/rules.h"
#include "lane/share.h"
#include "router/router.h"

unsigned shunt_lanes_far_ifindex(const struct shunt_port *from, const struct shunt_port *to)
{
	if (from == to && !(from->lane.facts.far >> to->index & 1))
		return 0;
	if (shunt_lane_takes(&from->lane.facts, &to->lane.facts))
		return to->netdev.ifindex;
	return from->xdp && to->xdp && from != to && !from->lane.facts.has_fallback
		       ? to->detour.ifindex
		       : 0;
}

static bool floods_to(const struct shunt_lanes *lanes, const struct shunt_port *port,
		      unsigned other)
{
	return lanes->bridge && shunt_ports_bridges(lanes->ports, port->index) &&
	       shunt_bridge_has(lanes->bridge, port->index, other);
}

int shunt_lanes_tell_ports(const struct shunt_lanes *lanes, const struct shunt_port *port,
			   struct shunt_err *err)
{
	unsigned i, ifindex;
	int ret = 0;

	for (i = 0; i < SHUNT_STEER_PORTS_MAX && !ret; i++) {
		ifindex = i < lanes->ports->cnt
				  ? shunt_lanes_far_ifindex(port, &lanes->ports->at[i])
				  : 0;
		ret = shunt_xdp_set_port(port->xdp, i, ifindex);
		if (!ret)
			ret = shunt_xdp_set_flood(port->xdp, i,
						  floods_to(lanes, port, i) ? ifindex : 0);
	}
	return ret ? shunt_err_set(err, -ret, "%s: cannot tell lane xdp the other ports: %s",
				   port->name, strerror(-ret))
		   : 0;
}

/* What a frame of a port with one next hop leaves with in lane xdp. */
static void set_hop(const struct shunt_lanes *lanes, unsigned port, unsigned peer,
		    struct shunt_steer_cfg *cfg)
{
	const uint8_t *next_hop = shunt_config_next_hop(lanes->ports->config, port);

	if (!next_hop)
		return;
	memcpy(cfg->hop, next_hop, 6);
	memcpy(cfg->hop + 6, lanes->ports->at[peer].netdev.mac, 6);
	cfg->hop_mtu = (uint16_t)SHUNT_MIN(lanes->ports->at[peer].mtu, 0xffffu);
}

/* The lanes in which the program finishes checksums. A packet that never was on a wire may have a
 * checksum that was left to a device. Lanes user and xdp send bytes as they are. In generic mode
 * packets of real devices may be such, too. There a redirect also hands on what is left to do. */
static uint16_t finishes(const struct shunt_port *port)
{
	struct shunt_xdp_info info;
	const bool is_attached = !shunt_xdp_info(port->xdp, &info, NULL);

	if (is_attached ? info.in_use == SHUNT_XDP_GENERIC
			: port->config->driver_mode == SHUNT_DRIVER_GENERIC)
		return 1 << SHUNT_LANE_USER;
	return port->netdev.is_virtual ? 1 << SHUNT_LANE_USER | 1 << SHUNT_LANE_XDP : 0;
}

static int set_config(struct shunt_lanes *lanes, struct shunt_port *port, struct shunt_err *err)
{
	struct shunt_steer_cfg cfg = {.lane = port->lane.choice.lane};
	int peer = shunt_config_peer(lanes->ports->config, port->index);

	cfg.mode = shunt_config_is_transparent(lanes->ports->config, port->index)
			   ? SHUNT_STEER_MODE_TRANSPARENT
		   : shunt_ports_hears_all(lanes->ports, port->index) ? SHUNT_STEER_MODE_XCONNECT
								      : SHUNT_STEER_MODE_LAYER3;
	if (port->lane.facts.asks_flows)
		cfg.mode = SHUNT_STEER_MODE_LAYER3_FLOWS;
	cfg.out_port = peer < 0 ? port->index : (uint32_t)peer;
	cfg.len_max = port->multi_buffer ? shunt_port_len_max(port) : UINT32_MAX;
	cfg.finishes = finishes(port);
	cfg.crosses = shunt_ports_crosses_alone(lanes->ports, port);
	cfg.is_left =
		port->lane.facts.asks_flows ||
		(port->lane.choice.reason && shunt_lane_is_overruled(port->lane.choice.reason));
	cfg.restores = port->lane.facts.asks_flows && !shunt_origin_open(lanes->origin, NULL);
	memcpy(cfg.mac, &lanes->ports->macs[port->index], 6);
	if (peer >= 0)
		set_hop(lanes, port->index, (unsigned)peer, &cfg);
	shunt_xdp_set_flow_above(port->xdp, port->lane.is_flow_above);
	if (lanes->bridge && shunt_bridge_has(lanes->bridge, port->index, port->index))
		shunt_bridge_steer(lanes->bridge, port->index, &cfg);
	if (shunt_lanes_share_is_in_force(port))
		shunt_lane_share_steer(&port->share, shunt_lanes_share_has_xdp(lanes, port), &cfg);
	return shunt_xdp_set_config(port->xdp, &cfg, err);
}

/* What workers know of it, before the program is told (is_told: after). They take nothing for
 * approved that came before, and know that what comes from now on may be translated. */
static void tell_workers(const struct shunt_lanes *lanes, struct shunt_port *port, bool is_told)
{
	const bool is_approved = port->lane.facts.asks_flows;
	uint8_t *approved, before;

	if (!lanes->router)
		return;
	approved = &lanes->router->live[port->index].approved;
	before = *approved;
	if (is_approved && (is_told || before == SHUNT_APPROVED_NOW))
		__atomic_store_n(approved, SHUNT_APPROVED_NOW, __ATOMIC_RELAXED);
	else if (is_approved || before)
		__atomic_store_n(approved, SHUNT_APPROVED_BEFORE, __ATOMIC_RELAXED);
	if (is_approved)
		port->lane.approved_looks = 0;
	else if (is_told && before && !port->lane.approved_looks)
		port->lane.approved_looks = 1;
}

/* Two looks: what workers took between them is all that came before the first. */
void shunt_lanes_end_approved(struct shunt_lanes *lanes, bool are_through)
{
	unsigned i;

	for (i = 0; i < lanes->ports->cnt; i++) {
		struct shunt_port_lane *lane = &lanes->ports->at[i].lane;

		if (lane->approved_looks == 1) {
			lane->approved_looks++;
		} else if (lane->approved_looks && are_through) {
			__atomic_store_n(&lanes->router->live[i].approved, SHUNT_APPROVED_NEVER,
					 __ATOMIC_RELAXED);
			lane->approved_looks = 0;
		}
	}
}

int shunt_lanes_tell(struct shunt_lanes *lanes, struct shunt_port *port, struct shunt_err *err)
{
	int ret = shunt_lanes_tell_ports(lanes, port, err);

	if (ret)
		return ret;
	tell_workers(lanes, port, false);
	ret = set_config(lanes, port, err);
	if (!ret)
		tell_workers(lanes, port, true);
	return ret;
}

/* The table that the program of a bridge's port looks stations up in. */
static int set_macs(const struct shunt_lanes *lanes, const struct shunt_port *port,
		    struct shunt_err *err)
{
	if (!lanes->bridge || !shunt_bridge_has(lanes->bridge, port->index, port->index))
		return 0;
	return shunt_xdp_set_macs(port->xdp, lanes->bridge->xdp_macs, err);
}

static int open_gate(struct shunt_lanes *lanes, struct shunt_port *port, struct shunt_err *err)
{
	int ret = shunt_lane_rules_put(lanes->ports->config, port->xdp, err);

	if (!ret)
		ret = set_macs(lanes, port, err);
	return ret ? ret : shunt_lanes_tell(lanes, port, err);
}

int shunt_lanes_open_gates(struct shunt_lanes *lanes, struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < lanes->ports->cnt && !ret; i++)
		if (lanes->ports->at[i].xdp)
			ret = open_gate(lanes, &lanes->ports->at[i], err);
	return ret;
}

int shunt_lanes_tell_all(struct shunt_lanes *lanes, struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < lanes->ports->cnt && !ret; i++)
		if (lanes->ports->at[i].xdp)
			ret = shunt_lanes_tell(lanes, &lanes->ports->at[i], err);
	return ret;
}

/* --- programs before there are sockets -------------------------------------------------------- */

/* What the kernel would not forward. Another's program carries it on, if that daemon hands over or
 * has died. Where there is a bridge of the kernel's beneath, that forwards meanwhile: nobody would
 * follow its states and its firewall. */
static bool crosses(const struct shunt_lanes *lanes, const struct shunt_port *port)
{
	const struct shunt_config *config = lanes->ports->config;

	return !config->external && port->xdp && !port->lane.facts.has_fallback &&
	       (config->takeover || shunt_ports_crosses_alone(lanes->ports, port));
}

/* The lane is chosen when the sockets are there. */
static int prepare_crossing(struct shunt_lanes *lanes, struct shunt_port *port,
			    struct shunt_err *err)
{
	port->lane.choice.lane =
		shunt_config_lane(lanes->ports->config, port->index) == SHUNT_REQUEST_KERNEL
			? SHUNT_LANE_KERNEL
			: SHUNT_LANE_XDP;
	return open_gate(lanes, port, err);
}

int shunt_lanes_prepare_crossing(struct shunt_lanes *lanes, bool are_bridges, struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < lanes->ports->cnt && !ret; i++)
		if (crosses(lanes, &lanes->ports->at[i]) &&
		    shunt_ports_bridges(lanes->ports, i) == are_bridges)
			ret = prepare_crossing(lanes, &lanes->ports->at[i], err);
	return ret;
}

void shunt_lanes_cross(struct shunt_lanes *lanes)
{
	unsigned i;

	for (i = 0; i < lanes->ports->cnt; i++)
		shunt_lane_judged_ask(lanes, &lanes->ports->at[i],
				      &lanes->ports->at[i].lane.judged);
	shunt_lanes_bar_judged(lanes);
	for (i = 0; i < lanes->ports->cnt; i++)
		if (crosses(lanes, &lanes->ports->at[i]))
			shunt_xdp_cross(lanes->ports->at[i].xdp);
}
