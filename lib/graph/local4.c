// SPDX-License-Identifier: BSD-2-Clause
#include "graph/local4.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

struct shunt_local4 *shunt_local4_create(const uint32_t *addr_be, uint32_t cnt)
{
	struct shunt_local4 *local = calloc(1, sizeof(*local) + cnt * sizeof(*addr_be));
	uint32_t i;

	if (!local)
		return NULL;
	local->cnt = cnt;
	for (i = 0; i < cnt; i++) {
		unsigned bit = shunt_local4_bit(addr_be[i]);

		local->filter[bit / 64] |= 1ULL << (bit % 64);
		local->addr_be[i] = addr_be[i];
	}
	qsort(local->addr_be, cnt, sizeof(*addr_be), compare);
	return local;
}

static void free_rcu(struct rcu_head *head)
{
	free(caa_container_of(head, struct shunt_local4, rcu));
}

void shunt_local4_retire(struct shunt_local4 *local)
{
	if (local)
		urcu_qsbr_call_rcu(&local->rcu, free_rcu);
}

bool shunt_local4_find(const struct shunt_local4 *local, uint32_t addr_be)
{
	return bsearch(&addr_be, local->addr_be, local->cnt, sizeof(addr_be), compare);
}
