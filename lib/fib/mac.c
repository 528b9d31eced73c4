// SPDX-License-Identifier: BSD-2-Clause
/* The control side of the MAC table: its one writer. */
#include "fib/mac.h"

#include <errno.h>
#include <stdlib.h>

#include "fib/arena.h"

#define STATIONS_MAX (1u << 24)
#define BUCKETS_MIN  64u /* the rest of a hash must leave ten bits of a word */

/* Buckets looked at for a place: enough for random addresses at 93 % (unit test); where they are
 * not, the table is full for this station. */
#define SEARCH_MAX   256u

struct shunt_mac_control {
	struct shunt_arena arena;
	struct shunt_arena_budget budget;
	uint64_t factor_inverse;
	uint64_t bucket_cnt;
	uint32_t cnt, static_cnt, max;
	/* By a slot's port: how many there are, and how many have a place in any case. */
	uint32_t by_port[SHUNT_MAC_SLOT_PORT + 1], reserved[SHUNT_MAC_SLOT_PORT + 1];
	uint32_t owed; /* places of ports that have fewer than are reserved for them */
};

static void count(struct shunt_mac_control *c, uint64_t word, int change)
{
	const uint64_t port = word & SHUNT_MAC_SLOT_PORT;

	c->by_port[port] -= change < 0;
	if (c->by_port[port] < c->reserved[port])
		c->owed -= (uint32_t)change;
	c->by_port[port] += change > 0;
}

/* What is left, when all have what is reserved for them, is anybody's. */
static bool has_place(const struct shunt_mac_control *c, uint64_t word)
{
	const uint64_t port = word & SHUNT_MAC_SLOT_PORT;

	return c->cnt < c->max &&
	       (c->by_port[port] < c->reserved[port] || c->max - c->cnt > c->owed);
}

/* --- made and unmade -------------------------------------------------------------------------- */

/* Newton: each step doubles the low bits that are right. It begins with three: an odd number is
 * its own inverse modulo 8. */
static uint64_t inverse(uint64_t odd)
{
	uint64_t x = odd;
	unsigned i;

	for (i = 0; i < 5; i++)
		x *= 2 - odd * x;
	return x & SHUNT_MAC_KEY_MASK;
}

