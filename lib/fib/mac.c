// SPDX-License-Identifier: BSD-2-Clause
/* The control side of the MAC table: its one writer. */
#include "fib/mac_private.h"

#include <errno.h>
#include <stdlib.h>

#define STATIONS_MAX (1u << 24)
#define BUCKETS_MIN  1024u /* the rest of a hash must leave ten bits of a word */

/* Buckets looked at for a place: enough for random addresses at 93 % (unit test); where they are
 * not, the table is full for this station. */
#define SEARCH_MAX   256u

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
	return x;
}

static uint64_t odd_factor(uint64_t seed)
{
	uint64_t z = (seed ^ 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;

	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return (z ^ z >> 31) | 1 | 1ULL << (SHUNT_MAC_KEY_BITS - 1);
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

static unsigned empty_slot(const struct shunt_mac_bucket *bucket)
{
	unsigned i;

	for (i = 0; i < SHUNT_MAC_SLOT_CNT && mac_load(bucket, i); i++)
		;
	return i;
}

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

		mac_touch(to, *at, __atomic_load_n(&from->seen[step->slot], __ATOMIC_RELAXED));
		mac_set_may_move(to, *at, mac_may_move(from, step->slot));
		mac_store(to, *at, mac_load(from, step->slot) ^ SHUNT_MAC_SLOT_SECOND);
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
			add_step(&s, mac_other_bucket(table, s.steps[i].bucket, mac_load(b, slot)),
				 i, slot);
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
	mac_touch(&table->buckets[bucket], at, table->tick);
	mac_set_may_move(&table->buckets[bucket], at, moves);
	mac_store(&table->buckets[bucket], at,
		  shunt_mac_word(rest) | (bucket == first ? 0 : SHUNT_MAC_SLOT_SECOND) | low);
	c->cnt++;
	mac_count(c, low, 1);
	c->static_cnt += mac_is_static(&table->buckets[bucket], at);
	return SHUNT_MAC_NEW;
}

void shunt_mac_watch(struct shunt_mac_table *table, void (*changed)(void *arg), void *arg)
{
	table->control->changed = changed;
	table->control->arg = arg;
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
	mac_touch(bucket, at, table->tick);
	if ((word & SHUNT_MAC_SLOT_PORT) == port + 1)
		return SHUNT_MAC_KNOWN;
	mac_count(table->control, word, -1);
	mac_count(table->control, port + 1, 1);
	mac_store(bucket, at, (word & ~SHUNT_MAC_SLOT_PORT) | (port + 1));
	mac_changed(table);
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
	table->control->static_cnt += !mac_is_static(bucket, at);
	mac_count(table->control, word, -1);
	mac_count(table->control, low, 1);
	mac_set_may_move(bucket, at, !stays);
	mac_store(bucket, at, (word & ~(SHUNT_MAC_SLOT_PORT | SHUNT_MAC_SLOT_STATIC)) | low);
	mac_changed(table);
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
	mac_clear(table, bucket, at);
	return 0;
}
