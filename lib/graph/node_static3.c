// SPDX-License-Identifier: BSD-2-Clause
/* Static layer 3 and MAC rewriting: one next hop a port. Both write destination
 * and source address; static3 is a router besides (RFC 1812, section 5.3.1): TTL
 * or hop limit goes down by one and the IPv4 checksum follows, as Linux does it.
 */
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <stdlib.h>

#include "graph/ip.h"

/* Frames ahead of the one being written whose header line is fetched. The line
 * was last written by another core or by the device. */
#define PREFETCH_AHEAD 8

struct hop {
	uint64_t macs_lo; /* destination and the first two bytes of source */
	uint32_t macs_hi; /* the rest of source */
	uint16_t next;
};

struct static3 {
	struct shunt_pair_params pairs;
	uint16_t next[SHUNT_PORT_MAX]; /* by input port */
};

/* For a batch: the output port's address may be another than for the last. */
static inline struct hop hop_of(const struct static3 *s3, unsigned port)
{
	struct hop hop = {.next = s3->next[port]};
	uint8_t macs[12];
	uint64_t own;

	if (s3->pairs.out_port[port] >= SHUNT_PORT_MAX)
		return hop;
	own = __atomic_load_n(&s3->pairs.macs[s3->pairs.out_port[port]], __ATOMIC_RELAXED);
	memcpy(macs, s3->pairs.dst_mac[port], 6);
	memcpy(macs + 6, &own, 6);
	memcpy(&hop.macs_lo, macs, 8);
	memcpy(&hop.macs_hi, macs + 8, 4);
	return hop;
}

static inline void rewrite_macs(uint8_t *eth, const struct hop *hop)
{
	memcpy(eth, &hop->macs_lo, 8);
	memcpy(eth + 8, &hop->macs_hi, 4);
}

/* Returns 0, or the reason the packet cannot go on. */
static inline unsigned decrease(uint8_t *data, uint32_t len)
{
	const uint16_t ethertype_be = shunt_ip_load16(data + 12);
	uint8_t *ip = data + SHUNT_ETH_LEN;

	if (likely(ethertype_be == htons(ETHERTYPE_IP))) {
		if (unlikely(len < SHUNT_ETH_LEN + sizeof(struct iphdr)))
			return SHUNT_DROP_truncated;
		if (unlikely(ip[8] <= 1))
			return SHUNT_DROP_not_forwardable;
		shunt_ip4_decrease_ttl(ip);
		return SHUNT_DROP_none;
	}
	if (ethertype_be == htons(ETHERTYPE_IPV6)) {
		if (unlikely(len < SHUNT_ETH_LEN + sizeof(struct ip6_hdr)))
			return SHUNT_DROP_truncated;
		if (unlikely(ip[7] <= 1))
			return SHUNT_DROP_not_forwardable;
		ip[7]--;
		return SHUNT_DROP_none;
	}
	return SHUNT_DROP_not_forwardable;
}

static inline unsigned rewrite(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			       uint16_t *next, const bool route)
{
	const struct static3 *s3 = node->priv;
	const struct hop hop = hop_of(s3, pkts[0].port);
	unsigned bad = 0, i;

	if (unlikely(hop.next == node->graph->drop_node)) {
		shunt_graph_set_reason(pkts, cnt, SHUNT_DROP_no_output);
		return hop.next;
	}
	for (i = 0; i < cnt; i++) {
		uint8_t *data = shunt_pkt_data(&pkts[i], node->mem);
		unsigned reason = SHUNT_DROP_none;

		if (i + PREFETCH_AHEAD < cnt)
			__builtin_prefetch(shunt_pkt_data(&pkts[i + PREFETCH_AHEAD], node->mem), 1);
		if (route) {
			reason = decrease(data, pkts[i].len);
			pkts[i].reason = (uint8_t)reason;
			next[i] = reason ? node->graph->drop_node : hop.next;
			bad += !!reason;
		}
		if (likely(!reason))
			rewrite_macs(data, &hop);
	}
	return likely(!bad) ? hop.next : SHUNT_NEXT_EACH;
}

static unsigned run_macrewrite(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			       uint16_t *next)
{
	return rewrite(node, pkts, cnt, next, false);
}

static unsigned run_static3(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			    uint16_t *next)
{
	return rewrite(node, pkts, cnt, next, true);
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	struct static3 *s3 = malloc(sizeof(*s3));
	unsigned port;

	if (!s3)
		return shunt_err_set(err, ENOMEM, "node %s: not enough memory", node->name);
	s3->pairs = *(const struct shunt_pair_params *)params;
	for (port = 0; port < SHUNT_PORT_MAX; port++)
		s3->next[port] = shunt_graph_tx_or_drop(node->graph, s3->pairs.out_port[port]);
	node->priv = s3;
	return 0;
}

static void fini(struct shunt_node *node)
{
	free(node->priv);
}

const struct shunt_node_type shunt_node_macrewrite = {
	.name = "macrewrite",
	.help = "Ethernet addresses rewritten, everything else as it came",
	.fn = run_macrewrite,
	.init = init,
	.fini = fini,
};

const struct shunt_node_type shunt_node_static3 = {
	.name = "static3",
	.help = "one next hop a port: Ethernet addresses rewritten, TTL or hop limit less one",
	.fn = run_static3,
	.init = init,
	.fini = fini,
};
