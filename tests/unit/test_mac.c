// SPDX-License-Identifier: BSD-2-Clause
/* The MAC table against a naive one: every entry, every answer, seeded. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fib/mac.h"
#include "measure/rng.h"

#define SEED	    0x6d616331ULL
#define STATION_CNT 7000
#define TIGHT_MAX   6656u

static struct shunt_mac_table *table;
static struct shunt_err err;

struct naive_station {
	uint64_t key;
	bool is_there, is_static, stays;
	unsigned port, age;
};

static void make(uint32_t max)
{
	cr_assert_eq(shunt_mac_create(&table, max, SEED, &err), 0, "%s", err.msg);
}

static void fini(void)
{
	shunt_mac_destroy(table);
	table = NULL;
}

static unsigned lookup(uint64_t key)
{
	return shunt_mac_lookup(table, shunt_mac_hash(table, key));
}

static bool heard(uint64_t key, unsigned port)
{
	return shunt_mac_heard(table, shunt_mac_hash(table, key), port);
}

Test(mac, key_is_the_bytes)
{
	static const uint8_t mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
	uint8_t back[6];
	uint64_t key = shunt_mac_key(mac, 4095);

	shunt_mac_key_mac(key, back);
	cr_assert_arr_eq(back, mac, 6);
	cr_assert_eq(shunt_mac_key_bridge(key), 4095);
	cr_assert_eq(shunt_mac_key_vid(key), 0);
	cr_assert_neq(key, shunt_mac_key(mac, 4094));
}

Test(mac, a_key_has_its_vlan)
{
	static const uint8_t mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
	static const unsigned vids[] = {0, 1, 2, 31, 4094};
	uint64_t keys[SHUNT_MAC_VLAN_BRIDGES * SHUNT_ARRAY_LEN(vids)];
	unsigned bridge, i, cnt = 0, other;

	for (bridge = 0; bridge < SHUNT_MAC_VLAN_BRIDGES; bridge++)
		for (i = 0; i < SHUNT_ARRAY_LEN(vids); i++) {
			const uint64_t key = shunt_mac_key(mac, shunt_mac_group(bridge, vids[i]));

			cr_assert_eq(shunt_mac_key_bridge(key), bridge);
			cr_assert_eq(shunt_mac_key_vid(key), vids[i]);
			for (other = 0; other < cnt; other++)
				cr_assert_neq(keys[other], key);
			keys[cnt++] = key;
		}
}

Test(mac, sizes_are_checked)
{
	cr_assert_eq(shunt_mac_create(&table, 0, SEED, &err), -EINVAL);
	cr_assert_eq(shunt_mac_create(&table, (1u << 24) + 1, SEED, &err), -EINVAL);
	shunt_mac_destroy(NULL);
}

/* The key of 0 has the hash 0: it must not be taken for an empty slot. */
Test(mac, zero_is_a_key_like_others, .fini = fini)
{
	make(100);
	cr_assert_eq(lookup(0), SHUNT_MAC_NONE);
	cr_assert_eq(shunt_mac_learn(table, 0, 0), SHUNT_MAC_NEW);
	cr_assert_eq(lookup(0), 0);
	cr_assert_eq(shunt_mac_del(table, 0), 0);
	cr_assert_eq(lookup(0), SHUNT_MAC_NONE);
}

