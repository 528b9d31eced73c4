// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/route.h"

#include <errno.h>
#include <stdlib.h>
#include <linux/rtnetlink.h>

/* The routes of one prefix that the kernel holds for equal: same table, TOS, metric. They
 * stand together in the chain. */
struct run {
	uint32_t head;	 /* of the chain; 0: none yet */
	uint32_t before; /* last of the chain before the run; 0: the run is at the front */
	uint32_t first;	 /* of the run; 0: it is empty */
	uint32_t last;
	uint32_t hash;
};

struct prefix {
	const uint8_t *dst;
	unsigned len;
};

static unsigned rib_of(const struct shunt_mirror_route_info *info)
{
	return shunt_mirror_rib(info->ip, info->space);
}

static unsigned addr_len(unsigned rib)
{
	return shunt_mirror_ip_of(rib) == SHUNT_MIRROR_IP4 ? 4 : 16;
}

static inline bool eq4(const void *obj, const void *arg)
{
	const struct shunt_mirror_route *route = obj;
	const struct prefix *prefix = arg;

	return route->len == prefix->len && !memcmp(route->dst, prefix->dst, 4);
}

static inline bool eq6(const void *obj, const void *arg)
{
	const struct shunt_mirror_route *route = obj;
	const struct prefix *prefix = arg;

	return route->len == prefix->len && !memcmp(route->dst, prefix->dst, 16);
}

static uint32_t find(const struct shunt_mirror_table *table, unsigned rib, const uint8_t *dst,
		     unsigned len, uint32_t *hash)
{
	struct prefix prefix = {.dst = dst, .len = len};

	*hash = shunt_mirror_hash(dst, addr_len(rib), (uint64_t)len << 56);
	if (shunt_mirror_ip_of(rib) == SHUNT_MIRROR_IP4)
		return shunt_mirror_store_find(&table->routes[rib], *hash, eq4, &prefix);
	return shunt_mirror_store_find(&table->routes[rib], *hash, eq6, &prefix);
}

uint32_t shunt_mirror_route_first(const struct shunt_mirror_table *table, unsigned rib,
				  const uint8_t *dst, unsigned len)
{
	uint32_t hash;

	return find(table, rib, dst, len, &hash);
}

/* Where a route stands to the run of (is_local, tos, metric): under 0 before it, 0 in it. */
static int order(const struct shunt_mirror_route *route, bool is_local, uint8_t tos,
		 uint32_t metric)
{
	bool route_is_local = route->live & SHUNT_MIRROR_ROUTE_LOCAL;

	if (route_is_local != is_local)
		return route_is_local ? -1 : 1;
	if (route->tos != tos)
		return route->tos > tos ? -1 : 1;
	if (route->metric != metric)
		return route->metric < metric ? -1 : 1;
	return 0;
}

static void locate(const struct shunt_mirror_table *table,
		   const struct shunt_mirror_route_info *info, struct run *run)
{
	const struct shunt_mirror_route *route;
	uint32_t idx;
	int where;

	memset(run, 0, sizeof(*run));
	run->head = find(table, rib_of(info), info->dst, info->len, &run->hash);
	for (idx = run->head; idx; idx = route->next) {
		route = shunt_mirror_route_at(table, rib_of(info), idx);
		where = order(route, info->is_local, info->tos, info->metric);
		if (where > 0)
			break;
		if (where < 0) {
			run->before = idx;
			continue;
		}
		if (!run->first)
			run->first = idx;
		run->last = idx;
	}
}

/* Puts idx into the chain behind prev, or at its front when prev is 0. */
static void chain_in(struct shunt_mirror_table *table, unsigned rib, struct run *run, uint32_t prev,
		     uint32_t idx)
{
	struct shunt_mirror_route *route = shunt_mirror_route_at(table, rib, idx);
	struct shunt_mirror_route *behind;

	if (prev) {
		behind = shunt_mirror_route_at(table, rib, prev);
		route->next = behind->next;
		behind->next = idx;
		return;
	}
	route->next = run->head;
	route->live |= SHUNT_MIRROR_ROUTE_FIRST;
	if (run->head) {
		shunt_mirror_route_at(table, rib, run->head)->live &= ~SHUNT_MIRROR_ROUTE_FIRST;
		shunt_mirror_store_relink(&table->routes[rib], run->hash, run->head, idx);
	} else {
		shunt_mirror_store_link(&table->routes[rib], run->hash, idx);
		table->len_cnt[rib][route->len]++;
	}
	run->head = idx;
}

