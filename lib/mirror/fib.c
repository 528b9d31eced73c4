// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/fib.h"

#include <errno.h>
#include <stdlib.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "mirror/fib_private.h"
#include "mirror/mirror.h"

static unsigned len_max(unsigned rib)
{
	return shunt_mirror_ip_of(rib) == SHUNT_MIRROR_IP4 ? 32 : 128;
}

/* --- one prefix ----------------------------------------------------------------------------- */

/* Works the path out if need be; NULL for no memory. */
static struct shunt_mirror_path *known_path(struct shunt_mirror_fib *fib, uint32_t idx)
{
	struct shunt_mirror_path *path = shunt_mirror_path_at(fib->table, idx);

	if (!path->is_known && shunt_mirror_target_update(&fib->targets, path) < 0)
		return NULL;
	return path;
}

static bool is_rival(const struct shunt_mirror_table *table, const struct shunt_mirror_route *route,
		     const struct shunt_mirror_route *next)
{
	return next->metric == route->metric && next->path != route->path &&
	       !((next->live ^ route->live) & SHUNT_MIRROR_ROUTE_LOCAL) &&
	       shunt_mirror_path_at(table, next->path)->key.type == RTN_UNICAST;
}

struct shunt_mirror_path *shunt_mirror_fib_best(struct shunt_mirror_fib *fib, unsigned rib,
						uint32_t idx, bool *must_punt)
{
	const struct shunt_mirror_route *route, *next;
	struct shunt_mirror_path *path, *best = NULL;

	*must_punt = false;
	for (; idx; idx = route->next) {
		route = shunt_mirror_route_at(fib->table, rib, idx);
		path = known_path(fib, route->path);
		if (!path) {
			fib->is_failed = true;
			return NULL;
		}
		*must_punt |= route->tos || path->key.src_len;
		if (best || !path->is_usable)
			continue;
		best = path;
		if (shunt_mirror_ip_of(rib) == SHUNT_MIRROR_IP4 || !route->next ||
		    path->key.type != RTN_UNICAST)
			continue;
		next = shunt_mirror_route_at(fib->table, rib, route->next);
		*must_punt |= is_rival(fib->table, route, next);
	}
	return best;
}

/* The next hop that the FIB should have for a prefix, 0 for none; idx is its first route or 0. */
static uint32_t wanted(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst, unsigned len,
		       uint32_t idx)
{
	const struct shunt_mirror_path *best;
	uint32_t want = 0;
	bool must_punt;

	best = shunt_mirror_fib_best(fib, rib, idx, &must_punt);
	if (shunt_mirror_fib_is_hidden(fib, rib, dst, len))
		want = idx || shunt_mirror_fib_hides(fib, rib, dst, len)
			       ? fib->targets.fixed[SHUNT_ADJ_LOCAL]
			       : 0;
	else if (must_punt)
		want = fib->targets.fixed[SHUNT_ADJ_PUNT];
	else if (best)
		want = best->nh;
	if (len == len_max(rib))
		want = shunt_mirror_host_update(fib, rib, dst, want);
	return want;
}

/* Brings the FIB's route of the prefix up to date. */
static void apply(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst, unsigned len)
{
	const uint32_t first = shunt_mirror_route_first(fib->table, rib, dst, len);
	const uint32_t want = wanted(fib, rib, dst, len, first);

	if (!fib->is_failed)
		fib->is_failed = shunt_mirror_fib_put(fib, rib, dst, len, want) != 0;
}

/* --- what is to be looked at ------------------------------------------------------------------ */

void shunt_mirror_fib_push(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			   unsigned len)
{
	uint32_t max = fib->dirty_max ? fib->dirty_max * 2 : 4096;
	struct shunt_mirror_prefix *dirty;

	if (!fib->is_on)
		return;
	if (fib->dirty_cnt == fib->dirty_max) {
		dirty = realloc(fib->dirty, max * sizeof(*dirty));
		if (!dirty) {
			fib->is_failed = true;
			return;
		}
		fib->dirty = dirty;
		fib->dirty_max = max;
	}
	dirty = &fib->dirty[fib->dirty_cnt++];
	memcpy(dirty->dst, dst, shunt_mirror_ip_of(rib) == SHUNT_MIRROR_IP4 ? 4 : 16);
	dirty->len = (uint8_t)len;
	dirty->rib = (uint8_t)rib;
}

