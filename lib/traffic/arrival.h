/* SPDX-License-Identifier: BSD-2-Clause */
/* When frames arrive: evenly; in bursts of so many, back to back, which come evenly (RFC 2544,
 * section 26.4); as a Poisson process; or as a compound Poisson process, whose batches come as a
 * Poisson process and hold as many frames as Zipf's law says (Li, Ren, Yang: Modeling and Analyzing
 * the Performance of High-Speed Packet I/O, section 3). All of the same mean rate.
 *
 *	shunt_arrival_init(&arrival, SHUNT_ARRIVAL_POISSON, 1000, NULL, seed);
 *	gap_ns = shunt_arrival_next(&arrival);
 */
#ifndef SHUNT_TRAFFIC_ARRIVAL_H
#define SHUNT_TRAFFIC_ARRIVAL_H

#include <stdint.h>

#include "traffic/zipf.h"

enum shunt_arrival_kind {
	SHUNT_ARRIVAL_CONSTANT = 0,
	SHUNT_ARRIVAL_BURST,
	SHUNT_ARRIVAL_POISSON,
	SHUNT_ARRIVAL_COMPOUND
};

struct shunt_arrival {
	const struct shunt_zipf *batch; /* compound: the size of a batch */
	double interval_ns;		/* between frames, on average */
	uint32_t burst;			/* frames of one */
	uint64_t rng;
	uint32_t left; /* frames of the batch that are still to come */
	enum shunt_arrival_kind kind;
};

/* shunt_arrival_init: interval_ns is the mean time between two frames; batch is
 * looked at for compound arrival only and has to outlive it. Thread: any. */
void shunt_arrival_init(struct shunt_arrival *arrival, enum shunt_arrival_kind kind,
			double interval_ns, const struct shunt_zipf *batch, uint64_t seed);

/* shunt_arrival_init_burst: of frames in bursts, 1 or more in each. Thread: any. */
void shunt_arrival_init_burst(struct shunt_arrival *arrival, double interval_ns, uint32_t burst);

/* shunt_arrival_next returns the time in ns from the last frame to the next: 0
 * within a batch or a burst. The first call gives the time before the first frame.
 * Thread: owner. */
double shunt_arrival_next(struct shunt_arrival *arrival);

#endif