static void chain_out(struct shunt_mirror_table *table, unsigned rib, struct run *run, uint32_t idx)
{
	struct shunt_mirror_route *route = shunt_mirror_route_at(table, rib, idx);
	uint32_t prev;

	if (run->head != idx) {
		for (prev = run->head; shunt_mirror_route_at(table, rib, prev)->next != idx;)
			prev = shunt_mirror_route_at(table, rib, prev)->next;
		shunt_mirror_route_at(table, rib, prev)->next = route->next;
		return;
	}
	run->head = route->next;
	route->live &= ~SHUNT_MIRROR_ROUTE_FIRST;
	if (route->next) {
		shunt_mirror_route_at(table, rib, route->next)->live |= SHUNT_MIRROR_ROUTE_FIRST;
		shunt_mirror_store_relink(&table->routes[rib], run->hash, idx, route->next);
	} else {
		shunt_mirror_store_unlink(&table->routes[rib], run->hash, idx);
		table->len_cnt[rib][route->len]--;
	}
}

static void changed(struct shunt_mirror_table *table, unsigned rib, const uint8_t *dst,
		    unsigned len, bool is_local)
{
	if (table->watch.prefix)
		table->watch.prefix(table->watch.ctx, rib, dst, len, is_local);
}

static void remove_route(struct shunt_mirror_table *table, unsigned rib, struct run *run,
			 uint32_t idx)
{
	struct shunt_mirror_route *route = shunt_mirror_route_at(table, rib, idx);
	const bool is_local = route->live & SHUNT_MIRROR_ROUTE_LOCAL;
	unsigned len = route->len;
	uint8_t dst[16];

	memcpy(dst, route->dst, addr_len(rib));
	chain_out(table, rib, run, idx);
	if (is_local)
		table->local_cnt[shunt_mirror_ip_of(rib)][len]--;
	shunt_mirror_path_put(table, route->path);
	shunt_mirror_store_free(&table->routes[rib], idx);
	changed(table, rib, dst, len, is_local);
}

void shunt_mirror_route_remove(struct shunt_mirror_table *table, unsigned rib, uint32_t idx)
{
	struct shunt_mirror_route *route = shunt_mirror_route_at(table, rib, idx);
	struct run run = {0};

	run.head = find(table, rib, route->dst, route->len, &run.hash);
	remove_route(table, rib, &run, idx);
}

/* Takes over the reference that the caller holds on path. */
static int insert(struct shunt_mirror_table *table, const struct shunt_mirror_route_info *info,
		  struct run *run, uint32_t prev, uint32_t path)
{
	uint32_t idx = shunt_mirror_store_alloc(&table->routes[rib_of(info)]);
	struct shunt_mirror_route *route;

	if (!idx) {
		shunt_mirror_path_put(table, path);
		return -ENOMEM;
	}
	route = shunt_mirror_route_at(table, rib_of(info), idx);
	route->live = 1 | (info->is_local ? SHUNT_MIRROR_ROUTE_LOCAL : 0);
	route->seen = table->mark;
	route->len = info->len;
	route->tos = info->tos;
	route->metric = info->metric;
	route->path = path;
	memcpy(route->dst, info->dst, addr_len(rib_of(info)));
	chain_in(table, rib_of(info), run, prev, idx);
	if (info->is_local)
		table->local_cnt[info->ip][info->len]++;
	changed(table, rib_of(info), info->dst, info->len, info->is_local);
	return 1;
}

/* Gives the route another path; takes over the reference on it. */
static int repath(struct shunt_mirror_table *table, const struct shunt_mirror_route_info *info,
		  uint32_t idx, uint32_t path)
{
	struct shunt_mirror_route *route = shunt_mirror_route_at(table, rib_of(info), idx);
	bool is_same = route->path == path;

	route->seen = table->mark;
	shunt_mirror_path_put(table, route->path);
	route->path = path;
	if (!is_same)
		changed(table, rib_of(info), info->dst, info->len, info->is_local);
	return !is_same;
}

