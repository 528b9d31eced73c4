// SPDX-License-Identifier: BSD-2-Clause
#include "fib/nexthop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fib/spread.h"

/* Fewer buckets a member: at equal weights a share is off by more than 1/32 of itself. More: a
 * group takes more cache for a fairness that flows of unequal size do not show. */
#define BUCKETS_PER_MEMBER 32u

struct shunt_nexthop_meta {
	uint32_t refs;
	uint32_t member_cnt; /* 0: not a group */
	struct shunt_nexthop_member *members;
};

static uint32_t *slot_ptr(const struct shunt_nexthops *table, uint32_t nh)
{
	return (uint32_t *)table->slot_runs.arena.base + nh;
}

static struct shunt_adj *adj_ptr(const struct shunt_nexthops *table, uint32_t idx)
{
	return (struct shunt_adj *)table->adj_runs.arena.base + idx;
}

static uint32_t *bucket_ptr(const struct shunt_nexthops *table, uint32_t slot)
{
	return (uint32_t *)table->bucket_runs.arena.base +
	       (slot & SHUNT_NEXTHOP_INDEX) * SHUNT_NEXTHOP_UNIT;
}

static bool is_alias(const struct shunt_nexthops *table, uint32_t nh)
{
	return shunt_nexthop_is_alias(*slot_ptr(table, nh));
}

static unsigned unit_cnt(uint32_t slot)
{
	return 1u << (slot >> SHUNT_NEXTHOP_SIZE_SHIFT & 7);
}

static bool in_use(const struct shunt_nexthops *table, uint32_t nh)
{
	return nh < table->meta_cnt && table->metas[nh].refs;
}

static int no_memory(const struct shunt_nexthops *table, struct shunt_err *err)
{
	return shunt_err_set(err, ENOMEM,
			     "next hops: no memory for another; there are %u in %zu KiB (bound: "
			     "%zu KiB, 0 for none)",
			     table->cnt, table->budget.bytes >> 10, table->budget.bytes_max >> 10);
}

/* Room for what the control side knows of index nh. */
static int reserve_meta(struct shunt_nexthops *table, uint32_t nh)
{
	struct shunt_nexthop_meta *metas;
	uint32_t cnt = table->meta_cnt ? table->meta_cnt : 64;

	while (cnt <= nh)
		cnt *= 2;
	if (cnt == table->meta_cnt)
		return 0;
	metas = realloc(table->metas, cnt * sizeof(*metas));
	if (!metas)
		return -ENOMEM;
	memset(metas + table->meta_cnt, 0, (cnt - table->meta_cnt) * sizeof(*metas));
	table->metas = metas;
	table->meta_cnt = cnt;
	return 0;
}

/* A new index with one reference, its slot not yet set; 0 without memory. */
static uint32_t alloc_index(struct shunt_nexthops *table)
{
	uint32_t nh = shunt_runs_alloc(&table->slot_runs, 1, false);

	if (!nh)
		return 0;
	if (reserve_meta(table, nh)) {
		shunt_runs_free(&table->slot_runs, nh, 1);
		return 0;
	}
	table->metas[nh] = (struct shunt_nexthop_meta){.refs = 1};
	table->cnt++;
	return nh;
}

/* Pairs with shunt_nexthop_adj: what the slot names is written before. */
static void publish(struct shunt_nexthops *table, uint32_t nh, uint32_t slot)
{
	__atomic_store_n(slot_ptr(table, nh), slot, __ATOMIC_RELEASE);
}

static uint32_t alloc_adj(struct shunt_nexthops *table, const struct shunt_adj *adj)
{
	uint32_t idx = shunt_runs_alloc(&table->adj_runs, 1, false);
	uint64_t words[sizeof(*adj) / sizeof(uint64_t)], *to = (uint64_t *)adj_ptr(table, idx);
	unsigned i;

	if (!idx)
		return 0;
	memcpy(words, adj, sizeof(words));
	for (i = 0; i < SHUNT_ARRAY_LEN(words); i++)
		__atomic_store_n(&to[i], words[i], __ATOMIC_RELAXED);
	return idx;
}

int shunt_nexthop_add(struct shunt_nexthops *table, const struct shunt_adj *adj, uint32_t *nh,
		      struct shunt_err *err)
{
	uint32_t idx = alloc_adj(table, adj);

