// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/target.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

/* What a path leads to at present: path->priv. */
struct target {
	uint32_t group; /* next hop; 0: none */
	unsigned cnt;
	struct shunt_nexthop_member *members; /* of the group */
	uint32_t adj[];
};

#define KIND_HOPS SHUNT_ADJ_REWRITE /* by its next hops; the other kinds are fixed */

int shunt_mirror_target_init(struct shunt_mirror_targets *targets, struct shunt_err *err)
{
	static const uint8_t kinds[] = {SHUNT_ADJ_LOCAL, SHUNT_ADJ_PUNT, SHUNT_ADJ_BLACKHOLE,
					SHUNT_ADJ_UNREACHABLE, SHUNT_ADJ_PROHIBIT};
	unsigned i;
	int ret = 0;

	shunt_mirror_store_init(&targets->adjs.store, sizeof(struct shunt_mirror_adj), 0);
	for (i = 0; !ret && i < sizeof(kinds); i++) {
		struct shunt_adj adj = {.kind = kinds[i]};

		ret = shunt_nexthop_add(targets->adjs.nexthops, &adj, &targets->fixed[kinds[i]],
					err);
	}
	return ret;
}

void shunt_mirror_target_fini(struct shunt_mirror_targets *targets)
{
	unsigned i;

	shunt_mirror_target_reap(targets);
	for (i = 0; i < SHUNT_ADJ_KIND_CNT; i++) {
		if (targets->fixed[i])
			shunt_nexthop_put(targets->adjs.nexthops, targets->fixed[i]);
	}
	shunt_mirror_store_fini(&targets->adjs.store);
	free(targets->retired);
}

/* --- what the path should have: targets->adj[], ->members[], ->cnt ------------------------------
 */

/* A next hop on a device that is known to be down does not count; one on a device not known
 * (yet) does, and punts. */
static bool is_dead(const struct shunt_mirror_targets *targets, uint32_t ifindex,
		    enum shunt_mirror_ip ip)
{
	const struct shunt_mirror_link *link = shunt_mirror_link_get(targets->adjs.table, ifindex);

	if (!link)
		return false;
	if (!(link->info.flags & IFF_UP))
		return true;
	return !(link->info.flags & IFF_LOWER_UP) && link->ignore_linkdown[ip] == 1;
}

static int plan_adj(struct shunt_mirror_targets *targets, const struct shunt_mirror_path *path,
		    const struct shunt_mirror_adj_key *key, uint32_t weight)
{
	uint32_t idx;

	if (is_dead(targets, key->ifindex, key->ip))
		return 0;
	if (targets->cnt == SHUNT_MIRROR_HOPS_MAX)
		return 0;
	idx = shunt_mirror_adj_get(&targets->adjs, key, path->key.mtu);
	if (!idx)
		return -ENOMEM;
	targets->adj[targets->cnt] = idx;
	targets->members[targets->cnt].nh = shunt_mirror_adj_at(&targets->adjs, idx)->nh;
	targets->members[targets->cnt].weight = weight;
	targets->cnt++;
	return 0;
}

static enum shunt_mirror_ip ip_of(const struct shunt_mirror_path *path)
{
	return path->key.family == AF_INET ? SHUNT_MIRROR_IP4 : SHUNT_MIRROR_IP6;
}

static int plan_hops(struct shunt_mirror_targets *targets, const struct shunt_mirror_path *path)
{
	const struct shunt_mirror_hop *hop;
	unsigned i;
	int ret = 0;

	for (i = 0; !ret && i < path->key.hop_cnt; i++) {
		struct shunt_mirror_adj_key key = {.ip = ip_of(path)};

		hop = &path->hops[i];
		/* Device 0 is no port: what shunt cannot do punts. */
		if (!(hop->flags & SHUNT_MIRROR_HOP_ENCAP)) {
			key.ifindex = hop->ifindex;
			key.gw_family = hop->gw_family;
			memcpy(key.gw, hop->gw, sizeof(key.gw));
		}
		ret = plan_adj(targets, path, &key, hop->weight);
	}
	return ret;
}

static int plan_nexthop(struct shunt_mirror_targets *targets, const struct shunt_mirror_path *path,
			const struct shunt_mirror_nexthop *nexthop, uint32_t weight)
{
	struct shunt_mirror_adj_key key = {.ip = ip_of(path)};

	if (nexthop && !(nexthop->info.flags & ~SHUNT_MIRROR_NH_ONLINK)) {
		key.ifindex = nexthop->info.ifindex;
		key.gw_family = nexthop->info.gw_family;
		memcpy(key.gw, nexthop->info.gw, sizeof(key.gw));
	}
	return plan_adj(targets, path, &key, weight);
}

static int plan_object(struct shunt_mirror_targets *targets, const struct shunt_mirror_path *path,
		       const struct shunt_mirror_nexthop *nexthop)
{
	unsigned i;
	int ret = 0;

	if (!nexthop->info.member_cnt)
		return plan_nexthop(targets, path, nexthop, 1);
	for (i = 0; !ret && i < nexthop->info.member_cnt; i++)
		ret = plan_nexthop(
			targets, path,
			shunt_mirror_nexthop_get(targets->adjs.table, nexthop->members[i].id),
			nexthop->members[i].weight);
	return ret;
}

