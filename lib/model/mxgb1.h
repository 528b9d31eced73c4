/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue M^X/G^B/1/(R+B) with multiple vacations, by which Li, Ren and Yang
 * (Modeling and Analyzing the Performance of High-Speed Packet I/O, 2021) describe a
 * batched poller: packets come in batches into a ring of R; a poll takes up to B of
 * them and serves j in j (C_io + C_task) + C_call cycles; a poll that finds nothing is
 * a vacation of C_v cycles. Equations in mxgb1.c are numbered as theirs. What the
 * ring has no room for is lost, the rest of an arriving batch included.
 *
 * Limits: one core, constants that do not depend on the load (no caches, no
 * interrupts), a ring full at most; transmit is never the bottleneck.
 *
 *	struct shunt_mxgb1_opts opts = SHUNT_MXGB1_PAPER;
 *	opts.offered_pps = 5e6;
 *	ret = shunt_mxgb1_solve(&opts, &result, &err);
 */
#ifndef SHUNT_MODEL_MXGB1_H
#define SHUNT_MODEL_MXGB1_H

#include <stdbool.h>

#include "base/err.h"

#define SHUNT_MXGB1_BATCH_MAX 512
#define SHUNT_MXGB1_RING_MAX  8192
#define SHUNT_MXGB1_TASK_MAX  256

struct shunt_mxgb1_task {
	double cycles, probability;
};

struct shunt_mxgb1_opts {
	double offered_pps; /* lambda E(X): packets a second; > 0 */
	unsigned psi;	    /* longest arriving batch; 1: Poisson */
	double nu;
	unsigned batch; /* B */
	unsigned ring;	/* R >= B; 0: without limit */
	double c_io, c_call, c_v;
	double freq_hz; /* F */
	/* C_task: task_cnt values; their probabilities must add up to 1. */
	struct shunt_mxgb1_task task[SHUNT_MXGB1_TASK_MAX];
	unsigned task_cnt;
	/* Each packet draws its C_task, instead of one draw for all of a batch (equation 4). */
	bool is_task_per_packet;
};

/* Table 1 and section 5.1; offered_pps is still to be set. */
#define SHUNT_MXGB1_PAPER                                                                   \
	{                                                                                   \
		.psi = 20, .nu = 0.701, .batch = 32, .ring = 512, .c_io = 45, .c_call = 43, \
		.c_v = 24, .freq_hz = 1.6e9, .task = {{100, 1}}, .task_cnt = 1,             \
	}

struct shunt_mxgb1 {
	unsigned batch, ring; /* the ring solved for: chosen, where it has no limit */
	double lambda;	      /* arriving batches a second */
	double c_task;	      /* E(C_task) */
	double saturation_pps;
	double throughput_pps;
	double loss;		/* share of the packets offered */
	double latency_s;	/* in the ring and in service, of packets not lost */
	double utilisation;	/* share of the time spent on packets */
	double cost_per_packet; /* cycles, without empty polls */
	double c_io, c_busy;	/* C_io + C_call / b; empty polls, cycles a packet */
	double ring_mean;	/* packets waiting in the ring */
	double queue_mean;	/* those and the ones in service */
	double batch_mean;	/* b */
	/* [j]: share of the polls that found packets and found j, 1 <= j <= batch. */
	double batch_size[SHUNT_MXGB1_BATCH_MAX + 1];
};

/* shunt_mxgb1_saturation returns the packets a second of a ring never empty
 * (equation 19). opts must be sound. Thread: any. */
double shunt_mxgb1_saturation(const struct shunt_mxgb1_opts *opts);

/* shunt_mxgb1_check returns 0, or -EINVAL and a sentence about the first value of
 * opts that is impossible, offered_pps not included. Thread: any. */
int shunt_mxgb1_check(const struct shunt_mxgb1_opts *opts, struct shunt_err *err);

/* shunt_mxgb1_solve computes the steady state. Returns 0, -EINVAL (impossible
 * values), -EDOM (a ring without limit and an offered load that is not below
 * saturation, or so close that 8192 places do not hold it) or -ENOMEM. Thread: any.
 * Cost: ring^2 * batch multiplications, ring^2 doubles. */
int shunt_mxgb1_solve(const struct shunt_mxgb1_opts *opts, struct shunt_mxgb1 *result,
		      struct shunt_err *err);

#endif
