// SPDX-License-Identifier: BSD-2-Clause
#include "fib/spread.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "fib/nexthop.h"

struct quota {
	uint32_t nh;
	uint32_t left; /* buckets it may still take or keep */
	uint64_t owed; /* what rounding down took from it */
};

static int by_nh(const void *a, const void *b)
{
	const struct quota *x = a, *y = b;

	return (x->nh > y->nh) - (x->nh < y->nh);
}

static struct quota *find(struct quota *quotas, unsigned cnt, uint32_t nh)
{
	struct quota key = {.nh = nh};

	return bsearch(&key, quotas, cnt, sizeof(*quotas), by_nh);
}

/* Hands out what rounding left over, to the most owed first; takes what minimums of one bucket
 * cost from the largest. */
static void settle(struct quota *quotas, unsigned cnt, int64_t left)
{
	unsigned i, best;

	for (; left > 0; left--) {
		for (best = 0, i = 1; i < cnt; i++)
			if (quotas[i].owed > quotas[best].owed)
				best = i;
		quotas[best].left++;
		quotas[best].owed = 0;
	}
	for (; left < 0; left++) {
		for (best = 0, i = 1; i < cnt; i++)
			if (quotas[i].left > quotas[best].left)
				best = i;
		quotas[best].left--;
	}
}

static void set_quotas(struct quota *quotas, unsigned bucket_cnt,
		       const struct shunt_nexthop_member *members, unsigned cnt)
{
	int64_t left = bucket_cnt;
	uint64_t sum = 0, part;
	unsigned i;

	for (i = 0; i < cnt; i++)
		sum += members[i].weight;
	for (i = 0; i < cnt; i++) {
		part = (uint64_t)members[i].weight * bucket_cnt;
		quotas[i].nh = members[i].nh;
		quotas[i].left = SHUNT_MAX((uint32_t)(part / sum), 1u);
		quotas[i].owed = part < sum ? 0 : part % sum;
		left -= quotas[i].left;
	}
	/* By index, so that ties fall the same way whatever the order of the members. */
	qsort(quotas, cnt, sizeof(*quotas), by_nh);
	settle(quotas, cnt, left);
}

int shunt_spread_fill(uint32_t *buckets, unsigned bucket_cnt,
		      const struct shunt_nexthop_member *members, unsigned cnt)
{
	struct quota *quotas = calloc(cnt, sizeof(*quotas)), *s;
	uint8_t *keeps = calloc(bucket_cnt, 1);
	unsigned i, next = 0;

	if (!quotas || !keeps) {
		free(quotas);
		free(keeps);
		return -ENOMEM;
	}
	set_quotas(quotas, bucket_cnt, members, cnt);
	for (i = 0; i < bucket_cnt; i++) {
		s = find(quotas, cnt, buckets[i]);
		if (!s || !s->left)
			continue;
		s->left--;
		keeps[i] = 1;
	}
	for (i = 0; i < bucket_cnt; i++) {
		if (keeps[i])
			continue;
		while (!quotas[next].left)
			next++;
		quotas[next].left--;
		/* Pairs with shunt_nexthop_adj. */
		__atomic_store_n(&buckets[i], quotas[next].nh, __ATOMIC_RELEASE);
	}
	free(quotas);
	free(keeps);
	return 0;
}
