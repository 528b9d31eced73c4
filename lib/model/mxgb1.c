// SPDX-License-Identifier: BSD-2-Clause
/* From the embedded chain at the ends of services and vacations (equations 8 to 11), by its
 * stationary distribution, to the state at any time (12 to 17) and what is asked (18 to 24). */
#include "model/mxgb1.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "model/mxgb1_arrivals.h"
#include "model/steady.h"

/* A ring without limit is one that loses less than this share. */
#define LOSS_NONE 1e-9
/* One minus a sum of doubles does not tell smaller ones from none. */
#define LOSS_SEEN 1e-12
#define RING_TRY  256u
/* Offered by saturation: beyond these there is nothing to solve, and doubles run out. */
#define LOAD_MIN  1e-9
#define LOAD_MAX  1e6

static double task_mean(const struct shunt_mxgb1_opts *opts)
{
	double mean = 0;
	unsigned i;

	for (i = 0; i < opts->task_cnt; i++)
		mean += opts->task[i].cycles * opts->task[i].probability;
	return mean;
}

double shunt_mxgb1_saturation(const struct shunt_mxgb1_opts *opts)
{
	return opts->freq_hz / (opts->c_io + task_mean(opts) + opts->c_call / opts->batch);
}

/* (9), row i of the chain: what is left in the ring after a vacation, or after the service of
 * min(i, B) packets. With `is_down` state R - i stands for i, so that the likely states are the low
 * ones (steady.h). */
static void fill_row(const struct mxgb1_arrivals *a, double *p, unsigned i, bool is_down)
{
	const unsigned served = SHUNT_MIN(i, a->batch), left = i - served, ring = a->ring;
	const double *pmf = mxgb1_pmf(a, served);
	double *row = p + (size_t)(is_down ? ring - i : i) * (ring + 1);
	unsigned j;

	for (j = 0; j < left; j++)
		row[is_down ? ring - j : j] = 0;
	for (j = left; j < ring; j++)
		row[is_down ? ring - j : j] = pmf[j - left];
	/* P(at least R - left come). */
	row[is_down ? 0 : ring] = ring > left ? mxgb1_tail(a, served)[ring - left - 1] : 1;
}

static int embedded_chain(const struct mxgb1_arrivals *a, bool is_down, double *pi,
			  struct shunt_err *err)
{
	const unsigned cnt = a->ring + 1;
	double *p = malloc((size_t)cnt * cnt * sizeof(*p)), swap;
	unsigned i;
	int ret;

	if (!p)
		return shunt_err_set(err, ENOMEM, "no memory for a ring of %u: it takes %zu MB",
				     a->ring, (size_t)cnt * cnt * sizeof(*p) >> 20);
	for (i = 0; i < cnt; i++)
		fill_row(a, p, i, is_down);
	ret = shunt_steady_solve(p, cnt, is_down ? cnt : a->batch, is_down ? a->batch : cnt, pi,
				 err);
	free(p);
	for (i = 0; is_down && i < cnt / 2; i++) {
		swap = pi[i];
		pi[i] = pi[cnt - 1 - i];
		pi[cnt - 1 - i] = swap;
	}
	return ret;
}

/* The mean number in the ring while j are served: E(min(M- + those come since, R)), from (15) and
 * (16). M- is what the service left there: 0, but for j = B. */
static double ring_mean(const struct mxgb1_arrivals *a, const double *pi, unsigned j,
			double *elapsed)
{
	const unsigned ring = a->ring, batch = a->batch;
	double come = 0, mean = 0, total = 0;
	unsigned left, x;

	shunt_mxgb1_elapsed(a, j, elapsed);
	/* come = E(min(those come since, R - left)), left going down from R. */
	for (left = ring, x = 0;; left--, x++) {
		double weight =
			left ? (j == batch && left <= ring - batch ? pi[left + batch] : 0) : pi[j];

		mean += weight * (left + come);
		total += weight;
		if (!left)
			break;
		come += elapsed[x];
	}
	return total > 0 ? mean / total : 0;
}

static void polls(const struct mxgb1_arrivals *a, const double *pi, double *starts)
{
	unsigned i;

	for (i = 0; i <= a->batch; i++)
		starts[i] = pi[i]; /* (12), (13) */
	for (; i <= a->ring; i++)
		starts[a->batch] += pi[i];
}