/* The route of the run with that path, or 0. */
static uint32_t with_path(const struct shunt_mirror_table *table, unsigned rib,
			  const struct run *run, uint32_t path)
{
	uint32_t idx;

	for (idx = run->first; idx; idx = shunt_mirror_route_at(table, rib, idx)->next) {
		if (shunt_mirror_route_at(table, rib, idx)->path == path)
			return idx;
		if (idx == run->last)
			break;
	}
	return 0;
}

/* The first route of the run that is (or, by is_ecmp, is not) a part of an IPv6 multipath route; 0
 * for none. */
static uint32_t with_ecmp(const struct shunt_mirror_table *table, unsigned rib,
			  const struct run *run, bool is_ecmp)
{
	const struct shunt_mirror_route *route;
	uint32_t idx;

	for (idx = run->first; idx; idx = route->next) {
		route = shunt_mirror_route_at(table, rib, idx);
		if (is_ecmp == !!(shunt_mirror_path_at(table, route->path)->key.flags &
				  SHUNT_MIRROR_PATH_ECMP))
			return idx;
		if (idx == run->last)
			break;
	}
	return 0;
}

/* A dump lists a run in its order. Each route that it names moves to the run's end: when the dump
 * is over, the run has what will be swept first, then what was named, in the kernel's order. */
static int put_seen(struct shunt_mirror_table *table, const struct shunt_mirror_route_info *info,
		    struct run *run, uint32_t idx)
{
	struct shunt_mirror_route *route = shunt_mirror_route_at(table, rib_of(info), idx);

	if (route->seen != table->mark && idx != run->last) {
		chain_out(table, rib_of(info), run, idx);
		chain_in(table, rib_of(info), run, run->last, idx);
		changed(table, rib_of(info), info->dst, info->len, info->is_local);
	}
	route->seen = table->mark;
	return 0;
}

static int put4(struct shunt_mirror_table *table, const struct shunt_mirror_route_info *info,
		struct run *run, uint32_t path, enum shunt_mirror_how how)
{
	uint32_t same = with_path(table, rib_of(info), run, path);

	/* with the same path nothing is replaced here: the next-hop object was */
	if (how == SHUNT_MIRROR_HOW_REPLACE && run->first && !same)
		return repath(table, info, run->first, path);
	if (same) {
		shunt_mirror_path_put(table, path);
		if (how == SHUNT_MIRROR_HOW_DUMP)
			return put_seen(table, info, run, same);
		shunt_mirror_route_at(table, rib_of(info), same)->seen = table->mark;
		return 0;
	}
	if (how == SHUNT_MIRROR_HOW_ADD || !run->last)
		return insert(table, info, run, run->before, path);
	return insert(table, info, run, run->last, path);
}

/* All multipath hops to a prefix, of one metric, are one route, and every message about them
 * names them all (rt6_fill_node). */
static int put6(struct shunt_mirror_table *table, const struct shunt_mirror_route_info *info,
		struct run *run, uint32_t path, enum shunt_mirror_how how)
{
	bool is_ecmp = info->path.flags & SHUNT_MIRROR_PATH_ECMP;
	uint32_t idx = with_path(table, rib_of(info), run, path);

	if (how == SHUNT_MIRROR_HOW_REPLACE && run->first && !(idx && info->path.nhid)) {
		idx = with_ecmp(table, rib_of(info), run, is_ecmp);
		return repath(table, info, idx ? idx : run->first, path);
	}
	if (!idx && is_ecmp)
		idx = with_ecmp(table, rib_of(info), run, true);
	if (idx)
		return repath(table, info, idx, path);
	return insert(table, info, run, run->last ? run->last : run->before, path);
}

/* Doomed routes are gone in the kernel: they must not be replaced or counted. */
static void prune(struct shunt_mirror_table *table, const struct shunt_mirror_route_info *info)
{
	const struct shunt_mirror_route *route;
	uint32_t hash, idx, next;

	if (!table->doomed_cnt)
		return;
	for (idx = find(table, rib_of(info), info->dst, info->len, &hash); idx; idx = next) {
		route = shunt_mirror_route_at(table, rib_of(info), idx);
		next = route->next;
		if (shunt_mirror_path_at(table, route->path)->is_doomed)
			shunt_mirror_route_remove(table, rib_of(info), idx);
	}
}

