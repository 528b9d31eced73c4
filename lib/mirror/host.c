// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/fib_private.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#define NEAR_BITS (1024 * 64)

struct query {
	unsigned rib;
	const uint8_t *addr; /* 16 bytes */
};

static bool eq(const void *obj, const void *key)
{
	const struct shunt_mirror_host *host = obj;
	const struct query *query = key;

	return host->rib == query->rib && !memcmp(host->addr, query->addr, sizeof(host->addr));
}

static uint32_t hash_of(unsigned rib, const uint8_t *addr)
{
	return shunt_mirror_hash(addr, 16, rib);
}

static unsigned addr_len(unsigned rib)
{
	return shunt_mirror_ip_of(rib) == SHUNT_MIRROR_IP4 ? 4 : 16;
}

static uint32_t near_bit(unsigned rib, const uint8_t *addr)
{
	if (shunt_mirror_ip_of(rib) == SHUNT_MIRROR_IP4)
		return (uint32_t)addr[0] << 8 | addr[1];
	return shunt_mirror_hash(addr, 6, 0) % NEAR_BITS;
}

bool shunt_mirror_host_is_near(const struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			       unsigned len)
{
	uint32_t bit = near_bit(rib, dst);

	if (len == addr_len(rib) * 8)
		return false; /* looked at anyway */
	if (!fib->table->neighs.cnt && !fib->hosts.cnt)
		return false;
	return len < (shunt_mirror_ip_of(rib) == SHUNT_MIRROR_IP4 ? 16 : 48) ||
	       (fib->near[shunt_mirror_ip_of(rib)][bit / 64] & 1ull << bit % 64);
}

static void host_free(struct shunt_mirror_fib *fib, uint32_t idx)
{
	struct shunt_mirror_host *host = shunt_mirror_store_at(&fib->hosts, idx);

	shunt_mirror_adj_put(&fib->targets.adjs, host->adj);
	shunt_mirror_store_unlink(&fib->hosts, hash_of(host->rib, host->addr), idx);
	shunt_mirror_store_free(&fib->hosts, idx);
}

/* The first route to the longest prefix that covers addr, or 0. A probe for each length in
 * use. */
static uint32_t covering(const struct shunt_mirror_table *table, unsigned rib, const uint8_t *addr)
{
	uint8_t dst[16];
	uint32_t idx;
	int len;

	memcpy(dst, addr, addr_len(rib));
	for (len = (int)addr_len(rib) * 8; len >= 0; len--) {
		if (!table->len_cnt[rib][len])
			continue;
		shunt_mirror_mask(dst, addr_len(rib), (unsigned)len);
		idx = shunt_mirror_route_first(table, rib, dst, (unsigned)len);
		if (idx)
			return idx;
	}
	return 0;
}

/* The adjacency for the address if it is a resolved neighbour on the link that its prefix is
 * on, with a reference; 0 if not. */
static uint32_t neighbour_adj(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *addr)
{
	uint32_t cover = covering(fib->table, rib, addr), adj;
	struct shunt_mirror_adj_key key = {.ip = (uint8_t)shunt_mirror_ip_of(rib)};
	const struct shunt_mirror_neigh *neigh;
	const struct shunt_mirror_path *path;
	bool must_punt;

	path = shunt_mirror_fib_best(fib, rib, cover, &must_punt);
	if (shunt_mirror_fib_is_hidden(fib, rib, addr, addr_len(rib) * 8))
		return 0;
	if (!path || must_punt || path->key.type != RTN_UNICAST || path->key.nhid ||
	    path->key.hop_cnt != 1 || path->hops[0].gw_family || path->hops[0].flags)
		return 0;
	key.ifindex = path->hops[0].ifindex;
	key.gw_family = path->key.family;
	memcpy(key.gw, addr, addr_len(rib));
	neigh = shunt_mirror_neigh_get(fib->table, key.ifindex, key.gw_family, key.gw);
	if (!neigh || !shunt_mirror_neigh_is_live(&neigh->info))
		return 0;
	adj = shunt_mirror_adj_get(&fib->targets.adjs, &key, path->key.mtu);
	fib->is_failed |= !adj;
	return adj;
}

static void host_make(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *addr, uint32_t adj)
{
	uint32_t idx = shunt_mirror_store_alloc(&fib->hosts);
	struct shunt_mirror_host *host;

	if (!idx) {
		shunt_mirror_adj_put(&fib->targets.adjs, adj);
		fib->is_failed = true;
		return;
	}
	host = shunt_mirror_store_at(&fib->hosts, idx);
	host->rib = (uint8_t)rib;
	host->adj = adj;
	memcpy(host->addr, addr, sizeof(host->addr));
	shunt_mirror_store_link(&fib->hosts, hash_of(rib, addr), idx);
}

uint32_t shunt_mirror_host_update(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *addr,
				  uint32_t want)
{
	uint8_t full[16] = {0};
	struct query query = {rib, full};
	uint32_t idx, adj;

	memcpy(full, addr, addr_len(rib));
	adj = neighbour_adj(fib, rib, full);
	/* The old reference goes after the new one came: the adjacency may be the same. */
	idx = shunt_mirror_store_find(&fib->hosts, hash_of(rib, full), eq, &query);
	if (idx)
		host_free(fib, idx);
	if (!adj)
		return want;
	host_make(fib, rib, full, adj);
	return shunt_mirror_adj_at(&fib->targets.adjs, adj)->nh;
}

void shunt_mirror_host_changed(struct shunt_mirror_fib *fib,
			       const struct shunt_mirror_neigh_info *info)
{
	const enum shunt_mirror_ip ip =
		info->family == AF_INET ? SHUNT_MIRROR_IP4 : SHUNT_MIRROR_IP6;
	uint32_t bit = near_bit(ip, info->addr);
	unsigned space, rib;

	if (info->family == AF_BRIDGE)
		return;
	fib->near[ip][bit / 64] |= 1ull << bit % 64;
	for (space = 0; space < SHUNT_TABLES_SPACES; space++) {
		rib = shunt_mirror_rib(ip, space);
		if (!space || fib->table->routes[rib].cnt)
			shunt_mirror_fib_push(fib, rib, info->addr, addr_len(rib) * 8);
	}
}

void shunt_mirror_host_push_all(struct shunt_mirror_fib *fib)
{
	const struct shunt_mirror_neigh *neigh;
	const struct shunt_mirror_host *host;
	uint32_t idx;

	fib->are_hosts_stale = false;
	for (idx = 0; (idx = shunt_mirror_store_next(&fib->table->neighs, idx));) {
		neigh = shunt_mirror_store_at(&fib->table->neighs, idx);
		shunt_mirror_host_changed(fib, &neigh->info);
	}
	for (idx = 0; (idx = shunt_mirror_store_next(&fib->hosts, idx));) {
		host = shunt_mirror_store_at(&fib->hosts, idx);
		shunt_mirror_fib_push(fib, host->rib, host->addr, addr_len(host->rib) * 8);
	}
}

void shunt_mirror_host_withdraw(struct shunt_mirror_fib *fib)
{
	const struct shunt_mirror_host *host;
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&fib->hosts, idx))) {
		host = shunt_mirror_store_at(&fib->hosts, idx);
		shunt_mirror_fib_drop(fib, host->rib, host->addr, addr_len(host->rib) * 8);
		host_free(fib, idx);
	}
}