static int metrics(const struct shunt_mxgb1_opts *opts, const struct mxgb1_arrivals *a,
		   const double *pi, struct shunt_mxgb1 *r)
{
	double starts[SHUNT_MXGB1_BATCH_MAX + 1], time = 0, served = 0, busy_polls = 0;
	double *elapsed = malloc(a->ring * sizeof(*elapsed));
	unsigned j;

	if (!elapsed)
		return -ENOMEM;
	polls(a, pi, starts);
	for (j = 0; j <= a->batch; j++) {
		time += starts[j] * a->time[j];
		served += starts[j] * j;
		busy_polls += j ? starts[j] : 0;
	}
	for (j = 0; j <= a->batch; j++) {
		double share = starts[j] * a->time[j] / time; /* (14) */
		double waiting = share > 0 ? ring_mean(a, pi, j, elapsed) : 0;

		r->ring_mean += share * waiting;
		r->queue_mean += share * (j + waiting); /* (20) */
		r->batch_size[j] = j ? starts[j] / busy_polls : 0;
	}
	r->utilisation = 1 - starts[0] * a->time[0] / time;		 /* (24) */
	r->throughput_pps = SHUNT_MIN(served / time, opts->offered_pps); /* (23) */
	r->loss = 1 - r->throughput_pps / opts->offered_pps;
	if (r->loss < LOSS_SEEN)
		r->loss = 0;
	r->latency_s = r->queue_mean / r->throughput_pps; /* (22) */
	r->batch_mean = served / busy_polls;
	r->c_io = opts->c_io + opts->c_call / r->batch_mean;
	r->cost_per_packet = r->c_io + r->c_task; /* (18) */
	r->c_busy = starts[0] * opts->c_v / served;
	free(elapsed);
	return 0;
}

static int solve(const struct shunt_mxgb1_opts *opts, struct shunt_mxgb1 *r, struct shunt_err *err)
{
	const bool is_down = opts->offered_pps > shunt_mxgb1_saturation(opts);
	struct mxgb1_arrivals a;
	double *pi;
	int ret;

	*r = (struct shunt_mxgb1){.batch = opts->batch, .ring = opts->ring};
	r->c_task = task_mean(opts);
	r->saturation_pps = shunt_mxgb1_saturation(opts);
	ret = shunt_mxgb1_arrivals_init(&a, opts, err);
	if (ret)
		return ret;
	r->lambda = a.lambda;
	pi = calloc(a.ring + 1, sizeof(*pi));
	ret = pi ? embedded_chain(&a, is_down, pi, err) : -ENOMEM;
	if (!ret)
		ret = metrics(opts, &a, pi, r);
	if (ret == -ENOMEM)
		shunt_err_set(err, ENOMEM, "no memory for a ring of %u", a.ring);
	free(pi);
	shunt_mxgb1_arrivals_fini(&a);
	return ret;
}

static int check_offered(const struct shunt_mxgb1_opts *opts, struct shunt_err *err)
{
	const double load = opts->offered_pps / shunt_mxgb1_saturation(opts);

	if (!(opts->offered_pps > 0))
		return shunt_err_set(err, EINVAL,
				     "the offered load is %g packets/s: it must be above 0",
				     opts->offered_pps);
	if (!(load >= LOAD_MIN && load <= LOAD_MAX))
		return shunt_err_set(
			err, EINVAL,
			"the offered load is %g packets/s, %g of what can be served: it must be %g to %g of that",
			opts->offered_pps, load, LOAD_MIN, LOAD_MAX);
	return 0;
}

int shunt_mxgb1_solve(const struct shunt_mxgb1_opts *opts, struct shunt_mxgb1 *result,
		      struct shunt_err *err)
{
	struct shunt_mxgb1_opts tried = *opts;
	int ret = shunt_mxgb1_check(opts, err);

	if (ret)
		return ret;
	ret = check_offered(opts, err);
	if (ret)
		return ret;
	if (opts->ring)
		return solve(opts, result, err);
	if (opts->offered_pps >= shunt_mxgb1_saturation(opts))
		return shunt_err_set(
			err, EDOM,
			"no steady state: %.6g packets/s are offered, %.6g can be served, and the ring has no limit; offer less, or give --ring",
			opts->offered_pps, shunt_mxgb1_saturation(opts));
	for (tried.ring = SHUNT_MAX(2 * opts->batch, RING_TRY); tried.ring <= SHUNT_MXGB1_RING_MAX;
	     tried.ring *= 2) {
		ret = solve(&tried, result, err);
		if (ret || result->loss < LOSS_NONE)
			return ret;
	}
	return shunt_err_set(
		err, EDOM,
		"%.6g packets/s of the %.6g that can be served fill more than %d places of a ring without limit; offer less, or give --ring",
		opts->offered_pps, shunt_mxgb1_saturation(opts), SHUNT_MXGB1_RING_MAX);
}