static void prefix_changed(void *ctx, unsigned rib, const uint8_t *dst, unsigned len, bool is_local)
{
	struct shunt_mirror_fib *fib = ctx;

	shunt_mirror_fib_push(fib, rib, dst, len);
	if (is_local)
		shunt_mirror_fib_hide(fib, 1, shunt_mirror_ip_of(rib), dst, len);
	if (!fib->are_hosts_stale && shunt_mirror_host_is_near(fib, rib, dst, len))
		fib->are_hosts_stale = true;
}

static void neigh_changed(void *ctx, const struct shunt_mirror_neigh_info *info)
{
	struct shunt_mirror_fib *fib = ctx;

	if (info->family == AF_BRIDGE) {
		shunt_mirror_adj_station(&fib->targets.adjs, info);
		return;
	}
	shunt_mirror_adj_neigh(&fib->targets.adjs, info);
	shunt_mirror_host_changed(fib, info);
}

static void nexthop_changed(void *ctx, uint32_t id)
{
	struct shunt_mirror_fib *fib = ctx;

	(void)id;
	fib->are_paths_stale = true;
}

static void rule_changed(void *ctx, enum shunt_mirror_ip ip, const uint8_t *dst, unsigned len)
{
	shunt_mirror_fib_hide(ctx, 0, ip, dst, len);
}

static void path_free(void *ctx, uint32_t idx)
{
	struct shunt_mirror_fib *fib = ctx;

	shunt_mirror_target_free(&fib->targets, shunt_mirror_path_at(fib->table, idx));
}

/* Pushes the prefixes whose routes lead by a path that changed. */
static void push_stale_routes(struct shunt_mirror_fib *fib)
{
	const struct shunt_mirror_route *route;
	uint32_t idx, rib;

	for (rib = 0; rib < SHUNT_MIRROR_RIB_CNT; rib++) {
		for (idx = 0; (idx = shunt_mirror_store_next(&fib->table->routes[rib], idx));) {
			route = shunt_mirror_route_at(fib->table, rib, idx);
			if (shunt_mirror_path_at(fib->table, route->path)->is_stale)
				prefix_changed(fib, rib, route->dst, route->len,
					       route->live & SHUNT_MIRROR_ROUTE_LOCAL);
		}
	}
}

static void update_paths(struct shunt_mirror_fib *fib)
{
	struct shunt_mirror_path *path;
	bool is_any_stale = false;
	uint32_t idx;
	int ret;

	fib->are_paths_stale = false;
	for (idx = 0; (idx = shunt_mirror_store_next(&fib->table->paths, idx));) {
		path = shunt_mirror_path_at(fib->table, idx);
		if (!path->refs || !path->is_known)
			continue;
		ret = shunt_mirror_target_update(&fib->targets, path);
		path->is_stale = ret > 0;
		is_any_stale |= path->is_stale;
		fib->is_failed |= ret < 0;
	}
	if (!is_any_stale)
		return;
	push_stale_routes(fib);
	for (idx = 0; (idx = shunt_mirror_store_next(&fib->table->paths, idx));)
		shunt_mirror_path_at(fib->table, idx)->is_stale = false;
}

/* --- load, flush, withdraw -------------------------------------------------------------------- */

/* Fills fib->order with the routes of a family, by counting sort over their lengths. */
static int sort_routes(struct shunt_mirror_fib *fib, unsigned rib)
{
	const struct shunt_mirror_store *store = &fib->table->routes[rib];
	uint32_t at[130] = {0}, idx, len;

	free(fib->order);
	fib->order_rib = rib;
	fib->order_pos = 0;
	fib->order_cnt = store->cnt;
	fib->order = malloc((store->cnt + 1) * sizeof(*fib->order));
	if (!fib->order)
		return -ENOMEM;
	for (idx = 0; (idx = shunt_mirror_store_next(store, idx));)
		at[128 - shunt_mirror_route_at(fib->table, rib, idx)->len + 1]++;
	for (len = 1; len < 130; len++)
		at[len] += at[len - 1];
	for (idx = 0; (idx = shunt_mirror_store_next(store, idx));)
		fib->order[at[128 - shunt_mirror_route_at(fib->table, rib, idx)->len]++] = idx;
	return 0;
}

