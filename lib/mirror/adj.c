// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/adj.h"

#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <sys/socket.h>

#include "mirror/bridge.h"
#include "mirror/space.h"

static bool eq(const void *obj, const void *key)
{
	return !memcmp(&((const struct shunt_mirror_adj *)obj)->key, key,
		       sizeof(struct shunt_mirror_adj_key));
}

static uint32_t hash_of(const struct shunt_mirror_adj_key *key)
{
	return shunt_mirror_hash(key, sizeof(*key), 0);
}

/* The device, if frames can leave by it. */
static const struct shunt_mirror_link *usable_link(const struct shunt_mirror_adjs *adjs,
						   uint32_t ifindex)
{
	const uint32_t up = IFF_UP | IFF_LOWER_UP;
	const struct shunt_mirror_link *link = shunt_mirror_link_get(adjs->table, ifindex);

	if (!link || link->info.type != ARPHRD_ETHER || link->info.mac_len != ETH_ALEN ||
	    (link->info.flags & up) != up)
		return NULL;
	return link;
}

static void write_eth(struct shunt_adj *out, const struct shunt_mirror_adj *adj,
		      const struct shunt_mirror_neigh *neigh, const struct shunt_mirror_link *link)
{
	uint16_t type = adj->key.ip == SHUNT_MIRROR_IP4 ? ETH_P_IP : ETH_P_IPV6;

	memcpy(out->eth, neigh->info.lladdr, ETH_ALEN);
	memcpy(out->eth + ETH_ALEN, link->info.mac, ETH_ALEN);
	out->eth[2 * ETH_ALEN] = (uint8_t)(type >> 8);
	out->eth[2 * ETH_ALEN + 1] = (uint8_t)type;
}

/* ip_dst_mtu_maybe_forward, ip6_dst_mtu_maybe_forward: the route's, else the device's. */
static uint32_t mtu_of(const struct shunt_mirror_adj *adj, const struct shunt_mirror_link *link)
{
	uint32_t mtu = adj->mtu;

	if (!mtu && adj->key.ip == SHUNT_MIRROR_IP6)
		mtu = link->mtu6;
	return mtu ? SHUNT_MIN(mtu, link->info.mtu) : link->info.mtu;
}

static uint8_t space_of(const struct shunt_mirror_adjs *adjs, uint32_t ifindex)
{
	const struct shunt_mirror_link *link = shunt_mirror_link_get(adjs->table, ifindex);
	const int space =
		link ? shunt_mirror_space_of_device(adjs->table, SHUNT_MIRROR_IP4, link) : -1;

	return space < 0 ? SHUNT_ADJ_NO_SPACE : (uint8_t)space;
}

static const struct shunt_mirror_neigh *neigh_of(const struct shunt_mirror_adjs *adjs,
						 const struct shunt_mirror_adj *adj)
{
	const struct shunt_mirror_neigh *neigh;

	if (!adj->key.gw_family)
		return NULL;
	neigh = shunt_mirror_neigh_get(adjs->table, adj->key.ifindex, adj->key.gw_family,
				       adj->key.gw);
	if (!neigh || !shunt_mirror_neigh_is_live(&neigh->info) ||
	    neigh->info.lladdr_len != ETH_ALEN || (neigh->info.lladdr[0] & 1))
		return NULL;
	return neigh;
}

/* The device's leg to the neighbour; NULL: the bridge floods, or by a port that is not shunt's. */
static const struct shunt_device *leg_to(const struct shunt_mirror_adjs *adjs, uint32_t ifindex,
					 const struct shunt_mirror_neigh *neigh, uint32_t *number)
{
	const struct shunt_mirror_link *bridge = shunt_mirror_bridge_of(adjs->table, ifindex);
	const struct shunt_mirror_link *link = shunt_mirror_link_get(adjs->table, ifindex);
	const uint32_t behind = bridge ? shunt_mirror_bridge_find(
						 adjs->table, bridge,
						 shunt_mirror_bridge_vid(adjs->table, bridge, link),
						 neigh->info.lladdr)
				       : 0;
	const int port = behind ? adjs->port_of(adjs->ctx, behind) : -1;

	*number = port < 0 ? 0 : shunt_mirror_above_leg(adjs->aboves, ifindex, (unsigned)port);
	return *number ? shunt_devices_at(adjs->aboves->devices, *number) : NULL;
}

