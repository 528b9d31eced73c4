// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/table.h"

#include <errno.h>
#include <stdlib.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/if.h>
#include <linux/if_ether.h>
#include <sys/socket.h>

#include "mirror/path.h"
#include "mirror/route.h"

static bool eq_neigh(const void *obj, const void *key)
{
	const struct shunt_mirror_neigh_info *a = &((const struct shunt_mirror_neigh *)obj)->info;
	const struct shunt_mirror_neigh_info *b = key;

	return a->ifindex == b->ifindex && a->family == b->family && a->vlan == b->vlan &&
	       !memcmp(a->addr, b->addr, sizeof(a->addr));
}

static bool eq_rule(const void *obj, const void *key)
{
	return !memcmp(shunt_mirror_store_info(obj), key, sizeof(struct shunt_mirror_rule_info));
}

static uint32_t neigh_hash(uint32_t ifindex, uint8_t family, const uint8_t *addr)
{
	return shunt_mirror_hash(addr, 16, ((uint64_t)family << 32) | ifindex);
}

void shunt_mirror_table_init(struct shunt_mirror_table *table, uint32_t routes_max)
{
	unsigned rib;

	memset(table, 0, sizeof(*table));
	shunt_mirror_store_init(&table->links, sizeof(struct shunt_mirror_link), 0);
	shunt_mirror_store_init(&table->bridge_vlans, sizeof(struct shunt_mirror_bridge_vlan), 0);
	shunt_mirror_store_init(&table->addrs, sizeof(struct shunt_mirror_addr), 0);
	shunt_mirror_store_init(&table->neighs, sizeof(struct shunt_mirror_neigh), 0);
	shunt_mirror_store_init(&table->nexthops, sizeof(struct shunt_mirror_nexthop), 0);
	shunt_mirror_store_init(&table->rules, sizeof(struct shunt_mirror_rule), 0);
	shunt_mirror_store_init(&table->paths, sizeof(struct shunt_mirror_path), 0);
	for (rib = 0; rib < SHUNT_MIRROR_RIB_CNT; rib++)
		shunt_mirror_store_init(&table->routes[rib],
					shunt_mirror_ip_of(rib) == SHUNT_MIRROR_IP4
						? SHUNT_MIRROR_ROUTE4_BYTES
						: SHUNT_MIRROR_ROUTE6_BYTES,
					routes_max);
	table->mark = 1;
}

void shunt_mirror_table_fini(struct shunt_mirror_table *table)
{
	uint32_t idx = 0;
	unsigned rib;

	if (!table->mark)
		return;
	while ((idx = shunt_mirror_store_next(&table->paths, idx)))
		free(shunt_mirror_path_at(table, idx)->hops);
	while ((idx = shunt_mirror_store_next(&table->nexthops, idx)))
		free(((struct shunt_mirror_nexthop *)shunt_mirror_store_at(&table->nexthops, idx))
			     ->members);
	shunt_mirror_store_fini(&table->links);
	shunt_mirror_store_fini(&table->bridge_vlans);
	shunt_mirror_store_fini(&table->addrs);
	shunt_mirror_store_fini(&table->neighs);
	shunt_mirror_store_fini(&table->nexthops);
	shunt_mirror_store_fini(&table->rules);
	shunt_mirror_store_fini(&table->paths);
	for (rib = 0; rib < SHUNT_MIRROR_RIB_CNT; rib++)
		shunt_mirror_store_fini(&table->routes[rib]);
	memset(table, 0, sizeof(*table));
}

size_t shunt_mirror_table_bytes(const struct shunt_mirror_table *table)
{
	size_t bytes =
		shunt_mirror_store_bytes(&table->links) +
		shunt_mirror_store_bytes(&table->bridge_vlans) +
		shunt_mirror_store_bytes(&table->addrs) + shunt_mirror_store_bytes(&table->neighs) +
		shunt_mirror_store_bytes(&table->nexthops) +
		shunt_mirror_store_bytes(&table->rules) + shunt_mirror_store_bytes(&table->paths);
	unsigned rib;

	for (rib = 0; rib < SHUNT_MIRROR_RIB_CNT; rib++)
		bytes += shunt_mirror_store_bytes(&table->routes[rib]);
	return bytes;
}

