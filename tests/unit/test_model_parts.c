// SPDX-License-Identifier: BSD-2-Clause
/* The parts of the model, each against a naive one: arrivals, stationary solution, fit. */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "measure/rng.h"
#include "model/fit.h"
#include "model/mxgb1_arrivals.h"
#include "model/steady.h"

Test(model_compound, zipf_is_equation_1)
{
	struct shunt_compound a;
	double sum = 0, mean = 0;
	unsigned j;

	cr_assert_eq(shunt_compound_init(&a, 20, 0.701, NULL), 0);
	for (j = 1; j <= 20; j++)
		sum += pow(j, -0.701);
	for (j = 1; j <= 20; j++) {
		cr_assert_float_eq(a.size[j], pow(j, -0.701) / sum, 1e-15);
		mean += j * a.size[j];
	}
	cr_assert_float_eq(a.mean, mean, 1e-12);
	cr_assert_float_eq(a.tail[0], 1, 1e-12);
	cr_assert_eq(a.tail[20], 0);
	shunt_compound_fini(&a);
	cr_assert_eq(shunt_compound_init(&a, 0, 1, NULL), -EINVAL);
	cr_assert_eq(shunt_compound_init(&a, 5, NAN, NULL), -EINVAL);
}

/* Sums over the number of batches, each the convolution of one more. */
static void naive_pmf(const struct shunt_compound *a, double batches, double *pmf, unsigned cnt)
{
	double *sizes = calloc(2 * cnt, sizeof(*sizes)), *next = sizes + cnt,
	       weight = exp(-batches);
	unsigned n, i, k;

	memset(pmf, 0, cnt * sizeof(*pmf));
	sizes[0] = 1;
	for (n = 0; n < 400; n++) {
		for (i = 0; i < cnt; i++)
			pmf[i] += weight * sizes[i];
		memset(next, 0, cnt * sizeof(*next));
		for (i = 0; i < cnt; i++)
			for (k = 1; k <= a->psi && i + k < cnt; k++)
				next[i + k] += sizes[i] * a->size[k];
		memcpy(sizes, next, cnt * sizeof(*sizes));
		weight *= batches / (n + 1);
	}
	free(sizes);
}

Test(model_compound, panjer_as_the_sum_over_batches)
{
	static const double batches[] = {0, 1e-9, 0.3, 4, 40};
	enum { CNT = 300 };
	double got[CNT], naive[CNT];
	struct shunt_compound a;
	unsigned psi, i, k;

	for (psi = 1; psi <= 21; psi += 10) {
		cr_assert_eq(shunt_compound_init(&a, psi, 0.7, NULL), 0);
		for (i = 0; i < SHUNT_ARRAY_LEN(batches); i++) {
			shunt_compound_pmf(&a, batches[i], got, CNT);
			naive_pmf(&a, batches[i], naive, CNT);
			for (k = 0; k < CNT; k++)
				cr_assert(fabs(got[k] - naive[k]) <= 1e-12 * naive[k] + 1e-300,
					  "psi %u, %g batches: P(%u) = %g, not %g", psi, batches[i],
					  k, got[k], naive[k]);
		}
		shunt_compound_fini(&a);
	}
}

/* Where exp(-batches) is no double any more, as with a ring of 4096 that overflows. */
Test(model_compound, never_negative_nor_lost)
{
	static const double batches[] = {700, 1000, 2500, 1e5};
	enum { CNT = 40000 };
	static double pmf[CNT];
	struct shunt_compound a;
	double sum, mean, square;
	unsigned psi, i, k;

	for (psi = 1; psi <= 7; psi += 3) {
		cr_assert_eq(shunt_compound_init(&a, psi, 0.7, NULL), 0);
		for (i = 0; i < SHUNT_ARRAY_LEN(batches); i++) {
			sum = mean = square = 0;
			shunt_compound_pmf(&a, batches[i], pmf, CNT);
			for (k = 0; k < CNT; k++) {
				cr_assert(pmf[k] >= 0 && pmf[k] <= 1, "%g", pmf[k]);
				sum += pmf[k];
				mean += k * pmf[k];
				square += (double)k * k * pmf[k];
			}
			if (batches[i] * a.mean > CNT) {
				cr_assert_eq(sum, 0); /* all beyond */
				continue;
			}
			cr_assert_float_eq(sum, 1, 1e-9);
			cr_assert_float_eq(mean / (batches[i] * a.mean), 1, 1e-9);
			cr_assert_float_eq((square - mean * mean) / (batches[i] * a.square), 1,
					   1e-6);
		}
		shunt_compound_fini(&a);
	}
}

/* Equation 17 as it stands, by Simpson's rule: the mean of l_i over an elapsed time that is uniform
 * within a service of fixed length. */
Test(model_arrivals, elapsed_is_equation_17)
{
	struct shunt_mxgb1_opts opts = SHUNT_MXGB1_PAPER;
	enum { STEPS = 200, RING = 64 };
	double got[RING], at[RING], naive[RING];
	struct mxgb1_arrivals a;
	unsigned j, s, i;

	opts.ring = RING;
	opts.offered_pps = 8e6;
	cr_assert_eq(shunt_mxgb1_arrivals_init(&a, &opts, NULL), 0);
	for (j = 0; j <= opts.batch; j += 8) {
		memset(naive, 0, sizeof(naive));
		for (s = 0; s <= STEPS; s++) {
			double weight = (s == 0 || s == STEPS ? 1 : s & 1 ? 4 : 2) / (3.0 * STEPS);

			shunt_compound_pmf(&a.batches, a.lambda * a.time[j] * s / STEPS, at, RING);
			for (i = 0; i < RING; i++)
				naive[i] += weight * at[i];
		}
		shunt_mxgb1_elapsed(&a, j, got);
		for (i = 0; i < RING; i++)
			cr_assert_float_eq((i ? got[i - 1] : 1) - got[i], naive[i], 1e-9,
					   "%u served, %u came", j, i);
	}
	shunt_mxgb1_arrivals_fini(&a);
}