static void work_out(const struct shunt_mirror_adjs *adjs, const struct shunt_mirror_adj *adj,
		     struct shunt_adj *out)
{
	const struct shunt_mirror_link *link = usable_link(adjs, adj->key.ifindex);
	int port = adjs->port_of ? adjs->port_of(adjs->ctx, adj->key.ifindex) : -1;
	uint32_t above =
		adjs->aboves ? shunt_mirror_above_number(adjs->aboves, adj->key.ifindex) : 0;
	const struct shunt_device *device =
		above ? shunt_devices_at(adjs->aboves->devices, above) : NULL;
	const struct shunt_mirror_neigh *neigh = neigh_of(adjs, adj);

	memset(out, 0, sizeof(*out));
	out->kind = SHUNT_ADJ_PUNT;
	out->ifindex = adj->key.ifindex;
	out->number = adj->number;
	out->space = space_of(adjs, adj->key.ifindex);
	if (device)
		port = shunt_device_is_port(device) ? device->members[0] : SHUNT_ADJ_TAGGED;
	if (!link || port < 0 || (adj->key.ip == SHUNT_MIRROR_IP4 && link->is_addrless))
		return;
	if (neigh && device && device->policy == SHUNT_DEVICE_BY_STATION) {
		device = leg_to(adjs, adj->key.ifindex, neigh, &above);
		if (!device)
			return;
	}
	out->kind = SHUNT_ADJ_GLEAN;
	out->port = (uint16_t)port;
	out->above = (uint16_t)(port == SHUNT_ADJ_TAGGED ? above : 0);
	out->mtu = mtu_of(adj, link);
	if (device)
		out->mtu = SHUNT_MIN(out->mtu, (uint32_t)device->mtu_max);
	if (!neigh)
		return;
	out->kind = SHUNT_ADJ_REWRITE;
	write_eth(out, adj, neigh, link);
}

static uint32_t station_bit(const uint8_t *mac)
{
	return shunt_mirror_hash(mac, ETH_ALEN, 0) % SHUNT_MIRROR_STATION_BITS;
}

/* Works it out, and notes which station it depends on. */
static void look(struct shunt_mirror_adjs *adjs, const struct shunt_mirror_adj *adj,
		 struct shunt_adj *out)
{
	const struct shunt_mirror_neigh *neigh = neigh_of(adjs, adj);
	uint32_t bit;

	if (neigh && shunt_mirror_bridge_of(adjs->table, adj->key.ifindex)) {
		bit = station_bit(neigh->info.lladdr);
		adjs->stations[bit / 64] |= 1ull << bit % 64;
	}
	work_out(adjs, adj, out);
}

static void refresh(struct shunt_mirror_adjs *adjs, struct shunt_mirror_adj *adj)
{
	struct shunt_adj now;

	look(adjs, adj, &now);
	if (!memcmp(&now, &adj->now, sizeof(now)))
		return;
	if (shunt_nexthop_set(adjs->nexthops, adj->nh, &now, NULL))
		adjs->is_failed = true;
	else
		adj->now = now;
}

/* Any adjacency in the index that leads to the neighbour, of whatever packets; NULL: none. */
static const struct shunt_mirror_adj *any_to(const struct shunt_mirror_adjs *adjs,
					     const struct shunt_mirror_adj_key *to)
{
	struct shunt_mirror_adj_key key = *to;
	uint32_t idx = 0;

	for (key.ip = 0; !idx && key.ip < SHUNT_MIRROR_IP_CNT; key.ip++)
		idx = shunt_mirror_store_find(&adjs->store, hash_of(&key), eq, &key);
	return idx ? shunt_mirror_adj_at(adjs, idx) : NULL;
}

/* All adjacencies to a neighbour have one number: that of the first one's next hop, which stays as
 * long as one of them does. */
static void give_number(struct shunt_mirror_adjs *adjs, struct shunt_mirror_adj *adj)
{
	const struct shunt_mirror_adj *other = any_to(adjs, &adj->key);

	if (!adjs->counts || !adj->key.gw_family)
		return;
	if (other)
		adj->number = other->number;
	else if (shunt_counts_begin(adjs->counts, adj->nh))
		adj->number = adj->nh;
	if (!adj->number)
		return;
	shunt_nexthop_hold(adjs->nexthops, adj->number);
	refresh(adjs, adj);
}

