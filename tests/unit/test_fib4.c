// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "fib/fib4.h"
#include "fib/fib4_lookup.h"
#include "effort.h"
#include "fib_oracle.h"
#include "traffic/bgp.h"
#include "measure/rng.h"

static struct shunt_fib4 *create(size_t bytes_max)
{
	struct shunt_fib4 *fib;
	struct shunt_err err = {0};

	cr_assert_eq(shunt_fib4_create(&fib, bytes_max, &err), 0, "%s", err.msg);
	return fib;
}

static struct shunt_fib4 *open_space(struct shunt_fib4 *fib, unsigned space)
{
	struct shunt_err err = {0};

	cr_assert_eq(shunt_fib4_open_space(fib, space, &err), 0, "%s", err.msg);
	return shunt_fib4_space(fib, space);
}

static void add(struct shunt_fib4 *fib, const char *addr, unsigned len, uint32_t nh)
{
	struct shunt_err err = {0};

	cr_assert_eq(shunt_fib4_add(fib, inet_addr(addr), len, nh, &err), 0, "%s", err.msg);
}

static void del(struct shunt_fib4 *fib, const char *addr, unsigned len)
{
	struct shunt_err err = {0};

	cr_assert_eq(shunt_fib4_del(fib, inet_addr(addr), len, &err), 0, "%s", err.msg);
}

static void expect(struct shunt_fib4 *fib, const char *addr, uint32_t nh)
{
	uint32_t one = inet_addr(addr), got = shunt_fib4_lookup(fib, one);

	cr_expect_eq(got, nh, "%s: %u, expected %u", addr, got, nh);
	shunt_fib4_lookup_bulk(fib, &one, &got, 1);
	cr_expect_eq(got, nh, "%s in bulk: %u, expected %u", addr, got, nh);
}

Test(fib4, empty_has_no_route)
{
	struct shunt_fib4 *fib = create(0);

	expect(fib, "0.0.0.0", 0);
	expect(fib, "255.255.255.255", 0);
	cr_assert_eq(shunt_fib4_route_cnt(fib), 0);
	shunt_fib4_destroy(fib);
	shunt_fib4_destroy(NULL);
}

Test(fib4, every_length_alone)
{
	struct shunt_fib4 *fib = create(0);
	uint32_t base, last;
	unsigned len;

	for (len = 0; len <= 32; len++) {
		base = len ? 0xc0a85ad3u & (~0u << (32 - len)) : 0;
		last = len < 32 ? base | (~0u >> len) : base;
		cr_assert_eq(shunt_fib4_add(fib, htonl(base), len, len + 7, NULL), 0);
		cr_expect_eq(shunt_fib4_lookup(fib, htonl(base)), len + 7);
		cr_expect_eq(shunt_fib4_lookup(fib, htonl(last)), len + 7);
		if (len) {
			cr_expect_eq(shunt_fib4_lookup(fib, htonl(base - 1)), 0, "/%u", len);
			cr_expect_eq(shunt_fib4_lookup(fib, htonl(last + 1)), 0, "/%u", len);
		}
		cr_assert_eq(shunt_fib4_del(fib, htonl(base), len, NULL), 0);
		cr_expect_eq(shunt_fib4_lookup(fib, htonl(base)), 0);
	}
	shunt_fib4_destroy(fib);
}

Test(fib4, nested_routes_and_their_return)
{
	struct shunt_fib4 *fib = create(0);

	add(fib, "10.1.2.3", 32, 32);
	add(fib, "0.0.0.0", 0, 100);
	add(fib, "10.1.2.0", 24, 24);
	add(fib, "10.0.0.0", 8, 8);
	add(fib, "10.1.2.0", 28, 28);
	add(fib, "10.1.0.0", 16, 16);
	expect(fib, "10.1.2.3", 32);
	expect(fib, "10.1.2.2", 28);
	expect(fib, "10.1.2.16", 24);
	expect(fib, "10.1.3.0", 16);
	expect(fib, "10.2.0.0", 8);
	expect(fib, "11.0.0.0", 100);
	del(fib, "10.1.2.3", 32);
	expect(fib, "10.1.2.3", 28);
	del(fib, "10.1.2.0", 24);
	expect(fib, "10.1.2.3", 28);
	expect(fib, "10.1.2.16", 16);
	del(fib, "10.1.2.0", 28);
	expect(fib, "10.1.2.3", 16);
	del(fib, "10.1.0.0", 16);
	del(fib, "10.0.0.0", 8);
	expect(fib, "10.1.2.3", 100);
	del(fib, "0.0.0.0", 0);
	expect(fib, "10.1.2.3", 0);
	shunt_fib4_destroy(fib);
}

