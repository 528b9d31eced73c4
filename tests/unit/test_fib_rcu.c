// SPDX-License-Identifier: BSD-2-Clause
/* Lookups while routes change. Every route's next hop names the route, so a reader can tell of any
 * answer whether that route covers the address it asked for: a torn word, a leaf of another run
 * or memory used again too early would give a next hop that does not. A default route and some host
 * routes are never touched: 0, or another answer for those hosts, is a missing route. `make tsan`
 * runs this under ThreadSanitizer. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <urcu-qsbr.h>

#include "base/bytes.h"
#include "fib/fib4.h"
#include "fib/fib6.h"
#include "fib/nexthop.h"
#include "fib/runs.h"
#include "effort.h"
#include "fib_oracle.h"
#include "measure/rng.h"

#define READER_CNT 2
#define BATCH	   64u
#define HOST_CNT   16u /* routes 1..HOST_CNT are hosts and stay; route 0 is the default */
#define ROUTE_CNT  512u
#define UPDATE_CNT 120000u /* several times what waits for one grace period */

struct route {
	naive_key key;
	unsigned len;
	bool there;
};

struct race {
	struct shunt_fib4 *fib4;
	struct shunt_fib6 *fib6;
	struct shunt_nexthops *nexthops;
	struct route routes[ROUTE_CNT];
	uint32_t nhs[ROUTE_CNT];
	uint64_t seed;
	uint64_t bad_cnt, checked_cnt;
	unsigned bits; /* of an address */
	bool stop;
};

/* Addresses near one another, with edges at every depth of the tables. */
static naive_key corner(uint64_t *rng, unsigned bits)
{
	uint64_t r = shunt_rng_next(rng);

	if (bits == 32)
		return (naive_key)(0x0a000000u | (r & 0x0000e7ff)) << 96;
	return ((naive_key)(0x20010db800000000 | (r & 0x3f00070000)) << 64) | (r >> 40 & 0xff);
}

static bool covers(const struct race *race, uint32_t nh, naive_key key)
{
	const struct route *r = &race->routes[nh - 1];

	return nh && nh <= ROUTE_CNT && !((r->key ^ key) & naive_mask(r->len));
}

static void make_routes(struct race *race)
{
	uint64_t rng = race->seed;
	struct route *r;
	uint32_t i, j;

	for (i = 1; i < ROUTE_CNT; i++) {
		r = &race->routes[i];
		do {
			r->len = (unsigned)shunt_rng_below(&rng, race->bits) + 1;
			if (i <= HOST_CNT)
				r->len = race->bits;
			r->key = corner(&rng, race->bits) & naive_mask(r->len);
			for (j = 0; j < i; j++)
				if (race->routes[j].len == r->len && race->routes[j].key == r->key)
					break;
		} while (j < i);
	}
}

static void to_bytes(naive_key key, uint8_t addr[16])
{
	unsigned i;

	for (i = 0; i < 16; i++)
		addr[i] = (uint8_t)(key >> (120 - 8 * i));
}

static int change(struct race *race, uint32_t i)
{
	struct route *r = &race->routes[i];
	uint32_t addr_be = htonl((uint32_t)(r->key >> 96));
	uint8_t addr[16];

	r->there = !r->there;
	to_bytes(r->key, addr);
	if (race->bits == 32)
		return r->there ? shunt_fib4_add(race->fib4, addr_be, r->len, i + 1, NULL)
				: shunt_fib4_del(race->fib4, addr_be, r->len, NULL);
	return r->there ? shunt_fib6_add(race->fib6, addr, r->len, i + 1, NULL)
			: shunt_fib6_del(race->fib6, addr, r->len, NULL);
}

