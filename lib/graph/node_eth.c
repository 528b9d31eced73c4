// SPDX-License-Identifier: BSD-2-Clause
/* Ethernet input: sends each frame on by destination address and EtherType. It is the first node
 * that reads a packet's bytes, so it prefetches them.
 *
 * A class of frames is an entry of enum class; its verdict is set in init.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <net/ethernet.h>
#include <stdlib.h>
#include <string.h>

#include "graph/nodes.h"

/* Frames ahead whose header line is fetched: it was last written by another core or by the
 * device. 4 and 16 measured alike. */
#define PREFETCH_AHEAD 8u

enum class {
	OURS_IP4,
	OURS_IP6,
	OURS_TAGGED,
	OURS_OTHER, /* to the port's address, another EtherType */
	FOREIGN,    /* to another address */
	OURS_OFF,   /* IP of a family that the port does not forward */
	BRIDGED,    /* to another address, on a port that bridges */
	CLASS_CNT
};

struct verdict {
	uint16_t next;
	uint8_t reason; /* for the punt node */
};

struct eth {
	const uint64_t *macs;
	struct verdict verdicts[CLASS_CNT];
	bool bridges[SHUNT_PORT_MAX];
	const struct shunt_port_live *live;
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define MAC_SHIFT(word) ((word) << 16)
#else
#define MAC_SHIFT(word) ((word) >> 16)
#endif

static inline uint64_t mac_of(const uint8_t *data)
{
	uint64_t word;

	memcpy(&word, data, sizeof(word));
	return MAC_SHIFT(word);
}

static inline uint64_t own_mac(const struct eth *eth, unsigned port)
{
	return MAC_SHIFT(__atomic_load_n(&eth->macs[port], __ATOMIC_RELAXED));
}

static inline bool is_tag(uint16_t ethertype_be)
{
	return ethertype_be == htons(ETH_P_8021Q) || ethertype_be == htons(ETH_P_8021AD);
}

static inline enum class classify(const uint8_t *data, uint64_t mac) {
	uint16_t ethertype_be;

	memcpy(&ethertype_be, data + 12, sizeof(ethertype_be));
	if (unlikely(mac_of(data) != mac)) return FOREIGN;
	if (likely(ethertype_be == htons(ETHERTYPE_IP))) return OURS_IP4;
	if (ethertype_be == htons(ETHERTYPE_IPV6)) return OURS_IP6;
	return is_tag(ethertype_be) ? OURS_TAGGED : OURS_OTHER;
}

/* The verdicts of the port's classes as control has set them now. */
static void load_verdicts(const struct eth *eth, unsigned port, struct verdict *verdicts)
{
	memcpy(verdicts, eth->verdicts, sizeof(eth->verdicts));
	if (eth->bridges[port])
		verdicts[FOREIGN] = eth->verdicts[BRIDGED];
	if (unlikely(!__atomic_load_n(&eth->live[port].ip4, __ATOMIC_RELAXED)))
		verdicts[OURS_IP4] = verdicts[OURS_OFF];
	if (unlikely(!__atomic_load_n(&eth->live[port].ip6, __ATOMIC_RELAXED)))
		verdicts[OURS_IP6] = verdicts[OURS_OFF];
}

static unsigned sort(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	const struct eth *eth = node->priv;
	const uint64_t mac = own_mac(eth, pkts[0].port);
	struct verdict verdicts[CLASS_CNT];
	unsigned i;

	load_verdicts(eth, pkts[0].port, verdicts);
	for (i = 0; i < cnt; i++) {
		enum class class = classify(shunt_pkt_data(&pkts[i], node->mem), mac);

		pkts[i].reason = verdicts[class].reason;
		next[i] = verdicts[class].next;
	}
	return SHUNT_NEXT_EACH;
}

/* Most batches are all to the port's address and all of one family: then nothing is written. */
static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	const struct eth *eth = node->priv;
	const uint64_t mac = own_mac(eth, pkts[0].port);
	const struct shunt_port_live *live = &eth->live[pkts[0].port];
	uint8_t *const mem = node->mem;
	uint16_t any = 0, all = 0xffff;
	uint64_t foreign = 0;
	unsigned i;

	for (i = 0; i < SHUNT_MIN(cnt, PREFETCH_AHEAD); i++)
		__builtin_prefetch(shunt_pkt_data(&pkts[i], mem), 1);
	for (i = 0; i < cnt; i++) {
		const uint8_t *data = shunt_pkt_data(&pkts[i], mem);
		uint16_t ethertype_be;

		__builtin_prefetch(
			shunt_pkt_data(&pkts[SHUNT_MIN(i + PREFETCH_AHEAD, cnt - 1)], mem), 1);
		memcpy(&ethertype_be, data + 12, sizeof(ethertype_be));
		foreign |= mac_of(data) ^ mac;
		any |= ethertype_be;
		all &= ethertype_be;
	}
	if (unlikely(foreign || any != all))
		return sort(node, pkts, cnt, next);
	if (any == htons(ETHERTYPE_IP) && __atomic_load_n(&live->ip4, __ATOMIC_RELAXED))
		return eth->verdicts[OURS_IP4].next;
	if (any == htons(ETHERTYPE_IPV6) && __atomic_load_n(&live->ip6, __ATOMIC_RELAXED))
		return eth->verdicts[OURS_IP6].next;
	if (is_tag(any) && eth->verdicts[OURS_TAGGED].reason == SHUNT_PUNT_none)
		return eth->verdicts[OURS_TAGGED].next;
	return sort(node, pkts, cnt, next);
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	const struct shunt_eth_params *in = params;
	const struct shunt_graph *graph = node->graph;
	uint16_t ip4 = (uint16_t)shunt_graph_find(graph, "ip4_input");
	uint16_t ip6 = (uint16_t)shunt_graph_find(graph, "ip6_input");
	uint16_t punt = (uint16_t)shunt_graph_find(graph, "punt");
	uint16_t bridge = (uint16_t)shunt_graph_find(graph, "bridge");
	int tag = shunt_graph_find(graph, "tag_input");
	struct eth *eth = calloc(1, sizeof(*eth));

	if (!eth)
		return shunt_err_set(err, ENOMEM, "node %s: not enough memory", node->name);
	eth->macs = in->macs;
	eth->verdicts[OURS_IP4] = (struct verdict){ip4, SHUNT_PUNT_none};
	eth->verdicts[OURS_IP6] = (struct verdict){ip6, SHUNT_PUNT_none};
	eth->verdicts[OURS_TAGGED] = tag < 0 ? (struct verdict){punt, SHUNT_PUNT_not_ip}
					     : (struct verdict){(uint16_t)tag, SHUNT_PUNT_none};
	eth->verdicts[OURS_OTHER] = (struct verdict){punt, SHUNT_PUNT_not_ip};
	eth->verdicts[FOREIGN] = (struct verdict){punt, SHUNT_PUNT_other_mac};
	eth->verdicts[OURS_OFF] = (struct verdict){punt, SHUNT_PUNT_not_router};
	eth->verdicts[BRIDGED] = (struct verdict){bridge, SHUNT_PUNT_none};
	memcpy(eth->bridges, in->bridges, sizeof(eth->bridges));
	eth->live = in->live;
	node->priv = eth;
	return 0;
}

static void fini(struct shunt_node *node)
{
	free(node->priv);
}

const struct shunt_node_type shunt_node_eth_input = {
	.name = "eth_input",
	.help = "sends each frame on by its destination address and EtherType",
	.fn = run,
	.init = init,
	.fini = fini,
};
