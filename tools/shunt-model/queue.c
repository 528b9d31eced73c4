// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#include "model.h"
#include "model/compound.h"
#include "model/tmax.h"

#define LOADS_TEXT "--load, --rate or --lambda"

/* What is asked of the model, and its answer. */
struct answer {
	struct shunt_mxgb1_opts q;
	struct shunt_mxgb1 r;
};

static unsigned loads_given(const struct model_opts *opts)
{
	return opts->is_given[MODEL_load] + opts->is_given[MODEL_rate] +
	       opts->is_given[MODEL_lambda];
}

/* The offered rate from whichever way it was said. */
static int offered(const struct model_opts *opts, struct shunt_mxgb1_opts *q, struct shunt_err *err)
{
	struct shunt_compound arrivals;
	int ret = 0;

	if (opts->is_given[MODEL_rate]) {
		q->offered_pps = opts->value[MODEL_rate];
	} else if (opts->is_given[MODEL_lambda]) {
		ret = shunt_compound_init(&arrivals, q->psi, q->nu, err);
		if (!ret)
			q->offered_pps = opts->value[MODEL_lambda] * arrivals.mean;
		shunt_compound_fini(&arrivals);
	} else {
		q->offered_pps =
			opts->value[MODEL_load] *
			(opts->is_given[MODEL_link] ? shunt_tmax_line_rate(opts->value[MODEL_link],
									   opts->value[MODEL_size])
						    : shunt_mxgb1_saturation(q));
	}
	return ret;
}

static int prepare(const struct model_opts *opts, struct shunt_mxgb1_opts *q, struct shunt_err *err)
{
	unsigned i;
	int ret;

	*q = (struct shunt_mxgb1_opts){
		.psi = (unsigned)opts->value[MODEL_psi],
		.nu = opts->value[MODEL_nu],
		.batch = (unsigned)opts->value[MODEL_batch],
		.ring = (unsigned)opts->value[MODEL_ring],
		.c_io = opts->value[MODEL_c_io],
		.c_call = opts->value[MODEL_c_call],
		.c_v = opts->value[MODEL_c_v],
		.freq_hz = opts->value[MODEL_freq],
		.task_cnt = opts->task_cnt,
		.is_task_per_packet = opts->is_task_per_packet,
	};
	for (i = 0; i < opts->task_cnt; i++)
		q->task[i] = opts->task[i];
	ret = shunt_mxgb1_check(q, err);
	return ret ? ret : offered(opts, q, err);
}

static json_t *row_json(const void *result)
{
	const struct shunt_mxgb1_opts *q = &((const struct answer *)result)->q;
	const struct shunt_mxgb1 *r = &((const struct answer *)result)->r;
	json_t *sizes = json_array(), *input;
	unsigned j;

	for (j = 1; j <= r->batch; j++)
		json_array_append_new(sizes, json_real(r->batch_size[j]));
	input = json_pack("{s:f, s:f, s:f, s:i, s:f, s:i, s:i, s:b, s:f, s:f, s:f, s:f, s:s, s:f}",
			  "lambda_per_s", r->lambda, "offered_pps", q->offered_pps, "load",
			  q->offered_pps / r->saturation_pps, "psi", (int)q->psi, "nu", q->nu,
			  "batch", (int)q->batch, "ring", (int)r->ring, "ring_infinite",
			  q->ring == 0, "c_io", q->c_io, "c_call", q->c_call, "c_v", q->c_v,
			  "c_task", r->c_task, "task_per",
			  q->is_task_per_packet ? "packet" : "batch", "freq_hz", q->freq_hz);
	return json_pack(
		"{s:s, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o}",
		"model", "queue", "input", input, "cost_per_packet", r->cost_per_packet,
		"saturation_pps", r->saturation_pps, "throughput_pps", r->throughput_pps,
		"latency_ns", r->latency_s * 1e9, "loss", r->loss, "utilisation", r->utilisation,
		"batch_mean", r->batch_mean, "ring_mean", r->ring_mean, "queue_mean", r->queue_mean,
		"c_io", r->c_io, "c_task", r->c_task, "c_busy", r->c_busy, "batch_distribution",
		sizes);
}

