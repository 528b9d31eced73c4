// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/bridge.h"
#include "mirror/fib_private.h"

static void renumbered(void *arg, uint32_t ifindex)
{
	struct shunt_mirror_fib *fib = arg;

	shunt_mirror_adj_link(&fib->targets.adjs, ifindex);
}

/* A device, and those above it. */
static void follow_device(struct shunt_mirror_fib *fib, uint32_t ifindex, unsigned depth)
{
	const struct shunt_mirror_link *link;
	uint32_t idx = 0;

	shunt_mirror_above_follow(&fib->aboves, ifindex, renumbered, fib);
	/* what has become of a port's carrier or state */
	if (shunt_mirror_bridge_of(fib->table, ifindex))
		shunt_mirror_adj_link(&fib->targets.adjs, ifindex);
	while (depth && (idx = shunt_mirror_store_next(&fib->table->links, idx))) {
		link = shunt_mirror_store_at(&fib->table->links, idx);
		if (link->info.parent == ifindex && link->info.vlan.type_be)
			follow_device(fib, link->info.ifindex, depth - 1);
	}
}

/* Whether a port is a member of a bond or a bridge. */
static bool is_member(const struct shunt_mirror_fib *fib, int port)
{
	const struct shunt_mirror_link *link;
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&fib->table->links, idx))) {
		link = shunt_mirror_store_at(&fib->table->links, idx);
		if (link->info.master &&
		    fib->aboves.port_of(fib->aboves.ctx, link->info.ifindex) == port)
			return true;
	}
	return false;
}

/* A device may have been a bond's or a bridge's member, or have become one. A VLAN device that is
 * followed, of which there are many, is none, but above a member it has that one's frames. */
static bool may_concern_masters(const struct shunt_mirror_fib *fib, uint32_t ifindex)
{
	const struct shunt_mirror_link *link = shunt_mirror_link_get(fib->table, ifindex), *beneath;
	const uint32_t number = shunt_mirror_above_number(&fib->aboves, ifindex);

	if (!link)
		return !number ||
		       is_member(fib, shunt_devices_at(fib->aboves.devices, number)->members[0]);
	beneath = shunt_mirror_link_get(fib->table, link->info.parent);
	return !link->info.vlan.type_be || link->info.master || (beneath && beneath->info.master);
}

static void follow_masters(struct shunt_mirror_fib *fib)
{
	const struct shunt_mirror_link *link;
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&fib->table->links, idx))) {
		link = shunt_mirror_store_at(&fib->table->links, idx);
		if (shunt_mirror_is_bond(&link->info) || shunt_mirror_is_bridge(&link->info))
			follow_device(fib, link->info.ifindex, SHUNT_DEVICE_TAGS_MAX);
	}
}

void shunt_mirror_fib_link_changed(void *ctx, uint32_t ifindex)
{
	struct shunt_mirror_fib *fib = ctx;
	const bool are_masters_due = fib->aboves.devices && may_concern_masters(fib, ifindex);

	/* a tag that a master's device gives up first may be this one's */
	if (are_masters_due)
		follow_masters(fib);
	if (fib->aboves.devices)
		follow_device(fib, ifindex, SHUNT_DEVICE_TAGS_MAX);
	if (are_masters_due && !shunt_mirror_link_get(fib->table, ifindex))
		follow_masters(fib);
	/* what comes in by a port may be another device's from now on */
	if (fib->aboves.devices && fib->aboves.port_of(fib->aboves.ctx, ifindex) >= 0)
		fib->aboves.change_cnt++;
	shunt_mirror_adj_link(&fib->targets.adjs, ifindex);
	fib->are_paths_stale = true;
}
