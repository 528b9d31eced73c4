// SPDX-License-Identifier: BSD-2-Clause
#include "router/tables.h"

#include "device/netdev_xdp.h"
#include "xdp/tables.h"

/* Whether the port's program reads the tables. */
static bool reads(const struct shunt_ports *ports, unsigned port)
{
	return ports->at[port].xdp && shunt_ports_routes(ports, port);
}

/* What the driver says that it can. The sockets, which tell what it does, are opened later. */
static bool may_be_zerocopy(const struct shunt_port *port)
{
	struct shunt_netdev_xdp facts;

	return port->config->copy_mode != SHUNT_COPY_COPY &&
	       port->config->driver_mode == SHUNT_DRIVER_NATIVE &&
	       !shunt_netdev_xdp_query(port->netdev.ifindex, &facts, NULL) && facts.is_known &&
	       facts.features & SHUNT_NETDEV_XDP_xsk_zerocopy;
}

bool shunt_router_tables_are_wanted(const struct shunt_ports *ports)
{
	bool all_zerocopy = true, any_xdp = shunt_ports_have_rule(ports, SHUNT_LANE_XDP);
	bool any_auto = false;
	unsigned i;

	for (i = 0; i < ports->cnt; i++) {
		enum shunt_lane_request lane = shunt_config_lane(ports->config, i);

		if (!reads(ports, i))
			continue;
		/* Whatever the lane, a translated packet leaves by the program. */
		any_xdp |= lane == SHUNT_REQUEST_XDP || shunt_xdp_asks_flows(ports->at[i].xdp);
		any_auto |= lane == SHUNT_REQUEST_AUTO;
		all_zerocopy &= may_be_zerocopy(&ports->at[i]);
	}
	return any_xdp || (any_auto && !all_zerocopy && !ports->config->front_cnt);
}

static void set_bases(struct shunt_router *router)
{
	const struct shunt_xdp_tables *t = router->tables;
	const void *tables4[3], *tables6[2];
	uint32_t *base = router->tables_cfg.base;

	shunt_fib4_tables(router->fib4, tables4);
	shunt_fib6_tables(router->fib6, tables6);
	base[SHUNT_TABLE_ROOT4] = shunt_xdp_tables_chunk(t, tables4[0]);
	base[SHUNT_TABLE_LEAVES4] = shunt_xdp_tables_chunk(t, tables4[1]);
	base[SHUNT_TABLE_TAILS4] = shunt_xdp_tables_chunk(t, tables4[2]);
	base[SHUNT_TABLE_ROOT6] = shunt_xdp_tables_chunk(t, tables6[0]);
	base[SHUNT_TABLE_NODES6] = shunt_xdp_tables_chunk(t, tables6[1]);
	base[SHUNT_TABLE_SLOTS] = shunt_xdp_tables_chunk(t, router->nexthops->slots);
	base[SHUNT_TABLE_ADJS] = shunt_xdp_tables_chunk(t, router->nexthops->adjs);
	base[SHUNT_TABLE_BUCKETS] = shunt_xdp_tables_chunk(t, router->nexthops->buckets);
	if (router->counts) {
		base[SHUNT_TABLE_COUNTS] = shunt_xdp_tables_chunk(t, router->counts->lines);
		router->tables_cfg.writer_cnt = router->counts->writer_cnt;
	}
	router->tables_cfg.flow_seed = router->flow_seed;
}

int shunt_router_tables_join(struct shunt_router *router, struct shunt_err *err)
{
	const struct shunt_xdp_tables *t = router->tables;
	uint32_t *base = router->tables_cfg.base;
	unsigned i;
	int ret = 0;

	if (!t)
		return 0;
	base[SHUNT_TABLE_TAGS] = shunt_xdp_tables_chunk(t, router->devices->words);
	base[SHUNT_TABLE_DEVICES] = shunt_xdp_tables_chunk(t, router->devices->at);
	if (router->has_routes)
		set_bases(router);
	for (i = 0; i < router->ports->cnt && !ret; i++)
		if (reads(router->ports, i))
			ret = shunt_xdp_tables_join(router->tables, router->ports->at[i].xdp, err);
	return ret;
}

static uint32_t flags_of(const struct shunt_router *router, unsigned port)
{
	const struct shunt_port_live *live = &router->live[port];
	uint32_t flags = router->devices->cnts[port] ? SHUNT_TABLES_ABOVE : 0;

	if (!router->has_routes)
		return flags;
	if (live->ip4)
		flags |= SHUNT_TABLES_IP4;
	if (live->ip6)
		flags |= SHUNT_TABLES_IP6;
	if (live->rpf4 == SHUNT_SOURCE_RPF)
		flags |= SHUNT_TABLES_RPF4;
	if (live->rpf4 == SHUNT_SOURCE_NOT_LOCAL)
		flags |= SHUNT_TABLES_NO_LOCAL;
	if (live->is_far4)
		flags |= SHUNT_TABLES_FAR;
	flags |= (uint32_t)live->space4 << SHUNT_TABLES_SPACE4_SHIFT |
		 (uint32_t)live->space6 << SHUNT_TABLES_SPACE6_SHIFT;
	return flags | (uint32_t)live->own << SHUNT_TABLES_OWN_SHIFT;
}

void shunt_router_tables_follow(struct shunt_router *router)
{
	unsigned i;

	if (!router->tables)
		return;
	shunt_xdp_tables_change(router->tables);
	for (i = 0; i < router->ports->cnt; i++) {
		if (!reads(router->ports, i))
			continue;
		router->tables_cfg.flags = flags_of(router, i);
		router->tables_cfg.vlan = router->live[i].vlan;
		shunt_xdp_tables_publish(router->ports->at[i].xdp, &router->tables_cfg);
	}
}