	if (!idx)
		return no_memory(table, err);
	*nh = alloc_index(table);
	if (!*nh) {
		shunt_runs_free(&table->adj_runs, idx, 1);
		return no_memory(table, err);
	}
	publish(table, *nh, idx);
	return 0;
}

int shunt_nexthop_set(struct shunt_nexthops *table, uint32_t nh, const struct shunt_adj *adj,
		      struct shunt_err *err)
{
	uint32_t idx, old;

	if (!in_use(table, nh) || table->metas[nh].member_cnt || is_alias(table, nh))
		return shunt_err_set(err, EINVAL, "next hop %u: %s", nh,
				     in_use(table, nh) ? "is a group, or an alias"
						       : "no such next hop");
	idx = alloc_adj(table, adj);
	if (!idx)
		return no_memory(table, err);
	old = *slot_ptr(table, nh);
	publish(table, nh, idx);
	shunt_runs_retire(&table->adj_runs, old, 1);
	return 0;
}

static int check_members(const struct shunt_nexthops *table,
			 const struct shunt_nexthop_member *members, unsigned cnt,
			 struct shunt_err *err)
{
	unsigned i;

	if (!cnt)
		return shunt_err_set(err, EINVAL, "next-hop group: has no members");
	if (cnt > SHUNT_NEXTHOP_MEMBER_MAX)
		return shunt_err_set(err, E2BIG, "next-hop group: %u members, at most %u", cnt,
				     SHUNT_NEXTHOP_MEMBER_MAX);
	for (i = 0; i < cnt; i++) {
		if (!in_use(table, members[i].nh))
			return shunt_err_set(err, EINVAL,
					     "next-hop group: member %u does not exist",
					     members[i].nh);
		if (table->metas[members[i].nh].member_cnt || is_alias(table, members[i].nh))
			return shunt_err_set(err, EINVAL,
					     "next-hop group: member %u is a group, or an alias",
					     members[i].nh);
		if (!members[i].weight)
			return shunt_err_set(err, EINVAL, "next-hop group: member %u has weight 0",
					     members[i].nh);
	}
	return 0;
}

/* log2 of the units a group of this shape wants: enough buckets for each member, and at least
 * four for the lightest. */
static unsigned size_for(const struct shunt_nexthop_member *members, unsigned cnt)
{
	uint64_t sum = 0, least = UINT32_MAX, want;
	unsigned i, size = 1;

	for (i = 0; i < cnt; i++) {
		sum += members[i].weight;
		least = SHUNT_MIN(least, (uint64_t)members[i].weight);
	}
	want = SHUNT_MAX((uint64_t)cnt * BUCKETS_PER_MEMBER, 4 * sum / least);
	while (size < 5 && (SHUNT_NEXTHOP_UNIT << size) < want)
		size++;
	return size;
}

/* The group's own copy, same next hops joined. */
static struct shunt_nexthop_member *copy_members(const struct shunt_nexthop_member *members,
						 unsigned *cnt)
{
	struct shunt_nexthop_member *out = calloc(SHUNT_MAX(*cnt, 1u), sizeof(*out));
	unsigned i, j, n = 0;

	for (i = 0; out && i < *cnt; i++) {
		for (j = 0; j < n && out[j].nh != members[i].nh; j++)
			;
		if (j == n)
			out[n++].nh = members[i].nh;
		out[j].weight += members[i].weight;
	}
	*cnt = n;
	return out;
}

static void set_members(struct shunt_nexthops *table, uint32_t nh,
			struct shunt_nexthop_member *members, unsigned cnt)
{
	struct shunt_nexthop_meta old = table->metas[nh];
	unsigned i;

	for (i = 0; i < cnt; i++)
		shunt_nexthop_hold(table, members[i].nh);
	table->metas[nh].members = members;
	table->metas[nh].member_cnt = cnt;
	for (i = 0; i < old.member_cnt; i++)
		shunt_nexthop_put(table, old.members[i].nh);
	free(old.members);
}

