// SPDX-License-Identifier: BSD-2-Clause
/* What the ports' steering programs are told: rules, mode, lane, other ports. */
#include <errno.h>
#include <string.h>

#include "bridge/bridge.h"
#include "lane/detours.h"
#include "engine/worker.h"
#include "notice/mtu.h"
#include "router/router.h"

bool shunt_engine_forwards_foreign_macs(const struct shunt_config *config, unsigned port)
{
	int mode = shunt_config_mode(config, port);

	return mode == SHUNT_FORWARD_XCONNECT || mode == SHUNT_FORWARD_MACREWRITE ||
	       mode == SHUNT_FORWARD_BRIDGE || mode == SHUNT_FORWARD_MIX;
}

static bool is_bridged(const struct shunt_config *config, unsigned port)
{
	int mode = shunt_config_mode(config, port);

	return mode == SHUNT_FORWARD_BRIDGE || mode == SHUNT_FORWARD_MIX;
}

static bool floods_to(const struct shunt_engine *engine, const struct shunt_port *port,
		      unsigned other)
{
	return engine->bridge && is_bridged(engine->config, port->index) &&
	       shunt_bridge_has(engine->bridge, port->index, other);
}

int shunt_engine_set_ports(const struct shunt_engine *engine, const struct shunt_port *port,
			   struct shunt_err *err)
{
	unsigned i, ifindex;
	int ret = 0;

	for (i = 0; i < SHUNT_STEER_PORTS_MAX && !ret; i++) {
		ifindex =
			i < engine->port_cnt ? shunt_lane_far_ifindex(port, &engine->ports[i]) : 0;
		ret = shunt_xdp_set_port(port->xdp, i, ifindex);
		if (!ret)
			ret = shunt_xdp_set_flood(port->xdp, i,
						  floods_to(engine, port, i) ? ifindex : 0);
	}
	return ret ? shunt_err_set(err, -ret, "%s: telling lane xdp of the other ports: %s",
				   port->name, strerror(-ret))
		   : 0;
}

/* What a frame of a port with one next hop leaves with, in lane xdp. */
static void set_hop(const struct shunt_engine *engine, unsigned port, unsigned peer,
		    struct shunt_steer_cfg *cfg)
{
	const uint8_t *next_hop = shunt_config_next_hop(engine->config, port);

	if (!next_hop)
		return;
	memcpy(cfg->hop, next_hop, 6);
	memcpy(cfg->hop + 6, engine->ports[peer].netdev.mac, 6);
	cfg->hop_mtu = (uint16_t)SHUNT_MIN(engine->ports[peer].mtu, 0xffffu);
}

/* Lanes whose frames leave as bytes. A packet that never was on a wire may have a checksum that was
 * left to a device; one that XDP sees in generic mode may be such also of a device that is real,
 * and a redirect hands it on as it is. */
static uint16_t finishes(const struct shunt_port *port)
{
	struct shunt_xdp_info info;
	const bool is_attached = !shunt_xdp_info(port->xdp, &info, NULL);

	if (is_attached ? info.in_use == SHUNT_XDP_GENERIC
			: port->config->driver_mode == SHUNT_DRIVER_GENERIC)
		return 1 << SHUNT_LANE_USER;
	return port->netdev.is_virtual ? 1 << SHUNT_LANE_USER | 1 << SHUNT_LANE_XDP : 0;
}

static int set_config(struct shunt_engine *engine, struct shunt_port *port, struct shunt_err *err)
{
	struct shunt_steer_cfg cfg = {.lane = port->lane.in_use};
	int peer = shunt_config_peer(engine->config, port->index);

	cfg.mode = shunt_config_is_transparent(engine->config, port->index)
			   ? SHUNT_STEER_MODE_TRANSPARENT
		   : shunt_engine_forwards_foreign_macs(engine->config, port->index)
			   ? SHUNT_STEER_MODE_XCONNECT
			   : SHUNT_STEER_MODE_LAYER3;
	cfg.out_port = peer < 0 ? port->index : (uint32_t)peer;
	cfg.len_max = port->multi_buffer ? shunt_port_len_max(port) : UINT32_MAX;
	cfg.finishes = finishes(port);
	memcpy(cfg.mac, port->netdev.mac, 6);
	if (peer >= 0)
		set_hop(engine, port->index, (unsigned)peer, &cfg);
	if (engine->bridge && is_bridged(engine->config, port->index))
		shunt_bridge_steer(engine->bridge, port->index, &cfg);
	if (shunt_lane_share_is_in_force(port))
		shunt_lane_share_steer(&port->share, shunt_lane_share_has_xdp(engine, port), &cfg);
	return shunt_xdp_set_config(port->xdp, &cfg, err);
}

