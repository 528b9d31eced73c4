// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "fib/fib6.h"
#include "fib/fib6_lookup.h"
#include "effort.h"
#include "fib_oracle.h"
#include "traffic/bgp.h"
#include "measure/rng.h"

struct addr {
	uint8_t b[16];
};

static struct shunt_fib6 *create(size_t bytes_max)
{
	struct shunt_fib6 *fib;
	struct shunt_err err = {0};

	cr_assert_eq(shunt_fib6_create(&fib, bytes_max, &err), 0, "%s", err.msg);
	return fib;
}

static struct shunt_fib6 *open_space(struct shunt_fib6 *fib, unsigned space)
{
	struct shunt_err err = {0};

	cr_assert_eq(shunt_fib6_open_space(fib, space, &err), 0, "%s", err.msg);
	return shunt_fib6_space(fib, space);
}

static struct addr ip(const char *text)
{
	struct addr a;

	cr_assert_eq(inet_pton(AF_INET6, text, a.b), 1);
	return a;
}

static struct addr from_key(naive_key key)
{
	struct addr a;
	unsigned i;

	for (i = 0; i < 16; i++)
		a.b[i] = (uint8_t)(key >> (120 - 8 * i));
	return a;
}

static void add(struct shunt_fib6 *fib, const char *addr, unsigned len, uint32_t nh)
{
	struct shunt_err err = {0};

	cr_assert_eq(shunt_fib6_add(fib, ip(addr).b, len, nh, &err), 0, "%s", err.msg);
}

static void del(struct shunt_fib6 *fib, const char *addr, unsigned len)
{
	struct shunt_err err = {0};

	cr_assert_eq(shunt_fib6_del(fib, ip(addr).b, len, &err), 0, "%s", err.msg);
}

static void expect(struct shunt_fib6 *fib, const char *addr, uint32_t nh)
{
	struct addr one = ip(addr);
	uint32_t got = shunt_fib6_lookup(fib, one.b);

	cr_expect_eq(got, nh, "%s: %u, expected %u", addr, got, nh);
	shunt_fib6_lookup_bulk(fib, &one.b, &got, 1);
	cr_expect_eq(got, nh, "%s in bulk: %u, expected %u", addr, got, nh);
}

Test(fib6, empty_has_no_route)
{
	struct shunt_fib6 *fib = create(0);

	expect(fib, "::", 0);
	expect(fib, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 0);
	cr_assert_eq(shunt_fib6_route_cnt(fib), 0);
	shunt_fib6_destroy(fib);
	shunt_fib6_destroy(NULL);
}

Test(fib6, every_length_alone)
{
	const naive_key some = (naive_key)0x20010db8a5a5c3d7 << 64 | 0x123456789abcdef1;
	struct shunt_fib6 *fib = create(0);
	naive_key base, last;
	unsigned len;

	for (len = 0; len <= 128; len++) {
		base = some & naive_mask(len);
		last = base | ~naive_mask(len);
		cr_assert_eq(shunt_fib6_add(fib, from_key(base).b, len, len + 7, NULL), 0);
		cr_expect_eq(shunt_fib6_lookup(fib, from_key(base).b), len + 7, "/%u", len);
		cr_expect_eq(shunt_fib6_lookup(fib, from_key(last).b), len + 7, "/%u", len);
		if (len) {
			cr_expect_eq(shunt_fib6_lookup(fib, from_key(base - 1).b), 0, "/%u", len);
			cr_expect_eq(shunt_fib6_lookup(fib, from_key(last + 1).b), 0, "/%u", len);
		}
		cr_assert_eq(shunt_fib6_del(fib, from_key(base).b, len, NULL), 0);
		cr_expect_eq(shunt_fib6_lookup(fib, from_key(base).b), 0);
	}
	shunt_fib6_destroy(fib);
}