static void lookup(const struct race *race, const naive_key *keys, uint32_t *nh)
{
	uint8_t dst6[BATCH][16];
	uint32_t dst4[BATCH], i;

	for (i = 0; i < BATCH; i++) {
		dst4[i] = htonl((uint32_t)(keys[i] >> 96));
		to_bytes(keys[i], dst6[i]);
	}
	if (race->bits == 32) {
		shunt_fib4_lookup_bulk(race->fib4, dst4, nh, BATCH - 1);
		nh[BATCH - 1] = shunt_fib4_lookup(race->fib4, dst4[BATCH - 1]);
	} else {
		shunt_fib6_lookup_bulk(race->fib6, (const uint8_t(*)[16])dst6, nh, BATCH - 1);
		nh[BATCH - 1] = shunt_fib6_lookup(race->fib6, dst6[BATCH - 1]);
	}
}

static uint64_t check_batch(const struct race *race, uint64_t *rng)
{
	naive_key keys[BATCH];
	uint32_t nh[BATCH], i, host = 0;
	uint64_t bad = 0;

	for (i = 0; i < BATCH; i++)
		keys[i] = corner(rng, race->bits);
	host = 1 + (uint32_t)shunt_rng_below(rng, HOST_CNT);
	keys[0] = keys[BATCH - 1] = race->routes[host].key;
	lookup(race, keys, nh);
	for (i = 0; i < BATCH; i++)
		bad += !covers(race, nh[i], keys[i]);
	return bad + (nh[0] != host + 1) + (nh[BATCH - 1] != host + 1);
}

static void *read_routes(void *arg)
{
	struct race *race = arg;
	uint64_t rng = (uintptr_t)&rng;

	urcu_qsbr_register_thread();
	while (!__atomic_load_n(&race->stop, __ATOMIC_ACQUIRE)) {
		__atomic_fetch_add(&race->bad_cnt, check_batch(race, &rng), __ATOMIC_RELAXED);
		__atomic_fetch_add(&race->checked_cnt, BATCH, __ATOMIC_RELAXED);
		shunt_runs_tsan_quiescent();
		urcu_qsbr_quiescent_state();
	}
	urcu_qsbr_unregister_thread();
	return NULL;
}

static void start(struct race *race, pthread_t *threads, void *(*fn)(void *))
{
	unsigned i;

	for (i = 0; i < READER_CNT; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, fn, race), 0);
}

/* Ends when the readers have seen something, at the latest when the test's time is over. */
static void finish(struct race *race, pthread_t *threads)
{
	unsigned i;

	while (__atomic_load_n(&race->checked_cnt, __ATOMIC_RELAXED) < 10000)
		sched_yield();
	__atomic_store_n(&race->stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < READER_CNT; i++)
		pthread_join(threads[i], NULL);
	cr_assert_eq(race->bad_cnt, 0, "SHUNT_SEED=%#lx: %lu of %lu answers were wrong", race->seed,
		     race->bad_cnt, race->checked_cnt);
}

static void update_routes(struct race *race)
{
	uint64_t rng = race->seed;
	pthread_t threads[READER_CNT];
	uint32_t i;

	make_routes(race);
	for (i = 0; i <= HOST_CNT; i++)
		cr_assert_eq(change(race, i), 0);
	start(race, threads, read_routes);
	for (i = 0; i < EFFORT(UPDATE_CNT); i++)
		cr_assert_eq(change(race, HOST_CNT + 1 +
						  (uint32_t)shunt_rng_below(
							  &rng, ROUTE_CNT - HOST_CNT - 1)),
			     0, "SHUNT_SEED=%#lx: update %u", race->seed, i);
	finish(race, threads);
}

Test(fib_rcu, ipv4_updates_under_lookup, .timeout = 120)
{
	struct race *race = calloc(1, sizeof(*race));

	race->seed = naive_seed();
	race->bits = 32;
	cr_assert_eq(shunt_fib4_create(&race->fib4, 0, NULL), 0);
	update_routes(race);
	shunt_fib4_destroy(race->fib4);
	free(race);
}

