// SPDX-License-Identifier: BSD-2-Clause
#include "graph/loss.h"

/* Lines that are looked at for a key. More: once there is no room, each loss costs as many. */
#define PROBES 16u

static unsigned hash(uint64_t key)
{
	return (unsigned)(key * 0x9e3779b97f4a7c15u >> 32) % SHUNT_LOSS_LINES;
}

void shunt_losses_add(struct shunt_losses *losses, uint64_t key, uint64_t cnt)
{
	const struct shunt_loss loss = shunt_loss_of(key);
	const unsigned first = hash(key);
	unsigned i;

	for (i = 0; i < PROBES; i++) {
		struct shunt_loss_line *line = &losses->lines[(first + i) % SHUNT_LOSS_LINES];

		if (line->key && line->key != key)
			continue;
		shunt_counter_add(&line->count, cnt);
		/* Pairs with the reader's load: behind a key there is a count. */
		if (!line->key)
			__atomic_store_n(&line->key, key, __ATOMIC_RELEASE);
		return;
	}
	shunt_counter_add(&losses->rest[loss.kind][loss.reason], cnt);
}
