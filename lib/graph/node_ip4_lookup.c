// SPDX-License-Identifier: BSD-2-Clause
/* IPv4 lookup: destination to adjacency, a whole batch at a time so that the cache misses of
 * its packets overlap. The flow hash is computed for groups only. */
#include "fib/flow.h"
#include "graph/ip.h"

static inline bool is_group(const uint32_t *slots, uint32_t nh)
{
	return __atomic_load_n(&slots[nh], __ATOMIC_RELAXED) & SHUNT_NEXTHOP_GROUP;
}

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	const struct shunt_ip *const state = node->priv;
	const struct shunt_nexthops *const table = state->tables.nexthops;
	const uint32_t *const slots = table->slots;
	const uint16_t on = state->on;
	uint32_t dst_be[SHUNT_BATCH_MAX], nh[SHUNT_BATCH_MAX];
	unsigned i, bad = 0;

	dst_be[0] = 0; /* for the compiler: a batch is never empty */
	for (i = 0; i < cnt; i++)
		dst_be[i] = pkts[i].adj /* from input */;
	shunt_fib4_lookup_bulk(state->tables.fib4, dst_be, nh, cnt);
	for (i = 0; i < cnt; i++) {
		const struct shunt_adj *adj;
		uint32_t hash = 0;

		if (unlikely(is_group(slots, nh[i])))
			hash = shunt_flow4_hash(shunt_ip_header(node, &pkts[i]),
						pkts[i].len - SHUNT_ETH_LEN,
						state->tables.flow_seed);
		adj = shunt_nexthop_adj(table, nh[i], hash);
		pkts[i].adj = (uint32_t)(adj - table->adjs);
		if (unlikely(adj->kind != SHUNT_ADJ_REWRITE))
			bad += shunt_ip_divert(next, i, cnt, bad, on,
					       shunt_ip_turn_away(state, &pkts[i], adj));
	}
	return likely(!bad) ? on : SHUNT_NEXT_EACH;
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	return shunt_ip_init(node, params, "ip4_rewrite", err);
}

const struct shunt_node_type shunt_node_ip4_lookup = {
	.name = "ip4_lookup",
	.help = "IPv4: longest prefix match, and the flow's path where a route has several",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