/* A new adjacency, without a reference yet. */
static uint32_t make(struct shunt_mirror_adjs *adjs, const struct shunt_mirror_adj_key *key,
		     uint32_t mtu)
{
	uint32_t idx = shunt_mirror_store_alloc(&adjs->store);
	struct shunt_mirror_adj *adj;

	if (!idx)
		return 0;
	adj = shunt_mirror_adj_at(adjs, idx);
	adj->key = *key;
	adj->mtu = mtu;
	look(adjs, adj, &adj->now);
	if (shunt_nexthop_add(adjs->nexthops, &adj->now, &adj->nh, NULL)) {
		shunt_mirror_store_free(&adjs->store, idx);
		return 0;
	}
	give_number(adjs, adj);
	adjs->idle_cnt++;
	return idx;
}

/* The adjacency with the device's MTU is in the index; those with other MTUs are chained to it. */
static uint32_t find_or_make(struct shunt_mirror_adjs *adjs, const struct shunt_mirror_adj_key *key,
			     uint32_t mtu)
{
	uint32_t hash = hash_of(key), idx, base;

	base = shunt_mirror_store_find(&adjs->store, hash, eq, key);
	if (!base) {
		base = make(adjs, key, 0);
		if (!base)
			return 0;
		shunt_mirror_store_link(&adjs->store, hash, base);
	}
	for (idx = base; idx; idx = shunt_mirror_adj_at(adjs, idx)->obj.next) {
		if (shunt_mirror_adj_at(adjs, idx)->mtu == mtu)
			return idx;
	}
	idx = make(adjs, key, mtu);
	if (idx) {
		shunt_mirror_adj_at(adjs, idx)->obj.next =
			shunt_mirror_adj_at(adjs, base)->obj.next;
		shunt_mirror_adj_at(adjs, base)->obj.next = idx;
	}
	return idx;
}

uint32_t shunt_mirror_adj_get(struct shunt_mirror_adjs *adjs,
			      const struct shunt_mirror_adj_key *key, uint32_t mtu)
{
	uint32_t idx = find_or_make(adjs, key, mtu);

	if (idx && !shunt_mirror_adj_at(adjs, idx)->refs++)
		adjs->idle_cnt--;
	return idx;
}

void shunt_mirror_adj_put(struct shunt_mirror_adjs *adjs, uint32_t idx)
{
	if (!--shunt_mirror_adj_at(adjs, idx)->refs)
		adjs->idle_cnt++;
}

static void unchain(struct shunt_mirror_adjs *adjs, uint32_t base, uint32_t idx)
{
	uint32_t prev = base;

	while (shunt_mirror_adj_at(adjs, prev)->obj.next != idx)
		prev = shunt_mirror_adj_at(adjs, prev)->obj.next;
	shunt_mirror_adj_at(adjs, prev)->obj.next = shunt_mirror_adj_at(adjs, idx)->obj.next;
}

static void free_adj(struct shunt_mirror_adjs *adjs, uint32_t base, uint32_t hash, uint32_t idx)
{
	const struct shunt_mirror_adj *adj = shunt_mirror_adj_at(adjs, idx);

	if (base == idx)
		shunt_mirror_store_unlink(&adjs->store, hash, idx);
	else
		unchain(adjs, base, idx);
	shunt_nexthop_put(adjs->nexthops, adj->nh);
	if (adj->number)
		shunt_nexthop_put(adjs->nexthops, adj->number);
	shunt_mirror_store_free(&adjs->store, idx);
	adjs->idle_cnt--;
}

static bool is_idle(const struct shunt_mirror_adjs *adjs, uint32_t idx, bool is_base)
{
	const struct shunt_mirror_adj *adj = shunt_mirror_adj_at(adjs, idx);

	return !adj->refs && !(is_base && adj->obj.next);
}

