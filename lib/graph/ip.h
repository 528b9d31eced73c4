/* SPDX-License-Identifier: BSD-2-Clause */
/* What the ip4_ and ip6_ nodes share: the state made of struct shunt_ip_params, loads from
 * packets, and the fate of packets that do not go on. */
#ifndef SHUNT_GRAPH_IP_H
#define SHUNT_GRAPH_IP_H

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <string.h>

#include "graph/nodes.h"

#define SHUNT_ETH_LEN ((uint32_t)sizeof(struct ether_header))

/* Of one node; which fields count depends on the node. */
struct shunt_ip {
	struct shunt_ip_params tables;
	uint16_t on;   /* the next node of good packets: lookup, or rewrite */
	uint16_t rpf;  /* and of those whose source is looked up first */
	uint16_t punt; /* and those of the others */
	uint16_t drop;
	/* by input and output port; punt where it must not, or cannot, leave */
	uint16_t tx[SHUNT_PORT_MAX][SHUNT_PORT_MAX];
};

/* shunt_ip_init is the init of every IP node: on is the name of the node that good packets
 * go to, NULL for transmit. Frees with shunt_ip_fini. Thread: init. */
int shunt_ip_init(struct shunt_node *node, const struct shunt_ip_params *params, const char *on,
		  struct shunt_err *err);
void shunt_ip_fini(struct shunt_node *node);

static inline uint8_t *shunt_ip_header(const struct shunt_node *node, const struct shunt_pkt *pkt)
{
	return shunt_pkt_data(pkt, node->mem) + SHUNT_ETH_LEN;
}

static inline uint16_t shunt_ip_load16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t shunt_ip_load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t shunt_ip_load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint16_t shunt_ip_punt(const struct shunt_ip *ip, struct shunt_pkt *pkt,
				     enum shunt_punt reason)
{
	pkt->reason = (uint8_t)reason;
	return ip->punt;
}

static inline uint16_t shunt_ip_drop(const struct shunt_ip *ip, struct shunt_pkt *pkt,
				     enum shunt_drop reason)
{
	pkt->reason = (uint8_t)reason;
	return ip->drop;
}

/* shunt_ip_trim cuts what follows the packet, as the kernel does, down to where a frame must
 * be padded. Returns the frame's length. Thread: owner worker. */
uint32_t shunt_ip_pad(uint8_t *l3, uint32_t l3_len, uint32_t min_len);
static inline uint32_t shunt_ip_trim(uint8_t *l3, uint32_t l3_len, uint32_t min_len)
{
	uint32_t len = SHUNT_ETH_LEN + l3_len;

	return likely(len >= min_len) ? len : shunt_ip_pad(l3, l3_len, min_len);
}

/* shunt_ip_divert sends packet i to a node of its own when all before went straight on: only
 * then next[] is written at all. bad: how many were diverted before. Returns 1, or 0 when to
 * is on. */
unsigned shunt_ip_divert(uint16_t *next, unsigned i, unsigned cnt, unsigned bad, uint16_t on,
			 uint16_t to);

/* shunt_ip_turn_away says where a packet goes whose adjacency is not to be written. */
uint16_t shunt_ip_turn_away(const struct shunt_ip *ip, struct shunt_pkt *pkt,
			    const struct shunt_adj *adj);

/* shunt_ip_hold_back says where a packet goes that must not leave by its adjacency: it tells
 * the kernel to fragment, to answer or to redirect. */
uint16_t shunt_ip_hold_back(const struct shunt_ip *ip, struct shunt_pkt *pkt,
			    const struct shunt_adj *adj);

/* shunt_ip_write_eth writes the adjacency's Ethernet addresses in front of l3 in one move of
 * 16 bytes; EtherType and the two bytes behind it are those that are there, so that one
 * adjacency serves both families. */
static inline void shunt_ip_write_eth(uint8_t *l3, const struct shunt_adj *adj)
{
	typedef uint32_t four_words __attribute__((vector_size(16)));
	four_words header;

	memcpy(&header, adj->eth, sizeof(header));
	header[3] = shunt_ip_load32(l3 - 2);
	memcpy(l3 - SHUNT_ETH_LEN, &header, sizeof(header));
}

#endif
