/* SPDX-License-Identifier: BSD-2-Clause */
/* The one writer's view of the MAC table: what it knows beside the buckets, and single entries. */
#ifndef SHUNT_FIB_MAC_PRIVATE_H
#define SHUNT_FIB_MAC_PRIVATE_H

#include "fib/arena.h"
#include "fib/mac.h"

struct shunt_mac_control {
	struct shunt_arena arena;
	struct shunt_arena_budget budget;
	uint64_t factor_inverse;
	uint64_t bucket_cnt;
	uint32_t cnt, static_cnt, max;
	/* By a slot's port: how many there are, and how many have a place in any case. */
	uint32_t by_port[SHUNT_MAC_SLOT_PORT + 1], reserved[SHUNT_MAC_SLOT_PORT + 1];
	uint32_t owed;		    /* places of ports that have fewer than are reserved for them */
	void (*changed)(void *arg); /* NULL: nobody is told */
	void *arg;
};

/* After an entry is another one, or none. */
static inline void mac_changed(struct shunt_mac_table *table)
{
	if (table->control->changed)
		table->control->changed(table->control->arg);
}

static inline void mac_count(struct shunt_mac_control *c, uint64_t word, int change)
{
	const uint64_t port = word & SHUNT_MAC_SLOT_PORT;

	c->by_port[port] -= change < 0;
	if (c->by_port[port] < c->reserved[port])
		c->owed -= (uint32_t)change;
	c->by_port[port] += change > 0;
}

static inline uint64_t mac_load(const struct shunt_mac_bucket *bucket, unsigned at)
{
	return __atomic_load_n(&bucket->slots[at], __ATOMIC_RELAXED);
}

/* Pairs with the loads in shunt_mac_match; the word is all there is to see. */
static inline void mac_store(struct shunt_mac_bucket *bucket, unsigned at, uint64_t word)
{
	__atomic_store_n(&bucket->slots[at], word, __ATOMIC_RELEASE);
}

static inline void mac_touch(struct shunt_mac_bucket *bucket, unsigned at, uint8_t tick)
{
	__atomic_store_n(&bucket->seen[at], tick, __ATOMIC_RELAXED);
}

static inline bool mac_may_move(const struct shunt_mac_bucket *bucket, unsigned at)
{
	return __atomic_load_n(&bucket->seen[SHUNT_MAC_SLOT_CNT], __ATOMIC_RELAXED) >> at & 1;
}

static inline void mac_set_may_move(struct shunt_mac_bucket *bucket, unsigned at, bool on)
{
	const unsigned all =
		__atomic_load_n(&bucket->seen[SHUNT_MAC_SLOT_CNT], __ATOMIC_RELAXED) & ~(1u << at);

	mac_touch(bucket, SHUNT_MAC_SLOT_CNT, (uint8_t)(all | (unsigned)on << at));
}

static inline bool mac_is_static(const struct shunt_mac_bucket *bucket, unsigned at)
{
	return mac_load(bucket, at) & SHUNT_MAC_SLOT_STATIC || mac_may_move(bucket, at);
}

static inline uint64_t mac_rest_of(uint64_t word)
{
	return (word & ~SHUNT_MAC_SLOT_VALID) >> 9;
}

static inline uint64_t mac_other_bucket(const struct shunt_mac_table *table, uint64_t bucket,
					uint64_t word)
{
	return bucket ^ shunt_mac_leap(table, mac_rest_of(word));
}

static inline uint64_t mac_key_of(const struct shunt_mac_table *table, uint64_t bucket,
				  uint64_t word)
{
	uint64_t hash;

	if (word & SHUNT_MAC_SLOT_SECOND)
		bucket = mac_other_bucket(table, bucket, word);
	hash = bucket << table->rest_bits | mac_rest_of(word);
	hash ^= hash >> 32;
	hash *= table->control->factor_inverse;
	hash ^= hash >> 32;
	hash *= table->control->factor_inverse;
	return hash ^ hash >> 32;
}

static inline void mac_clear(struct shunt_mac_table *table, struct shunt_mac_bucket *bucket,
			     unsigned at)
{
	table->control->cnt--;
	mac_count(table->control, mac_load(bucket, at), -1);
	table->control->static_cnt -= mac_is_static(bucket, at);
	mac_set_may_move(bucket, at, false);
	mac_store(bucket, at, 0);
	mac_changed(table);
}

#endif
