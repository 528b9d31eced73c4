// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/pool.h"
#include "measure/rng.h"

#define TOTAL 100

static struct shunt_pool pool;
static struct shunt_err err;
static uint8_t seen[TOTAL];

static void init(uint32_t frame_size)
{
	cr_assert_eq(shunt_pool_init(&pool, TOTAL, frame_size, &err), 0, "%s", err.msg);
	memset(seen, 0, sizeof(seen));
}

static void fini(void)
{
	shunt_pool_fini(&pool);
}

static unsigned count(unsigned value)
{
	unsigned n = 0, i;

	for (i = 0; i < TOTAL; i++)
		n += seen[i] == value;
	return n;
}

Test(pool, every_frame_once_and_writable, .fini = fini)
{
	static const uint32_t sizes[] = {2048, 4096};
	uint64_t out[TOTAL + 1];
	unsigned i, s;

	for (s = 0; s < 2; s++) {
		init(sizes[s]);
		cr_assert_eq(shunt_pool_alloc(&pool, out, TOTAL + 1), TOTAL,
			     "no more than there are");
		cr_assert_eq(shunt_pool_alloc(&pool, out, 1), 0);
		for (i = 0; i < TOTAL; i++) {
			cr_assert_eq(out[i] % sizes[s], 0);
			seen[out[i] / sizes[s]]++;
			memset(pool.mem + out[i], (int)i, sizes[s]);
		}
		cr_assert_eq(count(1), TOTAL);
		for (i = 0; i < TOTAL; i++)
			cr_assert(pool.mem[out[i]] == i && pool.mem[out[i] + sizes[s] - 1] == i,
				  "frames do not overlap");
		shunt_pool_fini(&pool);
	}
	shunt_pool_fini(&pool); /* legal on a zeroed one */
}

Test(pool, freed_last_is_given_first, .init = NULL, .fini = fini)
{
	struct shunt_pkt pkts[3] = {0};
	uint64_t a[4], b[4];
	unsigned i;

	init(2048);
	cr_assert_eq(shunt_pool_alloc(&pool, a, 4), 4);
	a[1] += 300; /* addresses of packets, not of frames */
	shunt_pool_free(&pool, a, 2);
	cr_assert_eq(shunt_pool_alloc(&pool, b, 2), 2);
	cr_assert(b[0] == a[0] && b[1] == (a[1] & ~2047ULL));
	for (i = 0; i < 3; i++)
		pkts[i].addr = a[i] + 2047 - (i == 1 ? 300 : 0);
	shunt_pool_free_pkts(&pool, pkts, 3);
	cr_assert_eq(shunt_pool_alloc(&pool, b, 1), 1);
	cr_assert_eq(b[0], a[2]);
}

Test(pool, audit_of_a_whole_pool, .fini = fini)
{
	init(2048);
	cr_assert_eq(shunt_pool_audit(&pool, seen), 0);
	cr_assert_eq(count(1), TOTAL);
}

Test(pool, audit_finds_missing_doubles_and_strays, .fini = fini)
{
	uint64_t out[10];

	init(2048);
	shunt_pool_alloc(&pool, out, 10);
	cr_assert_eq(shunt_pool_audit(&pool, seen), 0);
	cr_assert_eq(count(0), 10, "missing");
	memset(seen, 0, sizeof(seen));
	shunt_pool_free(&pool, out, 10);
	pool.free[0] = pool.free[1];
	cr_assert_eq(shunt_pool_audit(&pool, seen), 0);
	cr_assert(count(2) == 1 && count(0) == 1, "a double, and what it stands in for");
	pool.free[0] = TOTAL * 2048;
	pool.free[1] += 1;
	pool.free[2] = UINT64_MAX;
	cr_assert_eq(shunt_pool_audit(&pool, seen), 3, "outside, crooked, rubbish");
}

Test(pool, refuses_sizes_that_the_kernel_refuses)
{
	static const uint32_t bad[] = {0, 1, 1024, 2047, 3000, 8192};
	unsigned i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_assert_eq(shunt_pool_init(&pool, TOTAL, bad[i], &err), -EINVAL);
	cr_assert_eq(shunt_pool_init(&pool, 0, 2048, &err), -EINVAL);
	cr_assert(strstr(err.msg, "2048 or 4096"), "%s", err.msg);
}

