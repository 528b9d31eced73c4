// SPDX-License-Identifier: BSD-2-Clause
/* Tag output: packets whose adjacency is of a device above ports get its tags, with the PCP that
 * the kernel would give them (vlan_dev_hard_start_xmit), and leave by the port; above a bond, by
 * the member that the kernel would choose. */
#include "graph/ip.h"
#include "shunt_bond.h"

/* What a packet's header depends on. */
struct key {
	uint64_t adj_ip; /* and the IP header's first two bytes: version and TOS */
	uint64_t tag;	 /* struct shunt_tag: what it came in by */
};

/* What the last packet got: the next one mostly gets the same. */
struct last {
	struct key key;
	struct {
		uint8_t macs[SHUNT_MACS_LEN];
		struct shunt_vlan_tag tags[SHUNT_DEVICE_TAGS_MAX];
	} header; /* as it lies in the frame, before the type */
	uint8_t cnt;
	bool is_known; /* false: there was none */
	/* By member, of which one is chosen by policy; where there is one, the first. */
	uint8_t member_cnt, policy;
	uint16_t next[SHUNT_DEVICE_MEMBERS_MAX];
};

static inline struct key key_of(const struct shunt_pkt *pkt, const uint8_t *frame,
				const bool is_above)
{
	struct key key = {.adj_ip = (uint64_t)shunt_ip_load16(frame + SHUNT_ETH_LEN) << 32 |
				    pkt->adj};

	if (is_above)
		memcpy(&key.tag, shunt_tag_of(frame), sizeof(key.tag));
	return key;
}

static inline bool is_same(const struct key *a, const struct key *b, const bool is_above)
{
	return a->adj_ip == b->adj_ip && (!is_above || a->tag == b->tag);
}

/* What is mapped to a PCP of a device, if packets come in by one. */
static uint32_t mapped(const struct shunt_ip *state, uint32_t own, uint32_t pcp)
{
	if (own < SHUNT_ADJ_TAGGED)
		return 0;
	return shunt_devices_at(state->tables.devices, own - SHUNT_ADJ_TAGGED)->priorities >>
		       pcp * 4 &
	       0xf;
}

/* Of IPv6 the ingress device says, by the tag that the packet came with; else it is 0. */
static uint32_t priority_of(const struct shunt_ip *state, const struct shunt_pkt *pkt,
			    const uint8_t *frame, const bool is_above)
{
	const uint8_t *ip = frame + SHUNT_ETH_LEN;
	const struct shunt_tag *tag = shunt_tag_of(frame);
	uint32_t pcp;

	if (ip[0] >> 4 == 4)
		return shunt_device_tos_priority(ip[1]);
	if (!is_above)
		return mapped(state,
			      __atomic_load_n(&state->tables.live[pkt->port].own, __ATOMIC_RELAXED),
			      0);
	pcp = ntohs(tag->tci_be) >> SHUNT_VLAN_PCP_SHIFT;
	return mapped(state, SHUNT_ADJ_TAGGED + tag->device, pcp);
}

static void look_up(const struct shunt_node *node, const struct key *key, uint32_t priority,
		    struct last *last)
{
	const struct shunt_ip *state = node->priv;
	const struct shunt_adj *adj = &state->tables.nexthops->adjs[(uint32_t)key->adj_ip];
	const struct shunt_device *device = shunt_devices_at(state->tables.devices, adj->above);
	unsigned i;

	last->key = *key;
	last->is_known = true;
	last->cnt = device->tag_cnt;
	last->member_cnt = device->member_cnt;
	/* A second tag is part of the frame where the kernel chooses, and hides the packet. */
	last->policy = device->tag_cnt > 1 ? SHUNT_BOND_LAYER2 : device->policy;
	memcpy(last->header.macs, adj->eth, sizeof(last->header.macs));
	for (i = 0; i < SHUNT_DEVICE_TAGS_MAX; i++) {
		last->header.tags[i].type_be = device->tags[i].type_be;
		last->header.tags[i].tci_be = shunt_device_tci_be(device, i, priority);
	}
	/* of any port that frames come in by but its own: all ports that have a queue */
	for (i = 0; i < device->member_cnt; i++)
		last->next[i] = shunt_graph_tx_or_drop(node->graph, device->members[i]);
}

/* Before the tags are in the frame: the kernel has the outer one beside it meanwhile. Apart from
 * the straight line. */
static __attribute__((noinline)) uint16_t choose(const struct last *last,
						 const struct shunt_pkt *pkt, const uint8_t *frame)
{
	const uint8_t *ip = frame + SHUNT_ETH_LEN;
	const uint16_t type =
		last->cnt > 1 ? last->header.tags[1].type_be : shunt_ip_load16(ip - 2);
	const uint32_t hash = shunt_bond_hash((enum shunt_bond_policy)last->policy,
					      shunt_bond_hash_eth(frame[5], frame[11], ntohs(type)),
					      ip, frame + pkt->len, ip[0] >> 4 == 6);

	return last->next[hash % last->member_cnt];
}

/* The addresses that the packet has, and tags, whose number is known here, between them and the
 * type. */
static inline void put_tags(struct shunt_pkt *pkt, uint8_t *frame, const struct last *last,
			    const unsigned cnt)
{
	memcpy(frame - cnt * SHUNT_TAG_LEN, &last->header, SHUNT_MACS_LEN + cnt * SHUNT_TAG_LEN);
	pkt->addr -= cnt * SHUNT_TAG_LEN;
	pkt->len += cnt * SHUNT_TAG_LEN;
}

static __attribute__((always_inline)) inline unsigned tag(struct shunt_node *node,
							  struct shunt_pkt *pkts, unsigned cnt,
							  uint16_t *next, const bool is_above)
{
	uint8_t *const mem = node->mem;
	struct last last = {.is_known = false};
	uint16_t first = 0, diff = 0;
	unsigned i;

	for (i = 0; i < cnt; i++) {
		uint8_t *const frame = shunt_pkt_data(&pkts[i], mem);
		const struct key key = key_of(&pkts[i], frame, is_above);

		if (unlikely(!last.is_known || !is_same(&key, &last.key, is_above)))
			look_up(node, &key, priority_of(node->priv, &pkts[i], frame, is_above),
				&last);
		next[i] = likely(last.member_cnt == 1) ? last.next[0]
						       : choose(&last, &pkts[i], frame);
		if (likely(last.cnt == 1))
			put_tags(&pkts[i], frame, &last, 1);
		else if (last.cnt)
			put_tags(&pkts[i], frame, &last, SHUNT_DEVICE_TAGS_MAX);
		pkts[i].reason = SHUNT_DROP_no_output;
		first = i ? first : next[0];
		diff |= next[i] ^ first;
	}
	return likely(!diff) ? first : SHUNT_NEXT_EACH;
}

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	return tag(node, pkts, cnt, next, false);
}

static unsigned run_above(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			  uint16_t *next)
{
	return tag(node, pkts, cnt, next, true);
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	if (((const struct shunt_ip_params *)params)->is_above)
		node->fn = run_above;
	return shunt_ip_init(node, params, NULL, err);
}

const struct shunt_node_type shunt_node_tag_output = {
	.name = "tag_output",
	.help = "packets that leave by a VLAN device get its tags",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
