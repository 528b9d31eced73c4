/* SPDX-License-Identifier: BSD-2-Clause */
/* A link in memory: packets arrive on a port at a constant rate, as from a wire, or in bursts
 * (bursts.h), wait in a ring
 * of so many and are lost beyond; those that left are looked back at for their latency. Laid over
 * an in-memory port (io/mem.h), which owns the bytes and does the copying, if any.
 *
 *   shunt_engine_create(&engine, &config, &err);      two mem ports, one worker
 *   shunt_engine_attach(engine, &err);
 *   shunt_engine_open(engine, &err);
 *   bench_paced_lay(worker, &opts);                   before shunt_engine_start
 *
 * A packet leaves at the end of the turn that received it, when its worker flushes: what a NIC
 * does after that is not here. */
#ifndef SHUNT_BENCH_PACED_H
#define SHUNT_BENCH_PACED_H

#include "graph/worker.h"
#include "measure/hist.h"

struct bench_paced_opts {
	double pps;	  /* 0: there is always a full batch, and no latency */
	uint32_t ring;	  /* packets that wait at most */
	bool has_latency; /* 3 to 6 cycles a packet */
	uint32_t psi;	  /* 0: constant rate; else the longest burst, 1 being plain Poisson */
	double nu;
};

/* One writer, the worker; read with shunt_counter_read. */
struct bench_paced_stats {
	uint64_t arrived;
	uint64_t lost;		      /* the ring was full */
	uint64_t latency_sum_ns;      /* of those in latency_ns */
	struct shunt_hist latency_ns; /* from arrival to flush */
};

struct bench_paced;

/* bench_paced_lay puts itself before the worker's receive queues: the first gets the link,
 * the others receive nothing. Closed with the worker. Returns NULL without memory. Thread:
 * control, before start. */
struct bench_paced *bench_paced_lay(struct shunt_worker *worker,
				    const struct bench_paced_opts *opts);

/* bench_paced_stats returns the live counters. Thread: any. */
const struct bench_paced_stats *bench_paced_stats(const struct bench_paced *paced);

#endif
