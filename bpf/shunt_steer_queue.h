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
	__u64 unserved[SHUNT_STEER_USER_REASON_MAX];
	__u64 csum_finished; /* came with a checksum left to a device, which was finished here */
	__u64 csum_segments; /* of those, TCP of SHUNT_STEER_SEGMENT_MIN bytes or more */
	__u64 pad[2];
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

/* enum shunt_steer_passing: frames that the worker would only hand back to the kernel. */
enum shunt_steer_passing {
	SHUNT_STEER_PASSES_NONE = 0,
	SHUNT_STEER_PASSES_SOME = 1, /* those of `passes` below */
	SHUNT_STEER_PASSES_ALL = 2,  /* more than fit there: all frames of the queue */
};

/* Whether a queue's worker can be given frames, one cache line. The program loads `shut`, nothing
 * else; each byte of it has one writer. Queues that share the last slot share its gate, too. */
struct shunt_steer_gate {
	union {
		__u32 shut; /* 0: all is open */
		struct {
			__u8 is_hung;  /* written by the watch, shunt_watch.bpf.c */
			__u8 is_dry;   /* written by the worker */
			__u8 is_stale; /* written by the watch: the kernel is not followed */
			__u8 passing;  /* enum shunt_steer_passing, written by the worker */
		};
	};
	__u32 pad2;
	/* Written by the worker: CLOCK_MONOTONIC of its latest sign of life. Bit 0 is not time but
	 * SHUNT_STEER_BEAT_ASLEEP: it sleeps until a frame comes. 0: no worker serves the queue. */
	__u64 beat_ns;
	/* Of the first slot, for all of them, written by the follower: until when it has followed
	 * the kernel's routes, bridges and firewall; 0: the port goes by none of them. */
	__u64 keeper_ns;
	/* Written by the worker before it sleeps: shunt_steer_sent by then. */
	__u64 sent;
	__u64 hangs; /* written by the watch: how often is_hung became 1 */
	__u64 pad3[3];
};

/* Bytes of `shut`. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SHUNT_STEER_SHUT_HUNG  0x000000ffu
#define SHUNT_STEER_SHUT_DRY   0x0000ff00u
#define SHUNT_STEER_SHUT_STALE 0x00ff0000u
#else
#define SHUNT_STEER_SHUT_HUNG  0xff000000u
#define SHUNT_STEER_SHUT_DRY   0x00ff0000u
#define SHUNT_STEER_SHUT_STALE 0x0000ff00u
#endif

#define SHUNT_STEER_BEAT_ASLEEP	 1ULL

/* A worker whose thread merely waits for a CPU, as the scheduler tells the watch, is taken for hung
 * after STARVED: its frames are better late than overtaken. */
#define SHUNT_STEER_STARVED_NS	 (100 * 1000 * 1000ULL)
/* A worker that is awake beats every millisecond. The watch looks every TICK, and more often when a
 * beat is late. One that loops, is blocked or stopped it finds within 10 ms; one of whose thread it
 * knows nothing is taken for hung after DEAD. DEAD and a TICK must leave 10 ms of 50 for timers
 * that are late and for the time to the next frame. */
#define SHUNT_STEER_DEAD_NS	 (35 * 1000 * 1000ULL)
#define SHUNT_STEER_TICK_NS	 (5 * 1000 * 1000ULL)
/* The follower beats every 20 ms while it has followed all. What the kernel changes just after a
 * beat must not be missed for longer than 200 ms: STALE and a TICK leave 25 ms for timers that are
 * late. STALE must not be much shorter, since a follower that merely gets no CPU looks the same. */
#define SHUNT_STEER_STALE_NS	 (170 * 1000 * 1000ULL)

/* All of these are so many times as long, where the operator says so: for machines whose CPUs
 * others take. */
#define SHUNT_STEER_PATIENCE_MAX 100

/* What the watch is loaded with. */
struct shunt_steer_watch {
	__u32 slots;	/* to look at: as many as the device can have receive queues */
	__u32 patience; /* 1 .. SHUNT_STEER_PATIENCE_MAX */
};

/* ---- what the worker would hand back ------------------------------------------------------- */

/* Destinations of which the worker hands back more frames than its limit allows. The program gives
 * them to the kernel itself. An entry holds for PASS_MS. After that the program sends one frame to
 * the worker, every PROBE_MS. Where the worker would hand it back, it renews the entry. Where it
 * does not, the entry is over after PROBES of them. So a flow changes its way when its route does,
 * and not every second. */