/* The kind of fixed next hop for the path, or KIND_HOPS. */
static unsigned kind_of(const struct shunt_mirror_path *path,
			const struct shunt_mirror_nexthop *nexthop)
{
	if (path->key.src_len || (path->key.flags & SHUNT_MIRROR_PATH_MANY))
		return SHUNT_ADJ_PUNT;
	if (path->key.nhid && !nexthop)
		return SHUNT_ADJ_PUNT; /* not here yet */
	if (nexthop && (nexthop->info.flags & SHUNT_MIRROR_NH_BLACKHOLE))
		return SHUNT_ADJ_BLACKHOLE;
	switch (path->key.type) {
	case RTN_UNICAST:
		return path->key.nhid || path->key.hop_cnt ? KIND_HOPS : SHUNT_ADJ_PUNT;
	case RTN_LOCAL:
	case RTN_BROADCAST:
	case RTN_ANYCAST:
	case RTN_MULTICAST:
		return SHUNT_ADJ_LOCAL;
	case RTN_BLACKHOLE:
		return SHUNT_ADJ_BLACKHOLE;
	case RTN_UNREACHABLE:
		return SHUNT_ADJ_UNREACHABLE;
	case RTN_PROHIBIT:
		return SHUNT_ADJ_PROHIBIT;
	default: /* throw, and what is not known */
		return SHUNT_ADJ_PUNT;
	}
}

/* --- what it has ---------------------------------------------------------------------------- */

static void release(struct shunt_mirror_targets *targets, const uint32_t *adj, unsigned cnt)
{
	unsigned i;

	for (i = 0; i < cnt; i++)
		shunt_mirror_adj_put(&targets->adjs, adj[i]);
}

static int retire(struct shunt_mirror_targets *targets, uint32_t group)
{
	unsigned max = targets->retired_max ? targets->retired_max * 2 : 16;
	uint32_t *retired;

	if (targets->retired_cnt == targets->retired_max) {
		retired = realloc(targets->retired, max * sizeof(*retired));
		if (!retired)
			return -ENOMEM;
		targets->retired = retired;
		targets->retired_max = max;
	}
	targets->retired[targets->retired_cnt++] = group;
	return 0;
}

static void drop_target(struct shunt_mirror_targets *targets, struct target *target)
{
	if (!target)
		return;
	release(targets, target->adj, target->cnt);
	/* Without memory to note it the group stays: a leak of one next hop. */
	if (target->group)
		retire(targets, target->group);
	free(target->members);
	free(target);
}

void shunt_mirror_target_free(struct shunt_mirror_targets *targets, struct shunt_mirror_path *path)
{
	drop_target(targets, path->priv);
	path->priv = NULL;
	path->is_known = false;
}

void shunt_mirror_target_reap(struct shunt_mirror_targets *targets)
{
	while (targets->retired_cnt)
		shunt_nexthop_put(targets->adjs.nexthops, targets->retired[--targets->retired_cnt]);
	shunt_mirror_adj_reap(&targets->adjs);
}

/* The group of the planned members: the old target's, changed, or a new one. */
static int plan_group(struct shunt_mirror_targets *targets, struct target *old, struct target *new)
{
	size_t bytes = targets->cnt * sizeof(*targets->members);
	int ret;

	new->members = malloc(bytes);
	if (!new->members)
		return -ENOMEM;
	memcpy(new->members, targets->members, bytes);
	if (!old || !old->group)
		return shunt_nexthop_group_add(targets->adjs.nexthops, targets->members,
					       targets->cnt, &new->group, NULL);
	if (old->cnt != targets->cnt || memcmp(old->members, targets->members, bytes)) {
		ret = shunt_nexthop_group_set(targets->adjs.nexthops, old->group, targets->members,
					      targets->cnt, NULL);
		if (ret)
			return ret;
	}
	new->group = old->group;
	old->group = 0;
	return 0;
}

static bool is_multi(const struct shunt_mirror_path *path,
		     const struct shunt_mirror_nexthop *nexthop)
{
	return nexthop ? nexthop->info.member_cnt > 0 : path->key.hop_cnt > 1;
}

/* Makes path->priv of the plan. Returns the next hop, or 0 for no memory. */
static uint32_t take_plan(struct shunt_mirror_targets *targets, struct shunt_mirror_path *path,
			  bool is_group)
{
	struct target *old = path->priv,
		      *new = calloc(1, sizeof(*new) + targets->cnt * sizeof(uint32_t));

	if (!new)
		return 0;
	new->cnt = targets->cnt;
	memcpy(new->adj, targets->adj, targets->cnt * sizeof(uint32_t));
	if (is_group && plan_group(targets, old, new)) {
		free(new->members);
		free(new);
		return 0;
	}
	path->priv = new;
	drop_target(targets, old);
	return is_group ? new->group : targets->members[0].nh;
}

int shunt_mirror_target_update(struct shunt_mirror_targets *targets, struct shunt_mirror_path *path)
{
	const struct shunt_mirror_nexthop *nexthop =
		path->key.nhid ? shunt_mirror_nexthop_get(targets->adjs.table, path->key.nhid)
			       : NULL;
	unsigned kind = kind_of(path, nexthop);
	bool is_usable = true, was_known = path->is_known;
	uint32_t nh = targets->fixed[kind];
	int ret = 0;

	targets->cnt = 0;
	if (kind == KIND_HOPS) {
		ret = nexthop ? plan_object(targets, path, nexthop) : plan_hops(targets, path);
		if (!ret && targets->cnt) {
			nh = take_plan(targets, path, is_multi(path, nexthop));
			ret = nh ? 0 : -ENOMEM;
		} else if (!ret) {
			is_usable = false; /* as the kernel, which has removed it or will */
			nh = path->nh;
		}
	} else {
		shunt_mirror_target_free(targets, path);
	}
	if (ret) {
		release(targets, targets->adj, targets->cnt);
		return ret;
	}
	ret = !was_known || path->nh != nh || path->is_usable != is_usable;
	path->nh = nh;
	path->is_usable = is_usable;
	path->is_known = true;
	return ret;
}
