// SPDX-License-Identifier: BSD-2-Clause
#include "traffic/arrival.h"

#include <math.h>

#include "measure/rng.h"

void shunt_arrival_init(struct shunt_arrival *arrival, enum shunt_arrival_kind kind,
			double interval_ns, const struct shunt_zipf *batch, uint64_t seed)
{
	*arrival = (struct shunt_arrival){
		.kind = kind, .interval_ns = interval_ns, .batch = batch, .rng = seed};
}

void shunt_arrival_init_burst(struct shunt_arrival *arrival, double interval_ns, uint32_t burst)
{
	*arrival = (struct shunt_arrival){
		.kind = SHUNT_ARRIVAL_BURST, .interval_ns = interval_ns, .burst = burst};
}

static double exponential(uint64_t *rng, double mean)
{
	return -mean * log1p(-shunt_rng_unit(rng));
}

double shunt_arrival_next(struct shunt_arrival *arrival)
{
	switch (arrival->kind) {
	case SHUNT_ARRIVAL_BURST:
		if (arrival->left) {
			arrival->left--;
			return 0;
		}
		arrival->left = arrival->burst - 1;
		return arrival->interval_ns * arrival->burst;
	case SHUNT_ARRIVAL_POISSON:
		return exponential(&arrival->rng, arrival->interval_ns);
	case SHUNT_ARRIVAL_COMPOUND:
		if (arrival->left) {
			arrival->left--;
			return 0;
		}
		arrival->left = shunt_zipf_draw(arrival->batch, &arrival->rng) - 1;
		return exponential(&arrival->rng, arrival->interval_ns * arrival->batch->mean);
	default:
		return arrival->interval_ns;
	}
}
