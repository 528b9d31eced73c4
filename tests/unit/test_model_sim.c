// SPDX-License-Identifier: BSD-2-Clause
/* The model against the same system played out (model_sim.h). */
#include <criterion/criterion.h>
#include <math.h>
#include <stddef.h>

#include "base/bytes.h"
#include "effort.h"
#include "model_sim.h"

#define SEED	20210201
#define PACKETS 2000000

/* C_io 45, F 2 GHz. Two tasks: 50 cycles nine times of ten, else 1500. */
static const struct {
	const char *name;
	double load; /* of saturation */
	unsigned psi;
	double nu;
	unsigned batch, ring;
	double c_call, c_v, c_task;
	bool is_two_tasks, is_per_packet;
} settings[] = {
	{"the paper's A, low load", 0.1, 20, 0.701, 8, 512, 43, 24, 100},
	{"the paper's A, half load", 0.5, 20, 0.701, 8, 512, 43, 24, 100},
	{"the paper's A, high load", 0.9, 20, 0.701, 8, 512, 43, 24, 100},
	{"the paper's B", 0.8, 20, 0.701, 32, 512, 43, 24, 200},
	{"Poisson, one by one", 0.7, 1, 0.701, 1, 512, 43, 24, 100},
	{"bursts, one by one", 0.7, 20, 0.701, 1, 512, 43, 24, 100},
	{"a ring that overflows", 0.9, 20, 0.701, 32, 64, 43, 24, 100},
	{"a ring no larger than a batch", 0.8, 20, 0.701, 32, 32, 43, 24, 100},
	{"saturated", 1, 20, 0.701, 32, 128, 43, 24, 100},
	{"overloaded", 1.3, 20, 0.701, 32, 128, 43, 24, 100},
	{"calls that cost much", 0.8, 20, 0.701, 32, 512, 4000, 24, 100},
	{"polls that cost much", 0.3, 20, 0.701, 32, 512, 43, 20000, 100},
	{"a task for a batch", 0.7, 20, 0.701, 32, 512, 43, 24, 0, true},
	{"a task for each packet", 0.7, 20, 0.701, 32, 512, 43, 24, 0, true, true},
	{"long bursts", 0.6, 200, 0.2, 64, 512, 43, 24, 100},
};

static struct shunt_mxgb1_opts options(unsigned i)
{
	struct shunt_mxgb1_opts opts = {
		.psi = settings[i].psi,
		.nu = settings[i].nu,
		.batch = settings[i].batch,
		.ring = settings[i].ring,
		.c_io = 45,
		.c_call = settings[i].c_call,
		.c_v = settings[i].c_v,
		.freq_hz = 2e9,
		.task_cnt = settings[i].is_two_tasks ? 2 : 1,
		.is_task_per_packet = settings[i].is_per_packet,
	};

	opts.task[0] = (struct shunt_mxgb1_task){settings[i].c_task, 1};
	if (settings[i].is_two_tasks) {
		opts.task[0] = (struct shunt_mxgb1_task){50, 0.9};
		opts.task[1] = (struct shunt_mxgb1_task){1500, 0.1};
	}
	opts.offered_pps = settings[i].load * shunt_mxgb1_saturation(&opts);
	return opts;
}

/* The mean of one quantity over the parts is within five of its standard errors, or a five
 * hundredth: the parts are not quite independent. `rare` is a share of the packets too small to be
 * seen often enough. */
static void check(const struct model_sim *sim, size_t offset, double model, double rare,
		  const char *setting, const char *what)
{
	double sum = 0, square = 0, v, mean, error;
	unsigned i;

	for (i = 0; i < MODEL_SIM_PARTS; i++) {
		v = *(const double *)((const char *)&sim->parts[i] + offset);
		sum += v;
		square += v * v;
	}
	mean = sum / MODEL_SIM_PARTS;
	error = sqrt(SHUNT_MAX(square / MODEL_SIM_PARTS - mean * mean, 0.0) /
		     (MODEL_SIM_PARTS - 1));
	cr_assert(fabs(mean - model) <= 5 * error + 0.002 * fabs(model) + rare,
		  "%s: %s is %.9g by the model, %.9g (+- %.2g) in the simulation, seed %d", setting,
		  what, model, mean, error, SEED);
}

Test(model_sim, same_as_the_model)
{
	static struct model_sim sim;
	static struct shunt_mxgb1 r;
	struct shunt_mxgb1_opts opts;
	struct shunt_err err;
	unsigned i, j;

	for (i = 0; i < EFFORT(SHUNT_ARRAY_LEN(settings)); i++) {
		const char *name = settings[i].name;

		opts = options(i);
		cr_assert_eq(shunt_mxgb1_solve(&opts, &r, &err), 0, "%s: %s", name, err.msg);
		model_sim_run(&sim, &opts, PACKETS, SEED);
#define CHECK(field, rare) \
	check(&sim, offsetof(struct model_sim_part, field), r.field, rare, name, #field)
		CHECK(throughput_pps, 0);
		CHECK(loss, 1e-5);
		CHECK(latency_s, 0);
		CHECK(utilisation, 0);
		CHECK(batch_mean, 0);
		CHECK(ring_mean, 0);
		for (j = 1; j <= opts.batch; j++)
			CHECK(batch_size[j], 1e-5);
#undef CHECK
	}
}
