/* SPDX-License-Identifier: BSD-2-Clause */
/* What the ip4_ and ip6_ nodes share: the state made of struct shunt_ip_params, loads from
 * packets, and the fate of packets that do not go on. */
#ifndef SHUNT_GRAPH_IP_H
#define SHUNT_GRAPH_IP_H

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <net/ethernet.h>
#include <string.h>

#include "fib/count.h"
#include "graph/nodes.h"
#include "graph/tag.h"

#define SHUNT_ETH_LEN ((uint32_t)sizeof(struct ether_header))

/* Of one node; which fields count depends on the node. */
struct shunt_ip {
	struct shunt_ip_params tables;
	uint16_t on;  /* the next node of good packets: lookup, or rewrite */
	uint16_t on6; /* tag_input: of IPv6 */
	uint16_t rpf; /* the next node of packets whose source is looked up first */
	uint16_t punt;
	uint16_t drop;
	uint16_t tag; /* the node that tags, and chooses a bond's member; punt: there is none */
	/* By input and output port: a transmit node; punt where a packet must not, or cannot,
	 * leave, and of SHUNT_ADJ_TAGGED, where it takes a second look. */
	uint16_t tx[SHUNT_PORT_MAX][SHUNT_PORT_MAX + 1];
};

_Static_assert(SHUNT_ADJ_TAGGED == SHUNT_PORT_MAX, "behind the ports");

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

/* A frame's tags, how many they are, and the type behind them. */
struct shunt_ip_tags {
	uint32_t outer, inner; /* bits of a key */
	unsigned cnt;
	uint16_t type;
};

/* shunt_ip_is_tagged says whether a frame carries a VLAN tag. Thread: any. Cost: packet. */
static inline bool shunt_ip_is_tagged(const uint8_t *frame)
{
	const uint16_t type = shunt_ip_load16(frame + SHUNT_MACS_LEN);

	return type == htons(ETHERTYPE_VLAN) || type == htons(ETH_P_8021AD);
}

/* shunt_ip_tags_read returns the tags of a tagged frame, which has 22 bytes at least. Thread: any.
 * Cost: packet. */
static inline struct shunt_ip_tags shunt_ip_tags_read(const uint8_t *frame)
{
	const uint16_t ad = htons(ETH_P_8021AD), vlan = htons(ETHERTYPE_VLAN);
	const uint8_t *at = frame + SHUNT_MACS_LEN;
	const uint16_t type = shunt_ip_load16(at + SHUNT_TAG_LEN);
	struct shunt_ip_tags tags = {
		.outer = shunt_device_tag_bits(shunt_ip_load16(at) == ad,
					       ntohs(shunt_ip_load16(at + 2))),
		.inner = SHUNT_DEVICE_NO_TAG,
		.cnt = 1,
		.type = type,
	};

	if (unlikely(type == ad || type == vlan)) {
		tags.inner = shunt_device_tag_bits(type == ad, ntohs(shunt_ip_load16(at + 6)));
		tags.cnt = 2;
		tags.type = shunt_ip_load16(at + 2 * SHUNT_TAG_LEN);
	}
	return tags;
}

/* shunt_ip_tags_find returns the word (fib/device.h) of the device by which a frame with these tags
 * comes in or leaves by a port; 0: there is none. Thread: owner worker. Cost: packet. */
