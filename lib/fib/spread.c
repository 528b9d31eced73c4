// SPDX-License-Identifier: BSD-2-Clause
#include "fib/spread.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "fib/nexthop.h"

struct share {
	uint32_t nh;
	uint32_t left; /* buckets it may still take or keep */
	uint64_t owed; /* what rounding down took from it */
};

static int by_nh(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return (x->nh > y->nh) - (x->nh < y->nh);
}

static struct share *find(struct share *shares, unsigned cnt, uint32_t nh)
{
	struct share key = {.nh = nh};

	return bsearch(&key, shares, cnt, sizeof(*shares), by_nh);
}

/* Hands out what rounding left over, to the most owed first; takes what minimums of one bucket
 * cost from the largest. */
static void settle(struct share *shares, unsigned cnt, int64_t left)
{
	unsigned i, best;

	for (; left > 0; left--) {
		for (best = 0, i = 1; i < cnt; i++)
			if (shares[i].owed > shares[best].owed)
				best = i;
		shares[best].left++;
		shares[best].owed = 0;
	}
	for (; left < 0; left++) {
		for (best = 0, i = 1; i < cnt; i++)
			if (shares[i].left > shares[best].left)
				best = i;
		shares[best].left--;
	}
}

static void set_shares(struct share *shares, unsigned bucket_cnt,
		       const struct shunt_nexthop_member *members, unsigned cnt)
{
	int64_t left = bucket_cnt;
	uint64_t sum = 0, part;
	unsigned i;

	for (i = 0; i < cnt; i++)
		sum += members[i].weight;
	for (i = 0; i < cnt; i++) {
		part = (uint64_t)members[i].weight * bucket_cnt;
		shares[i].nh = members[i].nh;
		shares[i].left = SHUNT_MAX((uint32_t)(part / sum), 1u);
		shares[i].owed = part < sum ? 0 : part % sum;
		left -= shares[i].left;
	}
	/* By index, so that ties fall the same way whatever the order of the members. */
	qsort(shares, cnt, sizeof(*shares), by_nh);
	settle(shares, cnt, left);
}

int shunt_spread_fill(uint32_t *buckets, unsigned bucket_cnt,
		      const struct shunt_nexthop_member *members, unsigned cnt)
{
	struct share *shares = calloc(cnt, sizeof(*shares)), *s;
	uint8_t *keeps = calloc(bucket_cnt, 1);
	unsigned i, next = 0;

	if (!shares || !keeps) {
		free(shares);
		free(keeps);
		return -ENOMEM;
	}
	set_shares(shares, bucket_cnt, members, cnt);
	for (i = 0; i < bucket_cnt; i++) {
		s = find(shares, cnt, buckets[i]);
		if (!s || !s->left)
			continue;
		s->left--;
		keeps[i] = 1;
	}
	for (i = 0; i < bucket_cnt; i++) {
		if (keeps[i])
			continue;
		while (!shares[next].left)
			next++;
		shares[next].left--;
		/* Pairs with shunt_nexthop_adj. */
		__atomic_store_n(&buckets[i], shares[next].nh, __ATOMIC_RELEASE);
	}
	free(shares);
	free(keeps);
	return 0;
}
