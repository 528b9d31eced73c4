/* SPDX-License-Identifier: BSD-2-Clause */
/* What each lane of a port did and cost in the latest second: throughput, time inside shunt and CPU
 * time a packet, side by side. What cannot be measured from here stays unknown, never 0: the
 * kernel's own forwarding, and the driver's transmit behind a redirect.
 *
 * user: the steering program, and the worker from his receive to the end of his transmit call,
 * who works for all ports: time inside is a turn that had packets, CPU time that turn's part
 * of a packet. xdp: the steering program, of which some runs are timed every second. A frame that
 * is timed takes the long way through it, not a plain port's short one. */
#ifndef SHUNT_LANE_STATS_H
#define SHUNT_LANE_STATS_H

#include <jansson.h>
#include <stdint.h>

#include "shunt_steer.h"

struct shunt_engine;
struct shunt_port;

struct shunt_lane_counts {
	uint64_t at_ns; /* 0: none taken yet */
	uint64_t packets[SHUNT_LANE_CNT], bytes[SHUNT_LANE_CNT];
	uint64_t samples[SHUNT_LANE_CNT], sample_ns[SHUNT_LANE_CNT];
	/* of all workers */
	uint64_t worker_packets, worker_turns, worker_cycles;
};

struct shunt_lane_stats {
	struct shunt_lane_counts before, latest;
};

/* shunt_lane_stats_tick closes a second of every port. Thread: control, every second.
 * Cost: no syscall. */
void shunt_lane_stats_tick(struct shunt_engine *engine);

/* shunt_lane_stats_json returns what one lane did and cost: {"packets", "bytes", "pps", "bps",
 * "latency_ns", "cpu_ns_per_packet"}, the latter four of the latest full second, null where not
 * measured. Thread: control. */
json_t *shunt_lane_stats_json(const struct shunt_engine *engine, const struct shunt_port *port,
			      enum shunt_lane lane);

#endif