void shunt_mirror_fib_load(struct shunt_mirror_fib *fib)
{
	uint32_t idx;

	fib->is_on = true;
	fib->is_loading = true;
	fib->is_failed = false;
	fib->dirty_cnt = 0;
	fib->dirty_pos = 0;
	fib->are_hosts_stale = true;
	/* paths that were worked out before a withdrawal may be out of date */
	for (idx = 0; (idx = shunt_mirror_store_next(&fib->table->paths, idx));)
		shunt_mirror_path_at(fib->table, idx)->is_known = false;
	fib->is_failed = sort_routes(fib, 0);
	shunt_mirror_fib_begin_spaces(fib);
}

/* The FIB has nothing for the prefix yet: nothing is compared. */
static void load_route(struct shunt_mirror_fib *fib, unsigned rib, uint32_t idx)
{
	const struct shunt_mirror_route *route = shunt_mirror_route_at(fib->table, rib, idx);
	uint32_t want;

	if (!(route->live & SHUNT_MIRROR_ROUTE_FIRST))
		return;
	want = wanted(fib, rib, route->dst, route->len, idx);
	if (want && !fib->is_failed)
		fib->is_failed = shunt_mirror_fib_add(fib, rib, route->dst, route->len, want) != 0;
}

static void load_some(struct shunt_mirror_fib *fib, uint32_t budget)
{
	const unsigned ahead = 8; /* routes of one length lie all over the store */

	for (; budget && fib->order_pos < fib->order_cnt && !fib->is_failed; budget--) {
		if (fib->order_pos + ahead < fib->order_cnt)
			__builtin_prefetch(shunt_mirror_route_at(
				fib->table, fib->order_rib, fib->order[fib->order_pos + ahead]));
		load_route(fib, fib->order_rib, fib->order[fib->order_pos++]);
	}
	if (fib->order_pos < fib->order_cnt || fib->is_failed)
		return;
	while (++fib->order_rib < SHUNT_MIRROR_RIB_CNT) {
		if (!fib->table->routes[fib->order_rib].cnt)
			continue;
		fib->is_failed |= sort_routes(fib, fib->order_rib) != 0;
		return;
	}
	free(fib->order);
	fib->order = NULL;
	fib->is_loading = false;
}

static void flush_some(struct shunt_mirror_fib *fib, uint32_t budget)
{
	const struct shunt_mirror_prefix *prefix;
	struct shunt_mirror_prefix copy;

	if (fib->policy_changes != fib->table->policy_changes)
		shunt_mirror_adj_all(&fib->targets.adjs);
	fib->policy_changes = fib->table->policy_changes;
	if (fib->are_paths_stale)
		update_paths(fib);
	if (fib->are_hosts_stale)
		shunt_mirror_host_push_all(fib);
	for (; budget && fib->dirty_pos < fib->dirty_cnt && !fib->is_failed; budget--) {
		prefix = &fib->dirty[fib->dirty_pos++];
		copy = *prefix;
		apply(fib, copy.rib, copy.dst, copy.len);
	}
	if (fib->dirty_pos == fib->dirty_cnt) {
		fib->dirty_pos = 0;
		fib->dirty_cnt = 0;
	}
}

int shunt_mirror_fib_flush(struct shunt_mirror_fib *fib, uint32_t budget)
{
	if (!fib->is_on)
		return 0;
	if (fib->is_loading)
		load_some(fib, budget);
	else
		flush_some(fib, budget);
	if (fib->is_failed || fib->targets.adjs.is_failed) {
		shunt_mirror_fib_withdraw(fib);
		return -ENOMEM;
	}
	if (fib->is_loading || fib->dirty_cnt)
		return 1;
	shunt_mirror_path_reap(fib->table);
	shunt_mirror_target_reap(&fib->targets);
	return 0;
}