Test(fib4, halves_and_default)
{
	struct shunt_fib4 *fib = create(0);

	add(fib, "0.0.0.0", 1, 1);
	add(fib, "128.0.0.0", 1, 2);
	add(fib, "0.0.0.0", 0, 3);
	expect(fib, "127.255.255.255", 1);
	expect(fib, "128.0.0.0", 2);
	del(fib, "0.0.0.0", 1);
	expect(fib, "1.2.3.4", 3);
	expect(fib, "200.0.0.1", 2);
	shunt_fib4_destroy(fib);
}

/* Neighbours with one next hop share a run; deleting one must not take the other. */
Test(fib4, equal_neighbours_are_told_apart)
{
	struct shunt_fib4 *fib = create(0);

	add(fib, "10.0.0.0", 25, 5);
	add(fib, "10.0.0.128", 25, 5);
	add(fib, "10.0.0.4", 30, 6);
	del(fib, "10.0.0.4", 30);
	expect(fib, "10.0.0.5", 5);
	del(fib, "10.0.0.0", 25);
	expect(fib, "10.0.0.5", 0);
	expect(fib, "10.0.0.129", 5);
	add(fib, "20.0.0.0", 20, 5);
	add(fib, "20.0.16.0", 20, 5);
	del(fib, "20.0.0.0", 20);
	expect(fib, "20.0.0.1", 0);
	expect(fib, "20.0.16.1", 5);
	shunt_fib4_destroy(fib);
}

Test(fib4, replace_get_and_best)
{
	struct shunt_fib4 *fib = create(0);
	unsigned len;

	add(fib, "10.0.0.0", 8, 1);
	add(fib, "10.0.0.0", 8, 2);
	cr_assert_eq(shunt_fib4_route_cnt(fib), 1);
	expect(fib, "10.9.9.9", 2);
	cr_expect_eq(shunt_fib4_get(fib, inet_addr("10.0.0.0"), 8), 2);
	cr_expect_eq(shunt_fib4_get(fib, inet_addr("10.0.0.0"), 9), 0);
	cr_expect_eq(shunt_fib4_best(fib, inet_addr("10.1.1.1"), &len), 2);
	cr_expect_eq(len, 8);
	add(fib, "10.1.1.1", 32, 3);
	cr_expect_eq(shunt_fib4_best(fib, inet_addr("10.1.1.1"), &len), 3);
	cr_expect_eq(len, 32);
	shunt_fib4_destroy(fib);
}

Test(fib4, bad_arguments_are_named)
{
	struct shunt_fib4 *fib = create(0);
	const uint32_t net = inet_addr("10.0.0.0");
	struct shunt_err err = {0};

	cr_expect_eq(shunt_fib4_add(fib, 0, 33, 1, &err), -EINVAL);
	cr_expect(strstr(err.msg, "33"));
	cr_expect_eq(shunt_fib4_add(fib, inet_addr("10.0.0.1"), 8, 1, &err), -EINVAL);
	cr_expect(strstr(err.msg, "10.0.0.1/8"), "%s", err.msg);
	cr_expect_eq(shunt_fib4_add(fib, net, 8, 0, &err), -EINVAL);
	cr_expect_eq(shunt_fib4_add(fib, net, 8, SHUNT_FIB_NH_MAX + 1, &err), -EINVAL);
	cr_expect_eq(shunt_fib4_del(fib, net, 8, &err), -ENOENT);
	cr_expect(strstr(err.msg, "no such route"), "%s", err.msg);
	cr_expect_eq(shunt_fib4_add(fib, net, 8, SHUNT_FIB_NH_MAX, NULL), 0);
	expect(fib, "10.0.0.1", SHUNT_FIB_NH_MAX);
	shunt_fib4_destroy(fib);
}

/* Random routes in a small corner, so that they nest and collide. */
static uint32_t corner(uint64_t *rng)
{
	return 0x0a000000u | ((uint32_t)shunt_rng_next(rng) & 0x0003e73fu);
}

static void random_step(struct shunt_fib4 *fib, struct naive_fib *naive, uint64_t *rng)
{
	unsigned len = (unsigned)shunt_rng_below(rng, 33);
	uint32_t addr = len ? corner(rng) & (~0u << (32 - len)) : 0;
	uint32_t nh = 1 + (uint32_t)shunt_rng_below(rng, 3);
	struct shunt_err err = {0};

	if (naive->cnt && (shunt_rng_below(rng, 100) < 48 || naive->cnt == 600)) {
		const struct naive_route r = naive->routes[shunt_rng_below(rng, naive->cnt)];

		addr = (uint32_t)(r.key >> 96);
		cr_assert_eq(shunt_fib4_del(fib, htonl(addr), r.len, &err), 0, "%s", err.msg);
		naive_del(naive, r.key, r.len);
		return;
	}
	cr_assert_eq(shunt_fib4_add(fib, htonl(addr), len, nh, &err), 0, "%s", err.msg);
	naive_add(naive, (naive_key)addr << 96, len, nh);
}