Test(mac, learns_moves_and_keeps_static_ones, .fini = fini)
{
	struct shunt_mac_entry entry;

	make(100);
	cr_assert_eq(shunt_mac_learn(table, 7, 1), SHUNT_MAC_NEW);
	cr_assert_eq(shunt_mac_learn(table, 7, 1), SHUNT_MAC_KNOWN);
	cr_assert(heard(7, 1));
	cr_assert(!heard(7, 2), "a move is for the control thread");
	cr_assert_eq(shunt_mac_learn(table, 7, 2), SHUNT_MAC_MOVED);
	cr_assert_eq(lookup(7), 2);
	cr_assert_eq(shunt_mac_set(table, 7, SHUNT_MAC_HOST, true), SHUNT_MAC_MOVED);
	cr_assert_eq(shunt_mac_learn(table, 7, 2), SHUNT_MAC_STATIC);
	cr_assert(heard(7, 2), "nothing to learn about a static one");
	cr_assert_eq(lookup(7), SHUNT_MAC_HOST);
	cr_assert_eq(shunt_mac_get(table, 7, &entry), 0);
	cr_assert(entry.key == 7 && entry.is_static && entry.stays && entry.port == SHUNT_MAC_HOST);
	cr_assert_eq(shunt_mac_set(table, 7, 3, false), SHUNT_MAC_MOVED);
	cr_assert(!heard(7, 2), "a static one that moves");
	cr_assert_eq(shunt_mac_learn(table, 7, 2), SHUNT_MAC_MOVED);
	cr_assert_eq(shunt_mac_get(table, 7, &entry), 0);
	cr_assert(entry.is_static && !entry.stays && entry.port == 2);
	cr_assert_eq(shunt_mac_del(table, 7), 0);
	cr_assert_eq(shunt_mac_del(table, 7), -ENOENT);
	cr_assert_eq(shunt_mac_get(table, 7, &entry), -ENOENT);
}

static void count_gone(void *arg, const struct shunt_mac_entry *entry)
{
	unsigned *mask = arg;

	*mask |= 1u << entry->key;
}

static void count(void *changes)
{
	++*(unsigned *)changes;
}

/* What is known may be remembered while nothing of this changes. */
Test(mac, tells_of_changes, .fini = fini)
{
	unsigned changes = 0;

	make(1000);
	shunt_mac_watch(table, count, &changes);
	shunt_mac_learn(table, 1, 3);
	shunt_mac_set(table, 2, 4, true);
	shunt_mac_learn(table, 1, 3);
	heard(1, 3);
	cr_expect_eq(changes, 0, "new ones, and what is as it was");
	shunt_mac_learn(table, 1, 4);
	cr_expect_eq(changes, 1, "moved");
	shunt_mac_set(table, 1, 5, false);
	cr_expect_eq(changes, 2, "set");
	cr_expect_eq(shunt_mac_flush(table, 0, 5), 0);
	cr_expect_eq(changes, 2, "nothing to flush");
	shunt_mac_del(table, 1);
	cr_expect_eq(changes, 3, "gone");
	shunt_mac_learn(table, 1, 5);
	for (unsigned i = 0; i <= SHUNT_MAC_AGE_TICKS; i++)
		shunt_mac_age(table, NULL, NULL);
	cr_expect_eq(changes, 4, "aged");
}

Test(mac, ages_what_is_silent, .fini = fini)
{
	unsigned tick, gone = 0;

	make(100);
	shunt_mac_learn(table, 1, 0);
	shunt_mac_learn(table, 2, 0);
	shunt_mac_set(table, 3, 0, false);
	for (tick = 0; tick < SHUNT_MAC_AGE_TICKS; tick++) {
		cr_assert_eq(shunt_mac_age(table, count_gone, &gone), 0, "tick %u", tick);
		heard(2, 0);
	}
	cr_assert_eq(shunt_mac_age(table, count_gone, &gone), 1);
	cr_assert_eq(gone, 1u << 1, "the silent one alone");
	for (tick = 0; tick < 1000; tick++)
		shunt_mac_age(table, NULL, NULL);
	cr_assert_eq(lookup(2), SHUNT_MAC_NONE);
	cr_assert_eq(lookup(3), 0, "static ones stay");
}

