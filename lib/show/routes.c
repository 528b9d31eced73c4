// SPDX-License-Identifier: BSD-2-Clause
/* What shunt forwards by: the FIB's routes, the neighbours behind them, and how well the mirror
 * keeps up with the kernel. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "mirror/mirror.h"
#include "mirror/space.h"
#include "router/router.h"
#include "show/show.h"
#include "base/json.h"

/* A full table as JSON would be 150 MB and a second of the control thread. `route get` tells
 * of any address. */
#define ROUTES_SHOWN_MAX 4096u
#define MEMBERS_MAX	 64u

/* Rows that are made with the guard held at a time: a millisecond's work. */
#define CHUNK		 128u

/* A route as it stood in the FIB. What its next hop says is asked later, for some at a time: one
 * that changed meanwhile is shown as it is by then. */
struct row {
	int family;
	union {
		uint32_t ip4_be;
		uint8_t ip6[16];
	} addr;
	unsigned len, space;
	uint32_t nh;
};

struct walk {
	struct row *rows; /* [ROUTES_SHOWN_MAX] */
	unsigned cnt;
	unsigned space; /* whose routes are taken */
};

/* --- routes ----------------------------------------------------------------------------------- */

/* The device that a packet leaves by, and the port beneath, which mostly is that device; of a bond
 * all that it may leave by. */
static void set_out(json_t *row, const struct shunt_engine *engine, const struct shunt_adj *adj)
{
	const struct shunt_router *router = engine->router;
	const struct shunt_device port = {.member_cnt = 1, .members = {(uint8_t)adj->port}};
	const struct shunt_mirror_link *link =
		router->mirror
			? shunt_mirror_link_get(shunt_mirror_table(router->mirror), adj->ifindex)
			: NULL;
	char ports[SHUNT_DEVICE_MEMBERS_MAX * IF_NAMESIZE];

	shunt_show_members(engine,
			   adj->port == SHUNT_ADJ_TAGGED
				   ? shunt_devices_at(router->devices, adj->above)
				   : &port,
			   ports, sizeof(ports));
	set_text(row, "device", link ? link->info.name : NULL);
	set_text(row, "port", ports);
}

static json_t *hop_json(const struct shunt_engine *engine, const struct shunt_adj *adj,
			uint32_t weight)
{
	json_t *row = json_object();

	set_text(row, "kind", shunt_adj_kind_name(adj->kind));
	set_u64(row, "weight", weight);
	if (adj->kind != SHUNT_ADJ_REWRITE)
		return row;
	set_out(row, engine, adj);
	json_object_set_new(row, "mac", shunt_show_mac(adj->eth));
	set_u64(row, "mtu", adj->mtu);
	return row;
}

static json_t *hops_json(const struct shunt_engine *engine, uint32_t nh)
{
	const struct shunt_nexthops *table = engine->router->nexthops;
	struct shunt_nexthop_member members[MEMBERS_MAX];
	json_t *rows = json_array();
	unsigned cnt = shunt_nexthop_group_get(table, shunt_nexthop_target(table, nh), members,
					       MEMBERS_MAX),
		 i;

	if (!cnt)
		json_array_append_new(rows, hop_json(engine, shunt_nexthop_adj(table, nh, 0), 1));
	for (i = 0; i < cnt && i < MEMBERS_MAX; i++)
		json_array_append_new(rows,
				      hop_json(engine, shunt_nexthop_adj(table, members[i].nh, 0),
					       members[i].weight));
	return rows;
}

/* The kernel's number of the table whose routes a space has; of that of local and main, main's. */
static uint32_t table_of(const struct shunt_router *router, unsigned space)
{
	const struct shunt_mirror_table *table =
		router->mirror ? shunt_mirror_table(router->mirror) : NULL;

	return space && table ? table->spaces[space].table : RT_TABLE_MAIN;
}

