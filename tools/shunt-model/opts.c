// SPDX-License-Identifier: BSD-2-Clause
#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

enum kind { POSITIVE, ANY, COUNT, RING, TASK };

static const struct {
	const char *name;
	enum kind kind;
} params[] = {
#define X(name, field, kind, help) [MODEL_##field] = {name, kind},
	MODEL_PARAMS(X)
#undef X
};

const char *model_param_name(enum model_param param)
{
	return params[param].name;
}

void model_opts_init(struct model_opts *opts)
{
	const struct shunt_mxgb1_opts paper = SHUNT_MXGB1_PAPER;

	memset(opts, 0, sizeof(*opts));
	opts->sweep = -1;
	opts->name = "mem.xconnect";
	opts->value[MODEL_psi] = paper.psi;
	opts->value[MODEL_nu] = paper.nu;
	opts->value[MODEL_batch] = paper.batch;
	opts->value[MODEL_ring] = paper.ring;
	opts->value[MODEL_c_io] = paper.c_io;
	opts->value[MODEL_c_call] = paper.c_call;
	opts->value[MODEL_c_v] = paper.c_v;
	opts->value[MODEL_c_task] = paper.task[0].cycles;
	opts->value[MODEL_freq] = paper.freq_hz;
	opts->value[MODEL_size] = 60;
	opts->task[0] = paper.task[0];
	opts->task_cnt = 1;
}

void model_opts_fini(struct model_opts *opts)
{
	free(opts->points);
}

/* Reads a number that may end in k, M or G, up to one of `ends`; *at is left there. */
static int read_number(double *value, const char **at, const char *ends)
{
	static const char suffixes[] = "kMG";
	const char *suffix;
	char *end;
	double scale = 1;

	*value = strtod(*at, &end);
	if (end == *at)
		return -EINVAL;
	suffix = *end ? strchr(suffixes, *end) : NULL;
	if (suffix) {
		scale = pow(1000, (double)(suffix - suffixes + 1));
		end++;
	}
	*value *= scale;
	if ((*end && !strchr(ends, *end)) || !isfinite(*value))
		return -EINVAL;
	*at = end;
	return 0;
}

int model_opts_put(struct model_opts *opts, enum model_param param, double value,
		   struct shunt_err *err)
{
	const char *name = params[param].name;

	switch (params[param].kind) {
	case POSITIVE:
		if (!(value > 0))
			return shunt_err_set(err, EINVAL, "--%s %g: it must be above 0", name,
					     value);
		break;
	case COUNT:
	case RING:
		if (!(value >= 1 && value <= 1e9) || value != floor(value))
			return shunt_err_set(err, EINVAL,
					     "--%s %g: it must be a whole number, 1 or more", name,
					     value);
		break;
	default:
		if (!(value >= 0))
			return shunt_err_set(err, EINVAL, "--%s %g: it must be 0 or more", name,
					     value);
	}
	opts->value[param] = value;
	opts->is_given[param] = true;
	if (param == MODEL_c_task) {
		opts->task[0] = (struct shunt_mxgb1_task){value, 1};
		opts->task_cnt = 1;
	}
	return 0;
}

/* CYCLES:PROBABILITY,CYCLES:PROBABILITY,... */
static int set_task(struct model_opts *opts, const char *text, struct shunt_err *err)
{
	const char *at = text;
	double mean = 0, sum = 0;

	opts->task_cnt = 0;
	for (;;) {
		struct shunt_mxgb1_task *task = &opts->task[opts->task_cnt];

		if (opts->task_cnt++ == SHUNT_MXGB1_TASK_MAX)
			return shunt_err_set(err, EINVAL, "--c-task: at most %d values",
					     SHUNT_MXGB1_TASK_MAX);
		if (read_number(&task->cycles, &at, ":") || *at++ != ':' ||
		    read_number(&task->probability, &at, ",") || task->cycles < 0 ||
		    task->probability < 0)
			return shunt_err_set(
				err, EINVAL,
				"--c-task %s: it must be cycles, or CYCLES:PROBABILITY,... like 100:0.9,1000:0.1",
				text);
		mean += task->cycles * task->probability;
		sum += task->probability;
		if (!*at)
			break;
		at++;
	}
	if (!(fabs(sum - 1) <= 1e-6))
		return shunt_err_set(err, EINVAL,
				     "--c-task %s: the probabilities add up to %g: it must be 1",
				     text, sum);
	opts->value[MODEL_c_task] = mean;
	opts->is_given[MODEL_c_task] = true;
	return 0;
}

