// SPDX-License-Identifier: BSD-2-Clause
/* Links and addresses of the mirrored table, and what goes with them; see mirror/table.h. */
#include <errno.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "mirror/path.h"

static bool eq_4(const void *obj, const void *key)
{
	return !memcmp(shunt_mirror_store_info(obj), key, 4);
}

static bool eq_addr(const void *obj, const void *key)
{
	return !memcmp(shunt_mirror_store_info(obj), key,
		       offsetof(struct shunt_mirror_addr_info, flags));
}

static uint32_t link_find(const struct shunt_mirror_table *table, uint32_t ifindex)
{
	return shunt_mirror_store_find(&table->links, shunt_mirror_hash(&ifindex, 4, 0), eq_4,
				       &ifindex);
}

struct shunt_mirror_link *shunt_mirror_link_get(const struct shunt_mirror_table *table,
						uint32_t ifindex)
{
	uint32_t idx = link_find(table, ifindex);

	return idx ? shunt_mirror_store_at(&table->links, idx) : NULL;
}

/* What happens to a device, and takes routes along. */
enum loss {
	LOSS_DOWN,
	LOSS_ADDRS, /* its last IPv4 address went (fib_inetaddr_event) */
	LOSS_DELETED,
};

static bool is_alive(const struct shunt_mirror_table *table, uint32_t ifindex)
{
	const struct shunt_mirror_link *link = shunt_mirror_link_get(table, ifindex);

	return link && (link->info.flags & IFF_UP) && !link->is_addrless;
}

/* An IPv4 route goes when all its next hops are dead, or (fib_sync_down_dev) when one of its
 * devices is unregistered. Those of host scope stay while the device is only down. For IPv6 routes
 * the kernel sends messages. */
static bool dies_with(const struct shunt_mirror_table *table, const struct shunt_mirror_path *path,
		      uint32_t ifindex, enum loss loss)
{
	unsigned i;

	if (path->key.nhid || !shunt_mirror_path_uses(table, path, ifindex))
		return false;
	if (path->key.family == AF_INET && loss == LOSS_DELETED)
		return true;
	if (path->key.family != AF_INET && loss != LOSS_DELETED)
		return false;
	if (loss == LOSS_DOWN && path->key.scope == RT_SCOPE_HOST)
		return false;
	for (i = 0; i < path->key.hop_cnt; i++) {
		if (path->hops[i].ifindex != ifindex && is_alive(table, path->hops[i].ifindex))
			return false;
	}
	return true;
}

static void drop_nexthops_of(struct shunt_mirror_table *table, uint32_t ifindex)
{
	const struct shunt_mirror_nexthop *nexthop;
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&table->nexthops, idx))) {
		nexthop = shunt_mirror_store_at(&table->nexthops, idx);
		if (nexthop->info.ifindex == ifindex)
			shunt_mirror_nexthop_del(table, nexthop->info.id);
	}
}

/* The kernel removes without a message what leaves by such a device. */
static void link_lost(struct shunt_mirror_table *table, uint32_t ifindex, enum loss loss)
{
	struct shunt_mirror_path *path;
	uint32_t idx;

	if (loss != LOSS_ADDRS)
		drop_nexthops_of(table, ifindex);
	for (idx = 0; (idx = shunt_mirror_store_next(&table->paths, idx));) {
		path = shunt_mirror_path_at(table, idx);
		if (dies_with(table, path, ifindex, loss))
			shunt_mirror_path_doom(table, path);
	}
}

/* A dump shows the carrier at once; the message about it comes up to a second later (linkwatch).
 * A dump that is ahead of the message has found nothing wrong. */
static bool is_same_but_carrier(struct shunt_mirror_link_info old,
				const struct shunt_mirror_link_info *info)
{
	const uint32_t carrier = IFF_RUNNING | IFF_LOWER_UP | IFF_DORMANT;

	old.operstate = info->operstate;
	old.flags = (old.flags & ~carrier) | (info->flags & carrier);
	return !memcmp(&old, info, sizeof(old));
}