int shunt_mirror_route_put(struct shunt_mirror_table *table,
			   const struct shunt_mirror_route_info *info, enum shunt_mirror_how how)
{
	uint32_t path = shunt_mirror_path_get(table, &info->path, info->hops);
	struct run run;

	if (!path)
		return -ENOMEM;
	prune(table, info);
	locate(table, info, &run);
	if (info->ip == SHUNT_MIRROR_IP4 && info->path.proto != RTPROT_KERNEL &&
	    (info->path.type == RTN_LOCAL || info->path.type == RTN_BROADCAST))
		table->has_custom_locals = true;
	if (info->ip == SHUNT_MIRROR_IP4)
		return put4(table, info, &run, path, how);
	return put6(table, info, &run, path, how);
}

static bool has_hop(const struct shunt_mirror_route_info *info, const struct shunt_mirror_hop *hop)
{
	unsigned i;

	for (i = 0; i < info->path.hop_cnt; i++) {
		if (info->hops[i].ifindex == hop->ifindex &&
		    info->hops[i].gw_family == hop->gw_family &&
		    !memcmp(info->hops[i].gw, hop->gw, sizeof(hop->gw)))
			return true;
	}
	return false;
}

/* Takes the hops that the message names out of the multipath route. */
static int del_hops(struct shunt_mirror_table *table, const struct shunt_mirror_route_info *info,
		    struct run *run, uint32_t idx)
{
	const struct shunt_mirror_path *path =
		shunt_mirror_path_at(table, shunt_mirror_route_at(table, rib_of(info), idx)->path);
	struct shunt_mirror_hop left[SHUNT_MIRROR_HOPS_MAX];
	struct shunt_mirror_path_key key = path->key;
	uint32_t new_path;
	unsigned i;

	key.hop_cnt = 0;
	for (i = 0; i < path->key.hop_cnt; i++) {
		if (!has_hop(info, &path->hops[i]))
			left[key.hop_cnt++] = path->hops[i];
	}
	if (key.hop_cnt == path->key.hop_cnt)
		return 0;
	new_path = key.hop_cnt ? shunt_mirror_path_get(table, &key, left) : 0;
	if (new_path)
		repath(table, info, idx, new_path);
	else
		remove_route(table, rib_of(info), run, idx);
	return 1;
}

/* The only route of the run, if it has the next hops of the message: then the two differ in an
 * attribute that the kernel changed without a message. */
static uint32_t alike(const struct shunt_mirror_table *table,
		      const struct shunt_mirror_route_info *info, const struct run *run)
{
	const struct shunt_mirror_path *path;

	if (!run->first || run->first != run->last)
		return 0;
	path = shunt_mirror_path_at(table,
				    shunt_mirror_route_at(table, rib_of(info), run->first)->path);
	if (path->key.nhid != info->path.nhid || path->key.type != info->path.type ||
	    path->key.hop_cnt != info->path.hop_cnt ||
	    memcmp(path->hops, info->hops, path->key.hop_cnt * sizeof(*path->hops)))
		return 0;
	return run->first;
}

int shunt_mirror_route_del(struct shunt_mirror_table *table,
			   const struct shunt_mirror_route_info *info)
{
	bool is_ecmp = info->path.flags & SHUNT_MIRROR_PATH_ECMP;
	uint32_t path, idx = 0;
	struct run run;
	int ret = 0;

	if (info->ip == SHUNT_MIRROR_IP6 && is_ecmp)
		shunt_mirror_table_settle(table); /* now, lest del_hops's new path does it */
	prune(table, info);
	locate(table, info, &run);
	path = shunt_mirror_path_find(table, &info->path, info->hops);
	if (path)
		idx = with_path(table, rib_of(info), &run, path);
	if (!idx && info->ip == SHUNT_MIRROR_IP6 && is_ecmp) {
		idx = with_ecmp(table, rib_of(info), &run, true);
		if (idx)
			ret = del_hops(table, info, &run, idx);
	} else {
		idx = idx ? idx : alike(table, info, &run);
		if (idx)
			remove_route(table, rib_of(info), &run, idx);
		ret = !!idx;
	}
	if (!ret)
		table->unmatched_deletes++;
	return ret;
}
