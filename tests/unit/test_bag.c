// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>

#include "chi2.h"
#include "traffic/bag.h"

/* The simple IMIX, and CSIT's. */
static const struct {
	uint32_t sizes[3], weights[3];
} mixes[] = {{{60, 590, 1514}, {7, 4, 1}}, {{60, 566, 1514}, {28, 16, 1}}};

static unsigned kind(unsigned m, uint32_t size)
{
	for (unsigned i = 0; i < 3; i++)
		if (mixes[m].sizes[i] == size)
			return i;
	cr_assert_fail("%u is in no mix", size);
	return 0;
}

static uint32_t fill(struct shunt_bag *bag, unsigned m)
{
	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(shunt_bag_add(bag, mixes[m].sizes[i], mixes[m].weights[i]), 0);
	return bag->cnt;
}

/* Every bagful has the proportions exactly; in every place of it each size comes as
 * often as its share says, and so does the size that follows a bagful's last. */
Test(bag, imix_is_exact_and_in_random_order)
{
	enum { ROUNDS = 100000 };

	for (unsigned m = 0; m < 2; m++) {
		static uint64_t at[64][3], last_first[3][3];
		struct shunt_bag bag = {};
		const uint32_t cnt = fill(&bag, m);
		uint64_t rng = m + 1;
		struct chi2 places = {}, pairs = {};
		unsigned i, k, last = 0;

		for (i = 0; i < 64 * 3; i++)
			at[i / 3][i % 3] = 0;
		for (i = 0; i < 9; i++)
			last_first[i / 3][i % 3] = 0;
		for (unsigned r = 0; r < ROUNDS; r++) {
			unsigned seen[3] = {};

			for (i = 0; i < cnt; i++) {
				k = kind(m, shunt_bag_draw(&bag, &rng));
				seen[k]++;
				at[i][k]++;
				if (!i && r)
					last_first[last][k]++;
				last = k;
			}
			for (k = 0; k < 3; k++)
				cr_assert_eq(seen[k], mixes[m].weights[k]);
		}
		/* The last place is given by the others. */
		for (i = 0; i + 1 < cnt; i++)
			for (k = 0; k < 3; k++)
				chi2_add(&places, at[i][k], (double)mixes[m].weights[k] / cnt,
					 ROUNDS);
		for (i = 0; i < 9; i++)
			chi2_add(&pairs, last_first[i / 3][i % 3],
				 (double)mixes[m].weights[i / 3] * mixes[m].weights[i % 3] / cnt /
					 cnt,
				 ROUNDS - 1);
		cr_assert_lt(chi2_ratio(&places, ROUNDS), 1);
		cr_assert_lt(chi2_ratio(&pairs, ROUNDS), 1);
		shunt_bag_fini(&bag);
	}
}

Test(bag, mean_is_the_mixs)
{
	struct shunt_bag bag = {};

	fill(&bag, 0);
	cr_assert_float_eq(shunt_bag_mean(&bag), (7 * 60 + 4 * 590 + 1514) / 12.0, 1e-9);
	shunt_bag_fini(&bag);
	cr_assert_eq(shunt_bag_mean(&bag), 0);
}

Test(bag, has_a_limit)
{
	struct shunt_bag bag = {};

	cr_assert_eq(shunt_bag_add(&bag, 60, SHUNT_BAG_MAX), 0);
	cr_assert_eq(shunt_bag_add(&bag, 60, 1), -E2BIG);
	cr_assert_eq(bag.cnt, SHUNT_BAG_MAX);
	shunt_bag_fini(&bag);
}