int shunt_engine_steer(struct shunt_engine *engine, struct shunt_port *port, struct shunt_err *err)
{
	int ret = shunt_engine_set_ports(engine, port, err);

	return ret ? ret : set_config(engine, port, err);
}

/* The table that a bridging port's program looks stations up in. */
static int set_macs(const struct shunt_engine *engine, const struct shunt_port *port,
		    struct shunt_err *err)
{
	if (!engine->bridge || !is_bridged(engine->config, port->index))
		return 0;
	return shunt_xdp_set_macs(port->xdp, engine->bridge->shared, err);
}

int shunt_engine_open_gate(struct shunt_engine *engine, struct shunt_port *port,
			   struct shunt_err *err)
{
	int ret = shunt_engine_put_rules(engine, port->xdp, err);

	if (!ret)
		ret = set_macs(engine, port, err);
	return ret ? ret : shunt_engine_steer(engine, port, err);
}

/* The kernel knows nothing of a cross-connect, nor of a bridge that has none beneath. */
static bool crosses(const struct shunt_engine *engine, const struct shunt_port *port)
{
	return engine->config->takeover && !engine->config->external && port->xdp &&
	       shunt_engine_forwards_foreign_macs(engine->config, port->index);
}

/* The lane is chosen when the sockets are there. */
static int prepare_crossing(struct shunt_engine *engine, struct shunt_port *port,
			    struct shunt_err *err)
{
	port->lane.in_use = shunt_config_lane(engine->config, port->index) == SHUNT_REQUEST_KERNEL
				    ? SHUNT_LANE_KERNEL
				    : SHUNT_LANE_XDP;
	return shunt_engine_open_gate(engine, port, err);
}

int shunt_engine_prepare_crossing(struct shunt_engine *engine, bool are_bridges,
				  struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < engine->port_cnt && !ret; i++)
		if (crosses(engine, &engine->ports[i]) &&
		    is_bridged(engine->config, i) == are_bridges)
			ret = prepare_crossing(engine, &engine->ports[i], err);
	return ret;
}

void shunt_engine_cross(struct shunt_engine *engine)
{
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++)
		if (crosses(engine, &engine->ports[i]))
			shunt_xdp_cross(engine->ports[i].xdp);
}

/* What is sent to a port's new address is this host's, and what is sent to the old one not any
 * more. */
static bool follow_macs(struct shunt_engine *engine)
{
	bool is_any_new = false;
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++) {
		struct shunt_port *port = &engine->ports[i];
		uint8_t mac[8] = {0};
		uint64_t word;

		if (!port->xdp || shunt_netdev_mac(port->name, mac))
			memcpy(mac, port->netdev.mac, 6);
		is_any_new |= memcmp(mac, port->netdev.mac, 6) != 0;
		memcpy(port->netdev.mac, mac, 6);
		memcpy(&word, mac, sizeof(word));
		/* read by the workers, who order nothing by it */
		__atomic_store_n(&engine->macs[i], word, __ATOMIC_RELAXED);
	}
	return is_any_new;
}

bool shunt_engine_follow_devices(struct shunt_engine *engine)
{
	bool is_new = follow_macs(engine);

	return shunt_mtu_follow(engine) || is_new;
}

int shunt_engine_follow_lanes(struct shunt_engine *engine, struct shunt_err *err)
{
	bool is_new = shunt_engine_follow_devices(engine);
	unsigned i;
	int ret = 0;

	is_new |= shunt_detours_retry(engine);
	is_new |= shunt_lane_choose(engine);
	if (!is_new)
		return 0;
	if (shunt_detours_follow(engine))
		shunt_lane_choose(engine);
	for (i = 0; i < engine->port_cnt && !ret; i++)
		if (engine->ports[i].xdp)
			ret = shunt_engine_steer(engine, &engine->ports[i], err);
	shunt_detours_prune(engine);
	return ret;
}

bool shunt_engine_shares_tables(const struct shunt_engine *engine)
{
	return engine->router && engine->router->tables;
}
