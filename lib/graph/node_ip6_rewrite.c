// SPDX-License-Identifier: BSD-2-Clause
/* IPv6 rewrite: hop limit less one, the Ethernet header of the next
 * hop. Nothing is written before the packet is known to leave: a punted packet is as it came.
 */
#include "graph/ip.h"

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	const struct shunt_ip *const state = node->priv;
	const struct shunt_adj *const adjs = state->tables.nexthops->adjs;
	const uint16_t *const tx = state->tx[pkts[0].port];
	const uint16_t first = tx[adjs[pkts[0].adj].port], punt = state->punt;
	uint8_t *const mem = node->mem;
	unsigned i, diff = 0;

	for (i = 0; i < cnt; i++) {
		const struct shunt_adj *adj = &adjs[pkts[i].adj];
		uint8_t *ip = shunt_pkt_data(&pkts[i], mem) + SHUNT_ETH_LEN;
		uint16_t to = tx[adj->port];

		if (unlikely(to == punt || pkts[i].len - SHUNT_ETH_LEN > adj->mtu)) {
			to = shunt_ip_hold_back(state, &pkts[i], adj);
		} else {
			shunt_ip_write_eth(ip, adj);
			ip[7]--; /* hop limit */
		}
		next[i] = to;
		diff |= to ^ first;
	}
	return likely(!diff) ? first : SHUNT_NEXT_EACH;
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	return shunt_ip_init(node, params, NULL, err);
}

const struct shunt_node_type shunt_node_ip6_rewrite = {
	.name = "ip6_rewrite",
	.help = "IPv6: hop limit less one, Ethernet header of the next hop",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