/* A slot with size more bits of buckets than old, each flow where it was; 0 without memory. */
static uint32_t grow(struct shunt_nexthops *table, uint32_t old, unsigned size)
{
	unsigned shift = size - (old ? old >> SHUNT_NEXTHOP_SIZE_SHIFT & 7 : 0), i;
	uint32_t idx = shunt_runs_alloc(&table->bucket_runs, 1u << size, false), slot, *to;

	if (!idx)
		return 0;
	slot = SHUNT_NEXTHOP_GROUP | size << SHUNT_NEXTHOP_SIZE_SHIFT | idx;
	to = bucket_ptr(table, slot);
	for (i = 0; i < SHUNT_NEXTHOP_UNIT << size; i++)
		__atomic_store_n(&to[i], old ? bucket_ptr(table, old)[i >> shift] : 0,
				 __ATOMIC_RELAXED);
	return slot;
}

int shunt_nexthop_group_set(struct shunt_nexthops *table, uint32_t nh,
			    const struct shunt_nexthop_member *members, unsigned cnt,
			    struct shunt_err *err)
{
	struct shunt_nexthop_member *copy;
	uint32_t old, slot;
	unsigned size;
	int ret;

	if (!in_use(table, nh) || !table->metas[nh].member_cnt)
		return shunt_err_set(err, EINVAL, "next hop %u: is not a group", nh);
	ret = check_members(table, members, cnt, err);
	if (ret)
		return ret;
	copy = copy_members(members, &cnt);
	old = slot = *slot_ptr(table, nh);
	size = copy ? size_for(copy, cnt) : 0;
	if (copy && size > (old >> SHUNT_NEXTHOP_SIZE_SHIFT & 7))
		slot = grow(table, old, size);
	if (!copy || !slot ||
	    shunt_spread_fill(bucket_ptr(table, slot), unit_cnt(slot) * SHUNT_NEXTHOP_UNIT, copy,
			      cnt)) {
		if (copy && slot && slot != old)
			shunt_runs_free(&table->bucket_runs, slot & SHUNT_NEXTHOP_INDEX,
					unit_cnt(slot));
		free(copy);
		return no_memory(table, err);
	}
	if (slot != old) {
		publish(table, nh, slot);
		shunt_runs_retire(&table->bucket_runs, old & SHUNT_NEXTHOP_INDEX, unit_cnt(old));
	}
	set_members(table, nh, copy, cnt);
	return 0;
}

int shunt_nexthop_group_add(struct shunt_nexthops *table,
			    const struct shunt_nexthop_member *members, unsigned cnt, uint32_t *nh,
			    struct shunt_err *err)
{
	struct shunt_nexthop_member *copy;
	uint32_t slot = 0;
	int ret = check_members(table, members, cnt, err);

	if (ret)
		return ret;
	copy = copy_members(members, &cnt);
	if (copy)
		slot = grow(table, 0, size_for(copy, cnt));
	if (!slot)
		goto err_copy;
	if (shunt_spread_fill(bucket_ptr(table, slot), unit_cnt(slot) * SHUNT_NEXTHOP_UNIT, copy,
			      cnt))
		goto err_slot;
	*nh = alloc_index(table);
	if (!*nh)
		goto err_slot;
	publish(table, *nh, slot);
	set_members(table, *nh, copy, cnt);
	return 0;

err_slot:
	shunt_runs_free(&table->bucket_runs, slot & SHUNT_NEXTHOP_INDEX, unit_cnt(slot));
err_copy:
	free(copy);
	return no_memory(table, err);
}

unsigned shunt_nexthop_group_get(const struct shunt_nexthops *table, uint32_t nh,
				 struct shunt_nexthop_member *out, unsigned max)
{
	const struct shunt_nexthop_meta *meta = &table->metas[nh];

	if (!in_use(table, nh))
		return 0;
	if (out && meta->member_cnt)
		memcpy(out, meta->members, SHUNT_MIN(max, meta->member_cnt) * sizeof(*out));
	return meta->member_cnt;
}

static int check_target(const struct shunt_nexthops *table, uint32_t nh, struct shunt_err *err)
{
	if (in_use(table, nh) && !is_alias(table, nh))
		return 0;
	return shunt_err_set(err, EINVAL, "next hop %u: %s", nh,
			     in_use(table, nh) ? "is an alias" : "no such next hop");
}

int shunt_nexthop_alias_add(struct shunt_nexthops *table, uint32_t nh, uint32_t *alias,
			    struct shunt_err *err)
{
	int ret = check_target(table, nh, err);