Test(mac, full_is_said_and_harms_nothing, .fini = fini)
{
	struct shunt_mac_counts counts;
	unsigned i;

	make(64);
	for (i = 0; i < 64; i++)
		cr_assert_eq(shunt_mac_learn(table, i, i % 7), SHUNT_MAC_NEW);
	for (i = 64; i < 1000; i++)
		cr_assert_eq(shunt_mac_learn(table, i, 1), SHUNT_MAC_FULL);
	for (i = 0; i < 1000; i++)
		cr_assert_eq(lookup(i), i < 64 ? i % 7 : SHUNT_MAC_NONE);
	cr_assert_eq(shunt_mac_learn(table, 5, 6), SHUNT_MAC_MOVED, "moves need no room");
	shunt_mac_del(table, 9);
	cr_assert_eq(shunt_mac_learn(table, 2000, 3), SHUNT_MAC_NEW);
	shunt_mac_counts(table, &counts);
	cr_assert(counts.entries == 64 && counts.max == 64);
}

/* One port's made-up stations take all that is not reserved; every other port's stations find their
 * place, come and go. */
Test(mac, a_port_keeps_what_is_reserved_for_it, .fini = fini)
{
	unsigned i, cnt = 0;

	make(1000);
	shunt_mac_reserve(table, 1, 100);
	shunt_mac_reserve(table, 2, 50);
	for (i = 0; i < 2000; i++)
		cnt += shunt_mac_learn(table, i, 1) == SHUNT_MAC_NEW;
	cr_expect_eq(cnt, 950, "all but port 2's: %u", cnt);
	for (i = 0; i < 60; i++)
		cr_expect_eq(shunt_mac_learn(table, 5000 + i, 2),
			     i < 50 ? SHUNT_MAC_NEW : SHUNT_MAC_FULL, "%u", i);
	cr_expect_eq(shunt_mac_learn(table, 9000, 3), SHUNT_MAC_FULL);
	for (i = 0; i < 25; i++)
		shunt_mac_del(table, 5000 + i);
	cr_expect_eq(shunt_mac_learn(table, 9000, 1), SHUNT_MAC_FULL, "the place is port 2's");
	cr_expect_eq(shunt_mac_learn(table, 9001, 2), SHUNT_MAC_NEW);
	/* a station that moves away leaves a place behind */
	cr_expect_eq(shunt_mac_learn(table, 9001, 1), SHUNT_MAC_MOVED);
	cr_expect_eq(shunt_mac_learn(table, 9002, 2), SHUNT_MAC_NEW);
}

/* The promise of the header, with the addresses that vendors give: counted up. And how many
 * need their second line. */
Test(mac, holds_what_it_promises, .fini = fini)
{
	struct shunt_mac_entry entry;
	uint32_t i, second = 0;
	uint64_t at = 0;

	make(SHUNT_MAC_MAX_DEFAULT);
	for (i = 0; i < SHUNT_MAC_MAX_DEFAULT; i++) {
		uint8_t mac[6] = {0x02, 0, 0, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};

		cr_assert_eq(shunt_mac_learn(table, shunt_mac_key(mac, 0), i % 64), SHUNT_MAC_NEW,
			     "station %u", i);
	}
	for (i = 0; i < SHUNT_MAC_MAX_DEFAULT; i++) {
		uint8_t mac[6] = {0x02, 0, 0, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};
		uint64_t hash = shunt_mac_hash(table, shunt_mac_key(mac, 0)), word;

		cr_assert_eq(shunt_mac_lookup(table, hash), i % 64, "station %u", i);
		second += shunt_mac_match(shunt_mac_first(table, hash),
					  shunt_mac_word(shunt_mac_rest(table, hash)),
					  &word) == SHUNT_MAC_SLOT_CNT;
	}
	cr_log_info("%u of %u in their second bucket", second, SHUNT_MAC_MAX_DEFAULT);
	cr_assert_lt(second, SHUNT_MAC_MAX_DEFAULT / 4, "%u need a second line", second);
	for (i = 0; shunt_mac_next(table, &at, &entry); i++)
		;
	cr_assert_eq(i, SHUNT_MAC_MAX_DEFAULT);
}

/* --- a random history ------------------------------------------------------------------------- */