#define SHUNT_STEER_PASSES   128 /* in pairs */
#define SHUNT_STEER_PASS_MS  1000
#define SHUNT_STEER_PROBE_MS 20
#define SHUNT_STEER_PROBES   3

struct shunt_steer_pass {
	__u32 tag;	/* shunt_steer_pass_tag; 0: free */
	__u32 until_ms; /* CLOCK_MONOTONIC */
	__u32 probes;	/* since the worker renewed it */
	__u32 pad;
};

/* shunt_steer_pass_tag says by what a frame's destination is known: its MAC address, and its IP
 * address if it has one. data: the frame, of 14 bytes at least. Never 0. */
static inline __attribute__((always_inline)) __u32 shunt_steer_pass_tag(const void *data,
									const void *end)
{
	__u64 mac = 0, ip[2] = {0, 0}, h;
	__u16 type;

	__builtin_memcpy(&mac, data, 6);
	__builtin_memcpy(&type, (const char *)data + 12, 2);
	if (type == __builtin_bswap16(0x0800) && (const char *)data + 34 <= (const char *)end)
		__builtin_memcpy(ip, (const char *)data + 30, 4);
	else if (type == __builtin_bswap16(0x86dd) && (const char *)data + 54 <= (const char *)end)
		__builtin_memcpy(ip, (const char *)data + 38, 16);
	h = (mac ^ ip[0] * 0x9e3779b97f4a7c15ULL) * 0xa5cb3ccb0ba8a4c5ULL;
	h = (h ^ h >> 32 ^ ip[1]) * 0xd6e8feb86659fd93ULL;
	return (__u32)(h >> 32) | 1;
}

/* The first entry of the pair that a tag belongs to. */
static inline __attribute__((always_inline)) __u32 shunt_steer_pass_at(__u32 tag)
{
	return tag >> 1 & (SHUNT_STEER_PASSES - 2);
}

/* ---- samples -------------------------------------------------------------------------------- */

/* Frames of a queue that are timed; userspace asks for so many every second. */
#define SHUNT_STEER_SAMPLES    1000

/* Frames of a queue whose checksums are looked at: so many every second, and so many more after one
 * that was left to a device. Where all senders do that every frame is looked at, where none does,
 * one in seventy of 3.5 million a second. */
#define SHUNT_STEER_CSUM_LOOKS 50000

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
	/* Of a tapped program alone (steer/tap.bpf.h). */
	__u64 tap_lost; /* frames that arrived, and whose record had no room */
	/* Of the slot whose number is a port's, whatever the queue: frames that left by that port,
	 * and whose record had no room. Queues add to it at once. */
	__u64 tap_lost_out;
	__u32 tap_count;  /* frames that were numbered */
	__u32 tap_number; /* this frame's; 0: it is not shown as it arrived */
	__u32 is_taken;	  /* its end is to be shown */
	__u32 rule;	  /* which rule matched it, from 1; 0: none */
	__u64 pad[2];
};

/* ---- stations ------------------------------------------------------------------------------- */

/* Stations of a bridge that a queue has heard lately, each in the place that its key says: then the
 * MAC table need not be asked. Written by the program. */
#define SHUNT_STEER_HEARD 64

/* shunt_steer_heard_word is what stands in the place of a station's key (shunt_mac_key) that was
 * found in that epoch (struct shunt_steer_ctl). One word, since queues may share it. */
static inline __attribute__((always_inline)) __u64 shunt_steer_heard_word(__u64 key, __u64 epoch)
{
	return key + epoch * 0x9e3779b97f4a7c15ULL;
}

/* ---- a queue -------------------------------------------------------------------------------- */

struct shunt_steer_slot {
	struct shunt_steer_counters counters;
	struct shunt_steer_gate gate;
	struct shunt_steer_sample sample;
	struct shunt_steer_pass passes[SHUNT_STEER_PASSES];
	__u64 heard[SHUNT_STEER_HEARD];
};

_Static_assert(sizeof(struct shunt_steer_counters) == 640, "shared layout");
_Static_assert(sizeof(struct shunt_steer_gate) == 64, "a cache line");
_Static_assert(sizeof(struct shunt_steer_sample) == 128, "two cache lines");

#endif