int model_opts_set(struct model_opts *opts, enum model_param param, const char *text,
		   struct shunt_err *err)
{
	const char *at = text;
	double value;

	if (params[param].kind == TASK && strchr(text, ':'))
		return set_task(opts, text, err);
	if (params[param].kind == RING && !strcmp(text, "infinite")) {
		opts->value[param] = 0;
		opts->is_given[param] = true;
		return 0;
	}
	if (read_number(&value, &at, ""))
		return shunt_err_set(err, EINVAL, "--%s %s: not a number", params[param].name,
				     text);
	return model_opts_put(opts, param, value, err);
}

static int add_point(struct model_opts *opts, double value, struct shunt_err *err)
{
	if (opts->point_cnt == MODEL_SWEEP_MAX)
		return shunt_err_set(err, EINVAL, "--sweep: at most %d values", MODEL_SWEEP_MAX);
	opts->points[opts->point_cnt++] = value;
	return 0;
}

static int add_range(struct model_opts *opts, double from, double to, double step,
		     struct shunt_err *err)
{
	unsigned i;

	if (!(step > 0) || to < from)
		return shunt_err_set(
			err, EINVAL,
			"--sweep: from %g to %g by %g has no end: the step must be above 0 and the end not below the start",
			from, to, step);
	/* Half a millionth of a step: the end belongs to it although a sum would miss it. */
	for (i = 0; from + i * step <= to + step * 5e-7; i++)
		if (add_point(opts, from + i * step, err))
			return -EINVAL;
	return 0;
}

static int read_points(struct model_opts *opts, const char *text, struct shunt_err *err)
{
	const char *at = text;
	double v[3];
	unsigned i;

	if (strchr(text, ':')) {
		for (i = 0; i < 3; i++) {
			if (read_number(&v[i], &at, ":") || (i < 2 ? *at++ != ':' : *at))
				return -EINVAL;
		}
		return add_range(opts, v[0], v[1], v[2], err) ? -ERANGE : 0;
	}
	for (;; at++) {
		if (read_number(&v[0], &at, ","))
			return -EINVAL;
		if (add_point(opts, v[0], err))
			return -ERANGE;
		if (!*at)
			return 0;
	}
}

int model_opts_sweep(struct model_opts *opts, const char *text, struct shunt_err *err)
{
	const char *values = strchr(text, '=');
	size_t len = values ? (size_t)(values - text) : 0;
	unsigned i;
	int ret;

	for (i = 0; i < MODEL_PARAM_CNT; i++)
		if (len == strlen(params[i].name) && !strncmp(text, params[i].name, len))
			break;
	if (!values || i == MODEL_PARAM_CNT)
		return shunt_err_set(
			err, EINVAL,
			"--sweep %s: it must be NAME=FROM:TO:STEP or NAME=A,B,... and NAME a parameter like load or batch",
			text);
	if (!opts->points)
		opts->points = calloc(MODEL_SWEEP_MAX, sizeof(*opts->points));
	if (!opts->points)
		return shunt_err_set(err, ENOMEM, "no memory for a sweep");
	opts->sweep = (int)i;
	opts->point_cnt = 0;
	ret = read_points(opts, values + 1, err);
	if (ret == -EINVAL)
		shunt_err_set(err, EINVAL,
			      "--sweep %s: %s is neither FROM:TO:STEP nor numbers with commas",
			      text, values + 1);
	return ret;
}
