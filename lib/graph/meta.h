/* SPDX-License-Identifier: BSD-2-Clause */
/* What is made of the metadata that the steering program writes before a frame
 * (bpf/shunt_steer_meta.h), for a queue whose port asked for it: the time from the receipt of a
 * packet to the end of the transmit call of its turn, as a histogram, and the number of flows. The
 * hash is the driver's where it has one, else shunt's own; the time is the device's where its clock
 * is the host's, else that of the program in the driver, which no wait in the ring is hidden from.
 *
 * Next hops are not chosen by this hash: the lanes xdp and user must choose alike, and so must the
 * packets before and after a restart.
 *
 * Limits: flows are counted by linear counting over 2^16 bits (Whang et al. 1990): within 2 % up to
 * 100,000 flows a second, and nothing beyond 700,000. A device's clock that is not within 100 ms of
 * CLOCK_REALTIME or CLOCK_TAI is not used. */
#ifndef SHUNT_GRAPH_META_H
#define SHUNT_GRAPH_META_H

#include <stdbool.h>
#include <stdint.h>

#include "io/pkt.h"
#include "measure/hist.h"

#define SHUNT_META_FLOW_BITS 65536

/* Counters of a queue: one writer, the worker. */
#define SHUNT_META_COUNTERS(X)                                              \
	X(hash_driver, "packets whose flow hash is the driver's")           \
	X(hash_software, "packets whose flow hash shunt computed")          \
	X(time_device, "packets with the device's own time of receipt")     \
	X(time_program, "packets with the steering program's time instead") \
	X(missing, "packets without metadata: the driver leaves no room")

struct shunt_meta {
	/* per packet */
	uint64_t *flows;	  /* the bitmap that is being filled, one of the two below */
	uint64_t real_ns, tai_ns; /* CLOCK_REALTIME and _TAI less CLOCK_MONOTONIC */
	unsigned pending_cnt;	  /* packets of this turn */
	uint64_t pending_ns[SHUNT_BATCH_MAX];
	/* per batch */
#define X(name, help) uint64_t name;
	SHUNT_META_COUNTERS(X)
#undef X
	struct shunt_hist latency; /* nanoseconds */
	/* control */
	uint64_t flow_bits[2][SHUNT_META_FLOW_BITS / 64];
	uint64_t flow_cnt; /* of the latest full second */
	char why[128];	   /* why the driver is not asked; "" if it is */
};

/* shunt_meta_create makes one; NULL without memory. free() is its end. Thread: init. */
struct shunt_meta *shunt_meta_create(void);

/* shunt_meta_take reads what stands before the packets that a receive returned, base being the
 * pool's memory. shunt_meta_done, after the turn's transmit, counts how long they were here.
 * Thread: owner worker. Cost: packet. */
void shunt_meta_take(struct shunt_meta *m, uint8_t *base, const struct shunt_pkt *pkts,
		     unsigned cnt);
void shunt_meta_done(struct shunt_meta *m, uint64_t now_ns);

/* shunt_meta_tick begins a new second: counts the flows of the one before, and compares the host's
 * clocks. Thread: control, every second. */
void shunt_meta_tick(struct shunt_meta *m);

/* shunt_meta_received returns when, by CLOCK_MONOTONIC, a packet was received: device_ns in that
 * clock if it can be the device's within 100 ms before ns, the program's time, else 0. Thread:
 * any. */
uint64_t shunt_meta_received(const struct shunt_meta *m, uint64_t device_ns, uint64_t ns);

#endif