void shunt_mirror_table_mark(struct shunt_mirror_table *table)
{
	table->mark = table->mark == UINT8_MAX ? 1 : table->mark + 1;
}

/* --- neighbours -------------------------------------------------------------------------- */

/* States that forward alike. The kernel does not send a message for every step between them, nor
 * for those between states that do not forward. */
#define NUD_LIVE (NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT)

bool shunt_mirror_neigh_is_live(const struct shunt_mirror_neigh_info *info)
{
	return info->lladdr_len && (info->family == AF_BRIDGE || (info->state & NUD_LIVE));
}

static bool is_same_neigh(struct shunt_mirror_neigh_info old,
			  const struct shunt_mirror_neigh_info *info)
{
	bool is_live = shunt_mirror_neigh_is_live(info);

	if (!is_live)
		return !shunt_mirror_neigh_is_live(&old);
	if (!shunt_mirror_neigh_is_live(&old))
		return false;
	old.state = info->state;
	return !memcmp(&old, info, sizeof(old));
}

int shunt_mirror_neigh_put(struct shunt_mirror_table *table,
			   const struct shunt_mirror_neigh_info *info)
{
	struct shunt_mirror_neigh_info old = {0};
	int ret;

	/* multicast and the like: made without a message, and no next hop of a route */
	if (info->family != AF_BRIDGE && !(info->state & ~NUD_NOARP))
		return shunt_mirror_neigh_del(table, info);
	ret = shunt_mirror_store_put(&table->neighs,
				     neigh_hash(info->ifindex, info->family, info->addr), eq_neigh,
				     info, sizeof(*info), table->mark, &old);
	if (ret <= 0 || is_same_neigh(old, info))
		return SHUNT_MIN(ret, 0);
	if (table->watch.neigh)
		table->watch.neigh(table->watch.ctx, info);
	return ret;
}

int shunt_mirror_neigh_del(struct shunt_mirror_table *table,
			   const struct shunt_mirror_neigh_info *info)
{
	uint32_t hash = neigh_hash(info->ifindex, info->family, info->addr);
	uint32_t idx = shunt_mirror_store_find(&table->neighs, hash, eq_neigh, info);

	if (!idx)
		return 0;
	shunt_mirror_store_drop(&table->neighs, hash, idx);
	if (table->watch.neigh)
		table->watch.neigh(table->watch.ctx, info);
	return 1;
}

static struct shunt_mirror_neigh *find_neigh(const struct shunt_mirror_table *table,
					     const struct shunt_mirror_neigh_info *key)
{
	const uint32_t hash = neigh_hash(key->ifindex, key->family, key->addr);
	const uint32_t idx = shunt_mirror_store_find(&table->neighs, hash, eq_neigh, key);

	return idx ? shunt_mirror_store_at(&table->neighs, idx) : NULL;
}

struct shunt_mirror_neigh *shunt_mirror_neigh_get(const struct shunt_mirror_table *table,
						  uint32_t ifindex, uint8_t family,
						  const uint8_t *addr)
{
	struct shunt_mirror_neigh_info key = {.ifindex = ifindex, .family = family};

	memcpy(key.addr, addr, sizeof(key.addr));
	return find_neigh(table, &key);
}

struct shunt_mirror_neigh *shunt_mirror_station_get(const struct shunt_mirror_table *table,
						    uint32_t bridge, unsigned vid,
						    const uint8_t *mac)
{
	struct shunt_mirror_neigh_info key = {
		.ifindex = bridge, .family = AF_BRIDGE, .vlan = (uint16_t)vid};

	memcpy(key.addr, mac, ETH_ALEN);
	return find_neigh(table, &key);
}

/* --- rules --------------------------------------------------------------------------------- */

const uint8_t *shunt_mirror_rule_prefix(const struct shunt_mirror_rule_info *info, unsigned *len)
{
	*len = info->dst_len ? info->dst_len : info->src_len;
	if (!*len || !info->diverts || info->is_inverted)
		return NULL;
	return info->dst_len ? info->dst : info->src;
}

