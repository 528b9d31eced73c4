/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that arrive in bursts, as lib/model/mxgb1.h has them: batches as a Poisson process, their
 * sizes by Zipf's law up to psi, into a ring that loses what it has no room for. The batches come
 * from a table made beforehand and gone through again and again, so that drawing them costs the
 * worker that is measured next to nothing. */
#ifndef SHUNT_BENCH_BURSTS_H
#define SHUNT_BENCH_BURSTS_H

#include <stdint.h>

struct bench_bursts;

struct bench_bursts_opts {
	double pps;
	double hz; /* of the cycle counter */
	uint32_t psi;
	double nu;
	uint32_t ring;
	uint64_t seed;
};

/* bench_bursts_create returns NULL without memory. Thread: control. */
struct bench_bursts *bench_bursts_create(const struct bench_bursts_opts *opts);

/* bench_bursts_destroy frees it; NULL is legal. */
void bench_bursts_destroy(struct bench_bursts *bursts);

/* bench_bursts_advance lets everything arrive that is due at `now` (cycles; the first call is the
 * start), and returns how many wait. arrived and lost are what has been so far. Thread: worker. */
uint32_t bench_bursts_advance(struct bench_bursts *bursts, uint64_t now, uint64_t *arrived,
			      uint64_t *lost);

/* bench_bursts_take takes the longest waiting one and returns when it came. Thread: worker. */
uint64_t bench_bursts_take(struct bench_bursts *bursts);

#endif
