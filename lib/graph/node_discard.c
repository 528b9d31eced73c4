// SPDX-License-Identifier: BSD-2-Clause
/* The discard service (RFC 863) for the graph: UDP over IPv4 to port 9, which is what shunt-gen
 * sends by default, is dropped. So the cost of receiving can be measured without transmission. */
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <string.h>

#include "graph/nodes.h"

#define PORT_DISCARD 9
#define SHORTEST     (14 + 20 + 8) /* Ethernet, IPv4 without options, UDP */

static bool is_discard(const uint8_t *eth, uint32_t len)
{
	uint16_t type, fragment, port;

	if (len < SHORTEST)
		return false;
	memcpy(&type, eth + 12, 2);
	memcpy(&fragment, eth + 20, 2);
	memcpy(&port, eth + 36, 2);
	return type == htons(ETHERTYPE_IP) && eth[14] == 0x45 && eth[23] == IPPROTO_UDP &&
	       !(fragment & htons(0x1fff)) && port == htons(PORT_DISCARD);
}

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	const uint16_t on = shunt_graph_follow(node, pkts);
	unsigned i;

	for (i = 0; i < cnt; i++) {
		next[i] = on;
		if (is_discard(shunt_pkt_data(&pkts[i], node->mem), pkts[i].len)) {
			pkts[i].reason = SHUNT_DROP_discarded;
			next[i] = node->graph->drop_node;
		}
	}
	return SHUNT_NEXT_EACH;
}

const struct shunt_node_type shunt_node_discard = {
	.name = "discard",
	.help = "drops UDP over IPv4 to port 9 (RFC 863)",
	.fn = run,
	.is_front = true,
};
