/* SPDX-License-Identifier: BSD-2-Clause */
/* The next hops that routes point to: from the index that a FIB holds to an adjacency, either
 * directly or through a group that spreads flows over several by weight.
 *
 * An index is a 4-byte slot that names an adjacency or a group's buckets, so that one store
 * changes a next hop for all routes through it. A group is an array of 64 to 1024 buckets, each
 * the index of a member; the flow hash picks the bucket. When members or weights change, only as
 * many buckets change hands as the new shares need, so all other flows keep their path.
 * What is replaced is freed after a grace period of liburcu, QSBR flavour.
 *
 * An alias is an index that leads wherever another one does, so that routes by the same next hop
 * can be told apart, and counted.
 *
 * Limits: 2^20 next hops; 1024 members a group; a share is kept to a bucket's size, that is
 * 1/1024 at worst; groups are not members of groups.
 *
 *	shunt_nexthop_add(table, &adj, &nh, &err);	one reference, the caller's
 *	shunt_fib4_add(fib, addr_be, len, nh, &err);
 *	adj = shunt_nexthop_adj(table, nh, hash);	workers
 *	shunt_fib4_del(...);				first the routes,
 *	shunt_nexthop_put(table, nh);			then the next hop
 */
#ifndef SHUNT_FIB_NEXTHOP_H
#define SHUNT_FIB_NEXTHOP_H

#include <stdbool.h>

#include "base/bytes.h"
#include "fib/adj.h"
#include "fib/runs.h"

#define SHUNT_NEXTHOP_MAX	 (1u << 20)
#define SHUNT_NEXTHOP_MEMBER_MAX 1024u
#define SHUNT_NEXTHOP_GROUP	 (1u << 31)
#define SHUNT_NEXTHOP_SIZE_SHIFT 28 /* of log2(buckets / 32), 3 bits */
#define SHUNT_NEXTHOP_INDEX	 ((1u << SHUNT_NEXTHOP_SIZE_SHIFT) - 1)
#define SHUNT_NEXTHOP_UNIT	 32u /* buckets in a unit of allocation */
/* The top bits of an alias's slot, which no group has; below them is the index that it leads to. */
#define SHUNT_NEXTHOP_ALIAS	 (SHUNT_NEXTHOP_GROUP | 7u << SHUNT_NEXTHOP_SIZE_SHIFT)

struct shunt_nexthop_member {
	uint32_t nh;
	uint32_t weight; /* 1 or more */
};

struct shunt_nexthop_meta;

struct shunt_nexthops {
	/* Lookups: constant from create to destroy. */
	const uint32_t *slots;
	const struct shunt_adj *adjs;
	const uint32_t *buckets;
	/* Control. */
	struct shunt_nexthop_meta *metas; /* by index */
	uint32_t meta_cnt;
	uint32_t cnt; /* next hops and groups in use */
	struct shunt_runs slot_runs, adj_runs, bucket_runs;
	struct shunt_arena_budget budget;
};

/* shunt_nexthop_create_on does what shunt_nexthop_create does with memory of the source, which must
 * outlive it; NULL: the system's. Thread: the writer. */
int shunt_nexthop_create_on(struct shunt_nexthops **out, const struct shunt_arena_source *source,
			    size_t bytes_max, struct shunt_err *err);

/* shunt_nexthop_create makes an empty table in *out; bytes_max bounds its memory, 0 for no
 * bound. Returns 0 or -ENOMEM with *err filled and *out NULL. Thread: the writer. */
static inline int shunt_nexthop_create(struct shunt_nexthops **out, size_t bytes_max,
				       struct shunt_err *err)
{
	return shunt_nexthop_create_on(out, NULL, bytes_max, err);
}

/* shunt_nexthop_destroy frees the table; NULL is legal; no worker may use it any more. */
void shunt_nexthop_destroy(struct shunt_nexthops *table);

/* shunt_nexthop_add copies *adj to a new next hop, *nh, that holds one reference, the
 * caller's. Returns 0, or -ENOMEM with *err filled. Thread: the writer. */
int shunt_nexthop_add(struct shunt_nexthops *table, const struct shunt_adj *adj, uint32_t *nh,
		      struct shunt_err *err);

/* shunt_nexthop_set replaces the adjacency of nh, which is no group: workers see the old or the
 * new one whole. Returns 0; -EINVAL if nh is a group or not in use; -ENOMEM (unchanged); *err is
 * filled. Thread: the writer. Cost: independent of the number of routes. */
int shunt_nexthop_set(struct shunt_nexthops *table, uint32_t nh, const struct shunt_adj *adj,
		      struct shunt_err *err);

