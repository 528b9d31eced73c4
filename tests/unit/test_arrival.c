// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "chi2.h"
#include "traffic/arrival.h"

#define GAPS	 1000000
#define CELLS	 100
#define INTERVAL 1000.0

static struct shunt_zipf batch;
static uint64_t seen[1024];

static void start(struct shunt_arrival *a, enum shunt_arrival_kind kind, uint64_t seed)
{
	if (!batch.n)
		cr_assert_eq(shunt_zipf_init(&batch, 20, 0.701), 0);
	shunt_arrival_init(a, kind, INTERVAL, &batch, seed);
}

/* The gap's quantile, in cells that an exponential of this mean fills evenly. */
static unsigned cell(double gap, double mean)
{
	const unsigned i = (unsigned)((1 - exp(-gap / mean)) * CELLS);

	return i < CELLS ? i : CELLS - 1;
}

static double evenness(const uint64_t *cells, uint64_t total)
{
	struct chi2 c = {};

	for (unsigned i = 0; i < CELLS; i++)
		chi2_add(&c, cells[i], 1.0 / CELLS, total);
	return chi2_ratio(&c, total);
}

Test(arrival, constant_is_constant)
{
	struct shunt_arrival a;

	start(&a, SHUNT_ARRIVAL_CONSTANT, 1);
	for (unsigned i = 0; i < 1000; i++)
		cr_assert_eq(shunt_arrival_next(&a), INTERVAL);
}

Test(arrival, bursts_come_evenly)
{
	struct shunt_arrival a;

	shunt_arrival_init_burst(&a, INTERVAL, 7);
	for (unsigned i = 0; i < 1000; i++)
		cr_assert_eq(shunt_arrival_next(&a), i % 7 ? 0 : 7 * INTERVAL);
}

Test(arrival, poisson_gaps_are_exponential)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct shunt_arrival a;
		double sum = 0, ratio;

		start(&a, SHUNT_ARRIVAL_POISSON, seed);
		memset(seen, 0, sizeof(seen));
		for (unsigned i = 0; i < GAPS; i++) {
			const double gap = shunt_arrival_next(&a);

			sum += gap;
			seen[cell(gap, INTERVAL)]++;
		}
		ratio = evenness(seen, GAPS);
		cr_assert_lt(ratio, 1, "seed %llu: %g", (unsigned long long)seed, ratio);
		cr_assert_float_eq(sum / GAPS, INTERVAL, 4 * INTERVAL / sqrt(GAPS));
	}
}

/* The count in a fixed time is Poisson's: mean and variance alike, and the law. */
Test(arrival, poisson_counts_are_poissons)
{
	const double window = 8 * INTERVAL;
	const unsigned windows = GAPS / 8 - 1000;
	struct shunt_arrival a;
	struct chi2 c = {};
	double at = 0, p = exp(-8);
	unsigned count, i;

	start(&a, SHUNT_ARRIVAL_POISSON, 7);
	memset(seen, 0, sizeof(seen));
	at = shunt_arrival_next(&a);
	for (i = 0; i < windows; i++) {
		for (count = 0; at < (i + 1) * window; count++)
			at += shunt_arrival_next(&a);
		seen[count]++;
	}
	for (i = 0; i < 64; i++) {
		chi2_add(&c, seen[i], p, windows);
		p *= 8.0 / (i + 1);
	}
	cr_assert_lt(chi2_ratio(&c, windows), 1);
}

/* Batches by Zipf's law, exponential gaps between them, and the mean rate asked for. */
Test(arrival, compound_batches_and_gaps)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		uint64_t sizes[32] = {}, batches = 0;
		struct shunt_arrival a;
		struct chi2 c = {};
		unsigned size = 0, i;
		double sum = 0, ratio;

		start(&a, SHUNT_ARRIVAL_COMPOUND, seed);
		memset(seen, 0, sizeof(seen));
		shunt_arrival_next(&a);
		for (i = 0; i < GAPS; i++) {
			const double gap = shunt_arrival_next(&a);

			sum += gap;
			size++;
			if (gap <= 0)
				continue;
			seen[cell(gap, INTERVAL * batch.mean)]++;
			cr_assert_leq(size, 20);
			sizes[size]++;
			batches++;
			size = 0;
		}
		for (i = 1; i <= 20; i++)
			chi2_add(&c, sizes[i], batch.cdf[i - 1] - (i > 1 ? batch.cdf[i - 2] : 0),
				 batches);
		ratio = chi2_ratio(&c, batches);
		cr_assert_lt(ratio, 1, "batches, seed %llu: %g", (unsigned long long)seed, ratio);
		ratio = evenness(seen, batches);
		cr_assert_lt(ratio, 1, "gaps, seed %llu: %g", (unsigned long long)seed, ratio);
		cr_assert_float_eq(sum / GAPS, INTERVAL, 0.02 * INTERVAL);
	}
}

Test(arrival, the_same_seed_gives_the_same)
{
	struct shunt_arrival a, b;

	start(&a, SHUNT_ARRIVAL_COMPOUND, 42);
	start(&b, SHUNT_ARRIVAL_COMPOUND, 42);
	for (unsigned i = 0; i < 1000; i++)
		cr_assert_eq(shunt_arrival_next(&a), shunt_arrival_next(&b));
}
