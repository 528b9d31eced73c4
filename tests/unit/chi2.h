/* SPDX-License-Identifier: BSD-2-Clause */
/* Pearson's chi-square for the tests of distributions: counts against
 * probabilities, and the bound that one right run in 10,000 exceeds. Seeds are
 * fixed, so that a test passes always or never. */
#ifndef TESTS_UNIT_CHI2_H
#define TESTS_UNIT_CHI2_H

#include <math.h>
#include <stdint.h>

/* Cells that are expected to hold fewer than five are put together. */
struct chi2 {
	double sum, p_rest, seen_rest;
	unsigned cells;
};

static inline void chi2_add(struct chi2 *c, uint64_t seen, double p, uint64_t total)
{
	const double expected = p * (double)total;

	if (expected < 5) {
		c->p_rest += p;
		c->seen_rest += (double)seen;
		return;
	}
	c->sum += ((double)seen - expected) * ((double)seen - expected) / expected;
	c->cells++;
}

/* Returns the sum over the bound of as many cells less one (Wilson and Hilferty's
 * approximation, 3.72 standard deviations): above 1, the distribution is another. */
static inline double chi2_ratio(struct chi2 *c, uint64_t total)
{
	double df, cube;

	if (c->p_rest * (double)total >= 5) {
		const double expected = c->p_rest * (double)total;

		c->sum += (c->seen_rest - expected) * (c->seen_rest - expected) / expected;
		c->cells++;
	}
	df = c->cells - 1;
	cube = 1 - 2 / (9 * df) + 3.72 * sqrt(2 / (9 * df));
	return c->sum / (df * cube * cube * cube);
}

#endif
