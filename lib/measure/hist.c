// SPDX-License-Identifier: BSD-2-Clause
#include "measure/hist.h"

uint64_t shunt_hist_floor(unsigned bucket)
{
	unsigned shift;

	if (bucket < SHUNT_HIST_LINEAR)
		return bucket;
	shift = (bucket >> SHUNT_HIST_SUB_BITS) - 1;
	return (uint64_t)(bucket - (shift << SHUNT_HIST_SUB_BITS)) << shift;
}

uint64_t shunt_hist_count(const struct shunt_hist *hist)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < SHUNT_HIST_BUCKETS; i++)
		sum += shunt_counter_read(&hist->bucket[i]);
	return sum;
}

uint64_t shunt_hist_quantile(const struct shunt_hist *hist, double q)
{
	uint64_t count = shunt_hist_count(hist), seen = 0, rank;
	unsigned i;

	if (!count)
		return 0;
	rank = (uint64_t)(q * (double)count);
	rank = SHUNT_MIN(rank, count - 1);
	for (i = 0; i < SHUNT_HIST_BUCKETS; i++) {
		seen += shunt_counter_read(&hist->bucket[i]);
		if (seen > rank)
			break;
	}
	return shunt_hist_floor(SHUNT_MIN(i, SHUNT_HIST_BUCKETS - 1u));
}
