/* SPDX-License-Identifier: BSD-2-Clause */
/* shunt-model's parts: the parameters (opts.c), one file for each command, their sweeps (sweep.c),
 * and the files that `fit` reads (measured.c). */
#ifndef SHUNT_MODEL_TOOL_H
#define SHUNT_MODEL_TOOL_H

#include <stdbool.h>

#include "base/err.h"
#include "model/fit.h"
#include "model/mxgb1.h"

#define EXIT_USAGE	2

#define MODEL_SWEEP_MAX 10000
#define MODEL_POINT_MAX 4096

/* X(name, field, kind, help): an option --name VALUE, and a parameter that --sweep can
 * vary; kind says what the value may be (opts.c). */
#define MODEL_PARAMS(X)                                                                          \
	X("load", load, POSITIVE, "what arrives, as a part of what can be served, or of --link") \
	X("rate", rate, POSITIVE, "what arrives, packets a second")                              \
	X("lambda", lambda, POSITIVE, "what arrives, batches a second")                          \
	X("psi", psi, COUNT, "longest arriving batch, packets; 1: Poisson (20)")                 \
	X("nu", nu, ANY, "sizes of batches: P(X = j) ~ 1/j^nu (0.701)")                          \
	X("batch", batch, COUNT, "B, most packets that a poll takes (32)")                       \
	X("ring", ring, RING, "R, places in the receive ring, or infinite (512)")                \
	X("c-io", c_io, ANY, "C_io, cycles of I/O a packet (45)")                                \
	X("c-call", c_call, ANY, "C_call, cycles of calls a batch (43)")                         \
	X("c-v", c_v, POSITIVE, "C_v, cycles of a poll that finds nothing (24)")                 \
	X("c-task", c_task, TASK, "cycles of work a packet; CYCLES:PROBABILITY,... (100)")       \
	X("freq", freq, POSITIVE, "F, cycles a second (1.6G)")                                   \
	X("link", link, POSITIVE, "bits a second of the link (none)")                            \
	X("size", size, POSITIVE, "bytes of a frame without FCS (60)")

enum model_param {
#define X(name, field, kind, help) MODEL_##field,
	MODEL_PARAMS(X)
#undef X
		MODEL_PARAM_CNT
};

struct model_opts {
	double value[MODEL_PARAM_CNT];
	bool is_given[MODEL_PARAM_CNT];
	struct shunt_mxgb1_task task[SHUNT_MXGB1_TASK_MAX];
	unsigned task_cnt;
	bool is_task_per_packet;
	bool json;
	const char *constants; /* file of --constants */
	/* fit */
	const char *name;
	bool copy;
	/* --sweep */
	int sweep; /* enum model_param, or -1 */
	double *points;
	unsigned point_cnt;
};

/* model_opts_init sets what the paper's table 1 and section 5.1 say. */
void model_opts_init(struct model_opts *opts);
void model_opts_fini(struct model_opts *opts);

/* model_opts_set reads the text of --NAME. Returns 0 or -EINVAL. */
int model_opts_set(struct model_opts *opts, enum model_param param, const char *text,
		   struct shunt_err *err);

/* model_opts_put sets a value of a sweep. Returns 0 or -EINVAL. */
int model_opts_put(struct model_opts *opts, enum model_param param, double value,
		   struct shunt_err *err);

/* model_opts_sweep reads NAME=FROM:TO:STEP or NAME=A,B,... Returns 0 or -errno. */
int model_opts_sweep(struct model_opts *opts, const char *text, struct shunt_err *err);

const char *model_param_name(enum model_param param);

/* The commands. They return the exit status. */
int model_queue(struct model_opts *opts);
int model_tmax(struct model_opts *opts);
int model_fit(struct model_opts *opts, char **files, int file_cnt);

/* A command that has an answer for each value of a sweep; a result is its own struct. */
struct model_solver {
	const char *name;
	/* 0, or the exit status with err set */
	int (*solve)(const struct model_opts *opts, void *result, struct shunt_err *err);
	struct json_t *(*json)(const void *result);
	void (*print)(const void *result);
	void (*print_head)(const char *param);
	void (*print_row)(double value, const void *result);
};

/* model_solve prints the answer, or one for each value of opts->sweep and, for those that have
 * none, one sentence. result is room for one. Returns the exit status, that of the first without an
 * answer.
 */
int model_solve(struct model_opts *opts, const struct model_solver *solver, void *result);

struct measured {
	struct shunt_fit_point points[MODEL_POINT_MAX];
	unsigned cnt;
	double empty_cycles, empties; /* C_v: their sum, and how many */
	double freq_hz;		      /* 0: the files did not say */
};

/* measured_read adds what a file of `make bench`, for name and copy, or of `shunt-bench batch` or
 * `shuntctl -j show runtime` holds. Returns 0 or -errno. */
int measured_read(struct measured *m, const char *path, const char *name, bool copy,
		  struct shunt_err *err);

/* measured_constants puts the c_io, c_call, c_v and freq_hz of a file of `fit -j` where
 * the command line said nothing. Returns 0 or -errno. */
int measured_constants(struct model_opts *opts, const char *path, struct shunt_err *err);

/* model_fail prints the sentence and returns status. */
int model_fail(const struct shunt_err *err, int status);

#endif
