// SPDX-License-Identifier: BSD-2-Clause
#include "model/mxgb1_arrivals.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int check_cycles(const char *name, double cycles, struct shunt_err *err)
{
	if (cycles >= 0 && cycles <= 1e12)
		return 0;
	return shunt_err_set(err, EINVAL, "%s is %g cycles: it must be 0 to 1e12", name, cycles);
}

static int check_task(const struct shunt_mxgb1_opts *opts, struct shunt_err *err)
{
	double sum = 0;
	unsigned i;

	if (opts->task_cnt < 1 || opts->task_cnt > SHUNT_MXGB1_TASK_MAX)
		return shunt_err_set(err, EINVAL, "C_task has %u values: it must be 1 to %d",
				     opts->task_cnt, SHUNT_MXGB1_TASK_MAX);
	for (i = 0; i < opts->task_cnt; i++) {
		if (check_cycles("C_task", opts->task[i].cycles, err))
			return -EINVAL;
		if (!(opts->task[i].probability >= 0 && opts->task[i].probability <= 1))
			return shunt_err_set(
				err, EINVAL,
				"C_task: the probability of %g cycles is %g: it must be 0 to 1",
				opts->task[i].cycles, opts->task[i].probability);
		sum += opts->task[i].probability;
	}
	if (!(fabs(sum - 1) <= 1e-6))
		return shunt_err_set(err, EINVAL,
				     "C_task: the probabilities add up to %g: it must be 1", sum);
	return 0;
}

int shunt_mxgb1_check(const struct shunt_mxgb1_opts *opts, struct shunt_err *err)
{
	if (opts->batch < 1 || opts->batch > SHUNT_MXGB1_BATCH_MAX)
		return shunt_err_set(err, EINVAL, "the batch B is %u: it must be 1 to %d",
				     opts->batch, SHUNT_MXGB1_BATCH_MAX);
	if (opts->ring && (opts->ring < opts->batch || opts->ring > SHUNT_MXGB1_RING_MAX))
		return shunt_err_set(
			err, EINVAL,
			"the ring R is %u: it must be %u (the batch B) to %d, or infinite",
			opts->ring, opts->batch, SHUNT_MXGB1_RING_MAX);
	if (opts->psi < 1 || opts->psi > SHUNT_PSI_MAX)
		return shunt_err_set(err, EINVAL, "psi is %u: it must be 1 to %d", opts->psi,
				     SHUNT_PSI_MAX);
	if (!(opts->nu >= 0 && opts->nu <= 100))
		return shunt_err_set(err, EINVAL, "nu is %g: it must be 0 to 100", opts->nu);
	if (check_cycles("C_io", opts->c_io, err) || check_cycles("C_call", opts->c_call, err) ||
	    check_task(opts, err))
		return -EINVAL;
	if (!(opts->c_v > 0 && opts->c_v <= 1e12))
		return shunt_err_set(
			err, EINVAL,
			"C_v is %g cycles: it must be above 0, as an empty poll takes time, and at most 1e12",
			opts->c_v);
	if (!(opts->freq_hz > 0 && opts->freq_hz <= 1e15))
		return shunt_err_set(
			err, EINVAL,
			"the frequency F is %g Hz: it must be above 0 and at most 1e15",
			opts->freq_hz);
	if (!isfinite(shunt_mxgb1_saturation(opts)))
		return shunt_err_set(
			err, EINVAL,
			"C_io, C_call and C_task are all 0: a packet must cost something");
	return 0;
}

/* What comes during `fixed` cycles and `times` draws of C_task together, added to pmf with its
 * weight; sure is P(nothing comes) with its weight, to full precision as 1 - P. */
static void add_mixture(struct mxgb1_arrivals *a, const struct shunt_mxgb1_opts *opts, double fixed,
			double times, double *pmf, double *some, double *scratch)
{
	unsigned i, k;

	memset(pmf, 0, a->ring * sizeof(*pmf));
	*some = 0;
	for (i = 0; i < opts->task_cnt; i++) {
		const double weight = opts->task[i].probability;
		const double batches =
			a->lambda * (fixed + times * opts->task[i].cycles) / opts->freq_hz;

		shunt_compound_pmf(&a->batches, batches, scratch, a->ring);
		for (k = 0; k < a->ring; k++)
			pmf[k] += weight * scratch[k];
		*some -= weight * expm1(-batches);
	}
}