static inline uint64_t shunt_ip_tags_find(const struct shunt_devices *devices,
					  const struct shunt_ip_tags *tags, unsigned port)
{
	if (!(tags->outer & SHUNT_VLAN_VID) || !(tags->inner & SHUNT_VLAN_VID) ||
	    (tags->cnt > 1 && tags->inner == SHUNT_DEVICE_NO_TAG))
		return 0;
	return shunt_devices_find(devices, shunt_device_key(port, tags->outer, tags->inner));
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

/* Zeros behind a packet that is shorter than the shortest frame, up to 26: no call, and not a byte
 * more, since two stores may meet. */
static inline void shunt_ip_zero(uint8_t *at, uint32_t len)
{
	if (len >= 16) {
		memset(at, 0, 16);
		memset(at + len - 16, 0, 16);
	} else if (len >= 8) {
		memset(at, 0, 8);
		memset(at + len - 8, 0, 8);
	} else if (len >= 4) {
		memset(at, 0, 4);
		memset(at + len - 4, 0, 4);
	} else {
		at[0] = at[len / 2] = at[len - 1] = 0;
	}
}

/* shunt_ip_trim cuts what follows the packet, as the kernel does, down to where a frame must
 * be padded (min_len: ETH_ZLEN, or 0). Returns the frame's length. Thread: owner worker. Cost:
 * packet. */
static inline uint32_t shunt_ip_trim(uint8_t *l3, uint32_t l3_len, uint32_t min_len)
{
	const uint32_t len = SHUNT_ETH_LEN + l3_len;

	if (likely(len >= min_len))
		return len;
	shunt_ip_zero(l3 + l3_len, min_len - len);
	return min_len;
}

/* shunt_ip_divert sends packet i to the node to, the others to on. next[] is first written when
 * the first packet is diverted; bad: how many were diverted before. Returns 1, or 0 when to is on.
 * Thread: owner worker. */
unsigned shunt_ip_divert(uint16_t *next, unsigned i, unsigned cnt, unsigned bad, uint16_t on,
			 uint16_t to);

/* shunt_ip_turn_away returns the node for a packet whose adjacency is no rewrite: punt or drop.
 * Thread: owner worker. */
uint16_t shunt_ip_turn_away(const struct shunt_ip *ip, struct shunt_pkt *pkt,
			    const struct shunt_adj *adj);

/* shunt_ip_hold_back returns the node for a packet that must not leave by its adjacency: punt, so
 * that the kernel fragments, answers or redirects. Thread: owner worker. */
uint16_t shunt_ip_hold_back(const struct shunt_ip *ip, struct shunt_pkt *pkt,
			    const struct shunt_adj *adj);

/* shunt_ip_run returns where the packets end that go by one space, from the one at `at`, and which
 * it is, in *space. Thread: owner worker. Cost: packet, of devices above ports; else batch. */
static inline unsigned shunt_ip_run(const struct shunt_node *node, const struct shunt_pkt *pkts,
				    unsigned at, unsigned cnt, const bool is_ip6, uint8_t *space)
{
	static const struct shunt_port_live no_live;
	const struct shunt_ip *const state = node->priv;
	const struct shunt_port_live *live = state->tables.live;
	unsigned end;

	if (!state->tables.is_above) {
		live = live ? &live[pkts[0].port] : &no_live;
		*space = __atomic_load_n(is_ip6 ? &live->space6 : &live->space4, __ATOMIC_RELAXED);
		return cnt;
	}
	*space = shunt_tag_of(shunt_pkt_data(&pkts[at], node->mem))->space;
	for (end = at + 1; end < cnt; end++)
		if (shunt_tag_of(shunt_pkt_data(&pkts[end], node->mem))->space != *space)
			break;
	return end;
}

/* shunt_ip4_find is shunt_fib4_lookup_bulk, and shunt_ip6_find that of fib6.h, of an address of
 * each packet, by the routes that it goes by. Thread: owner worker. Cost: batch. */
static inline void shunt_ip4_find(const struct shunt_node *node, const struct shunt_pkt *pkts,
				  const uint32_t *addr_be, uint32_t *nh, unsigned cnt)
{
	const struct shunt_ip *const state = node->priv;
	unsigned at, end;
	uint8_t space;

	for (at = 0; at < cnt; at = end) {
		end = shunt_ip_run(node, pkts, at, cnt, false, &space);
		shunt_fib4_lookup_bulk(shunt_fib4_space(state->tables.fib4, space), addr_be + at,
				       nh + at, end - at);
	}
}

static inline void shunt_ip6_find(const struct shunt_node *node, const struct shunt_pkt *pkts,
				  const uint8_t (*addr)[16], uint32_t *nh, unsigned cnt)
{
	const struct shunt_ip *const state = node->priv;
	unsigned at, end;
	uint8_t space;

	for (at = 0; at < cnt; at = end) {
		end = shunt_ip_run(node, pkts, at, cnt, true, &space);
		shunt_fib6_lookup_bulk(shunt_fib6_space(state->tables.fib6, space), addr + at,
				       nh + at, end - at);
	}
}

/* shunt_ip_choose takes each packet from its next-hop index to its adjacency: the second half of
 * every lookup. hash_of is the flow hash of the family; it is computed for groups only. is_counted:
 * the index of a counted route's alias goes with the packet. Returns what the node's function
 * returns. Inlined, so that hash_of is. Thread: owner worker. Cost: batch. */
static inline unsigned shunt_ip_choose(const struct shunt_node *node, struct shunt_pkt *pkts,
				       unsigned cnt, uint16_t *next, const uint32_t *nh,
				       uint32_t (*hash_of)(const uint8_t *ip, uint32_t l3_len,
							   uint64_t seed),
				       const bool is_counted)
{
	const struct shunt_ip *const state = node->priv;
	const struct shunt_nexthops *const table = state->tables.nexthops;
	const uint32_t *const slots = table->slots;
	const uint16_t on = state->on;
	unsigned i, bad = 0;

	for (i = 0; i < cnt; i++) {
		const uint32_t slot = __atomic_load_n(&slots[nh[i]], __ATOMIC_RELAXED);
		const struct shunt_adj *adj;
		uint32_t hash = 0;

		if (is_counted)
			pkts[i].route = shunt_nexthop_is_alias(slot) ? nh[i] : 0;
		if (unlikely(slot & SHUNT_NEXTHOP_GROUP) &&
		    (!is_counted || shunt_nexthop_slot(table, nh[i]) & SHUNT_NEXTHOP_GROUP))
			hash = hash_of(shunt_ip_header(node, &pkts[i]), pkts[i].len - SHUNT_ETH_LEN,
				       state->tables.flow_seed);
		adj = shunt_nexthop_adj(table, nh[i], hash);
		pkts[i].adj = (uint32_t)(adj - table->adjs);
		if (unlikely(adj->kind != SHUNT_ADJ_REWRITE))
			bad += shunt_ip_divert(next, i, cnt, bad, on,
					       shunt_ip_turn_away(state, &pkts[i], adj));
	}
	return likely(!bad) ? on : SHUNT_NEXT_EACH;
}

/* shunt_ip4_decrease_ttl does what ip_decrease_ttl of the kernel does: TTL less one, and the
 * checksum up by 0x0100 in network order, end around carry (RFC 1624, equation 3, for this one
 * change). Thread: owner worker. Cost: packet. */
static inline void shunt_ip4_decrease_ttl(uint8_t *ip)
{
	uint32_t check = shunt_ip_load16(ip + 10) + (uint32_t)htons(0x0100);
	uint16_t folded = (uint16_t)(check + (check >= 0xffff));

	memcpy(ip + 10, &folded, sizeof(folded));
	ip[8]--;
}

/* shunt_ip_write_eth writes the adjacency's Ethernet addresses in front of l3 in one move of
 * 16 bytes; EtherType and the two bytes behind it are those that are there, so that one
 * adjacency serves both families. */
static inline void shunt_ip_write_eth(uint8_t *l3, const struct shunt_adj *adj)
{
	typedef uint32_t four_words __attribute__((vector_size(16)));
	four_words header;

	memcpy(&header, adj, sizeof(header)); /* its addresses come first */
	header[3] = shunt_ip_load32(l3 - 2);
	memcpy(l3 - SHUNT_ETH_LEN, &header, sizeof(header));
}

/* What one neighbour after another is sent, or goes by one route after another, of a batch: packets
 * in a row that have one number are counted at once. */
struct shunt_ip_tally {
	uint32_t number;
	uint64_t packets, bytes;
};

/* shunt_ip_tally_end counts what the tally has. Thread: owner worker. Cost: a cache line. */
static inline void shunt_ip_tally_end(const struct shunt_ip *state,
				      const struct shunt_ip_tally *tally)
{
	const struct shunt_counts *counts = state->tables.counts;
	struct shunt_count *to = &shunt_counts_line(counts->lines, counts->writer_cnt,
						    tally->number, state->tables.writer)
					  ->count;

	shunt_counter_add((uint64_t *)&to->packets, tally->packets);
	shunt_counter_add((uint64_t *)&to->bytes, tally->bytes);
}

static inline void shunt_ip_tally_add(const struct shunt_ip *state, struct shunt_ip_tally *tally,
				      uint32_t number, uint32_t len)
{
	if (number != tally->number) {
		shunt_ip_tally_end(state, tally);
		*tally = (struct shunt_ip_tally){.number = number};
	}
	tally->packets++;
	tally->bytes += len;
}

/* Whether a packet leaves by a device above ports that is not the one it came in by: there the
 * kernel may redirect. Apart from the straight line. */
static inline bool shunt_ip_leaves_above(const struct shunt_ip *state, const struct shunt_pkt *pkt,
					 const uint8_t *frame, const struct shunt_adj *adj,
					 const bool is_above)
{
	const uint32_t own =
		is_above ? SHUNT_ADJ_TAGGED + shunt_tag_of(frame)->device
			 : __atomic_load_n(&state->tables.live[pkt->port].own, __ATOMIC_RELAXED);

	return adj->port == SHUNT_ADJ_TAGGED &&
	       shunt_devices_exit(state->tables.devices, adj) != own;
}

/* shunt_ip_rewrite is the function of both rewrite nodes; decrease is what the family does to TTL
 * or hop limit. is_counted: neighbours and routes are counted. is_above: the packets came in by
 * devices above a port. Nothing is written before the packet is known to leave: a punted packet is
 * as it came. Inlined, so that decrease is, and is_counted costs nothing. Thread: owner worker.
 * Cost: batch. */
static inline unsigned shunt_ip_rewrite(const struct shunt_node *node, struct shunt_pkt *pkts,
					unsigned cnt, uint16_t *next, void (*decrease)(uint8_t *ip),
					const bool is_counted, const bool is_above)
{
	const struct shunt_ip *const state = node->priv;
	const struct shunt_adj *const adjs = state->tables.nexthops->adjs;
	const uint16_t *const tx = state->tx[pkts[0].port];
	const uint16_t punt = state->punt;
	const uint16_t first = adjs[pkts[0].adj].port == SHUNT_ADJ_TAGGED
				       ? state->tag
				       : tx[adjs[pkts[0].adj].port];
	struct shunt_ip_tally neighbour = {0}, route = {0};
	uint8_t *const mem = node->mem;
	unsigned i, diff = 0;

	for (i = 0; i < cnt; i++) {
		const struct shunt_adj *adj = &adjs[pkts[i].adj];
		uint8_t *ip = shunt_pkt_data(&pkts[i], mem) + SHUNT_ETH_LEN;
		uint16_t to = tx[adj->port];

		if (unlikely(to == punt) &&
		    shunt_ip_leaves_above(state, &pkts[i], ip - SHUNT_ETH_LEN, adj, is_above))
			to = state->tag;
		if (unlikely(to == punt || pkts[i].len - SHUNT_ETH_LEN > adj->mtu)) {
			to = shunt_ip_hold_back(state, &pkts[i], adj);
		} else {
			if (is_counted) {
				shunt_ip_tally_add(state, &neighbour, adj->number, pkts[i].len);
				shunt_ip_tally_add(state, &route, pkts[i].route, pkts[i].len);
			}
			shunt_ip_write_eth(ip, adj);
			decrease(ip);
		}
		next[i] = to;
		diff |= to ^ first;
	}
	if (is_counted) {
		shunt_ip_tally_end(state, &neighbour);
		shunt_ip_tally_end(state, &route);
	}
	return likely(!diff) ? first : SHUNT_NEXT_EACH;
}

/* SHUNT_IP_REWRITE makes the functions of a rewrite node, run and others, and its init, which
 * chooses among them. */
#define SHUNT_IP_REWRITE_FN(name, decrease, is_counted, is_above)                               \
	static unsigned name(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,     \
			     uint16_t *next)                                                    \
	{                                                                                       \
		return shunt_ip_rewrite(node, pkts, cnt, next, decrease, is_counted, is_above); \
	}

#define SHUNT_IP_REWRITE(decrease)                                                          \
	SHUNT_IP_REWRITE_FN(run, decrease, false, false)                                    \
	SHUNT_IP_REWRITE_FN(run_counted, decrease, true, false)                             \
	SHUNT_IP_REWRITE_FN(run_above, decrease, false, true)                               \
	SHUNT_IP_REWRITE_FN(run_above_counted, decrease, true, true)                        \
	static int init(struct shunt_node *node, const void *params, struct shunt_err *err) \
	{                                                                                   \
		static const shunt_node_fn fns[2][2] = {{run, run_counted},                 \
							{run_above, run_above_counted}};    \
		const struct shunt_ip_params *in = params;                                  \
                                                                                            \
		node->fn = fns[in->is_above][!!in->counts];                                 \
		return shunt_ip_init(node, params, NULL, err);                              \
	}

#endif