Test(fib_rcu, ipv6_updates_under_lookup, .timeout = 120)
{
	struct race *race = calloc(1, sizeof(*race));

	race->seed = naive_seed();
	race->bits = 128;
	cr_assert_eq(shunt_fib6_create(&race->fib6, 0, NULL), 0);
	update_routes(race);
	shunt_fib6_destroy(race->fib6);
	free(race);
}

/* An adjacency is whole when all its parts carry its number. */
static struct shunt_adj whole(uint32_t number)
{
	struct shunt_adj adj = {.kind = SHUNT_ADJ_REWRITE, .number = number};

	memset(adj.eth, (int)number & 0xff, sizeof(adj.eth));
	adj.mtu = adj.ifindex = number;
	adj.port = (uint16_t)number;
	return adj;
}

static void *read_adjs(void *arg)
{
	struct race *race = arg;
	uint64_t rng = (uintptr_t)&rng;
	const struct shunt_adj *adj;
	struct shunt_adj want;
	uint32_t i, bad;

	urcu_qsbr_register_thread();
	while (!__atomic_load_n(&race->stop, __ATOMIC_ACQUIRE)) {
		for (i = bad = 0; i < BATCH; i++) {
			adj = shunt_nexthop_adj(race->nexthops, race->nhs[i % 8],
						(uint32_t)shunt_rng_next(&rng));
			want = whole(__atomic_load_n(&adj->number, __ATOMIC_RELAXED));
			bad += adj->port != want.port || adj->mtu != want.mtu ||
			       adj->ifindex != want.ifindex ||
			       memcmp(adj->eth, want.eth, sizeof(want.eth));
		}
		__atomic_fetch_add(&race->bad_cnt, bad, __ATOMIC_RELAXED);
		__atomic_fetch_add(&race->checked_cnt, BATCH, __ATOMIC_RELAXED);
		shunt_runs_tsan_quiescent();
		urcu_qsbr_quiescent_state();
	}
	urcu_qsbr_unregister_thread();
	return NULL;
}

/* Neighbours that change their MAC and groups that change their members, all the time. */
static void change_nexthops(struct race *race, uint64_t *rng, uint64_t number)
{
	struct shunt_nexthop_member members[7];
	struct shunt_adj adj = whole((uint32_t)number);
	unsigned i, cnt = 1 + (unsigned)shunt_rng_below(rng, 7);

	cr_assert_eq(shunt_nexthop_set(race->nexthops, race->nhs[number % 7], &adj, NULL), 0);
	if (number % 16)
		return;
	for (i = 0; i < cnt; i++) {
		members[i].nh = race->nhs[i];
		members[i].weight = 1 + (uint32_t)shunt_rng_below(rng, 100);
	}
	cr_assert_eq(shunt_nexthop_group_set(race->nexthops, race->nhs[7], members, cnt, NULL), 0);
}

Test(fib_rcu, nexthops_change_under_lookup, .timeout = 120)
{
	struct race *race = calloc(1, sizeof(*race));
	struct shunt_nexthop_member first;
	pthread_t threads[READER_CNT];
	struct shunt_adj adj = whole(1);
	uint64_t rng = race->seed = naive_seed();
	unsigned i;

	cr_assert_eq(shunt_nexthop_create(&race->nexthops, 0, NULL), 0);
	for (i = 0; i < 7; i++)
		cr_assert_eq(shunt_nexthop_add(race->nexthops, &adj, &race->nhs[i], NULL), 0);
	first = (struct shunt_nexthop_member){race->nhs[0], 1};
	cr_assert_eq(shunt_nexthop_group_add(race->nexthops, &first, 1, &race->nhs[7], NULL), 0);
	start(race, threads, read_adjs);
	for (i = 0; i < EFFORT(UPDATE_CNT); i++)
		change_nexthops(race, &rng, i);
	finish(race, threads);
	shunt_nexthop_destroy(race->nexthops);
	free(race);
}