/* A chain that falls by at most `fall` and rises by at most `rise`, and often stays low. */
static void make_chain(double *p, unsigned cnt, unsigned fall, unsigned rise, uint64_t *rng)
{
	unsigned i, j;
	double sum;

	for (i = 0; i < cnt; i++) {
		sum = 0;
		for (j = 0; j < cnt; j++) {
			double v = (double)(shunt_rng_next(rng) >> 12) * (j <= i ? 1 : 0.3);

			v = j + fall < i || j > i + rise ? 0 : v;
			sum += p[i * cnt + j] = v;
		}
		for (j = 0; j < cnt; j++)
			p[i * cnt + j] /= sum;
	}
}

Test(model_steady, balances)
{
	static const struct {
		unsigned cnt, fall, rise;
	} sizes[] = {{1, 1, 1},	  {2, 1, 2},	  {3, 3, 3},	{32, 4, 32},
		     {33, 1, 33}, {34, 40, 34},	  {65, 2, 65},	{97, 97, 3},
		     {130, 7, 7}, {200, 33, 200}, {200, 200, 5}};
	uint64_t rng = 7;
	unsigned s, i, j;

	for (s = 0; s < SHUNT_ARRAY_LEN(sizes); s++) {
		const unsigned cnt = sizes[s].cnt;
		double *p = calloc((size_t)cnt * cnt, sizeof(*p)), *pi = calloc(cnt, sizeof(*pi));
		double *copy = calloc((size_t)cnt * cnt, sizeof(*p)), sum = 0;

		make_chain(p, cnt, sizes[s].fall, sizes[s].rise, &rng);
		memcpy(copy, p, (size_t)cnt * cnt * sizeof(*p));
		cr_assert_eq(shunt_steady_solve(copy, cnt, sizes[s].fall, sizes[s].rise, pi, NULL),
			     0);
		for (j = 0; j < cnt; j++) {
			double come = 0;

			for (i = 0; i < cnt; i++)
				come += pi[i] * p[i * cnt + j];
			cr_assert(pi[j] > 0 && fabs(come - pi[j]) <= 1e-12 * pi[j],
				  "%u states: state %u has %g, gets %g", cnt, j, pi[j], come);
			sum += pi[j];
		}
		cr_assert_float_eq(sum, 1, 1e-12);
		free(p);
		free(pi);
		free(copy);
	}
}

Test(model_steady, says_what_cannot_be_left)
{
	double p[] = {0.5, 0.5, 0, 1}, pi[2];
	struct shunt_err err;

	cr_assert_eq(shunt_steady_solve(p, 2, 2, 2, pi, &err), -EINVAL);
	cr_assert(strstr(err.msg, "no steady state"), "%s", err.msg);
}

Test(model_fit, finds_what_made_the_points)
{
	struct shunt_fit_point points[9];
	struct shunt_fit fit;
	uint64_t rng = 1;
	unsigned i;

	for (i = 0; i < 9; i++)
		points[i] = (struct shunt_fit_point){1u << i, 12.5 + 80.0 / (1u << i)};
	cr_assert_eq(shunt_fit_line(points, 9, &fit, NULL), 0);
	cr_assert_float_eq(fit.c_io, 12.5, 1e-9);
	cr_assert_float_eq(fit.c_call, 80, 1e-9);
	cr_assert_lt(fit.worst, 1e-9);
	for (i = 0; i < 9; i++)
		points[i].cycles *= 0.98 + 0.04 * (double)shunt_rng_below(&rng, 1000) / 1000;
	cr_assert_eq(shunt_fit_line(points, 9, &fit, NULL), 0);
	cr_assert_float_eq(fit.c_io, 12.5, 0.5);
	cr_assert_float_eq(fit.c_call, 80, 4);
	cr_assert(fit.worst > 0 && fit.worst < 0.05 && fit.rms > 0);
}

Test(model_fit, never_negative)
{
	struct shunt_fit_point rising[] = {{1, 10}, {2, 11}, {4, 12}},
			       steep[] = {{1, 100}, {2, 20}};
	struct shunt_fit fit;

	cr_assert_eq(shunt_fit_line(rising, 3, &fit, NULL), 0);
	cr_assert(fit.c_call == 0 && fit.c_io > 10 && fit.c_io < 12, "%g", fit.c_io);
	cr_assert_eq(shunt_fit_line(steep, 2, &fit, NULL), 0);
	cr_assert(fit.c_io == 0 && fit.c_call > 0);
}

Test(model_fit, refuses)
{
	struct shunt_fit_point same[] = {{4, 10}, {4, 11}}, bad[] = {{1, 10}, {0.5, 11}},
			       none[] = {{1, 10}, {2, NAN}};
	struct shunt_fit fit;
	struct shunt_err err;

	cr_assert_eq(shunt_fit_line(same, 2, &fit, &err), -EINVAL);
	cr_assert(strstr(err.msg, "two different"), "%s", err.msg);
	cr_assert_eq(shunt_fit_line(bad, 2, &fit, &err), -EINVAL);
	cr_assert_eq(shunt_fit_line(none, 2, &fit, &err), -EINVAL);
	cr_assert_eq(shunt_fit_line(same, 0, &fit, &err), -EINVAL);
}
