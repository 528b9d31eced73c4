// SPDX-License-Identifier: BSD-2-Clause
#include "model/tmax.h"

#include <jansson.h>
#include <stdio.h>

#include "model.h"

/* What is asked of the model, and its answer. */
struct answer {
	struct shunt_tmax_opts o;
	struct shunt_tmax r;
};

static json_t *row_json(const void *result)
{
	const struct shunt_tmax_opts *o = &((const struct answer *)result)->o;
	const struct shunt_tmax *r = &((const struct answer *)result)->r;
	const bool has_link = o->link_bps > 0;
	json_t *input = json_pack("{s:f, s:o, s:f, s:f, s:f}", "freq_hz", o->freq_hz, "link_bps",
				  has_link ? json_real(o->link_bps) : json_null(), "size",
				  o->frame_bytes, "c_io", o->c_io, "c_task", o->c_task);

	return json_pack("{s:s, s:o, s:o, s:f, s:f, s:o, s:f, s:f, s:f}", "model", "tmax", "input",
			 input, "r_max_pps", has_link ? json_real(r->r_max_pps) : json_null(),
			 "c_max_pps", r->c_max_pps, "t_max_pps", r->t_max_pps, "c_equal",
			 has_link ? json_real(r->c_equal) : json_null(), "c_io", o->c_io, "c_task",
			 o->c_task, "c_busy", r->c_busy);
}

static void print_one(const void *result)
{
	const struct shunt_tmax_opts *o = &((const struct answer *)result)->o;
	const struct shunt_tmax *r = &((const struct answer *)result)->r;
	const double all = o->c_io + o->c_task + r->c_busy;

	if (o->link_bps > 0)
		printf("r_max      %.6g packets/s\n", r->r_max_pps);
	printf("c_max      %.6g packets/s\n", r->c_max_pps);
	printf("T_max      %.6g packets/s, bound by the %s\n", r->t_max_pps,
	       r->r_max_pps < r->c_max_pps ? "link" : "core");
	if (o->link_bps > 0)
		printf("c_equal    %.2f cycles a packet\n", r->c_equal);
	printf("c_io       %.2f cycles a packet, %.1f %%\n", o->c_io, 100 * o->c_io / all);
	printf("c_task     %.2f cycles a packet, %.1f %%\n", o->c_task, 100 * o->c_task / all);
	printf("c_busy     %.2f cycles a packet, %.1f %%\n", r->c_busy, 100 * r->c_busy / all);
}

static void print_head(const char *name)
{
	printf("# %-12s %12s %12s %12s %10s %10s %10s\n", name, "r_max_Mpps", "c_max_Mpps",
	       "T_max_Mpps", "c_io", "c_task", "c_busy");
}

static void print_row(double value, const void *result)
{
	const struct shunt_tmax_opts *o = &((const struct answer *)result)->o;
	const struct shunt_tmax *r = &((const struct answer *)result)->r;

	printf("%-14g %12.6f %12.6f %12.6f %10.3f %10.3f %10.3f\n", value, r->r_max_pps / 1e6,
	       r->c_max_pps / 1e6, r->t_max_pps / 1e6, o->c_io, o->c_task, r->c_busy);
}

/* Batches are full where the core is the limit: the calls of one are shared by all of it. */
static void prepare(const struct model_opts *opts, struct shunt_tmax_opts *o)
{
	*o = (struct shunt_tmax_opts){
		.link_bps = opts->is_given[MODEL_link] ? opts->value[MODEL_link] : 0,
		.frame_bytes = opts->value[MODEL_size],
		.freq_hz = opts->value[MODEL_freq],
		.c_io = opts->value[MODEL_c_io] +
			opts->value[MODEL_c_call] / opts->value[MODEL_batch],
		.c_task = opts->value[MODEL_c_task],
	};
}

static int solve(const struct model_opts *opts, void *result, struct shunt_err *err)
{
	struct answer *answer = result;

	prepare(opts, &answer->o);
	return shunt_tmax_solve(&answer->o, &answer->r, err) ? EXIT_USAGE : 0;
}

int model_tmax(struct model_opts *opts)
{
	static const struct model_solver solver = {"tmax",    solve,	  row_json,
						   print_one, print_head, print_row};
	struct answer answer;

	return model_solve(opts, &solver, &answer);
}
