// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>

#include "chi2.h"
#include "measure/rng.h"
#include "traffic/zipf.h"

#define DRAWS 1000000

static uint64_t seen[1001];

/* How far draws of one law are from another, over the bound. */
static double distance(uint32_t n, double drawn_s, double held_s, uint64_t seed)
{
	struct shunt_zipf drawn;
	struct chi2 c = {};
	double sum = 0;
	uint32_t k;

	cr_assert_eq(shunt_zipf_init(&drawn, n, drawn_s), 0);
	for (k = 0; k <= n; k++)
		seen[k] = 0;
	for (k = 1; k <= n; k++)
		sum += pow(k, -held_s);
	for (unsigned i = 0; i < DRAWS; i++) {
		k = shunt_zipf_draw(&drawn, &seed);
		cr_assert(k >= 1 && k <= n);
		seen[k]++;
	}
	for (k = 1; k <= n; k++)
		chi2_add(&c, seen[k], pow(k, -held_s) / sum, DRAWS);
	shunt_zipf_fini(&drawn);
	return chi2_ratio(&c, DRAWS);
}

Test(zipf, mean_is_the_papers)
{
	struct shunt_zipf z;
	double sum = 0, weighted = 0;
	uint32_t k;

	cr_assert_eq(shunt_zipf_init(&z, 20, 0.701), 0);
	for (k = 1; k <= 20; k++) {
		sum += pow(k, -0.701);
		weighted += k * pow(k, -0.701);
	}
	cr_assert_float_eq(z.mean, weighted / sum, 1e-9);
	shunt_zipf_fini(&z);
}

Test(zipf, draws_follow_the_law)
{
	static const struct {
		uint32_t n;
		double s;
	} laws[] = {{20, 0.701}, {20, 0}, {2, 5}, {1000, 1}, {1000, 1.3}};

	for (unsigned i = 0; i < sizeof(laws) / sizeof(*laws); i++)
		for (uint64_t seed = 1; seed <= 3; seed++) {
			const double ratio = distance(laws[i].n, laws[i].s, laws[i].s, seed);

			cr_assert_lt(ratio, 1, "n %u, s %g, seed %llu: %g", laws[i].n, laws[i].s,
				     (unsigned long long)seed, ratio);
		}
}

Test(zipf, another_law_is_told_apart)
{
	cr_assert_gt(distance(20, 0.701, 0.72, 1), 1);
	cr_assert_gt(distance(1000, 1, 1.01, 1), 1);
}

Test(zipf, of_one_is_one)
{
	struct shunt_zipf z;
	uint64_t rng = 1;

	cr_assert_eq(shunt_zipf_init(&z, 1, 0.701), 0);
	cr_assert_eq(shunt_zipf_draw(&z, &rng), 1);
	cr_assert_float_eq(z.mean, 1, 1e-12);
	shunt_zipf_fini(&z);
}

Test(zipf, refuses)
{
	struct shunt_zipf z;

	cr_assert_eq(shunt_zipf_init(&z, 0, 1), -EINVAL);
	cr_assert_eq(shunt_zipf_init(&z, SHUNT_ZIPF_MAX + 1, 1), -EINVAL);
	cr_assert_eq(shunt_zipf_init(&z, 10, -1), -EINVAL);
	cr_assert_eq(shunt_zipf_init(&z, 10, NAN), -EINVAL);
	shunt_zipf_fini(&z);
}
