// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "measure/hist.h"
#include "measure/rng.h"

static struct shunt_hist hist;

Test(hist, buckets_cover_every_value)
{
	unsigned b, bit;

	for (b = 0; b < SHUNT_HIST_BUCKETS; b++) {
		uint64_t floor = shunt_hist_floor(b);

		cr_assert_eq(shunt_hist_index(floor), b);
		cr_assert(!b || shunt_hist_index(floor - 1) == b - 1);
		cr_assert(!b || floor > shunt_hist_floor(b - 1));
	}
	cr_assert_eq(shunt_hist_index(UINT64_MAX), SHUNT_HIST_BUCKETS - 1);
	for (bit = 0; bit < 64; bit++)
		cr_assert_lt(shunt_hist_index(1ULL << bit), SHUNT_HIST_BUCKETS);
}

Test(hist, exact_below_32_and_within_a_sixteenth_above)
{
	uint64_t rng = 1, v;
	unsigned i;

	for (v = 0; v < 32; v++)
		cr_assert_eq(shunt_hist_floor(shunt_hist_index(v)), v);
	for (i = 0; i < 100000; i++) {
		uint64_t floor;

		v = shunt_rng_next(&rng) >> shunt_rng_below(&rng, 60);
		floor = shunt_hist_floor(shunt_hist_index(v));
		cr_assert(floor <= v && v - floor <= v / 16, "%llu: floor %llu",
			  (unsigned long long)v, (unsigned long long)floor);
	}
}

Test(hist, empty)
{
	memset(&hist, 0, sizeof(hist));
	cr_assert_eq(shunt_hist_count(&hist), 0);
	cr_assert_eq(shunt_hist_quantile(&hist, 0.5), 0);
}

Test(hist, weights_and_ends)
{
	memset(&hist, 0, sizeof(hist));
	shunt_hist_add(&hist, 3, 99);
	shunt_hist_add(&hist, UINT64_MAX, 1);
	cr_assert_eq(shunt_hist_count(&hist), 100);
	cr_assert_eq(shunt_hist_quantile(&hist, 0), 3);
	cr_assert_eq(shunt_hist_quantile(&hist, 0.98), 3);
	cr_assert_eq(shunt_hist_quantile(&hist, 1), shunt_hist_floor(SHUNT_HIST_BUCKETS - 1));
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The oracle keeps every value and sorts. */
Test(hist, quantiles_as_the_oracle)
{
	enum { CNT = 5000 };
	static uint64_t naive_values[CNT];
	uint64_t seed, rng;
	unsigned i, q;

	for (seed = 1; seed <= 20; seed++) {
		rng = seed;
		memset(&hist, 0, sizeof(hist));
		for (i = 0; i < CNT; i++) {
			naive_values[i] = shunt_rng_next(&rng) >> (20 + shunt_rng_below(&rng, 40));
			shunt_hist_add(&hist, naive_values[i], 1);
		}
		qsort(naive_values, CNT, sizeof(*naive_values), compare);
		for (q = 0; q <= 100; q++) {
			unsigned rank = SHUNT_MIN((unsigned)(q / 100.0 * CNT), CNT - 1u);
			uint64_t want = shunt_hist_floor(shunt_hist_index(naive_values[rank]));

			cr_assert_eq(shunt_hist_quantile(&hist, q / 100.0), want,
				     "seed %llu quantile %u", (unsigned long long)seed, q);
		}
		cr_assert_eq(shunt_hist_count(&hist), CNT);
	}
}