/* shunt_nexthop_group_add makes a group of members[cnt] and gives one reference to the
 * caller; the group holds one on each member. A next hop named twice has the sum of its weights.
 * Returns 0; -EINVAL (no members, weight 0, a member that is a group or not in use), -E2BIG (more
 * than SHUNT_NEXTHOP_MEMBER_MAX), -ENOMEM; *err is filled. Thread: the writer. */
int shunt_nexthop_group_add(struct shunt_nexthops *table,
			    const struct shunt_nexthop_member *members, unsigned cnt, uint32_t *nh,
			    struct shunt_err *err);

/* shunt_nexthop_group_set changes the members and weights of group nh, moving as few flows as
 * the new weights allow: those of members that left or shrank, but for rounding. Returns as
 * shunt_nexthop_group_add; on an error the group is as before. Thread: the writer. */
int shunt_nexthop_group_set(struct shunt_nexthops *table, uint32_t nh,
			    const struct shunt_nexthop_member *members, unsigned cnt,
			    struct shunt_err *err);

/* shunt_nexthop_group_get copies up to max members of group nh to out (which may be NULL) and
 * returns how many it has, 0 if nh is no group. Thread: the writer. */
unsigned shunt_nexthop_group_get(const struct shunt_nexthops *table, uint32_t nh,
				 struct shunt_nexthop_member *out, unsigned max);

/* shunt_nexthop_alias_add makes an alias of nh and gives one reference to the caller; the alias
 * holds one on nh. Returns 0; -EINVAL if nh is not in use, or an alias; -ENOMEM; *err is filled.
 * shunt_nexthop_alias_set has it lead to another, and returns 0 or -EINVAL. shunt_nexthop_target
 * returns what an alias leads to, and any other index as it is. Thread: the writer. Cost: a store.
 */
int shunt_nexthop_alias_add(struct shunt_nexthops *table, uint32_t nh, uint32_t *alias,
			    struct shunt_err *err);
int shunt_nexthop_alias_set(struct shunt_nexthops *table, uint32_t alias, uint32_t nh,
			    struct shunt_err *err);
uint32_t shunt_nexthop_target(const struct shunt_nexthops *table, uint32_t nh);

/* shunt_nexthop_hold takes another reference; shunt_nexthop_put returns one, and with the last
 * the index goes, once workers that still have it are done. Routes must be deleted from the FIB
 * before their reference is put. Thread: the writer. */
void shunt_nexthop_hold(struct shunt_nexthops *table, uint32_t nh);
void shunt_nexthop_put(struct shunt_nexthops *table, uint32_t nh);

/* shunt_nexthop_is_alias says whether a slot is an alias's. */
static inline bool shunt_nexthop_is_alias(uint32_t slot)
{
	return (slot & SHUNT_NEXTHOP_ALIAS) == SHUNT_NEXTHOP_ALIAS;
}

/* shunt_nexthop_slot returns an index's slot, or that of what it is an alias of: of a group where
 * it has the bit SHUNT_NEXTHOP_GROUP. Thread and cost as shunt_nexthop_adj. */
static inline uint32_t shunt_nexthop_slot(const struct shunt_nexthops *table, uint32_t nh)
{
	/* Pairs with the release stores in nexthop.c. */
	const uint32_t slot = __atomic_load_n(&table->slots[nh], __ATOMIC_ACQUIRE);

	if (unlikely(shunt_nexthop_is_alias(slot)))
		return __atomic_load_n(&table->slots[slot & SHUNT_NEXTHOP_INDEX], __ATOMIC_ACQUIRE);
	return slot;
}

/* shunt_nexthop_adj returns the adjacency for a flow: never NULL, of kind SHUNT_ADJ_NOROUTE for
 * nh 0. nh came from a FIB lookup since the last quiescent state; the result is good until
 * the next. hash counts only for groups. Thread: any registered QSBR thread. Cost: packet,
 * two loads from small tables, four for a group. */
static inline const struct shunt_adj *shunt_nexthop_adj(const struct shunt_nexthops *table,
							uint32_t nh, uint32_t hash)
{
	uint32_t slot = __atomic_load_n(&table->slots[nh], __ATOMIC_ACQUIRE), size, at;

	if (unlikely(slot & SHUNT_NEXTHOP_GROUP))
		slot = shunt_nexthop_slot(table, nh);
	if (unlikely(slot & SHUNT_NEXTHOP_GROUP)) {
		size = slot >> SHUNT_NEXTHOP_SIZE_SHIFT & 7;
		at = (slot & SHUNT_NEXTHOP_INDEX) * SHUNT_NEXTHOP_UNIT + (hash >> (27 - size));
		nh = __atomic_load_n(&table->buckets[at], __ATOMIC_ACQUIRE);
		slot = __atomic_load_n(&table->slots[nh], __ATOMIC_ACQUIRE);
	}
	return &table->adjs[slot];
}

#endif