static void print_sizes(const struct shunt_mxgb1 *r)
{
	double sum = 0;
	unsigned j, from = 1;

	printf("batch sizes          ");
	for (j = 1; j <= r->batch; j++) {
		sum += r->batch_size[j];
		/* 1, 2, 3-4, 5-8, ... and the last one alone */
		if ((j & (j - 1)) && j + 1 != r->batch && j != r->batch)
			continue;
		if (from == j)
			printf(" %u: %.2f %%", j, 100 * sum);
		else
			printf("  %u-%u: %.2f %%", from, j, 100 * sum);
		if (j < r->batch)
			putchar(' ');
		from = j + 1;
		sum = 0;
	}
	putchar('\n');
}

static void print_one(const void *result)
{
	const struct shunt_mxgb1_opts *q = &((const struct answer *)result)->q;
	const struct shunt_mxgb1 *r = &((const struct answer *)result)->r;

	printf("offered              %.6g packets/s (%.6g batches/s), %.2f %% of saturation\n",
	       q->offered_pps, r->lambda, 100 * q->offered_pps / r->saturation_pps);
	printf("saturation           %.6g packets/s\n", r->saturation_pps);
	printf("throughput           %.6g packets/s\n", r->throughput_pps);
	printf("loss                 %.3g of the packets (ring of %u)\n", r->loss, r->ring);
	printf("latency              %.4g us (mean, in the ring and in service)\n",
	       r->latency_s * 1e6);
	printf("utilisation          %.2f %%\n", 100 * r->utilisation);
	printf("cost per packet      %.2f cycles: c_io %.2f, c_task %.2f; c_busy %.2f\n",
	       r->cost_per_packet, r->c_io, r->c_task, r->c_busy);
	printf("waiting              %.4g packets in the ring, %.4g with those in service\n",
	       r->ring_mean, r->queue_mean);
	printf("batch                %.3f packets (mean of the polls that found some)\n",
	       r->batch_mean);
	print_sizes(r);
}

static void print_head(const char *name)
{
	printf("# %-12s %12s %12s %10s %12s %8s %10s %12s %8s\n", name, "offered_Mpps", "Mpps",
	       "loss", "latency_us", "util", "cycles", "c_busy", "batch");
}

static void print_row(double value, const void *result)
{
	const struct shunt_mxgb1_opts *q = &((const struct answer *)result)->q;
	const struct shunt_mxgb1 *r = &((const struct answer *)result)->r;

	printf("%-14g %12.6f %12.6f %10.3g %12.4f %8.5f %10.3f %12.3f %8.3f\n", value,
	       q->offered_pps / 1e6, r->throughput_pps / 1e6, r->loss, r->latency_s * 1e6,
	       r->utilisation, r->cost_per_packet, r->c_busy, r->batch_mean);
}

static int solve(const struct model_opts *opts, void *result, struct shunt_err *err)
{
	struct answer *answer = result;

	if (prepare(opts, &answer->q, err))
		return EXIT_USAGE;
	return shunt_mxgb1_solve(&answer->q, &answer->r, err) ? 1 : 0;
}

int model_queue(struct model_opts *opts)
{
	static const struct model_solver solver = {"queue",   solve,	  row_json,
						   print_one, print_head, print_row};
	static struct answer answer; /* 4 KiB and more */
	struct shunt_err err;

	if (opts->sweep >= 0)
		opts->is_given[opts->sweep] = true;
	if (loads_given(opts) == 1)
		return model_solve(opts, &solver, &answer);
	shunt_err_set(&err, EINVAL, "queue wants one of " LOADS_TEXT ", %s given",
		      loads_given(opts) ? "not several" : "none was");
	return model_fail(&err, EXIT_USAGE);
}
