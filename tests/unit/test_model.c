// SPDX-License-Identifier: BSD-2-Clause
/* The model against closed forms and against what the papers say of it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "effort.h"
#include "model/mxgb1.h"
#include "model/mxgb1_arrivals.h"
#include "model/tmax.h"

static struct shunt_mxgb1 solve(struct shunt_mxgb1_opts opts, double load)
{
	struct shunt_mxgb1 r;
	struct shunt_err err;

	opts.offered_pps = load * shunt_mxgb1_saturation(&opts);
	cr_assert_eq(shunt_mxgb1_solve(&opts, &r, &err), 0, "load %g: %s", load, err.msg);
	return r;
}

static struct shunt_mxgb1_opts paper(unsigned batch, double c_task)
{
	struct shunt_mxgb1_opts opts = SHUNT_MXGB1_PAPER;

	opts.batch = batch;
	opts.task[0].cycles = c_task;
	return opts;
}

static void near(double got, double want, double share, const char *what)
{
	cr_assert(fabs(got - want) <= share * fabs(want), "%s: %.12g, not %.12g", what, got, want);
}

/* Pollaczek and Khinchine with batch arrivals and the vacations' decomposition (Fuhrmann and Cooper
 * 1985): the mean time in an M^X/G/1 queue whose server takes vacations of v. */
static double naive_time_in_queue(const struct shunt_mxgb1_opts *o, double pps, double mean_x,
				  double square_x)
{
	double s = 0, s2 = 0, one, rho;
	unsigned i;

	for (i = 0; i < o->task_cnt; i++) {
		one = (o->c_io + o->c_call + o->task[i].cycles) / o->freq_hz;
		s += o->task[i].probability * one;
		s2 += o->task[i].probability * one * one;
	}
	rho = pps * s;
	return pps * s2 / (2 * (1 - rho)) + (square_x - mean_x) * s / (2 * mean_x * (1 - rho)) +
	       o->c_v / o->freq_hz / 2 + s;
}

Test(model, one_by_one_it_is_pollaczek_khinchine)
{
	static const unsigned psis[] = {1, 5, 20};
	static const double loads[] = {0.001, 0.3, 0.8};
	struct shunt_mxgb1_opts opts = paper(1, 100);
	struct shunt_compound x;
	struct shunt_mxgb1 r;
	unsigned p, i, tasks;

	opts.ring = 1024;
	for (p = 0; p < SHUNT_ARRAY_LEN(psis); p++) {
		opts.psi = psis[p];
		cr_assert_eq(shunt_compound_init(&x, opts.psi, opts.nu, NULL), 0);
		for (tasks = 1; tasks <= 2; tasks++) {
			opts.task_cnt = tasks;
			opts.task[0] = (struct shunt_mxgb1_task){100, tasks == 1 ? 1 : 0.75};
			opts.task[1] = (struct shunt_mxgb1_task){700, 0.25};
			for (i = 0; i < SHUNT_ARRAY_LEN(loads); i++) {
				r = solve(opts, loads[i]);
				near(r.latency_s,
				     naive_time_in_queue(&opts, r.throughput_pps, x.mean, x.square),
				     1e-6, "time in the queue");
				near(r.utilisation, loads[i], 1e-6, "utilisation");
				cr_assert_lt(r.loss, 1e-6);
			}
		}
		shunt_compound_fini(&x);
	}
}

Test(model, saturation_is_equation_19)
{
	static const unsigned batches[] = {1, 8, 32, 128, 512};
	struct shunt_mxgb1 r;
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(batches); i++) {
		r = solve(paper(batches[i], 100), 4);
		near(r.saturation_pps, 1.6e9 / (45 + 100 + 43.0 / batches[i]), 1e-12, "saturation");
		near(r.throughput_pps, r.saturation_pps, 1e-6, "throughput");
		near(r.loss, 0.75, 1e-6, "loss");
		near(r.batch_mean, batches[i], 1e-6, "batches");
		near(r.utilisation, 1, 1e-9, "utilisation");
	}
}