Test(fib6, nested_routes_and_their_return)
{
	struct shunt_fib6 *fib = create(0);

	add(fib, "2001:db8:1:2::3", 128, 128);
	add(fib, "::", 0, 100);
	add(fib, "2001:db8:1::", 48, 48);
	add(fib, "2001:db8::", 32, 32);
	add(fib, "2001:db8:1:2::", 64, 64);
	add(fib, "2000::", 3, 3);
	expect(fib, "2001:db8:1:2::3", 128);
	expect(fib, "2001:db8:1:2::4", 64);
	expect(fib, "2001:db8:1:3::", 48);
	expect(fib, "2001:db8:2::", 32);
	expect(fib, "2001:db9::", 3);
	expect(fib, "fe80::1", 100);
	del(fib, "2001:db8:1:2::3", 128);
	expect(fib, "2001:db8:1:2::3", 64);
	del(fib, "2001:db8:1::", 48);
	expect(fib, "2001:db8:1:3::", 32);
	expect(fib, "2001:db8:1:2::3", 64);
	del(fib, "2001:db8:1:2::", 64);
	del(fib, "2001:db8::", 32);
	expect(fib, "2001:db8:1:2::3", 3);
	del(fib, "2000::", 3);
	expect(fib, "2001:db8:1:2::3", 100);
	del(fib, "::", 0);
	expect(fib, "2001:db8:1:2::3", 0);
	shunt_fib6_destroy(fib);
}

/* Neighbours with one next hop share a run and fold; deleting one must not take the other. */
Test(fib6, equal_neighbours_are_told_apart)
{
	struct shunt_fib6 *fib = create(0);

	add(fib, "2001:db8::", 49, 5);
	add(fib, "2001:db8:0:8000::", 49, 5);
	add(fib, "2001:db8::1", 128, 6);
	del(fib, "2001:db8::1", 128);
	expect(fib, "2001:db8::1", 5);
	del(fib, "2001:db8::", 49);
	expect(fib, "2001:db8::1", 0);
	expect(fib, "2001:db8:0:8000::1", 5);
	shunt_fib6_destroy(fib);
}

Test(fib6, replace_get_and_best)
{
	struct shunt_fib6 *fib = create(0);
	unsigned len;

	add(fib, "2001:db8::", 32, 1);
	add(fib, "2001:db8::", 32, 2);
	cr_assert_eq(shunt_fib6_route_cnt(fib), 1);
	expect(fib, "2001:db8::9", 2);
	cr_expect_eq(shunt_fib6_get(fib, ip("2001:db8::").b, 32), 2);
	cr_expect_eq(shunt_fib6_get(fib, ip("2001:db8::").b, 33), 0);
	cr_expect_eq(shunt_fib6_best(fib, ip("2001:db8::1").b, &len), 2);
	cr_expect_eq(len, 32);
	shunt_fib6_destroy(fib);
}

Test(fib6, bad_arguments_are_named)
{
	struct shunt_fib6 *fib = create(0);
	const struct addr net = ip("2001:db8::");
	struct shunt_err err = {0};

	cr_expect_eq(shunt_fib6_add(fib, net.b, 129, 1, &err), -EINVAL);
	cr_expect(strstr(err.msg, "2001:db8::/129"), "%s", err.msg);
	cr_expect_eq(shunt_fib6_add(fib, net.b, 28, 1, &err), -EINVAL);
	cr_expect(strstr(err.msg, "host bits"), "%s", err.msg);
	cr_expect_eq(shunt_fib6_add(fib, net.b, 32, 0, &err), -EINVAL);
	cr_expect_eq(shunt_fib6_add(fib, net.b, 32, SHUNT_FIB_NH_MAX + 1, &err), -EINVAL);
	cr_expect_eq(shunt_fib6_del(fib, net.b, 32, &err), -ENOENT);
	cr_expect(strstr(err.msg, "no such route"), "%s", err.msg);
	cr_expect_eq(shunt_fib6_add(fib, net.b, 32, SHUNT_FIB_NH_MAX, NULL), 0);
	expect(fib, "2001:db8::1", SHUNT_FIB_NH_MAX);
	shunt_fib6_destroy(fib);
}

/* Random routes in a few small corners at different depths, so that they nest and collide. */
static naive_key corner(uint64_t *rng)
{
	naive_key key = (naive_key)0x20010db800000000 << 64;
	uint64_t bits = shunt_rng_next(rng);

	key |= (naive_key)(bits & 0x7) << 94;
	key |= (naive_key)(bits >> 3 & 0x1f) << 78;
	key |= (naive_key)(bits >> 8 & 0x3) << 60;
	return key | (bits >> 10 & 0x83);
}

static void random_step(struct shunt_fib6 *fib, struct naive_fib *naive, uint64_t *rng)
{
	unsigned len = (unsigned)shunt_rng_below(rng, 129);
	naive_key key = corner(rng) & naive_mask(len);
	uint32_t nh = 1 + (uint32_t)shunt_rng_below(rng, 3);
	struct shunt_err err = {0};

	if (naive->cnt && (shunt_rng_below(rng, 100) < 48 || naive->cnt == 600)) {
		const struct naive_route r = naive->routes[shunt_rng_below(rng, naive->cnt)];

		cr_assert_eq(shunt_fib6_del(fib, from_key(r.key).b, r.len, &err), 0, "%s", err.msg);
		naive_del(naive, r.key, r.len);
		return;
	}
	cr_assert_eq(shunt_fib6_add(fib, from_key(key).b, len, nh, &err), 0, "%s", err.msg);
	naive_add(naive, key, len, nh);
}