static void naive_step(struct naive_station *s, uint64_t *rng)
{
	unsigned port = (unsigned)shunt_rng_below(rng, 64), did;
	bool stays = shunt_rng_below(rng, 2);

	switch (shunt_rng_below(rng, 8)) {
	case 0:
		did = shunt_mac_set(table, s->key, port, stays);
		cr_assert_eq(did, !s->is_there	    ? SHUNT_MAC_NEW
				  : s->port == port ? SHUNT_MAC_KNOWN
						    : SHUNT_MAC_MOVED);
		*s = (struct naive_station){s->key, true, true, stays, port, 0};
		return;
	case 1:
	case 2:
		cr_assert_eq(shunt_mac_del(table, s->key), s->is_there ? 0 : -ENOENT);
		s->is_there = false;
		return;
	case 3:
		cr_assert_eq(heard(s->key, port), s->is_there && (s->stays || s->port == port));
		if (s->is_there && s->port == port)
			s->age = 0;
		return;
	default:
		did = shunt_mac_learn(table, s->key, port);
		if (s->is_there && s->stays) {
			cr_assert_eq(did, SHUNT_MAC_STATIC);
			return;
		}
		cr_assert_eq(did, !s->is_there	    ? SHUNT_MAC_NEW
				  : s->port == port ? SHUNT_MAC_KNOWN
						    : SHUNT_MAC_MOVED);
		*s = (struct naive_station){s->key, true, s->is_there && s->is_static,
					    false,  port, 0};
	}
}

static void naive_age(struct naive_station *stations)
{
	unsigned gone = 0, i;

	for (i = 0; i < STATION_CNT; i++) {
		if (!stations[i].is_there || stations[i].is_static)
			continue;
		if (++stations[i].age > SHUNT_MAC_AGE_TICKS) {
			stations[i].is_there = false;
			gone++;
		}
	}
	cr_assert_eq(shunt_mac_age(table, NULL, NULL), gone);
}

static void compare(const struct naive_station *stations)
{
	struct shunt_mac_counts counts;
	unsigned there = 0, statics = 0, i;

	for (i = 0; i < STATION_CNT; i++) {
		cr_assert_eq(lookup(stations[i].key),
			     stations[i].is_there ? stations[i].port : SHUNT_MAC_NONE);
		there += stations[i].is_there;
		statics += stations[i].is_there && stations[i].is_static;
	}
	shunt_mac_counts(table, &counts);
	cr_assert(counts.entries == there && counts.statics == statics);
}

/* Tight: up to 6656 of 7000 stations in 1024 buckets of 7 slots, so that entries get pushed about.
 */
Test(mac, random_history, .fini = fini)
{
	struct naive_station stations[STATION_CNT] = {0};
	uint64_t rng = SEED;
	unsigned i;

	make(TIGHT_MAX);
	for (i = 0; i < STATION_CNT; i++)
		stations[i].key = shunt_rng_next(&rng);
	for (i = 0; i < 200000; i++) {
		unsigned at = (unsigned)shunt_rng_below(&rng, TIGHT_MAX);

		naive_step(&stations[at], &rng);
		if (i % 600 == 0)
			naive_age(stations);
		if (i % 5000 == 0)
			compare(stations);
	}
}

Test(mac, flush_takes_the_dynamic_ones_of_a_port, .fini = fini)
{
	unsigned i;

	make(400);
	for (i = 0; i < 100; i++) {
		uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)i};

		shunt_mac_learn(table, shunt_mac_key(mac, 0), i % 4);
		shunt_mac_learn(table, shunt_mac_key(mac, 1), i % 4);
	}
	shunt_mac_set(table, 12345, 2, true);
	cr_assert_eq(shunt_mac_flush(table, 0, 2), 25);
	cr_assert_eq(shunt_mac_flush(table, 0, 2), 0);
	cr_assert_eq(shunt_mac_flush(table, 1, 2), 25);
	cr_assert_eq(lookup(12345), 2);
}