/* Section 4.2.2: setting A reaches a 10 Gbit/s link's 14.88 Mpps above 2.2 GHz. */
Test(model, setting_a_meets_the_link)
{
	struct shunt_mxgb1_opts opts = paper(8, 100);
	double line = shunt_tmax_line_rate(10e9, 60);

	near(line, 14.88e6, 1e-3, "line rate");
	opts.freq_hz = 2.2e9;
	cr_assert_lt(shunt_mxgb1_saturation(&opts), line);
	opts.freq_hz = 2.3e9;
	cr_assert_gt(shunt_mxgb1_saturation(&opts), line);
}

/* Figures 4 and 5: burstier arrivals make a packet cheaper at low load, and later. Figure 3: the
 * cost falls a little as the load grows. */
Test(model, cost_falls_with_load_and_with_bursts)
{
	struct shunt_mxgb1_opts opts = paper(32, 100);
	double last_cost = DBL_MAX, last_latency = 0, cost = DBL_MAX;
	struct shunt_mxgb1 r;
	unsigned psi, i;

	for (psi = 1; psi <= 31; psi += 10) {
		opts.psi = psi;
		r = solve(opts, 0.3);
		cr_assert_lt(r.cost_per_packet, last_cost);
		cr_assert_gt(r.latency_s, last_latency);
		last_cost = r.cost_per_packet;
		last_latency = r.latency_s;
	}
	opts.psi = 1;
	near(solve(opts, 1e-6).cost_per_packet, 188, 1e-4, "cost of a lone packet");
	opts.psi = 20;
	for (i = 1; i <= 20; i++) {
		r = solve(opts, i / 20.0);
		cr_assert_lt(r.cost_per_packet, cost);
		cost = r.cost_per_packet;
		near(r.throughput_pps * (r.c_io + r.c_task + r.c_busy), opts.freq_hz, 1e-9,
		     "f = n (c_io + c_task + c_busy)");
	}
}

/* Section 5.1.3 and figure 7: batches beyond 32 gain little, those below much; figure 12: with a
 * heavy task one by one is sooner. */
Test(model, batches_beyond_32_gain_little)
{
	struct shunt_mxgb1 one = solve(paper(1, 0), 0.7), b32 = solve(paper(32, 0), 0.7),
			   b128 = solve(paper(128, 0), 0.7);
	struct shunt_mxgb1_opts opts = paper(1, 1000);

	cr_assert_gt(b32.saturation_pps / one.saturation_pps, 1.8);
	cr_assert_lt(b128.saturation_pps / b32.saturation_pps, 1.03);
	cr_assert_gt(b128.cost_per_packet / b32.cost_per_packet, 0.98);
	cr_assert_lt(b32.latency_s, one.latency_s);
	opts.offered_pps = 0.5 * 1.6e9 / 1088;
	cr_assert_eq(shunt_mxgb1_solve(&opts, &one, NULL), 0);
	opts.batch = 32;
	cr_assert_eq(shunt_mxgb1_solve(&opts, &b32, NULL), 0);
	cr_assert_gt(b32.latency_s, one.latency_s + 1e-6);
}

/* Utilisation is nearly the load: a few steps of false position (Illinois) find it. */
static double latency_at(struct shunt_mxgb1_opts opts, double utilisation)
{
	double low = 0, high = 1.2, at_low = -utilisation, at_high = 1 - utilisation;
	struct shunt_mxgb1 r;
	double load, at;

	do {
		load = (low * at_high - high * at_low) / (at_high - at_low);
		r = solve(opts, load);
		at = r.utilisation - utilisation;
		if (at < 0) {
			low = load;
			at_low = at;
			at_high /= 2;
		} else {
			high = load;
			at_high = at;
			at_low /= 2;
		}
	} while (fabs(at) > 1e-4);
	return r.latency_s;
}

/* Section 5.2: latency grows gently up to a utilisation of about 80 %, then steeply, for every
 * setting of figures 8 to 11. */