#define BATCH 77 /* whole groups and a rest */

static void compare(struct shunt_fib4 *fib, const struct naive_fib *naive, uint64_t *rng,
		    unsigned batch_cnt, uint64_t seed)
{
	uint32_t dst[BATCH], nh[BATCH], plain[BATCH], want;
	unsigned i;

	while (batch_cnt--) {
		for (i = 0; i < BATCH; i++)
			dst[i] = htonl(i ? corner(rng) : (uint32_t)shunt_rng_next(rng));
		shunt_fib4_lookup_bulk(fib, dst, nh, BATCH);
		shunt_fib4_bulk_portable(fib, dst, plain, BATCH);
		for (i = 0; i < BATCH; i++) {
			want = naive_lookup(naive, (naive_key)ntohl(dst[i]) << 96);
			cr_assert_eq(nh[i], want, "SHUNT_SEED=%#lx: %08x in bulk %u, expected %u",
				     seed, ntohl(dst[i]), nh[i], want);
			cr_assert_eq(plain[i], want, "SHUNT_SEED=%#lx: portable", seed);
			cr_assert_eq(shunt_fib4_lookup(fib, dst[i]), want, "SHUNT_SEED=%#lx: %08x",
				     seed, ntohl(dst[i]));
		}
	}
}

static void del_all(struct shunt_fib4 *fib, struct naive_fib *naive)
{
	while (naive->cnt) {
		const struct naive_route r = naive->routes[0];

		cr_assert_eq(shunt_fib4_del(fib, htonl((uint32_t)(r.key >> 96)), r.len, NULL), 0);
		naive_del(naive, r.key, r.len);
	}
}

Test(fib4, random_against_naive)
{
	uint64_t seed = naive_seed(), rng = seed;
	struct naive_fib *naive = calloc(1, sizeof(*naive));
	struct shunt_fib4 *fib = create(0);
	struct shunt_fib_bytes empty, bytes;
	unsigned step;

	shunt_fib4_bytes(fib, &empty);
	for (step = 0; step < EFFORT(20000); step++) {
		random_step(fib, naive, &rng);
		if (step % 50 == 0)
			compare(fib, naive, &rng, 2, seed);
	}
	compare(fib, naive, &rng, 100, seed);
	cr_assert_eq(shunt_fib4_route_cnt(fib), naive->cnt);
	del_all(fib, naive);
	compare(fib, naive, &rng, 10, seed);
	shunt_fib4_bytes(fib, &bytes);
	cr_assert_eq(bytes.lookup, empty.lookup, "SHUNT_SEED=%#lx: leaked, %zu bytes in use", seed,
		     bytes.lookup);
	shunt_fib4_destroy(fib);
	free(naive);
}

/* Of one memory, but nothing of one shows in the other. */
Test(fib4, spaces)
{
	struct shunt_fib4 *main = create(0), *one, *last;
	struct shunt_fib_bytes empty, bytes;

	one = open_space(main, 1);
	last = open_space(main, SHUNT_TABLES_SPACES - 1);
	cr_assert(one != main && last != main && one != last);
	cr_assert_eq(open_space(main, 1), one);
	cr_assert_eq(shunt_fib4_space(main, 0), main);
	cr_assert_null(shunt_fib4_space(main, 2));
	shunt_fib4_bytes(main, &empty);
	add(main, "10.1.2.0", 24, 1);
	add(one, "10.1.2.0", 24, 2);
	add(one, "10.1.2.3", 32, 3);
	add(last, "0.0.0.0", 0, 4);
	expect(main, "10.1.2.3", 1);
	expect(one, "10.1.2.3", 3);
	expect(one, "10.1.2.4", 2);
	expect(one, "10.1.3.1", 0);
	expect(last, "10.1.2.3", 4);
	cr_expect_eq(shunt_fib4_get(last, inet_addr("10.1.2.0"), 24), 0);
	cr_expect_eq(shunt_fib4_del(last, inet_addr("10.1.2.0"), 24, NULL), -ENOENT);
	cr_expect_eq(shunt_fib4_route_cnt(one), 2);
	del(main, "10.1.2.0", 24);
	expect(main, "10.1.2.3", 0);
	expect(one, "10.1.2.3", 3);
	del(one, "10.1.2.3", 32);
	expect(one, "10.1.2.3", 2);
	del(one, "10.1.2.0", 24);
	expect(one, "10.1.2.3", 0);
	expect(last, "10.1.2.3", 4);
	del(last, "0.0.0.0", 0);
	shunt_fib4_bytes(main, &bytes);
	cr_expect_eq(bytes.lookup, empty.lookup, "%zu bytes in use", bytes.lookup);
	add(one, "10.1.2.3", 32, 3); /* goes with the first */
	shunt_fib4_destroy(main);
}

