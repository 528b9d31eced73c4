/* SPDX-License-Identifier: BSD-2-Clause */
/* A histogram of unsigned values in log-linear buckets (HdrHistogram's idea):
 * exact below 32, then 16 buckets an octave, so any quantile is within 6 %.
 * One writer; readers take a copy and may be a few counts behind.
 *
 *   shunt_hist_add(&hist, value, 1);
 *   p99 = shunt_hist_quantile(&copy, 0.99);
 */
#ifndef SHUNT_MEASURE_HIST_H
#define SHUNT_MEASURE_HIST_H

#include <stdint.h>

#include "base/bytes.h"

#define SHUNT_HIST_SUB_BITS 4
#define SHUNT_HIST_LINEAR   (2u << SHUNT_HIST_SUB_BITS)
#define SHUNT_HIST_BUCKETS \
	(SHUNT_HIST_LINEAR + (64 - SHUNT_HIST_SUB_BITS - 1) * (1u << SHUNT_HIST_SUB_BITS))

struct shunt_hist {
	uint64_t bucket[SHUNT_HIST_BUCKETS];
};

/* shunt_hist_index returns the bucket of value. Thread: any. */
static inline unsigned shunt_hist_index(uint64_t value)
{
	unsigned shift;

	if (value < SHUNT_HIST_LINEAR)
		return (unsigned)value;
	shift = 63u - (unsigned)__builtin_clzll(value) - SHUNT_HIST_SUB_BITS;
	return (shift << SHUNT_HIST_SUB_BITS) + (unsigned)(value >> shift);
}

/* shunt_hist_add counts value n times. Thread: owner worker. Cost: packet. */
static inline void shunt_hist_add(struct shunt_hist *hist, uint64_t value, uint64_t n)
{
	shunt_counter_add(&hist->bucket[shunt_hist_index(value)], n);
}

/* shunt_hist_floor returns the smallest value of a bucket. Thread: any. */
uint64_t shunt_hist_floor(unsigned bucket);

/* shunt_hist_count returns how many values were counted. Thread: any. */
uint64_t shunt_hist_count(const struct shunt_hist *hist);

/* shunt_hist_quantile returns the smallest value of the bucket that holds the
 * q-quantile (0..1) of the values, 0 when there are none. Thread: any. */
uint64_t shunt_hist_quantile(const struct shunt_hist *hist, double q);

#endif
