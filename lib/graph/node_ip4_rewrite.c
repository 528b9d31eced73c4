// SPDX-License-Identifier: BSD-2-Clause
/* IPv4 rewrite: TTL less one, the checksum brought along, the Ethernet header of the next
 * hop. Nothing is written before the packet is known to leave: a punted packet is as it came.
 */
#include "graph/ip.h"

/* ip_decrease_ttl of the kernel: the sum goes up by 0x0100 in network order, end around
 * carry (RFC 1624, equation 3, for this one change). */
static inline void decrease_ttl(uint8_t *ip)
{
	uint32_t check = shunt_ip_load16(ip + 10) + (uint32_t)htons(0x0100);
	uint16_t folded = (uint16_t)(check + (check >= 0xffff));

	memcpy(ip + 10, &folded, sizeof(folded));
	ip[8]--;
}

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
			decrease_ttl(ip);
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

const struct shunt_node_type shunt_node_ip4_rewrite = {
	.name = "ip4_rewrite",
	.help = "IPv4: TTL less one, checksum, Ethernet header of the next hop",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
