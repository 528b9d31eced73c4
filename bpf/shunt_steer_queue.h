/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the steering program keeps of each receive queue, and what it must know of the queue's
 * worker: struct shunt_steer_slot, an array of them, mapped by program and userspace. Each field
 * has one writer, so none is atomic. */
#ifndef SHUNT_STEER_QUEUE_H
#define SHUNT_STEER_QUEUE_H

#include <linux/types.h>

#include "shunt_steer_reason.h"

#define SHUNT_STEER_QUEUES_MAX	64 /* counted apart; later queues share the last slot */

/* ---- counters ------------------------------------------------------------------------------- */

/* TCP header and data: what only a sender with much to send fills. */
#define SHUNT_STEER_SEGMENT_MIN 1000

/* One queue's counters, written by the program. */
struct shunt_steer_counters {
	__u64 packets[SHUNT_STEER_REASON_MAX]; /* by enum shunt_steer_reason */
	__u64 bytes[SHUNT_LANE_CNT]; /* by lane: length as the program sees it, without FCS */
	/* NO_SOCKET, which contains them, by the reason for which the frame was meant for user. */
	__u64 unserved[SHUNT_STEER_USER_REASON_CNT];
	__u64 csum_finished; /* came with a checksum left to a device, which was finished here */
	__u64 csum_segments; /* of those, TCP of SHUNT_STEER_SEGMENT_MIN bytes or more */
	__u64 pad[6];
};

/* shunt_steer_sent is how many frames of a queue were meant for its worker. */
static inline __attribute__((always_inline)) __u64 shunt_steer_sent(
	const struct shunt_steer_counters *counters)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < SHUNT_STEER_USER_REASON_CNT; i++)
		sum += *(const volatile __u64 *)&counters->packets[i];
	return sum;
}

/* ---- gate ----------------------------------------------------------------------------------- */

/* Whether a queue's worker can be given frames, one cache line. The program loads `shut` and
 * `is_stale`, nothing else; each byte of `shut` has one writer. Queues that share the last slot
 * share its gate, too. */
struct shunt_steer_gate {
	union {
		__u32 shut; /* 0: all is open */
		struct {
			__u8 is_hung;  /* written by the watch, shunt_watch.bpf.c */
			__u8 is_dry;   /* written by the worker */
			__u8 is_stale; /* written by the watch: the tables are not kept */
			__u8 pad;
		};
	};
	__u32 pad2;
	/* Written by the worker: CLOCK_MONOTONIC of its latest sign of life. Bit 0 is not time but
	 * SHUNT_STEER_BEAT_ASLEEP: it sleeps until a frame comes. 0: no worker serves the queue. */
	__u64 beat_ns;
	/* Of the first slot, for all of them: the same of the thread that keeps the tables; 0
	 * while there are none. */
	__u64 keeper_ns;
	/* Written by the worker before it sleeps: shunt_steer_sent by then. */
	__u64 sent;
	__u64 pad3[4];
};

/* Of `shut`: is_hung, and what closes the lane user: that one or is_dry. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SHUNT_STEER_SHUT_HUNG 0x000000ffu
#define SHUNT_STEER_SHUT_USER 0x0000ffffu
#else
#define SHUNT_STEER_SHUT_HUNG 0xff000000u
#define SHUNT_STEER_SHUT_USER 0xffff0000u
#endif

#define SHUNT_STEER_BEAT_ASLEEP 1ULL

/* A worker that is awake beats every millisecond. One that has not for DEAD is taken for hung; the
 * watch finds that out a TICK later at the latest. The sum must leave 10 ms of 50 for timers that
 * are late and for the time to the next frame. DEAD must not be shorter, since a thread that is
 * merely preempted looks the same. */
#define SHUNT_STEER_DEAD_NS	(35 * 1000 * 1000ULL)
#define SHUNT_STEER_TICK_NS	(5 * 1000 * 1000ULL)
/* The keeper beats every second. Less than three could be a busy host. */
#define SHUNT_STEER_STALE_NS	(3 * 1000 * 1000 * 1000ULL)

/* ---- samples -------------------------------------------------------------------------------- */

/* Frames of a queue that are timed; userspace asks for so many every second. */
#define SHUNT_STEER_SAMPLES	1000

/* Frames of a queue whose checksums are looked at: so many every second, and so many more after one
 * that was left to a device. Where all senders do that every frame is looked at, where none does,
 * one in seventy of 3.5 million a second. */
#define SHUNT_STEER_CSUM_LOOKS	50000

/* How long the program ran, by lane. Userspace writes `looks`, the program counts it down. For a
 * frame that is like any other it costs a load and a comparison. */
struct shunt_steer_sample {
	union {
		__u64 looks; /* 0: the next frame is like any other */
		struct {
			__u32 due;	/* frames that are yet to be timed */
			__u32 csum_due; /* frames whose checksum is yet to be looked at */
		};
	};
	__u64 start_ns; /* CLOCK_MONOTONIC, of the frame that is timed; 0: this one is not */
	__u64 cnt[SHUNT_LANE_CNT]; /* frames that were timed */
	__u64 ns[SHUNT_LANE_CNT];  /* what they took */
	__u64 pad[6];
};

/* ---- a queue -------------------------------------------------------------------------------- */

struct shunt_steer_slot {
	struct shunt_steer_counters counters;
	struct shunt_steer_gate gate;
	struct shunt_steer_sample sample;
};

_Static_assert(sizeof(struct shunt_steer_counters) == 640, "shared layout");
_Static_assert(sizeof(struct shunt_steer_gate) == 64, "a cache line");
_Static_assert(sizeof(struct shunt_steer_sample) == 128, "two cache lines");

#endif