#define BATCH 77 /* whole groups and a rest */

static void compare(struct shunt_fib6 *fib, const struct naive_fib *naive, uint64_t *rng,
		    unsigned batch_cnt, uint64_t seed)
{
	naive_key keys[BATCH];
	uint8_t dst[BATCH][16];
	uint32_t nh[BATCH], plain[BATCH], want;
	unsigned i;

	while (batch_cnt--) {
		for (i = 0; i < BATCH; i++) {
			/* Near a route's edge, or one bit beside a corner. */
			keys[i] = corner(rng) ^ (naive_key)(i & 1) << shunt_rng_below(rng, 128);
			memcpy(dst[i], from_key(keys[i]).b, 16);
		}
		shunt_fib6_lookup_bulk(fib, dst, nh, BATCH);
		shunt_fib6_bulk_portable(fib, dst, plain, BATCH);
		for (i = 0; i < BATCH; i++) {
			want = naive_lookup(naive, keys[i]);
			cr_assert_eq(nh[i], want, "SHUNT_SEED=%#lx: %016lx%016lx bulk %u, not %u",
				     seed, (uint64_t)(keys[i] >> 64), (uint64_t)keys[i], nh[i],
				     want);
			cr_assert_eq(plain[i], want, "SHUNT_SEED=%#lx: portable", seed);
			cr_assert_eq(shunt_fib6_lookup(fib, dst[i]), want, "SHUNT_SEED=%#lx", seed);
		}
	}
}

static void del_all(struct shunt_fib6 *fib, struct naive_fib *naive)
{
	while (naive->cnt) {
		const struct naive_route r = naive->routes[0];

		cr_assert_eq(shunt_fib6_del(fib, from_key(r.key).b, r.len, NULL), 0);
		naive_del(naive, r.key, r.len);
	}
}

Test(fib6, random_against_naive)
{
	uint64_t seed = naive_seed(), rng = seed;
	struct naive_fib *naive = calloc(1, sizeof(*naive));
	struct shunt_fib6 *fib = create(0);
	struct shunt_fib_bytes empty, bytes;
	unsigned step;

	shunt_fib6_bytes(fib, &empty);
	for (step = 0; step < EFFORT(20000); step++) {
		random_step(fib, naive, &rng);
		if (step % 50 == 0)
			compare(fib, naive, &rng, 2, seed);
	}
	compare(fib, naive, &rng, 100, seed);
	cr_assert_eq(shunt_fib6_route_cnt(fib), naive->cnt);
	del_all(fib, naive);
	compare(fib, naive, &rng, 10, seed);
	shunt_fib6_bytes(fib, &bytes);
	cr_assert_eq(bytes.lookup, empty.lookup, "SHUNT_SEED=%#lx: leaked, %zu bytes in use", seed,
		     bytes.lookup);
	shunt_fib6_destroy(fib);
	free(naive);
}

/* Of one memory, but nothing of one shows in the other. */
Test(fib6, spaces)
{
	struct shunt_fib6 *main = create(0), *one, *last;
	struct shunt_fib_bytes empty, bytes;

	one = open_space(main, 1);
	last = open_space(main, SHUNT_TABLES_SPACES - 1);
	cr_assert(one != main && last != main && one != last);
	cr_assert_eq(open_space(main, 1), one);
	cr_assert_eq(shunt_fib6_space(main, 0), main);
	cr_assert_null(shunt_fib6_space(main, 2));
	shunt_fib6_bytes(main, &empty);
	add(main, "2001:db8::", 48, 1);
	add(one, "2001:db8::", 48, 2);
	add(one, "2001:db8::3", 128, 3);
	add(last, "::", 0, 4);
	expect(main, "2001:db8::3", 1);
	expect(one, "2001:db8::3", 3);
	expect(one, "2001:db8::4", 2);
	expect(one, "2001:db8:1::", 0);
	expect(last, "2001:db8::3", 4);
	cr_expect_eq(shunt_fib6_get(last, ip("2001:db8::").b, 48), 0);
	cr_expect_eq(shunt_fib6_del(last, ip("2001:db8::").b, 48, NULL), -ENOENT);
	cr_expect_eq(shunt_fib6_route_cnt(one), 2);
	del(main, "2001:db8::", 48);
	expect(main, "2001:db8::3", 0);
	expect(one, "2001:db8::3", 3);
	del(one, "2001:db8::3", 128);
	expect(one, "2001:db8::3", 2);
	del(one, "2001:db8::", 48);
	expect(one, "2001:db8::3", 0);
	expect(last, "2001:db8::3", 4);
	del(last, "::", 0);
	shunt_fib6_bytes(main, &bytes);
	cr_expect_eq(bytes.lookup, empty.lookup, "%zu bytes in use", bytes.lookup);
	add(one, "2001:db8::3", 128, 3); /* goes with the first */
	shunt_fib6_destroy(main);
}