static json_t *route_json(const struct shunt_engine *engine, int family, const void *addr,
			  unsigned len, unsigned space, uint32_t nh)
{
	const struct shunt_router *router = engine->router;
	/* by the index of an alias (mirror/fib.h) */
	const bool is_counted = router->counts && shunt_nexthop_target(router->nexthops, nh) != nh;
	struct shunt_count count = {0};
	char text[INET6_ADDRSTRLEN];
	json_t *row = json_object();

	inet_ntop(family, addr, text, sizeof(text));
	json_object_set_new(row, "prefix", json_sprintf("%s/%u", text, len));
	set_u64(row, "table", table_of(router, space));
	json_object_set_new(row, "next_hops", hops_json(engine, nh));
	if (is_counted)
		shunt_counts_sum(router->counts, nh, &count);
	set_u64_if(row, "packets", is_counted, count.packets);
	set_u64_if(row, "bytes", is_counted, count.bytes);
	return row;
}

static int add_route4(void *arg, uint32_t addr_be, unsigned len, uint32_t nh)
{
	struct walk *walk = arg;

	if (walk->cnt == ROUTES_SHOWN_MAX)
		return 1;
	walk->rows[walk->cnt++] = (struct row){AF_INET, {.ip4_be = addr_be}, len, walk->space, nh};
	return 0;
}

static int add_route6(void *arg, const uint8_t addr[16], unsigned len, uint32_t nh)
{
	struct walk *walk = arg;
	struct row *row = &walk->rows[walk->cnt];

	if (walk->cnt == ROUTES_SHOWN_MAX)
		return 1;
	*row = (struct row){.family = AF_INET6, .len = len, .space = walk->space, .nh = nh};
	memcpy(row->addr.ip6, addr, 16);
	walk->cnt++;
	return 0;
}

/* Returns how many were made: all, or less where the follower hangs. */
static unsigned make_rows(const struct shunt_engine *engine, const struct walk *walk, json_t *out)
{
	unsigned i = 0, end;

	while (i < walk->cnt && shunt_guard_try(engine->ports.guard)) {
		for (end = SHUNT_MIN(i + CHUNK, walk->cnt); i < end; i++)
			json_array_append_new(out,
					      route_json(engine, walk->rows[i].family,
							 &walk->rows[i].addr, walk->rows[i].len,
							 walk->rows[i].space, walk->rows[i].nh));
		shunt_guard_leave(engine->ports.guard);
	}
	return i;
}

static bool collect_rows(const struct shunt_engine *engine, struct walk *walk, json_t *result)
{
	const struct shunt_router *router = engine->router;
	const struct shunt_fib4 *fib4;
	const struct shunt_fib6 *fib6;
	uint64_t cnt4 = 0, cnt6 = 0;

	if (!shunt_guard_try(engine->ports.guard))
		return false;
	for (walk->space = 0; walk->space < SHUNT_TABLES_SPACES; walk->space++) {
		fib4 = shunt_fib4_space(router->fib4, walk->space);
		fib6 = shunt_fib6_space(router->fib6, walk->space);
		if (!fib4 || !fib6)
			continue;
		shunt_fib4_walk(fib4, add_route4, walk);
		shunt_fib6_walk(fib6, add_route6, walk);
		cnt4 += shunt_fib4_route_cnt(fib4);
		cnt6 += shunt_fib6_route_cnt(fib6);
	}
	set_u64(result, "ip4_routes", cnt4);
	set_u64(result, "ip6_routes", cnt6);
	shunt_guard_leave(engine->ports.guard);
	return true;
}

json_t *shunt_show_routes(const struct shunt_show *show)
{
	const struct shunt_engine *engine = show->engine;
	json_t *rows = json_array(), *result = timed("routes", rows);
	struct walk walk = {.cnt = 0};

	json_object_set_new(result, "counted", json_boolean(engine->config->count));
	if (!engine->router)
		return result;
	walk.rows = malloc(ROUTES_SHOWN_MAX * sizeof(*walk.rows));
	if (!walk.rows || !collect_rows(engine, &walk, result) ||
	    make_rows(engine, &walk, rows) < walk.cnt) {
		free(walk.rows);
		json_decref(result);
		return NULL;
	}
	free(walk.rows);
	set_u64(result, "shown", json_array_size(rows));
	return result;
}

/* Clears the bits behind the prefix. */
static void mask(uint8_t *addr, unsigned addr_len, unsigned len)
{
	unsigned i;

	for (i = 0; i < addr_len; i++, len -= SHUNT_MIN(len, 8u))
		addr[i] &= (uint8_t)(0xff00 >> SHUNT_MIN(len, 8u));
}