int shunt_mirror_link_put(struct shunt_mirror_table *table,
			  const struct shunt_mirror_link_info *info)
{
	struct shunt_mirror_link_info old = {0};
	struct shunt_mirror_link *link;
	int ret = shunt_mirror_store_put(&table->links, shunt_mirror_hash(&info->ifindex, 4, 0),
					 eq_4, info, sizeof(*info), table->mark, &old);

	if (ret <= 0)
		return ret;
	link = shunt_mirror_link_get(table, info->ifindex);
	if (!link)
		return -ENOENT;
	if (old.master != info->master || info->vrf_table)
		table->policy_changes++;
	if (old.master != info->master)
		shunt_mirror_bridge_vlan_forget(table, info->ifindex);
	if (!(old.flags & IFF_UP) && (info->flags & IFF_UP))
		link->is_addrless = false;
	if (!old.ifindex) {
		memset(link->forwarding, -1, sizeof(link->forwarding));
		memset(link->ignore_linkdown, -1, sizeof(link->ignore_linkdown));
		link->rp_filter = -1;
	}
	if ((old.flags & IFF_UP) && !(info->flags & IFF_UP))
		link_lost(table, info->ifindex, LOSS_DOWN);
	if (table->watch.link)
		table->watch.link(table->watch.ctx, info->ifindex);
	return !is_same_but_carrier(old, info);
}

static void drop_addrs_of(struct shunt_mirror_table *table, uint32_t ifindex)
{
	struct shunt_mirror_addr_info info;
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&table->addrs, idx))) {
		info = ((struct shunt_mirror_addr *)shunt_mirror_store_at(&table->addrs, idx))
			       ->info;
		if (info.ifindex == ifindex)
			shunt_mirror_addr_del(table, &info);
	}
}

static void drop_neighs_of(struct shunt_mirror_table *table, uint32_t ifindex)
{
	struct shunt_mirror_neigh_info info;
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&table->neighs, idx))) {
		info = ((struct shunt_mirror_neigh *)shunt_mirror_store_at(&table->neighs, idx))
			       ->info;
		if (info.ifindex == ifindex || info.port == ifindex)
			shunt_mirror_neigh_del(table, &info);
	}
}

int shunt_mirror_link_del(struct shunt_mirror_table *table, uint32_t ifindex)
{
	uint32_t idx = link_find(table, ifindex);

	if (!idx)
		return 0;
	table->policy_changes++;
	shunt_mirror_store_drop(&table->links, shunt_mirror_hash(&ifindex, 4, 0), idx);
	drop_addrs_of(table, ifindex);
	drop_neighs_of(table, ifindex);
	shunt_mirror_bridge_vlan_forget(table, ifindex);
	link_lost(table, ifindex, LOSS_DELETED);
	if (table->watch.link)
		table->watch.link(table->watch.ctx, ifindex);
	return 1;
}

static uint32_t addr_hash(const struct shunt_mirror_addr_info *info)
{
	return shunt_mirror_hash(info, offsetof(struct shunt_mirror_addr_info, flags), 0);
}

static bool has_addr4(const struct shunt_mirror_table *table, uint32_t ifindex)
{
	const struct shunt_mirror_addr *addr;
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&table->addrs, idx))) {
		addr = shunt_mirror_store_at(&table->addrs, idx);
		if (addr->info.ifindex == ifindex && addr->info.family == AF_INET)
			return true;
	}
	return false;
}

static void set_addrless(struct shunt_mirror_table *table, uint32_t ifindex, bool is_addrless)
{
	struct shunt_mirror_link *link = shunt_mirror_link_get(table, ifindex);

	if (!link || link->is_addrless == is_addrless)
		return;
	link->is_addrless = is_addrless;
	if (is_addrless)
		link_lost(table, ifindex, LOSS_ADDRS);
	if (table->watch.link)
		table->watch.link(table->watch.ctx, ifindex);
}

int shunt_mirror_addr_put(struct shunt_mirror_table *table,
			  const struct shunt_mirror_addr_info *info)
{
	int ret = shunt_mirror_store_put(&table->addrs, addr_hash(info), eq_addr, info,
					 sizeof(*info), table->mark, NULL);

	if (ret >= 0 && info->family == AF_INET)
		set_addrless(table, info->ifindex, false);
	return ret;
}

int shunt_mirror_addr_del(struct shunt_mirror_table *table,
			  const struct shunt_mirror_addr_info *info)
{
	uint32_t hash = addr_hash(info);
	uint32_t idx = shunt_mirror_store_find(&table->addrs, hash, eq_addr, info);

	if (!idx)
		return 0;
	shunt_mirror_store_drop(&table->addrs, hash, idx);
	if (info->family == AF_INET && !has_addr4(table, info->ifindex))
		set_addrless(table, info->ifindex, true);
	return 1;
}
