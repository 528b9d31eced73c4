/* SPDX-License-Identifier: BSD-2-Clause */
/* What each lane of a port did and cost in the latest second: throughput, time inside shunt and CPU
 * time a packet, side by side. What cannot be measured from here is unknown, never 0: the kernel's
 * own forwarding, and the driver's transmit behind a redirect.
 *
 * Lane user: the steering program, and the worker from its receive to the end of its transmit call.
 * A worker works for all ports. So the time inside is a turn that had packets, and the CPU time is
 * that turn's, divided by its packets.
 * Lane xdp: the steering program, of which some runs are timed every second. Those runs take no
 * short cut of a plain port. */
#ifndef SHUNT_PORT_STATS_H
#define SHUNT_PORT_STATS_H

#include <stdint.h>

#include "shunt_steer.h"

struct shunt_port;

/* What all workers did since they were started. */
struct shunt_work_counts {
	uint64_t packets, turns, cycles; /* of turns that had packets */
};

struct shunt_lane_counts {
	uint64_t at_ns; /* 0: none taken yet */
	uint64_t packets[SHUNT_LANE_CNT], bytes[SHUNT_LANE_CNT];
	uint64_t samples[SHUNT_LANE_CNT], sample_ns[SHUNT_LANE_CNT];
	struct shunt_work_counts work;
};

struct shunt_port_stats {
	struct shunt_lane_counts before, latest;
};

/* shunt_port_stats_read reads a port's counters of now; shunt_port_stats_tick closes a second.
 * Thread: control, the latter every second. Cost: no syscall. */
struct shunt_lane_counts shunt_port_stats_read(const struct shunt_port *port,
					       const struct shunt_work_counts *work);
void shunt_port_stats_tick(struct shunt_port *port, const struct shunt_work_counts *work);

/* shunt_port_stats_cost says what a packet of a lane took in the latest full second: nanoseconds
 * inside shunt, and of CPU time; negative where that was not measured. Thread: control. */
void shunt_port_stats_cost(const struct shunt_port_stats *stats, enum shunt_lane lane,
			   double *latency_ns, double *cpu_ns);

#endif
