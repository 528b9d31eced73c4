/* SPDX-License-Identifier: BSD-2-Clause */
/* What the in-memory experiments share: a set of frames, and a worker that receives them on
 * port IN, copied in, and sends what its graph makes of them on port OUT, which swallows it. */
#ifndef SHUNT_BENCH_RIG_H
#define SHUNT_BENCH_RIG_H

#include "bench.h"
#include "config/config.h"
#include "graph/worker.h"

#define BENCH_FRAME_LEN 64u
#define BENCH_IN	0
#define BENCH_OUT	1

struct bench_set {
	uint8_t *bytes; /* cnt frames, BENCH_FRAME_LEN apart */
	const uint8_t **frames;
	uint32_t *lens;
	uint32_t cnt;
};

/* bench_set_alloc makes cnt frames of zeros. Returns 0 or -ENOMEM; fini is legal after both. */
int bench_set_alloc(struct bench_set *set, uint32_t cnt);
void bench_set_fini(struct bench_set *set);

static inline uint8_t *bench_set_at(const struct bench_set *set, uint32_t i)
{
	return set->bytes + (size_t)i * BENCH_FRAME_LEN;
}

/* bench_pair adds two ports in memory, "in" and "out", that forward to each other. size: bytes of a
 * frame. Returns 0 or -errno with err set. */
int bench_pair(struct shunt_config *config, enum shunt_forward_mode mode, uint32_t size,
	       uint32_t flows, bool copy, struct shunt_err *err);

/* Adds the nodes to worker->graph; the rig seals it. Returns 0 or -errno. */
typedef int (*bench_nodes_fn)(struct shunt_worker *worker, const void *arg, struct shunt_err *err);

/* bench_rig_run measures the graph of `nodes` over the set: a warm-up, then BENCH_RUN_CNT runs.
 * runs[] gets cycles a packet. Packets that did not come out make it an error: they would be
 * cheap. Returns 0 or -errno, said on stderr. */
int bench_rig_run(const struct bench *bench, const struct bench_set *set, unsigned batch,
		  bench_nodes_fn nodes, const void *arg, double runs[BENCH_RUN_CNT]);

#endif
