/* SPDX-License-Identifier: BSD-2-Clause */
/* How the buckets of a next-hop group are given to its members: by weight, to within one bucket,
 * and with as few changes as possible to buckets that have a member (a resilient group, as the
 * kernel's `ip nexthop ... type resilient`, without its timers). */
#ifndef SHUNT_FIB_SPREAD_H
#define SHUNT_FIB_SPREAD_H

#include <stdint.h>

struct shunt_nexthop_member;

/* shunt_spread_fill gives buckets[bucket_cnt] to members[cnt] (distinct, 1 <= cnt <= bucket_cnt).
 * Each gets a quota by weight, rounded to a bucket, at least one. A bucket keeps its next hop
 * while that has no more than its quota; buckets with another value are free. Stores are
 * atomic, one bucket each, so workers may read meanwhile. Returns 0 or -ENOMEM (unchanged).
 * Thread: the writer. */
int shunt_spread_fill(uint32_t *buckets, unsigned bucket_cnt,
		      const struct shunt_nexthop_member *members, unsigned cnt);

#endif
