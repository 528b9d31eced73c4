// SPDX-License-Identifier: BSD-2-Clause
/* Next-hop objects and groups of the mirrored table; see mirror/table.h. */
#include <errno.h>
#include <stdlib.h>

#include "mirror/path.h"

/* A group and its members: the kernel allows no group in a group (its nexthop.c, valid_group_nh).
 * Were one followed deeper, groups of 256 members would make the walk endless. */
#define DEPTH_MAX 2

static bool eq(const void *obj, const void *key)
{
	return ((const struct shunt_mirror_nexthop *)obj)->info.id == *(const uint32_t *)key;
}

static uint32_t find(const struct shunt_mirror_table *table, uint32_t id)
{
	return shunt_mirror_store_find(&table->nexthops, shunt_mirror_hash(&id, 4, 0), eq, &id);
}

struct shunt_mirror_nexthop *shunt_mirror_nexthop_get(const struct shunt_mirror_table *table,
						      uint32_t id)
{
	uint32_t idx = find(table, id);

	return idx ? shunt_mirror_store_at(&table->nexthops, idx) : NULL;
}

static void changed(struct shunt_mirror_table *table, uint32_t id)
{
	if (table->watch.nexthop)
		table->watch.nexthop(table->watch.ctx, id);
}

static uint32_t make(struct shunt_mirror_table *table, uint32_t id)
{
	uint32_t idx = shunt_mirror_store_alloc(&table->nexthops);

	if (idx)
		shunt_mirror_store_link(&table->nexthops, shunt_mirror_hash(&id, 4, 0), idx);
	return idx;
}

int shunt_mirror_nexthop_put(struct shunt_mirror_table *table,
			     const struct shunt_mirror_nexthop_info *info,
			     const struct shunt_mirror_member *members)
{
	size_t bytes = info->member_cnt * sizeof(*members);
	struct shunt_mirror_nexthop *nexthop;
	struct shunt_mirror_member *copy;
	uint32_t idx = find(table, info->id);

	if (idx) {
		nexthop = shunt_mirror_store_at(&table->nexthops, idx);
		nexthop->obj.seen = table->mark;
		if (!memcmp(&nexthop->info, info, sizeof(*info)) &&
		    (!bytes || !memcmp(nexthop->members, members, bytes)))
			return 0;
	}
	copy = malloc(bytes + 1);
	if (copy && !idx)
		idx = make(table, info->id);
	if (!copy || !idx) {
		free(copy);
		return -ENOMEM;
	}
	nexthop = shunt_mirror_store_at(&table->nexthops, idx);
	free(nexthop->members);
	if (bytes)
		memcpy(copy, members, bytes);
	nexthop->members = copy;
	nexthop->info = *info;
	nexthop->obj.seen = table->mark;
	changed(table, info->id);
	return 1;
}

/* Takes the member out; true when the group is empty now. */
static bool leave_group(struct shunt_mirror_nexthop *group, uint32_t id)
{
	unsigned i, left = 0;

	for (i = 0; i < group->info.member_cnt; i++) {
		if (group->members[i].id != id)
			group->members[left++] = group->members[i];
	}
	if (left == group->info.member_cnt)
		return false;
	if (left)
		group->info.member_cnt = (uint16_t)left;
	return !left;
}

static void leave_groups(struct shunt_mirror_table *table, uint32_t id)
{
	struct shunt_mirror_nexthop *group;
	uint32_t idx = 0;
	uint16_t member_cnt;

	while ((idx = shunt_mirror_store_next(&table->nexthops, idx))) {
		group = shunt_mirror_store_at(&table->nexthops, idx);
		member_cnt = group->info.member_cnt;
		if (!member_cnt)
			continue;
		if (leave_group(group, id))
			shunt_mirror_nexthop_del(table, group->info.id);
		else if (group->info.member_cnt != member_cnt)
			changed(table, group->info.id);
	}
}

int shunt_mirror_nexthop_del(struct shunt_mirror_table *table, uint32_t id)
{
	uint32_t idx = find(table, id), path_idx = 0;
	struct shunt_mirror_nexthop *nexthop;
	struct shunt_mirror_path *path;

	if (!idx)
		return 0;
	nexthop = shunt_mirror_store_at(&table->nexthops, idx);
	free(nexthop->members);
	nexthop->members = NULL;
	shunt_mirror_store_unlink(&table->nexthops, shunt_mirror_hash(&id, 4, 0), idx);
	shunt_mirror_store_free(&table->nexthops, idx);
	/* The kernel removes the routes too, the IPv4 ones without a message. */
	while ((path_idx = shunt_mirror_store_next(&table->paths, path_idx))) {
		path = shunt_mirror_path_at(table, path_idx);
		if (path->key.nhid == id)
			shunt_mirror_path_doom(table, path);
	}
	leave_groups(table, id);
	changed(table, id);
	return 1;
}

static bool uses(const struct shunt_mirror_table *table, uint32_t id, uint32_t ifindex,
		 unsigned depth)
{
	const struct shunt_mirror_nexthop *nexthop = shunt_mirror_nexthop_get(table, id);
	unsigned i;

	if (!nexthop || depth == DEPTH_MAX)
		return false;
	for (i = 0; i < nexthop->info.member_cnt; i++) {
		if (uses(table, nexthop->members[i].id, ifindex, depth + 1))
			return true;
	}
	return nexthop->info.ifindex == ifindex;
}

bool shunt_mirror_nexthop_uses(const struct shunt_mirror_table *table, uint32_t id,
			       uint32_t ifindex)
{
	return uses(table, id, ifindex, 0);
}