void shunt_mirror_adj_reap(struct shunt_mirror_adjs *adjs)
{
	const struct shunt_mirror_adj *adj;
	uint32_t idx = 0, base, hash;

	if (!adjs->idle_cnt)
		return;
	while ((idx = shunt_mirror_store_next(&adjs->store, idx))) {
		adj = shunt_mirror_adj_at(adjs, idx);
		hash = hash_of(&adj->key);
		base = shunt_mirror_store_find(&adjs->store, hash, eq, &adj->key);
		if (!is_idle(adjs, idx, base == idx))
			continue;
		free_adj(adjs, base, hash, idx);
		/* an adjacency with another MTU had kept the base */
		if (base != idx && is_idle(adjs, base, true))
			free_adj(adjs, base, hash, base);
	}
}

void shunt_mirror_adj_neigh(struct shunt_mirror_adjs *adjs,
			    const struct shunt_mirror_neigh_info *info)
{
	struct shunt_mirror_adj_key key = {.ifindex = info->ifindex, .gw_family = info->family};
	uint32_t idx;

	memcpy(key.gw, info->addr, sizeof(key.gw));
	for (key.ip = 0; key.ip < SHUNT_MIRROR_IP_CNT; key.ip++) {
		idx = shunt_mirror_store_find(&adjs->store, hash_of(&key), eq, &key);
		for (; idx; idx = shunt_mirror_adj_at(adjs, idx)->obj.next)
			refresh(adjs, shunt_mirror_adj_at(adjs, idx));
	}
}

void shunt_mirror_adj_station(struct shunt_mirror_adjs *adjs,
			      const struct shunt_mirror_neigh_info *entry)
{
	const uint32_t bit = station_bit(entry->addr);
	const struct shunt_mirror_neigh *neigh;
	const struct shunt_mirror_link *bridge;
	struct shunt_mirror_adj *adj;
	uint32_t idx = 0;

	if (!(adjs->stations[bit / 64] >> bit % 64 & 1))
		return;
	while ((idx = shunt_mirror_store_next(&adjs->store, idx))) {
		adj = shunt_mirror_adj_at(adjs, idx);
		neigh = neigh_of(adjs, adj);
		if (!neigh || memcmp(neigh->info.lladdr, entry->addr, ETH_ALEN) != 0)
			continue;
		bridge = shunt_mirror_bridge_of(adjs->table, adj->key.ifindex);
		if (bridge && bridge->info.ifindex == entry->ifindex)
			refresh(adjs, adj);
	}
}

bool shunt_mirror_adj_is_used(const struct shunt_mirror_adjs *adjs,
			      const struct shunt_mirror_neigh_info *info)
{
	struct shunt_mirror_adj_key key = {.ifindex = info->ifindex, .gw_family = info->family};
	const struct shunt_mirror_adj *adj;
	uint32_t idx;

	memcpy(key.gw, info->addr, sizeof(key.gw));
	for (key.ip = 0; key.ip < SHUNT_MIRROR_IP_CNT; key.ip++) {
		idx = shunt_mirror_store_find(&adjs->store, hash_of(&key), eq, &key);
		for (; idx; idx = adj->obj.next) {
			adj = shunt_mirror_adj_at(adjs, idx);
			if (adj->refs && adj->now.kind == SHUNT_ADJ_REWRITE)
				return true;
		}
	}
	return false;
}

void shunt_mirror_adj_all(struct shunt_mirror_adjs *adjs)
{
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&adjs->store, idx)))
		refresh(adjs, shunt_mirror_adj_at(adjs, idx));
}

void shunt_mirror_adj_link(struct shunt_mirror_adjs *adjs, uint32_t ifindex)
{
	struct shunt_mirror_adj *adj;
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&adjs->store, idx))) {
		adj = shunt_mirror_adj_at(adjs, idx);
		if (adj->key.ifindex == ifindex)
			refresh(adjs, adj);
	}
}

bool shunt_mirror_adj_count(const struct shunt_mirror_adjs *adjs,
			    const struct shunt_mirror_neigh_info *info, struct shunt_count *out)
{
	struct shunt_mirror_adj_key key = {.ifindex = info->ifindex, .gw_family = info->family};
	const struct shunt_mirror_adj *adj;

	memcpy(key.gw, info->addr, sizeof(key.gw));
	adj = adjs->counts ? any_to(adjs, &key) : NULL;
	if (!adj || !adj->number)
		return false;
	shunt_counts_sum(adjs->counts, adj->number, out);
	return true;
}