Test(model, latency_has_its_cliff_near_80_percent)
{
	static const unsigned batches[] = {8, 128}, psis[] = {10, 30};
	unsigned b, p;

	for (b = 0; b < EFFORT(SHUNT_ARRAY_LEN(batches)); b++) {
		for (p = 0; p < EFFORT(SHUNT_ARRAY_LEN(psis)); p++) {
			struct shunt_mxgb1_opts opts = paper(batches[b], 100);
			double at40, at60, at80, at90, at98;

			opts.psi = psis[p];
			at40 = latency_at(opts, 0.4);
			at60 = latency_at(opts, 0.6);
			at80 = latency_at(opts, 0.8);
			at90 = latency_at(opts, 0.9);
			at98 = latency_at(opts, 0.98);
			cr_assert_lt(at80, 3 * at40, "B %u psi %u", batches[b], psis[p]);
			cr_assert_gt(at98, 3 * at80, "B %u psi %u", batches[b], psis[p]);
			/* A point of utilisation costs five times as much above 80 % as below. */
			cr_assert_gt((at98 - at90) / 8, 5 * (at80 - at60) / 20, "B %u psi %u",
				     batches[b], psis[p]);
		}
	}
}

/* Time goes as 1 / F: everything in cycles stays the same (figure 10). */
Test(model, frequency_only_scales_time)
{
	struct shunt_mxgb1_opts opts = paper(32, 100);
	struct shunt_mxgb1 slow = solve(opts, 0.8), fast;

	opts.freq_hz *= 2;
	fast = solve(opts, 0.8);
	near(2 * fast.latency_s, slow.latency_s, 1e-9, "latency");
	near(fast.cost_per_packet, slow.cost_per_packet, 1e-9, "cost");
	near(fast.utilisation, slow.utilisation, 1e-9, "utilisation");
}

static void check_sound(const struct shunt_mxgb1 *r, double load)
{
	double sum = 0;
	unsigned j;

	for (j = 1; j <= r->batch; j++) {
		cr_assert(r->batch_size[j] >= 0 && r->batch_size[j] <= 1, "load %g: P(%u) = %g",
			  load, j, r->batch_size[j]);
		sum += r->batch_size[j];
	}
	near(sum, 1, 1e-9, "sum of the batch sizes");
	cr_assert(isfinite(r->latency_s) && r->latency_s > 0, "load %g", load);
	cr_assert(r->loss >= 0 && r->loss < 1, "load %g", load);
	cr_assert(r->utilisation >= 0 && r->utilisation <= 1 + 1e-12, "load %g", load);
	cr_assert(r->ring_mean >= 0 && r->ring_mean <= r->ring, "load %g", load);
	cr_assert(isfinite(r->c_busy) && r->c_busy >= 0, "load %g", load);
}

Test(model, sound_at_every_corner)
{
	static const double loads[] = {1e-9, 0.99, 1, 1.01, 100, 1e5};
	static const struct {
		unsigned batch, ring, psi;
		double nu, c_call;
	} corners[] = {{1, 1, 1, 0, 0},	      {1, 512, 1, 0.7, 43},   {32, 32, 20, 0.7, 43},
		       {512, 512, 512, 0, 1}, {256, 1024, 1, 0, 1e6}, {32, 513, 20, 50, 43}};
	struct shunt_mxgb1_opts opts = SHUNT_MXGB1_PAPER;
	struct shunt_mxgb1 r;
	unsigned i, k;

	for (i = 0; i < SHUNT_ARRAY_LEN(corners); i++) {
		opts.batch = corners[i].batch;
		opts.ring = corners[i].ring;
		opts.psi = corners[i].psi;
		opts.nu = corners[i].nu;
		opts.c_call = corners[i].c_call;
		for (k = 0; k < EFFORT(SHUNT_ARRAY_LEN(loads)); k++) {
			r = solve(opts, loads[k]);
			check_sound(&r, loads[k]);
		}
	}
}