static void count_rule(struct shunt_mirror_table *table, const struct shunt_mirror_rule_info *info,
		       int change)
{
	enum shunt_mirror_ip ip = info->family == AF_INET ? SHUNT_MIRROR_IP4 : SHUNT_MIRROR_IP6;
	const uint8_t *dst;
	unsigned len;

	table->policy_changes++;
	table->policy_cnt += (uint32_t)(info->is_default ? 0 : change);
	table->choosy_cnt +=
		(uint32_t)(info->diverts && (info->src_len || info->is_marked) ? change : 0);
	dst = shunt_mirror_rule_prefix(info, &len);
	table->prefix_cnt[ip] += (uint32_t)(dst ? change : 0);
	if (dst && table->watch.rule)
		table->watch.rule(table->watch.ctx, ip, dst, len);
	if (!info->is_default || info->table == RT_TABLE_DEFAULT)
		return;
	table->default_cnt[ip] += (uint32_t)change;
	table->had_defaults[ip] |= table->default_cnt[ip] == 2;
}

int shunt_mirror_rule_put(struct shunt_mirror_table *table,
			  const struct shunt_mirror_rule_info *info)
{
	int ret = shunt_mirror_store_put(&table->rules, info->digest, eq_rule, info, sizeof(*info),
					 table->mark, NULL);

	if (ret > 0)
		count_rule(table, info, 1);
	return ret;
}

int shunt_mirror_rule_del(struct shunt_mirror_table *table,
			  const struct shunt_mirror_rule_info *info)
{
	uint32_t idx = shunt_mirror_store_find(&table->rules, info->digest, eq_rule, info);

	if (!idx)
		return 0;
	shunt_mirror_store_drop(&table->rules, info->digest, idx);
	count_rule(table, info, -1);
	return 1;
}

/* --- sweep --------------------------------------------------------------------------------- */

static bool sweep_one(struct shunt_mirror_table *table, struct shunt_mirror_store *store,
		      struct shunt_mirror_obj *obj, uint8_t family)
{
	union {
		struct shunt_mirror_addr_info addr;
		struct shunt_mirror_neigh_info neigh;
		struct shunt_mirror_rule_info rule;
		struct shunt_brvlan vlan;
	} info;

	if (store == &table->links)
		return shunt_mirror_link_del(table,
					     ((struct shunt_mirror_link *)obj)->info.ifindex);
	if (store == &table->nexthops)
		return shunt_mirror_nexthop_del(table,
						((struct shunt_mirror_nexthop *)obj)->info.id);
	if (store == &table->addrs) {
		info.addr = ((struct shunt_mirror_addr *)obj)->info;
		return (!family || info.addr.family == family) &&
		       shunt_mirror_addr_del(table, &info.addr);
	}
	if (store == &table->neighs) {
		info.neigh = ((struct shunt_mirror_neigh *)obj)->info;
		return (!family || info.neigh.family == family) &&
		       shunt_mirror_neigh_del(table, &info.neigh) &&
		       shunt_mirror_neigh_is_live(&info.neigh);
	}
	if (store == &table->bridge_vlans) {
		info.vlan = ((struct shunt_mirror_bridge_vlan *)obj)->info;
		shunt_mirror_bridge_vlan_del(table, &info.vlan);
		if (table->watch.link)
			table->watch.link(table->watch.ctx, info.vlan.ifindex);
		return true;
	}
	info.rule = ((struct shunt_mirror_rule *)obj)->info;
	return (!family || info.rule.family == family) && shunt_mirror_rule_del(table, &info.rule);
}

uint32_t shunt_mirror_table_sweep(struct shunt_mirror_table *table,
				  struct shunt_mirror_store *store, uint8_t family)
{
	struct shunt_mirror_obj *obj;
	uint32_t idx = 0, cnt = 0;

	while ((idx = shunt_mirror_store_next(store, idx))) {
		obj = shunt_mirror_store_at(store, idx);
		if (obj->seen != table->mark)
			cnt += sweep_one(table, store, obj, family);
	}
	return cnt;
}
