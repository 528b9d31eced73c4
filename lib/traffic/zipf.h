/* SPDX-License-Identifier: BSD-2-Clause */
/* Zipf's law over 1..n: P(k) = k^-s / sum of l^-s, l = 1..n. With n = psi and
 * s = nu it is the batch size of Li, Ren and Yang (equation 1); over flows, the
 * popularity of the k-th. s = 0 is uniform.
 *
 *	shunt_zipf_init(&zipf, 20, 0.701);
 *	k = shunt_zipf_draw(&zipf, &rng);
 *	shunt_zipf_fini(&zipf);
 *
 * Limits: a table of n doubles, a draw is a binary search in it. */
#ifndef SHUNT_TRAFFIC_ZIPF_H
#define SHUNT_TRAFFIC_ZIPF_H

#include <stdint.h>

#define SHUNT_ZIPF_MAX (1u << 24)

struct shunt_zipf {
	double *cdf; /* of 1..n, the last is 1 */
	double mean;
	uint32_t n;
};

/* shunt_zipf_init makes the table for 1..n (1 to SHUNT_ZIPF_MAX), s at least 0.
 * Returns 0, -EINVAL or -ENOMEM. Thread: any. */
int shunt_zipf_init(struct shunt_zipf *zipf, uint32_t n, double s);

/* shunt_zipf_fini frees it; legal on a zeroed struct. Thread: any. */
void shunt_zipf_fini(struct shunt_zipf *zipf);

/* shunt_zipf_draw returns 1..n. Thread: owner of rng. Cost: log2 n steps. */
uint32_t shunt_zipf_draw(const struct shunt_zipf *zipf, uint64_t *rng);

#endif