static double seconds_of_cpu(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

Test(model, solved_soon)
{
	struct shunt_mxgb1_opts opts = paper(32, 100);
	struct shunt_mxgb1 r;
	double start = seconds_of_cpu();

	solve(opts, 0.9);
	/* 10 ms where this was written. */
	cr_assert_lt(seconds_of_cpu() - start, 0.5);
	opts.ring = SHUNT_MAX(EFFORT(4096), 512);
	r = solve(opts, 0.95);
	check_sound(&r, 0.95);
	opts.batch = 256;
	r = solve(opts, 1.1);
	check_sound(&r, 1.1);
}

/* Section 5.1: the figures' default setting with a ring without limit is that with a large one. */
Test(model, ring_without_limit)
{
	struct shunt_mxgb1_opts opts = paper(32, 100);
	struct shunt_mxgb1 limited = solve(opts, 0.7), r;
	struct shunt_err err;

	opts.ring = 0;
	r = solve(opts, 0.7);
	near(r.latency_s, limited.latency_s, 1e-6, "latency");
	cr_assert_eq(opts.ring, 0);
	opts.offered_pps = shunt_mxgb1_saturation(&opts);
	cr_assert_eq(shunt_mxgb1_solve(&opts, &r, &err), -EDOM);
	cr_assert(strstr(err.msg, "no steady state"), "%s", err.msg);
}

#define BAD(field, bad, says)                                                               \
	do {                                                                                \
		struct shunt_mxgb1_opts opts = paper(32, 100);                              \
		opts.offered_pps = 1e6;                                                     \
		opts.field = bad;                                                           \
		cr_assert_eq(shunt_mxgb1_solve(&opts, &r, &err), -EINVAL, #field " " #bad); \
		cr_assert(strstr(err.msg, says), "%s", err.msg);                            \
	} while (0)

Test(model, impossible_values_are_refused)
{
	struct shunt_mxgb1 r;
	struct shunt_err err;

	BAD(offered_pps, 0, "offered load");
	BAD(offered_pps, -1, "offered load");
	BAD(offered_pps, NAN, "offered load");
	BAD(offered_pps, 1e-6, "offered load");
	BAD(offered_pps, 1e300, "offered load");
	BAD(offered_pps, INFINITY, "offered load");
	BAD(psi, 0, "psi");
	BAD(psi, 5000, "psi");
	BAD(nu, -0.1, "nu");
	BAD(nu, NAN, "nu");
	BAD(batch, 0, "batch B");
	BAD(batch, 513, "batch B");
	BAD(ring, 31, "ring R");
	BAD(ring, 100000, "ring R");
	BAD(c_io, -1, "C_io");
	BAD(c_call, NAN, "C_call");
	BAD(c_v, 0, "C_v");
	BAD(freq_hz, 0, "frequency");
	BAD(freq_hz, NAN, "frequency");
	BAD(task_cnt, 0, "C_task");
	BAD(task[0].cycles, -5, "C_task");
	BAD(task[0].probability, 0.5, "add up to 0.5");
}

/* Gallenmüller et al., section 5: 256 MB of list at 350 cycles, DPDK's c_io of 100 and 3.3 GHz
 * make 7.3 Mpps; on 10 Gbit/s a core of 3.3 GHz has some 220 cycles a packet. */
Test(model, tmax)
{
	struct shunt_tmax_opts opts = {10e9, 60, 3.3e9, 100, 350};
	struct shunt_tmax r;

	cr_assert_eq(shunt_tmax_solve(&opts, &r, NULL), 0);
	near(r.t_max_pps, 7.3e6, 0.01, "T_max");
	near(r.c_equal, 221.76, 1e-6, "c_equal");
	cr_assert_eq(r.c_busy, 0);
	opts.c_task = 50;
	cr_assert_eq(shunt_tmax_solve(&opts, &r, NULL), 0);
	near(r.t_max_pps, r.r_max_pps, 0, "T_max");
	near(r.t_max_pps * (100 + 50 + r.c_busy), 3.3e9, 1e-12, "equation 7");
	opts.c_io = -1;
	cr_assert_eq(shunt_tmax_solve(&opts, &r, NULL), -EINVAL);
	opts.c_io = NAN;
	cr_assert_eq(shunt_tmax_solve(&opts, &r, NULL), -EINVAL);
}