Test(pool, not_enough_memory_is_said)
{
	cr_assert_eq(shunt_pool_init(&pool, UINT32_MAX, 4096, &err), -ENOMEM);
	cr_assert(strstr(err.msg, "not enough memory"), "%s", err.msg);
	cr_assert(!pool.mem && !pool.free && !pool.total, "nothing is held");
}

Test(pool, page_kind_is_one_of_three, .fini = fini)
{
	init(2048);
	cr_assert_eq((uintptr_t)pool.mem % (2 << 20), 0, "a huge page can begin there");
	cr_assert(pool.page_kind == SHUNT_PAGE_BASE || pool.page_kind == SHUNT_PAGE_THP ||
		  pool.page_kind == SHUNT_PAGE_HUGETLB);
	cr_assert_str_eq(shunt_page_kind_name(SHUNT_PAGE_BASE), "4k");
	cr_assert_str_eq(shunt_page_kind_name(SHUNT_PAGE_THP), "thp");
	cr_assert_str_eq(shunt_page_kind_name(SHUNT_PAGE_HUGETLB), "hugetlb");
	cr_assert_str_eq(shunt_page_kind_name((enum shunt_page_kind)3), "?");
}

/* A naive set of frames in hand beside the pool: each alloc gives a frame that is
 * not in hand, and pool and hand together are always everything. */
Test(pool, random_use, .fini = fini)
{
	uint64_t rng = 20240607, hand[TOTAL], hand_cnt = 0, out[8];
	bool in_hand[TOTAL] = {false};
	unsigned step, i, n, pick;

	init(4096);
	for (step = 0; step < 20000; step++) {
		n = (unsigned)shunt_rng_below(&rng, 9);
		if (shunt_rng_next(&rng) & 1) {
			n = shunt_pool_alloc(&pool, out, n);
			for (i = 0; i < n; i++) {
				cr_assert_not(in_hand[out[i] / 4096], "step %u: given twice", step);
				in_hand[out[i] / 4096] = true;
				hand[hand_cnt++] = out[i] + shunt_rng_below(&rng, 4096);
			}
		} else {
			for (; n && hand_cnt; n--) {
				pick = (unsigned)shunt_rng_below(&rng, hand_cnt);
				in_hand[hand[pick] / 4096] = false;
				shunt_pool_free(&pool, &hand[pick], 1);
				hand[pick] = hand[--hand_cnt];
			}
		}
		cr_assert_eq(pool.free_cnt + hand_cnt, TOTAL, "step %u", step);
	}
}

Test(pool, ledger_sum_takes_every_place)
{
	const struct shunt_ledger ledger = {.total = 1u << 20,
					    .pool = 1,
					    .fill = 2,
					    .driver_rx = 4,
					    .rx = 8,
					    .tx = 16,
					    .driver_tx = 32,
					    .completion = 64};

	cr_assert_eq(shunt_ledger_sum(&ledger), 127);
}

/* A driver delivered a frame twice, so it is freed twice: the stack never holds more frames than
 * there are, what was there twice is removed, and the number is known. */
Test(pool, a_frame_freed_twice_is_found)
{
	uint64_t addr[2], all[64];
	unsigned i, k;

	cr_assert_eq(shunt_pool_init(&pool, 64, 2048, &err), 0);
	shunt_pool_free(&pool, &(uint64_t){2048}, 1);
	cr_expect_eq(pool.free_cnt, 64, "a full stack takes none");
	cr_expect_eq(pool.doubled, 1);
	cr_assert_eq(shunt_pool_alloc(&pool, addr, 2), 2);
	shunt_pool_free(&pool, (uint64_t[]){addr[0], addr[0]}, 2);
	cr_expect_eq(pool.free_cnt, 64);
	shunt_pool_free(&pool, &addr[1], 1);
	cr_expect_eq(pool.free_cnt, 64, "the second one makes room for the missing one");
	cr_expect_eq(pool.doubled, 2);
	cr_assert_eq(shunt_pool_alloc(&pool, all, 64), 64);
	for (i = 0; i < 64; i++)
		for (k = 0; k < i; k++)
			cr_assert_neq(all[i], all[k]);
	shunt_pool_fini(&pool);
}