Test(fib4, spaces_random_against_naive)
{
	uint64_t seed = naive_seed(), rng = seed;
	struct naive_fib *naive = calloc(2, sizeof(*naive));
	struct shunt_fib4 *main = create(0), *const fibs[] = {main, open_space(main, 5)};
	struct shunt_fib_bytes empty, bytes;
	unsigned step, i;

	shunt_fib4_bytes(main, &empty);
	for (step = 0; step < EFFORT(5000); step++) {
		i = (unsigned)shunt_rng_below(&rng, 2);
		random_step(fibs[i], &naive[i], &rng);
		if (step % 50 == 0)
			compare(fibs[!i], &naive[!i], &rng, 2, seed);
	}
	del_all(fibs[0], &naive[0]);
	compare(fibs[1], &naive[1], &rng, 10, seed);
	del_all(fibs[1], &naive[1]);
	shunt_fib4_bytes(main, &bytes);
	cr_assert_eq(bytes.lookup, empty.lookup, "SHUNT_SEED=%#lx: leaked, %zu bytes in use", seed,
		     bytes.lookup);
	shunt_fib4_destroy(main);
	free(naive);
}

Test(fib4, a_space_that_memory_is_too_short_for_is_refused)
{
	struct shunt_fib4 *fib = create(14UL << 20);
	struct shunt_err err = {0};

	cr_assert_eq(shunt_fib4_open_space(fib, SHUNT_TABLES_SPACES - 1, &err), -ENOMEM);
	cr_expect(strstr(err.msg, "no memory"), "%s", err.msg);
	cr_expect_null(shunt_fib4_space(fib, SHUNT_TABLES_SPACES - 1));
	add(fib, "10.0.0.0", 8, 1);
	expect(fib, "10.0.0.1", 1);
	shunt_fib4_destroy(fib);
}

static int sum(void *arg, uint32_t addr_be, unsigned len, uint32_t nh)
{
	*(uint64_t *)arg += (uint64_t)ntohl(addr_be) * len * nh;
	return 0;
}

/* Fills the table until 1000 additions failed; moves the routes that went in to the front. */
static uint32_t fill(struct shunt_fib4 *fib, struct shunt_bgp4 *routes, uint32_t cnt)
{
	uint32_t i, failed = 0, added = 0, dst, before;
	struct shunt_err err = {0};

	for (i = 0; i < cnt && failed < 1000; i++) {
		dst = htonl(routes[i].addr);
		before = shunt_fib4_lookup(fib, dst);
		if (!shunt_fib4_add(fib, dst, routes[i].len, routes[i].nh, &err)) {
			routes[added++] = routes[i];
			continue;
		}
		cr_assert(strstr(err.msg, "no memory"), "%s", err.msg);
		cr_assert_eq(shunt_fib4_lookup(fib, dst), before);
		cr_assert_eq(shunt_fib4_get(fib, dst, routes[i].len), 0);
		failed++;
	}
	cr_assert_eq(failed, 1000);
	return added;
}

Test(fib4, out_of_memory_leaves_the_table_as_it_was)
{
	const uint32_t cnt = 1000000;
	struct shunt_bgp4 *routes = calloc(cnt, sizeof(*routes));
	struct shunt_fib4 *fib = create(14UL << 20);
	uint64_t want = 0, got = 0;
	struct shunt_err err = {0};
	uint32_t i, added;

	cr_assert_eq(shunt_bgp4_generate(routes, cnt, 64, 5), 0);
	added = fill(fib, routes, cnt);
	cr_assert_eq(shunt_fib4_route_cnt(fib), added);
	for (i = 0; i < added; i++)
		want += (uint64_t)routes[i].addr * routes[i].len * routes[i].nh;
	shunt_fib4_walk(fib, sum, &got);
	cr_assert_eq(want, got);
	for (i = 0; i < added; i++)
		cr_assert_eq(shunt_fib4_del(fib, htonl(routes[i].addr), routes[i].len, &err), 0,
			     "%s", err.msg);
	for (i = 0; i < added; i++)
		cr_assert_eq(shunt_fib4_lookup(fib, htonl(routes[i].addr)), 0);
	shunt_fib4_destroy(fib);
	free(routes);
}

Test(fib4, too_small_a_bound_is_refused)
{
	struct shunt_fib4 *fib;
	struct shunt_err err = {0};

	cr_assert_eq(shunt_fib4_create(&fib, 1 << 20, &err), -ENOMEM);
	cr_assert_null(fib);
	cr_assert(strstr(err.msg, "no memory"), "%s", err.msg);
}