static uint64_t odd_factor(uint64_t seed)
{
	uint64_t z = (seed ^ 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;

	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return ((z ^ z >> 31) & SHUNT_MAC_KEY_MASK) | 1 | 1ULL << (SHUNT_MAC_KEY_BITS - 1);
}

static unsigned bucket_bits(uint32_t max)
{
	unsigned bits = __builtin_ctz(BUCKETS_MIN);

	while ((1ULL << bits) * SHUNT_MAC_SLOT_CNT * 93 / 100 < max)
		bits++;
	return bits;
}

static int take_memory(struct shunt_mac_table *table, void *mem, struct shunt_err *err)
{
	struct shunt_mac_control *c = table->control;
	int ret = mem ? 0
		      : shunt_arena_init_full(&c->arena, c->bucket_cnt * sizeof(*table->buckets),
					      &c->budget, "MAC table", err);

	table->buckets = mem ? mem : (void *)c->arena.base;
	return ret;
}

static int create(struct shunt_mac_table **out, uint32_t max, uint64_t seed, void *mem,
		  struct shunt_err *err)
{
	struct shunt_mac_table *table;
	struct shunt_mac_control *c;
	unsigned bits;
	int ret;

	if (!max || max > STATIONS_MAX)
		return shunt_err_set(err, EINVAL, "MAC table: %u stations, expected 1 to %u", max,
				     STATIONS_MAX);
	table = calloc(1, sizeof(*table));
	c = calloc(1, sizeof(*c));
	if (!table || !c) {
		free(table);
		free(c);
		return shunt_err_set(err, ENOMEM, "MAC table: not enough memory");
	}
	bits = bucket_bits(max);
	table->control = c;
	table->factor = odd_factor(seed);
	table->rest_bits = (uint8_t)(SHUNT_MAC_KEY_BITS - bits);
	c->factor_inverse = inverse(table->factor);
	c->bucket_cnt = 1ULL << bits;
	c->max = max;
	ret = take_memory(table, mem, err);
	if (ret) {
		shunt_mac_destroy(table);
		return ret;
	}
	*out = table;
	return 0;
}

int shunt_mac_create(struct shunt_mac_table **out, uint32_t max, uint64_t seed,
		     struct shunt_err *err)
{
	return create(out, max, seed, NULL, err);
}

int shunt_mac_create_in(struct shunt_mac_table **out, void *mem, uint64_t bytes, uint32_t max,
			uint64_t seed, struct shunt_err *err)
{
	if (bytes < sizeof(struct shunt_mac_bucket) << bucket_bits(max))
		return shunt_err_set(err, EINVAL,
				     "MAC table: %u stations do not fit into %llu bytes", max,
				     (unsigned long long)bytes);
	return create(out, max, seed, mem, err);
}

void shunt_mac_destroy(struct shunt_mac_table *table)
{
	if (!table)
		return;
	shunt_arena_fini(&table->control->arena);
	free(table->control);
	free(table);
}

/* --- single entries --------------------------------------------------------------------------- */

static uint64_t load(const struct shunt_mac_bucket *bucket, unsigned at)
{
	return __atomic_load_n(&bucket->slots[at], __ATOMIC_RELAXED);
}

/* Pairs with the loads in shunt_mac_match; the word is all there is to see. */
static void store(struct shunt_mac_bucket *bucket, unsigned at, uint64_t word)
{
	__atomic_store_n(&bucket->slots[at], word, __ATOMIC_RELEASE);
}

static void touch(struct shunt_mac_bucket *bucket, unsigned at, uint8_t tick)
{
	__atomic_store_n(&bucket->seen[at], tick, __ATOMIC_RELAXED);
}

static bool may_move(const struct shunt_mac_bucket *bucket, unsigned at)
{
	return __atomic_load_n(&bucket->seen[SHUNT_MAC_SLOT_CNT], __ATOMIC_RELAXED) >> at & 1;
}

static void set_may_move(struct shunt_mac_bucket *bucket, unsigned at, bool on)
{
	const unsigned all =
		__atomic_load_n(&bucket->seen[SHUNT_MAC_SLOT_CNT], __ATOMIC_RELAXED) & ~(1u << at);

	touch(bucket, SHUNT_MAC_SLOT_CNT, (uint8_t)(all | (unsigned)on << at));
}

static bool is_static(const struct shunt_mac_bucket *bucket, unsigned at)
{
	return load(bucket, at) & SHUNT_MAC_SLOT_STATIC || may_move(bucket, at);
}

static unsigned empty_slot(const struct shunt_mac_bucket *bucket)
{
	unsigned i;

	for (i = 0; i < SHUNT_MAC_SLOT_CNT && load(bucket, i); i++)
		;
	return i;
}

static uint64_t rest_of(uint64_t word)
{
	return (word & ~SHUNT_MAC_SLOT_VALID) >> 9;
}

static uint64_t other_bucket(const struct shunt_mac_table *table, uint64_t bucket, uint64_t word)
{
	return bucket ^ shunt_mac_leap(table, rest_of(word));
}

static uint64_t key_of(const struct shunt_mac_table *table, uint64_t bucket, uint64_t word)
{
	uint64_t hash;

	if (word & SHUNT_MAC_SLOT_SECOND)
		bucket = other_bucket(table, bucket, word);
	hash = bucket << table->rest_bits | rest_of(word);
	hash ^= hash >> 30;
	hash = hash * table->control->factor_inverse & SHUNT_MAC_KEY_MASK;
	hash ^= hash >> 30;
	hash = hash * table->control->factor_inverse & SHUNT_MAC_KEY_MASK;
	return hash ^ hash >> 30;
}

static void clear(struct shunt_mac_table *table, struct shunt_mac_bucket *bucket, unsigned at)
{
	table->control->cnt--;
	count(table->control, load(bucket, at), -1);
	table->control->static_cnt -= is_static(bucket, at);
	set_may_move(bucket, at, false);
	store(bucket, at, 0);
}

/* --- room for a new one ----------------------------------------------------------------------- */

/* Breadth first over buckets: from the two of the new entry, each full bucket leads to the other
 * buckets of its seven. */
struct step {
	uint64_t bucket;
	uint32_t from; /* index of the step that leads here, itself for the first two */
	uint8_t slot;  /* of that step's bucket: the entry that would come here */
};

struct search {
	struct step steps[SEARCH_MAX];
	unsigned cnt;
};

static void add_step(struct search *s, uint64_t bucket, unsigned from, unsigned slot)
{
	unsigned i;

	if (s->cnt == SEARCH_MAX)
		return;
	for (i = 0; i < s->cnt; i++)
		if (s->steps[i].bucket == bucket)
			return;
	s->steps[s->cnt++] = (struct step){bucket, from, (uint8_t)slot};
}

/* Moves the entries along the steps found, the last first, so that each entry is in its new slot
 * before its old one is written over. Returns the first bucket; its slot *at may be written over.
 */
static uint64_t shift_along(struct shunt_mac_table *table, const struct search *s, unsigned last,
			    unsigned *at)
{
	const struct step *step = &s->steps[last];

	while (step != &s->steps[step->from]) {
		const struct step *before = &s->steps[step->from];
		struct shunt_mac_bucket *from = &table->buckets[before->bucket];
		struct shunt_mac_bucket *to = &table->buckets[step->bucket];

		touch(to, *at, __atomic_load_n(&from->seen[step->slot], __ATOMIC_RELAXED));
		set_may_move(to, *at, may_move(from, step->slot));
		store(to, *at, load(from, step->slot) ^ SHUNT_MAC_SLOT_SECOND);
		*at = step->slot;
		step = before;
	}
	return step->bucket;
}

static bool make_room(struct shunt_mac_table *table, uint64_t first, uint64_t second,
		      uint64_t *bucket, unsigned *at)
{
	struct search s = {.cnt = 0};
	unsigned i, slot;

	add_step(&s, first, 0, 0);
	add_step(&s, second, 1, 0);
	for (i = 0; i < s.cnt; i++) {
		const struct shunt_mac_bucket *b = &table->buckets[s.steps[i].bucket];

		*at = empty_slot(b);
		if (*at < SHUNT_MAC_SLOT_CNT) {
			*bucket = shift_along(table, &s, i, at);
			return true;
		}
		for (slot = 0; slot < SHUNT_MAC_SLOT_CNT; slot++)
			add_step(&s, other_bucket(table, s.steps[i].bucket, load(b, slot)), i,
				 slot);
	}
	return false;
}

static enum shunt_mac_result insert(struct shunt_mac_table *table, uint64_t hash, uint64_t low,
				    bool moves)
{
	struct shunt_mac_control *c = table->control;
	uint64_t rest = shunt_mac_rest(table, hash);
	uint64_t first = hash >> table->rest_bits, bucket;
	unsigned at;

	if (!has_place(c, low) ||
	    !make_room(table, first, first ^ shunt_mac_leap(table, rest), &bucket, &at))
		return SHUNT_MAC_FULL;
	touch(&table->buckets[bucket], at, table->tick);
	set_may_move(&table->buckets[bucket], at, moves);
	store(&table->buckets[bucket], at,
	      shunt_mac_word(rest) | (bucket == first ? 0 : SHUNT_MAC_SLOT_SECOND) | low);
	c->cnt++;
	count(c, low, 1);
	c->static_cnt += is_static(&table->buckets[bucket], at);
	return SHUNT_MAC_NEW;
}

void shunt_mac_reserve(struct shunt_mac_table *table, unsigned port, uint32_t cnt)
{
	struct shunt_mac_control *c = table->control;
	const uint32_t before = c->reserved[port + 1], has = c->by_port[port + 1];

	c->reserved[port + 1] = cnt;
	c->owed += cnt - SHUNT_MIN(has, cnt);
	c->owed -= before - SHUNT_MIN(has, before);
}

/* --- the writer's calls ----------------------------------------------------------------------- */

enum shunt_mac_result shunt_mac_learn(struct shunt_mac_table *table, uint64_t key, unsigned port)
{
	uint64_t hash = shunt_mac_hash(table, key), word;
	struct shunt_mac_bucket *bucket;
	unsigned at;

	bucket = shunt_mac_find(table, hash, &at, &word);
	if (!bucket)
		return insert(table, hash, port + 1, false);
	if (word & SHUNT_MAC_SLOT_STATIC)
		return SHUNT_MAC_STATIC;
	touch(bucket, at, table->tick);
	if ((word & SHUNT_MAC_SLOT_PORT) == port + 1)
		return SHUNT_MAC_KNOWN;
	count(table->control, word, -1);
	count(table->control, port + 1, 1);
	store(bucket, at, (word & ~SHUNT_MAC_SLOT_PORT) | (port + 1));
	return SHUNT_MAC_MOVED;
}

enum shunt_mac_result shunt_mac_set(struct shunt_mac_table *table, uint64_t key, unsigned port,
				    bool stays)
{
	const uint64_t low = (stays ? SHUNT_MAC_SLOT_STATIC : 0) | (port + 1);
	uint64_t hash = shunt_mac_hash(table, key), word;
	struct shunt_mac_bucket *bucket;
	unsigned at;

	bucket = shunt_mac_find(table, hash, &at, &word);
	if (!bucket)
		return insert(table, hash, low, !stays);
	table->control->static_cnt += !is_static(bucket, at);
	count(table->control, word, -1);
	count(table->control, low, 1);
	set_may_move(bucket, at, !stays);
	store(bucket, at, (word & ~(SHUNT_MAC_SLOT_PORT | SHUNT_MAC_SLOT_STATIC)) | low);
	return (word & SHUNT_MAC_SLOT_PORT) == port + 1 ? SHUNT_MAC_KNOWN : SHUNT_MAC_MOVED;
}

int shunt_mac_del(struct shunt_mac_table *table, uint64_t key)
{
	struct shunt_mac_bucket *bucket;
	uint64_t word;
	unsigned at;

	bucket = shunt_mac_find(table, shunt_mac_hash(table, key), &at, &word);
	if (!bucket)
		return -ENOENT;
	clear(table, bucket, at);
	return 0;
}

static struct shunt_mac_entry entry_of(const struct shunt_mac_table *table, uint64_t bucket,
				       unsigned at, uint64_t word)
{
	const struct shunt_mac_bucket *b = &table->buckets[bucket];

	return (struct shunt_mac_entry){
		.key = key_of(table, bucket, word),
		.port = (uint8_t)((word & SHUNT_MAC_SLOT_PORT) - 1),
		.is_static = is_static(b, at),
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
			word = load(&table->buckets[bucket], at);
			if (!word || is_static(&table->buckets[bucket], at))
				continue;
			entry = entry_of(table, bucket, at, word);
			if (entry.age_ticks <= SHUNT_MAC_AGE_TICKS)
				continue;
			clear(table, &table->buckets[bucket], at);
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
		uint64_t word = load(&table->buckets[bucket], (unsigned)slot);

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
