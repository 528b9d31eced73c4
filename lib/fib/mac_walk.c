// SPDX-License-Identifier: BSD-2-Clause
/* The MAC table's entries, one by one: aged, flushed, told. */
#include <errno.h>

#include "fib/mac_private.h"

static struct shunt_mac_entry entry_of(const struct shunt_mac_table *table, uint64_t bucket,
				       unsigned at, uint64_t word)
{
	const struct shunt_mac_bucket *b = &table->buckets[bucket];

	return (struct shunt_mac_entry){
		.key = mac_key_of(table, bucket, word),
		.port = (uint8_t)((word & SHUNT_MAC_SLOT_PORT) - 1),
		.is_static = mac_is_static(b, at),
		.stays = word & SHUNT_MAC_SLOT_STATIC,
		.age_ticks =
			(uint8_t)(table->tick - __atomic_load_n(&b->seen[at], __ATOMIC_RELAXED)),
	};
}

unsigned shunt_mac_age(struct shunt_mac_table *table,
		       void (*gone)(void *arg, const struct shunt_mac_entry *entry), void *arg)
{
	struct shunt_mac_entry entry;
	uint64_t bucket, word;
	unsigned cnt = 0, at;

	__atomic_store_n(&table->tick, (uint8_t)(table->tick + 1), __ATOMIC_RELAXED);
	for (bucket = 0; bucket < table->control->bucket_cnt; bucket++) {
		for (at = 0; at < SHUNT_MAC_SLOT_CNT; at++) {
			word = mac_load(&table->buckets[bucket], at);
			if (!word || mac_is_static(&table->buckets[bucket], at))
				continue;
			entry = entry_of(table, bucket, at, word);
			if (entry.age_ticks <= SHUNT_MAC_AGE_TICKS)
				continue;
			mac_clear(table, &table->buckets[bucket], at);
			cnt++;
			if (gone)
				gone(arg, &entry);
		}
	}
	return cnt;
}

unsigned shunt_mac_flush(struct shunt_mac_table *table, unsigned bridge, unsigned port)
{
	struct shunt_mac_entry entry;
	unsigned cnt = 0;
	uint64_t at = 0;

	while (shunt_mac_next(table, &at, &entry)) {
		if (entry.is_static || entry.port != port ||
		    shunt_mac_key_bridge(entry.key) != bridge)
			continue;
		shunt_mac_del(table, entry.key);
		cnt++;
	}
	return cnt;
}

bool shunt_mac_next(const struct shunt_mac_table *table, uint64_t *at,
		    struct shunt_mac_entry *entry)
{
	uint64_t end = table->control->bucket_cnt * SHUNT_MAC_SLOT_CNT;

	for (; *at < end; ++*at) {
		uint64_t bucket = *at / SHUNT_MAC_SLOT_CNT, slot = *at % SHUNT_MAC_SLOT_CNT;
		uint64_t word = mac_load(&table->buckets[bucket], (unsigned)slot);

		if (!word)
			continue;
		*entry = entry_of(table, bucket, (unsigned)slot, word);
		++*at;
		return true;
	}
	return false;
}

int shunt_mac_get(const struct shunt_mac_table *table, uint64_t key, struct shunt_mac_entry *entry)
{
	struct shunt_mac_bucket *bucket;
	uint64_t word;
	unsigned at;

	bucket = shunt_mac_find(table, shunt_mac_hash(table, key), &at, &word);
	if (!bucket)
		return -ENOENT;
	*entry = entry_of(table, (uint64_t)(bucket - table->buckets), at, word);
	return 0;
}

void shunt_mac_counts(const struct shunt_mac_table *table, struct shunt_mac_counts *out)
{
	const struct shunt_mac_control *c = table->control;

	*out = (struct shunt_mac_counts){
		.entries = c->cnt,
		.statics = c->static_cnt,
		.max = c->max,
		.bytes = c->bucket_cnt * sizeof(struct shunt_mac_bucket),
	};
}