/* Needs no memory: a pass over the routes for each length in use. */
static void withdraw_rib(struct shunt_mirror_fib *fib, unsigned rib)
{
	const struct shunt_mirror_route *route;
	unsigned len;
	uint32_t idx;

	for (len = 0; len <= len_max(rib); len++) {
		if (!fib->table->len_cnt[rib][len])
			continue;
		for (idx = 0; (idx = shunt_mirror_store_next(&fib->table->routes[rib], idx));) {
			route = shunt_mirror_route_at(fib->table, rib, idx);
			if (route->len == len)
				shunt_mirror_fib_drop(fib, rib, route->dst, len);
		}
	}
}

void shunt_mirror_fib_withdraw(struct shunt_mirror_fib *fib)
{
	uint32_t i, rib;

	/* Prefixes deleted from the table but not yet from the FIB are among these. */
	for (i = fib->dirty_pos; i < fib->dirty_cnt; i++)
		shunt_mirror_fib_drop(fib, fib->dirty[i].rib, fib->dirty[i].dst, fib->dirty[i].len);
	for (rib = 0; rib < SHUNT_MIRROR_RIB_CNT; rib++)
		withdraw_rib(fib, rib);
	shunt_mirror_fib_withdraw_hidden(fib);
	shunt_mirror_host_withdraw(fib);
	free(fib->order);
	fib->order = NULL;
	fib->dirty_cnt = 0;
	fib->dirty_pos = 0;
	fib->is_on = false;
	fib->is_loading = false;
	fib->is_failed = false;
	fib->targets.adjs.is_failed = false;
}

int shunt_mirror_fib_init(struct shunt_mirror_fib *fib, struct shunt_mirror_table *table,
			  const struct shunt_mirror_opts *opts, struct shunt_err *err)
{
	memset(fib, 0, sizeof(*fib));
	fib->table = table;
	fib->fib4 = opts->fib4;
	fib->fib6 = opts->fib6;
	fib->targets.adjs.table = table;
	fib->targets.adjs.nexthops = opts->nexthops;
	fib->targets.adjs.counts = opts->counts;
	fib->targets.adjs.port_of = opts->port_of;
	fib->targets.adjs.ctx = opts->port_ctx;
	fib->targets.adjs.aboves = &fib->aboves;
	fib->aboves.table = table;
	fib->aboves.devices = opts->devices;
	fib->aboves.port_of = opts->base_of;
	fib->aboves.order_of = opts->order_of;
	fib->aboves.ctx = opts->port_ctx;
	shunt_mirror_above_init(&fib->aboves);
	shunt_mirror_store_init(&fib->hosts, sizeof(struct shunt_mirror_host), 0);
	table->watch = (struct shunt_mirror_watch){
		.ctx = fib,
		.prefix = prefix_changed,
		.link = shunt_mirror_fib_link_changed,
		.neigh = neigh_changed,
		.nexthop = nexthop_changed,
		.rule = rule_changed,
		.path_free = path_free,
	};
	return shunt_mirror_target_init(&fib->targets, err);
}

void shunt_mirror_fib_fini(struct shunt_mirror_fib *fib)
{
	uint32_t idx = 0;

	if (!fib->table)
		return;
	if (fib->is_on)
		shunt_mirror_fib_withdraw(fib);
	while ((idx = shunt_mirror_store_next(&fib->table->paths, idx)))
		shunt_mirror_target_free(&fib->targets, shunt_mirror_path_at(fib->table, idx));
	shunt_mirror_target_fini(&fib->targets);
	shunt_mirror_above_fini(&fib->aboves);
	shunt_mirror_store_fini(&fib->hosts);
	memset(&fib->table->watch, 0, sizeof(fib->table->watch));
	free(fib->dirty);
	memset(fib, 0, sizeof(*fib));
}