static json_t *look_up(const struct shunt_engine *engine, const char *address, unsigned space,
		       struct shunt_err *err)
{
	const struct shunt_router *router = engine->router;
	const struct shunt_fib4 *fib4 = shunt_fib4_space(router->fib4, space);
	const struct shunt_fib6 *fib6 = shunt_fib6_space(router->fib6, space);
	uint8_t addr[16] = {0};
	uint32_t addr_be, nh = 0;
	unsigned len = 0;
	int family = AF_INET;
	json_t *row;

	if (inet_pton(AF_INET, address, &addr_be) == 1) {
		nh = fib4 ? shunt_fib4_best(fib4, addr_be, &len) : 0;
		memcpy(addr, &addr_be, sizeof(addr_be));
	} else if (inet_pton(AF_INET6, address, addr) == 1) {
		family = AF_INET6;
		nh = fib6 ? shunt_fib6_best(fib6, addr, &len) : 0;
	} else {
		shunt_err_set(err, EINVAL, "'%.60s' is no IPv4 or IPv6 address", address);
		return NULL;
	}
	mask(addr, family == AF_INET ? 4 : 16, len);
	row = route_json(engine, family, addr, len, space, nh);
	set_text(row, "address", address);
	if (!nh)
		json_object_set_new(row, "prefix", json_null());
	set_text(row, "meaning",
		 shunt_adj_kind_help(shunt_nexthop_adj(router->nexthops, nh, 0)->kind));
	return row;
}

/* By whose routes packets to the address go that come in by a device; -1 with err set. */
static int space_of(const struct shunt_engine *engine, const char *address, const char *iif,
		    struct shunt_err *err)
{
	const enum shunt_mirror_ip ip = strchr(address, ':') ? SHUNT_MIRROR_IP6 : SHUNT_MIRROR_IP4;
	const struct shunt_router *router = engine->router;
	const struct shunt_mirror_link *link = NULL;
	int space;

	if (!iif)
		return 0;
	if (router->mirror)
		link = shunt_mirror_link_get(shunt_mirror_table(router->mirror),
					     if_nametoindex(iif));
	if (!link)
		return shunt_err_set(err, ENODEV, "no device '%.15s' here", iif);
	space = shunt_mirror_space_of_device(shunt_mirror_table(router->mirror), ip, link);
	if (space < 0)
		return shunt_err_set(err, ENOENT,
				     "only the kernel knows where routing rules (ip rule) lead "
				     "what comes in by %s",
				     iif);
	return space;
}

static bool is_held(const struct shunt_engine *engine, struct shunt_err *err)
{
	if (!engine->router) {
		shunt_err_set(err, ENOENT, "no port forwards by routes; start shuntd route");
		return false;
	}
	if (shunt_guard_try(engine->ports.guard))
		return true;
	shunt_err_set(err, ETIMEDOUT, SHUNT_SHOW_UNFOLLOWED);
	return false;
}

json_t *shunt_show_route(const struct shunt_engine *engine, const char *address, const char *iif,
			 struct shunt_err *err)
{
	json_t *row;
	int space;

	if (!is_held(engine, err))
		return NULL;
	space = space_of(engine, address, iif, err);
	row = space < 0 ? NULL : look_up(engine, address, (unsigned)space, err);
	shunt_guard_leave(engine->ports.guard);
	return row;
}

json_t *shunt_show_route_in(const struct shunt_engine *engine, const char *address, unsigned port,
			    struct shunt_err *err)
{
	const struct shunt_port_live *live;
	json_t *row;

	if (!is_held(engine, err))
		return NULL;
	live = &engine->router->live[port];
	row = look_up(engine, address, strchr(address, ':') ? live->space6 : live->space4, err);
	shunt_guard_leave(engine->ports.guard);
	return row;
}

/* --- neighbours ------------------------------------------------------------------------------- */

static const char *state_name(uint16_t state)
{
	static const struct {
		uint16_t bit;
		const char *name;
	} names[] = {{NUD_PERMANENT, "permanent"},   {NUD_NOARP, "noarp"},
		     {NUD_REACHABLE, "reachable"},   {NUD_STALE, "stale"},
		     {NUD_DELAY, "delay"},	     {NUD_PROBE, "probe"},
		     {NUD_INCOMPLETE, "incomplete"}, {NUD_FAILED, "failed"}};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(names); i++)
		if (state & names[i].bit)
			return names[i].name;
	return "none";
}

