// SPDX-License-Identifier: BSD-2-Clause
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
	while (depth && (idx = shunt_mirror_store_next(&fib->table->links, idx))) {
		link = shunt_mirror_store_at(&fib->table->links, idx);
		if (link->info.parent == ifindex && link->info.vlan.type_be)
			follow_device(fib, link->info.ifindex, depth - 1);
	}
}

/* A device may have been a bond's member, or have become one. A VLAN device that is followed, of
 * which there are many, is none. */
static bool may_be_member(const struct shunt_mirror_fib *fib, uint32_t ifindex)
{
	const struct shunt_mirror_link *link = shunt_mirror_link_get(fib->table, ifindex);

	if (!link)
		return !shunt_mirror_above_number(&fib->aboves, ifindex);
	return !link->info.vlan.type_be || link->info.master;
}

static void follow_bonds(struct shunt_mirror_fib *fib)
{
	const struct shunt_mirror_link *link;
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&fib->table->links, idx))) {
		link = shunt_mirror_store_at(&fib->table->links, idx);
		if (shunt_mirror_is_bond(&link->info))
			follow_device(fib, link->info.ifindex, SHUNT_DEVICE_TAGS_MAX);
	}
}

void shunt_mirror_fib_link_changed(void *ctx, uint32_t ifindex)
{
	struct shunt_mirror_fib *fib = ctx;
	const bool are_bonds_due = fib->aboves.devices && may_be_member(fib, ifindex);

	if (fib->aboves.devices)
		follow_device(fib, ifindex, SHUNT_DEVICE_TAGS_MAX);
	if (are_bonds_due)
		follow_bonds(fib);
	/* what comes in by a port may be another device's from now on */
	if (fib->aboves.devices && fib->aboves.port_of(fib->aboves.ctx, ifindex) >= 0)
		fib->aboves.change_cnt++;
	shunt_mirror_adj_link(&fib->targets.adjs, ifindex);
	fib->are_paths_stale = true;
}