	if (ret)
		return ret;
	*alias = alloc_index(table);
	if (!*alias)
		return no_memory(table, err);
	shunt_nexthop_hold(table, nh);
	publish(table, *alias, SHUNT_NEXTHOP_ALIAS | nh);
	return 0;
}

int shunt_nexthop_alias_set(struct shunt_nexthops *table, uint32_t alias, uint32_t nh,
			    struct shunt_err *err)
{
	int ret = check_target(table, nh, err);
	uint32_t old;

	if (!ret && (!in_use(table, alias) || !is_alias(table, alias)))
		ret = shunt_err_set(err, EINVAL, "next hop %u: is no alias", alias);
	if (ret)
		return ret;
	old = shunt_nexthop_target(table, alias);
	shunt_nexthop_hold(table, nh);
	publish(table, alias, SHUNT_NEXTHOP_ALIAS | nh);
	shunt_nexthop_put(table, old);
	return 0;
}

uint32_t shunt_nexthop_target(const struct shunt_nexthops *table, uint32_t nh)
{
	return is_alias(table, nh) ? *slot_ptr(table, nh) & SHUNT_NEXTHOP_INDEX : nh;
}

void shunt_nexthop_hold(struct shunt_nexthops *table, uint32_t nh)
{
	table->metas[nh].refs++;
}

void shunt_nexthop_put(struct shunt_nexthops *table, uint32_t nh)
{
	struct shunt_nexthop_meta *meta = &table->metas[nh];
	uint32_t slot = *slot_ptr(table, nh);

	if (--meta->refs)
		return;
	/* The slot keeps its value: a worker may still have the index. */
	if (is_alias(table, nh))
		shunt_nexthop_put(table, slot & SHUNT_NEXTHOP_INDEX);
	else if (slot & SHUNT_NEXTHOP_GROUP)
		shunt_runs_retire(&table->bucket_runs, slot & SHUNT_NEXTHOP_INDEX, unit_cnt(slot));
	else
		shunt_runs_retire(&table->adj_runs, slot, 1);
	shunt_runs_retire(&table->slot_runs, nh, 1);
	set_members(table, nh, NULL, 0);
	table->cnt--;
}

void shunt_nexthop_destroy(struct shunt_nexthops *table)
{
	uint32_t i;

	if (!table)
		return;
	for (i = 0; i < table->meta_cnt; i++)
		free(table->metas[i].members);
	free(table->metas);
	shunt_runs_fini(&table->bucket_runs);
	shunt_runs_fini(&table->adj_runs);
	shunt_runs_fini(&table->slot_runs);
	free(table);
}

static int init(struct shunt_nexthops *table, struct shunt_err *err)
{
	struct shunt_arena_budget *budget = &table->budget;
	int ret = shunt_runs_init(&table->slot_runs, sizeof(uint32_t), SHUNT_NEXTHOP_MAX, budget,
				  "next hops", err);

	if (!ret)
		ret = shunt_runs_init(&table->adj_runs, sizeof(struct shunt_adj), SHUNT_NEXTHOP_MAX,
				      budget, "adjacencies", err);
	if (!ret)
		ret = shunt_runs_init(&table->bucket_runs, SHUNT_NEXTHOP_UNIT * sizeof(uint32_t),
				      SHUNT_NEXTHOP_MAX, budget, "next-hop groups", err);
	return ret;
}

int shunt_nexthop_create_on(struct shunt_nexthops **out, const struct shunt_arena_source *source,
			    size_t bytes_max, struct shunt_err *err)
{
	struct shunt_nexthops *table = calloc(1, sizeof(*table));
	int ret;

	*out = NULL;
	if (!table)
		return shunt_err_set(err, ENOMEM, "next hops: no memory");
	table->budget.bytes_max = bytes_max;
	table->budget.source = source;
	ret = init(table, err);
	if (ret) {
		shunt_nexthop_destroy(table);
		return ret;
	}
	table->slots = (const uint32_t *)table->slot_runs.arena.base;
	table->adjs = (const struct shunt_adj *)table->adj_runs.arena.base;
	table->buckets = (const uint32_t *)table->bucket_runs.arena.base;
	*out = table;
	return 0;
}
