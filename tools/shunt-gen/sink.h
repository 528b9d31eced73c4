/* SPDX-License-Identifier: BSD-2-Clause */
/* The sink's state, for sink.c, which fills it, and sink_report.c. */
#ifndef SHUNT_GEN_SINK_H
#define SHUNT_GEN_SINK_H

#include "gen.h"
#include "measure/hist.h"

struct gen_total {
	uint64_t frames, bytes, reordered, duplicates, unjudged, corrupt, unclocked, expected;
	uint64_t gap_max_ns, gap_min_ns, gap_sum_ns, first_ns;
	uint64_t last_ns; /* with gaps */
	uint64_t latency_max, latency_min, latency_sum;
	uint64_t other_frames;
	unsigned runs;
	uint8_t ttl_min, ttl_max;
};

struct shunt_sink; /* the skeleton */

struct gen_sink {
	const struct gen_sink_opts *opts;
	struct shunt_sink *skel;
	int link_fd;	  /* of the program on its device; -1: none */
	const char *mode; /* as the kernel says */
	int cpu_cnt;
	struct shunt_gen_count *counts; /* one run's, per CPU */
	struct shunt_gen_other *others;
	struct gen_total now;
	uint64_t changed_ns; /* when now.frames was last seen to change */
	json_t *intervals;
	struct shunt_hist latency_hist, gap_hist;
	struct gen_spread latency, gaps;
};

/* gen_sink_report writes the result, as gen_sink does. */
void gen_sink_report(struct gen_sink *s, FILE *json);

#endif
