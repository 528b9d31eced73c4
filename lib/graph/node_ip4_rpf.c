// SPDX-License-Identifier: BSD-2-Clause
/* Reverse path filter (RFC 3704): on ports with rp_filter, a packet goes on if the route back
 * to its source leaves by the port it came in on. Every other case (no route, several paths,
 * another port in loose mode) is punted, and the kernel decides (fib_validate_source).
 *
 * Without rp_filter the kernel looks sources up only where routes of type local were added by hand
 * (fib_has_custom_local_routes): then packets whose source is routed to this host are punted.
 */
#include "graph/ip.h"

static inline bool is_plain(const struct shunt_adj *adj, unsigned port, uint8_t check)
{
	if (check == SHUNT_SOURCE_NOT_LOCAL)
		return adj->kind != SHUNT_ADJ_LOCAL;
	return adj->kind == SHUNT_ADJ_REWRITE && adj->port == port;
}

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	const struct shunt_ip *state = node->priv;
	const struct shunt_port_live *live = &state->tables.live[pkts[0].port];
	const uint8_t check = __atomic_load_n(&live->rpf4, __ATOMIC_RELAXED);
	uint32_t src_be[SHUNT_BATCH_MAX], nh[SHUNT_BATCH_MAX];
	unsigned i, bad = 0;

	src_be[0] = 0; /* for the compiler: a batch is never empty */
	for (i = 0; i < cnt; i++)
		src_be[i] = shunt_ip_load32(shunt_ip_header(node, &pkts[i]) + 12);
	shunt_fib4_lookup_bulk(state->tables.fib4, src_be, nh, cnt);
	for (i = 0; i < cnt; i++) {
		const struct shunt_adj *adj = shunt_nexthop_adj(state->tables.nexthops, nh[i], 0);

		next[i] = state->on;
		if (unlikely(!is_plain(adj, pkts[i].port, check))) {
			next[i] = shunt_ip_punt(state, &pkts[i], SHUNT_PUNT_rp_filter);
			bad = 1;
		}
	}
	return likely(!bad) ? state->on : SHUNT_NEXT_EACH;
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	return shunt_ip_init(node, params, "ip4_lookup", err);
}

const struct shunt_node_type shunt_node_ip4_rpf = {
	.name = "ip4_rpf",
	.help = "IPv4: sources must be reached by the port they came in on (rp_filter)",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