Test(fib6, spaces_random_against_naive)
{
	uint64_t seed = naive_seed(), rng = seed;
	struct naive_fib *naive = calloc(2, sizeof(*naive));
	struct shunt_fib6 *main = create(0), *const fibs[] = {main, open_space(main, 5)};
	struct shunt_fib_bytes empty, bytes;
	unsigned step, i;

	shunt_fib6_bytes(main, &empty);
	for (step = 0; step < EFFORT(5000); step++) {
		i = (unsigned)shunt_rng_below(&rng, 2);
		random_step(fibs[i], &naive[i], &rng);
		if (step % 50 == 0)
			compare(fibs[!i], &naive[!i], &rng, 2, seed);
	}
	del_all(fibs[0], &naive[0]);
	compare(fibs[1], &naive[1], &rng, 10, seed);
	del_all(fibs[1], &naive[1]);
	shunt_fib6_bytes(main, &bytes);
	cr_assert_eq(bytes.lookup, empty.lookup, "SHUNT_SEED=%#lx: leaked, %zu bytes in use", seed,
		     bytes.lookup);
	shunt_fib6_destroy(main);
	free(naive);
}

Test(fib6, a_space_that_memory_is_too_short_for_is_refused)
{
	struct shunt_fib6 *fib = create(10UL << 20);
	struct shunt_err err = {0};

	cr_assert_eq(shunt_fib6_open_space(fib, SHUNT_TABLES_SPACES - 1, &err), -ENOMEM);
	cr_expect(strstr(err.msg, "no memory"), "%s", err.msg);
	cr_expect_null(shunt_fib6_space(fib, SHUNT_TABLES_SPACES - 1));
	add(fib, "2001:db8::", 32, 1);
	expect(fib, "2001:db8::1", 1);
	shunt_fib6_destroy(fib);
}

/* With a bound on memory: additions fail with a sentence and change nothing, deletions work. */
Test(fib6, out_of_memory_leaves_the_table_as_it_was)
{
	const uint32_t cnt = 400000;
	struct shunt_bgp6 *routes = calloc(cnt, sizeof(*routes));
	struct shunt_fib6 *fib = create(10UL << 20);
	uint32_t i, failed = 0, added = 0, before;
	struct shunt_err err = {0};
	struct addr a;

	cr_assert_eq(shunt_bgp6_generate(routes, cnt, 64, 5), 0);
	for (i = 0; i < cnt && failed < 1000; i++) {
		a = from_key((naive_key)routes[i].hi << 64 | routes[i].lo);
		before = shunt_fib6_lookup(fib, a.b);
		if (!shunt_fib6_add(fib, a.b, routes[i].len, routes[i].nh, &err)) {
			routes[added++] = routes[i];
			continue;
		}
		cr_assert(strstr(err.msg, "no memory"), "%s", err.msg);
		cr_assert_eq(shunt_fib6_lookup(fib, a.b), before);
		cr_assert_eq(shunt_fib6_get(fib, a.b, routes[i].len), 0);
		failed++;
	}
	cr_assert_eq(failed, 1000);
	cr_assert_eq(shunt_fib6_route_cnt(fib), added);
	for (i = 0; i < added; i++) {
		a = from_key((naive_key)routes[i].hi << 64 | routes[i].lo);
		cr_assert_eq(shunt_fib6_del(fib, a.b, routes[i].len, &err), 0, "%s", err.msg);
	}
	for (i = 0; i < added; i++) {
		a = from_key((naive_key)routes[i].hi << 64 | routes[i].lo);
		cr_assert_eq(shunt_fib6_lookup(fib, a.b), 0);
	}
	shunt_fib6_destroy(fib);
	free(routes);
}