static void convolve(const double *x, const double *y, double *sum, unsigned cnt)
{
	unsigned i, k;

	memset(sum, 0, cnt * sizeof(*sum));
	for (i = 0; i < cnt; i++)
		for (k = 0; k < cnt - i; k++)
			sum[i + k] += x[i] * y[k];
}

static void fill_tail(const struct mxgb1_arrivals *a, unsigned j, double some)
{
	const double *pmf = mxgb1_pmf(a, j);
	double *tail = a->tail + (size_t)j * a->ring;
	unsigned k;

	tail[0] = some;
	for (k = 1; k < a->ring; k++)
		tail[k] = SHUNT_MAX(tail[k - 1] - pmf[k], 0.0);
}

/* (10), (11) for all j. */
static void fill(struct mxgb1_arrivals *a, const struct shunt_mxgb1_opts *opts, double *one,
		 double *scratch)
{
	const struct shunt_mxgb1_opts idle = {
		.task = {{0, 1}}, .task_cnt = 1, .freq_hz = opts->freq_hz};
	double some, some_one;
	unsigned j;

	add_mixture(a, &idle, opts->c_v, 0, a->pmf, &some, scratch);
	fill_tail(a, 0, some);
	if (opts->is_task_per_packet)
		add_mixture(a, opts, opts->c_io, 1, one, &some_one, scratch);
	for (j = 1; j <= a->batch; j++) {
		double *pmf = a->pmf + (size_t)j * a->ring;

		if (!opts->is_task_per_packet) {
			add_mixture(a, opts, j * opts->c_io + opts->c_call, j, pmf, &some, scratch);
		} else if (j == 1) {
			add_mixture(a, opts, opts->c_io + opts->c_call, 1, pmf, &some, scratch);
		} else {
			convolve(pmf - a->ring, one, pmf, a->ring);
			some = some_one + (1 - some_one) * some;
		}
		fill_tail(a, j, some);
	}
}

int shunt_mxgb1_arrivals_init(struct mxgb1_arrivals *a, const struct shunt_mxgb1_opts *opts,
			      struct shunt_err *err)
{
	const size_t cells = (size_t)(opts->batch + 1) * opts->ring;
	double *scratch, c_task = 0;
	unsigned i;
	int ret;

	*a = (struct mxgb1_arrivals){.batch = opts->batch, .ring = opts->ring};
	ret = shunt_compound_init(&a->batches, opts->psi, opts->nu, err);
	if (ret)
		return ret;
	a->lambda = opts->offered_pps / a->batches.mean;
	a->time = calloc(opts->batch + 1, sizeof(double));
	a->pmf = malloc(cells * sizeof(double));
	a->tail = malloc(cells * sizeof(double));
	scratch = malloc(2 * opts->ring * sizeof(double));
	if (!a->time || !a->pmf || !a->tail || !scratch) {
		free(scratch);
		shunt_mxgb1_arrivals_fini(a);
		return -ENOMEM;
	}
	for (i = 0; i < opts->task_cnt; i++)
		c_task += opts->task[i].cycles * opts->task[i].probability;
	a->time[0] = opts->c_v / opts->freq_hz;
	for (i = 1; i <= opts->batch; i++)
		a->time[i] = (i * (opts->c_io + c_task) + opts->c_call) / opts->freq_hz;
	fill(a, opts, scratch, scratch + opts->ring);
	free(scratch);
	return 0;
}

void shunt_mxgb1_arrivals_fini(struct mxgb1_arrivals *a)
{
	shunt_compound_fini(&a->batches);
	free(a->time);
	free(a->pmf);
	free(a->tail);
	a->time = a->pmf = a->tail = NULL;
}

/* (17) has the generating function (1 - G(z)) / (lambda E(S) (1 - X(z))). Both differences divided
 * by 1 - z are those of tails, whose coefficients are positive and, of X, never rise: the division
 * is stable. */
void shunt_mxgb1_elapsed(const struct mxgb1_arrivals *a, unsigned j, double *tail)
{
	const double *come = mxgb1_tail(a, j), scale = 1 / (a->lambda * a->time[j]);
	const unsigned psi = a->batches.psi;
	double sum = 1;
	unsigned x, k;

	for (x = 0; x < a->ring; x++) {
		double p = come[x] * scale;

		for (k = 1; k < psi && k <= x; k++)
			p -= a->batches.tail[k] * tail[x - k];
		tail[x] = SHUNT_MAX(p, 0.0);
	}
	for (x = 0; x < a->ring; x++) {
		sum -= tail[x];
		tail[x] = SHUNT_MAX(sum, 0.0);
	}
}