static json_t *neighbour_json(struct shunt_mirror *mirror,
			      const struct shunt_mirror_neigh_info *info)
{
	const struct shunt_mirror_table *table = shunt_mirror_table(mirror);
	const struct shunt_mirror_link *link = shunt_mirror_link_get(table, info->ifindex);
	struct shunt_count count = {0};
	const bool is_counted = shunt_mirror_neigh_count(mirror, info, &count);
	char text[INET6_ADDRSTRLEN];
	json_t *row = json_object();

	inet_ntop(info->family, info->addr, text, sizeof(text));
	set_text(row, "address", text);
	set_text(row, "device", link ? link->info.name : NULL);
	json_object_set_new(row, "mac",
			    info->lladdr_len == 6 ? shunt_show_mac(info->lladdr) : json_null());
	set_text(row, "state", state_name(info->state));
	json_object_set_new(row, "usable", json_boolean(shunt_mirror_neigh_is_live(info)));
	set_u64_if(row, "packets", is_counted, count.packets);
	set_u64_if(row, "bytes", is_counted, count.bytes);
	return row;
}

/* Some of them, from *at on, with the guard held. */
static void add_neighbours(struct shunt_mirror *mirror, uint32_t *at, json_t *rows)
{
	const struct shunt_mirror_table *table = shunt_mirror_table(mirror);
	unsigned left = CHUNK;

	while (left-- && (*at = shunt_mirror_store_next(&table->neighs, *at))) {
		const struct shunt_mirror_neigh *neigh = shunt_mirror_store_at(&table->neighs, *at);

		if (neigh->info.family == AF_INET || neigh->info.family == AF_INET6)
			json_array_append_new(rows, neighbour_json(mirror, &neigh->info));
	}
}

json_t *shunt_show_neighbours(const struct shunt_show *show)
{
	const struct shunt_engine *engine = show->engine;
	const struct shunt_router *router = engine->router;
	json_t *rows = json_array(), *result = timed("neighbours", rows);
	uint32_t at = 0;

	json_object_set_new(result, "counted", json_boolean(engine->config->count));
	if (!router)
		return result;
	do {
		if (!shunt_guard_try(engine->ports.guard)) {
			json_decref(result);
			return NULL;
		}
		if (router->mirror)
			add_neighbours(router->mirror, &at, rows);
		else
			at = 0;
		shunt_guard_leave(engine->ports.guard);
	} while (at);
	return result;
}

/* --- mirror ----------------------------------------------------------------------------------- */

json_t *shunt_show_mirror(const struct shunt_show *show)
{
	const struct shunt_engine *engine = show->engine;
	const struct shunt_router *router = engine->router;
	json_t *counters = json_object(), *result = timed("counters", counters);
	struct shunt_mirror_stats s;
	bool is_there;

	if (!shunt_guard_try(engine->ports.guard)) {
		json_decref(result);
		return NULL;
	}
	is_there = router && router->mirror;
	if (is_there)
		shunt_mirror_stats(router->mirror, &s);
	shunt_guard_leave(engine->ports.guard);
	if (!is_there) {
		set_text(result, "state", NULL);
		return result;
	}
#define X(name, help) set_u64(counters, #name, s.name);
	SHUNT_MIRROR_COUNTERS(X)
#undef X
	set_text(result, "state", shunt_mirror_state_name(s.state));
	set_text(result, "meaning", shunt_mirror_state_help(s.state));
	set_u64(result, "links", s.links);
	set_u64(result, "addresses", s.addrs);
	set_u64(result, "neighbours", s.neighs);
	set_u64(result, "next_hop_objects", s.nexthops);
	set_u64(result, "paths", s.paths);
	set_u64(result, "ip4_routes", s.routes[SHUNT_MIRROR_IP4]);
	set_u64(result, "ip6_routes", s.routes[SHUNT_MIRROR_IP6]);
	set_u64(result, "host_routes", s.hosts);
	set_u64(result, "fib_updates", s.fib_updates);
	set_u64(result, "policy_rules", s.policy_rules);
	set_u64(result, "bytes", s.bytes);
	set_u64(result, "load_ns", s.load_ns);
	set_u64(result, "dump_ns", s.dump_ns);
	return result;
}
