/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits and words that the data side is made for and a configuration may choose from: the
 * configuration reads them here, without a header of the data side. */
#ifndef SHUNT_BASE_LIMITS_H
#define SHUNT_BASE_LIMITS_H

#define SHUNT_PORT_MAX	     64 /* ports of one engine */

/* 256 is the largest batch: eight bits index it, and its packets take 8 KiB,
 * a quarter of the smallest L1d of current servers. */
#define SHUNT_BATCH_MAX	     256

/* Bytes of a frame: a page holds two, or one. */
#define SHUNT_FRAME_SIZE_MIN 2048
#define SHUNT_FRAME_SIZE_MAX 4096

#define SHUNT_NODE_TEXT_MAX  64 /* a front node's name and parameters, the zero included */

/* How a worker waits (graph/worker.h). */
#define SHUNT_POLL_MODES(X)                                                                  \
	X(spin, "never sleeps: lowest latency, one core always busy")                        \
	X(busy, "the driver's NAPI runs in the worker (SO_PREFER_BUSY_POLL)")                \
	X(adaptive, "spins while packets come, sleeps in poll(2) after idle_us without one") \
	X(interrupt, "sleeps in poll(2) whenever a turn found nothing")

enum shunt_poll_mode {
#define X(name, help) SHUNT_POLL_##name,
	SHUNT_POLL_MODES(X)
#undef X
		SHUNT_POLL_CNT
};

/* Whether an AF_XDP socket (io/xsk.h) copies. auto: zero-copy where the driver has it. */
#define SHUNT_COPY_MODES(X) X(AUTO, auto) X(ZEROCOPY, zerocopy) X(COPY, copy)

enum shunt_copy_mode {
#define X(name, word) SHUNT_COPY_##name,
	SHUNT_COPY_MODES(X)
#undef X
};

#endif
