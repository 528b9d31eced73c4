/* SPDX-License-Identifier: BSD-2-Clause */
/* The system of lib/model/mxgb1.h played out event by event: packets with the times at
 * which they came, a ring, a poller. It shares nothing with the model but its options. */
#ifndef SHUNT_TESTS_MODEL_SIM_H
#define SHUNT_TESTS_MODEL_SIM_H

#include <stdint.h>

#include "model/mxgb1.h"

#define MODEL_SIM_PARTS 20

/* What was seen in one part of the run; from the parts follows how sure their mean is. */
struct model_sim_part {
	double throughput_pps, loss, latency_s, utilisation, batch_mean, ring_mean;
	double batch_size[SHUNT_MXGB1_BATCH_MAX + 1];
};

struct model_sim {
	struct model_sim_part parts[MODEL_SIM_PARTS];
};

/* model_sim_run plays packets arrivals in all, after a tenth of that as a start. */
void model_sim_run(struct model_sim *sim, const struct shunt_mxgb1_opts *opts, uint64_t packets,
		   uint64_t seed);

#endif
