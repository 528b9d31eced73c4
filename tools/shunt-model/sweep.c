// SPDX-License-Identifier: BSD-2-Clause
/* A command's answer for each value of --sweep, or the one without. */
#include <jansson.h>
#include <stdio.h>

#include "model.h"

static void print(const json_t *root)
{
	json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
	putchar('\n');
}

static int solve_one(const struct model_opts *opts, const struct model_solver *solver, void *result)
{
	struct shunt_err err;
	const int status = solver->solve(opts, result, &err);
	json_t *root;

	if (status)
		return model_fail(&err, status);
	if (!opts->json) {
		solver->print(result);
		return 0;
	}
	root = solver->json(result);
	print(root);
	json_decref(root);
	return 0;
}

static int solve_value(struct model_opts *opts, double value, const struct model_solver *solver,
		       void *result, struct shunt_err *err)
{
	const enum model_param param = (enum model_param)opts->sweep;
	int status = model_opts_put(opts, param, value, err) ? EXIT_USAGE : 0;

	if (!status)
		status = solver->solve(opts, result, err);
	if (status)
		shunt_err_prefix(err, "--sweep %s=%g: ", model_param_name(param), value);
	return status;
}

static json_t *error_json(const struct model_opts *opts, double value,
			  const struct model_solver *solver, const struct shunt_err *err)
{
	return json_pack("{s:s, s:{s:f}, s:s}", "model", solver->name, "input",
			 model_param_name((enum model_param)opts->sweep), value, "error", err->msg);
}

/* A value that has no answer keeps none of the others from theirs. */
static int solve_sweep(struct model_opts *opts, const struct model_solver *solver, void *result,
		       json_t *rows)
{
	struct shunt_err err;
	bool has_head = false;
	int ret = 0, status;
	unsigned i;

	for (i = 0; i < opts->point_cnt; i++) {
		const double value = opts->points[i];

		status = solve_value(opts, value, solver, result, &err);
		if (status) {
			model_fail(&err, status);
			ret = ret ? ret : status;
		}
		if (opts->json) {
			json_array_append_new(rows, status ? error_json(opts, value, solver, &err)
							   : solver->json(result));
		} else if (!status) {
			if (!has_head)
				solver->print_head(model_param_name((enum model_param)opts->sweep));
			has_head = true;
			solver->print_row(value, result);
			fflush(stdout);
		}
	}
	return ret;
}

int model_solve(struct model_opts *opts, const struct model_solver *solver, void *result)
{
	json_t *rows;
	int ret;

	if (opts->sweep < 0)
		return solve_one(opts, solver, result);
	rows = json_array();
	ret = solve_sweep(opts, solver, result, rows);
	if (opts->json)
		print(rows);
	json_decref(rows);
	return ret;
}
