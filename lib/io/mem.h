/* SPDX-License-Identifier: BSD-2-Clause */
/* The in-memory port: receive hands out a fixed set of frames for ever at full
 * speed, transmit frees what it is given. Benchmarks measure nodes with it, as
 * DPDK's do with its null port. Without copy the received frames come from the pool as
 * they are (each was given a frame of the set at open), with copy their bytes are
 * written on receive and read on transmit, as a driver's copy would. In a pool with
 * links they are always copied, and long ones take several frames.
 */
#ifndef SHUNT_IO_MEM_H
#define SHUNT_IO_MEM_H

#include "io/queue.h"

struct shunt_mem_opts {
	uint16_t port;
	uint16_t queue;
	bool copy;
	const uint8_t *const *frames; /* the set; copied at open */
	const uint32_t *lens;	      /* bytes each, 14..1518; 14..65553 in a pool with links */
	unsigned frame_cnt;
	uint64_t limit; /* frames to hand out in all; 0: no limit */
};

/* shunt_mem_open makes a queue over pool. Every frame of the pool must be free:
 * without copy they are given their bytes now. Returns 0 with *out set, or
 * -errno with err set. Thread: init. */
int shunt_mem_open(struct shunt_queue **out, struct shunt_pool *pool,
		   const struct shunt_mem_opts *opts, struct shunt_err *err);

#endif
