// SPDX-License-Identifier: BSD-2-Clause
/* Tag input: a frame that carries VLAN tags goes on as one of the device above its port that has
 * them. Where there is no such device, or it forwards nothing, the frame is the kernel's, which
 * drops it or knows what to do. */
#include <errno.h>
#include <linux/if_ether.h>

#include "graph/ip.h"
#include "shunt_tables.h"

#define TYPE_AT SHUNT_MACS_LEN

/* What became of the last frame with one tag: the next one is mostly the same. */
struct last {
	uint64_t head; /* 0: there is none */
	struct shunt_tag tag;
	uint16_t next;
};

/* Six bytes: both EtherTypes and the tag of a frame with one tag. */
static inline uint64_t head_of(const uint8_t *frame)
{
	uint64_t head;

	memcpy(&head, frame + TYPE_AT, sizeof(head));
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? head << 16 : head >> 16;
}

static struct shunt_tag tag_of(uint64_t word, const struct shunt_ip_tags *tags,
			       const uint8_t *frame, bool is_ip4)
{
	const uint32_t flags = shunt_device_flags(word);
	const uint32_t space = is_ip4 ? (flags & SHUNT_TABLES_SPACE4) >> SHUNT_TABLES_SPACE4_SHIFT
				      : (flags & SHUNT_TABLES_SPACE6) >> SHUNT_TABLES_SPACE6_SHIFT;

	return (struct shunt_tag){
		.device = (uint16_t)shunt_device_number(word),
		.cnt = (uint8_t)tags->cnt,
		.space = (uint8_t)space,
		.tci_be = shunt_ip_load16(frame + TYPE_AT + tags->cnt * SHUNT_TAG_LEN - 2),
		.checks_source = is_ip4 && flags & (SHUNT_TABLES_RPF4 | SHUNT_TABLES_NO_LOCAL),
	};
}

static uint16_t judge(const struct shunt_ip *state, struct last *last, struct shunt_pkt *pkt,
		      uint8_t *mem)
{
	const uint8_t *frame = shunt_pkt_data(pkt, mem);
	const struct shunt_ip_tags tags = shunt_ip_tags_read(frame);
	const bool is_ip4 = tags.type == htons(ETHERTYPE_IP);
	const uint64_t word = shunt_ip_tags_find(state->tables.devices, &tags, pkt->port);
	const struct shunt_tag tag = tag_of(word, &tags, frame, is_ip4);

	if (!word)
		return shunt_ip_punt(state, pkt, SHUNT_PUNT_no_device);
	if (!is_ip4 && tags.type != htons(ETHERTYPE_IPV6))
		return shunt_ip_punt(state, pkt, SHUNT_PUNT_not_ip);
	if (!(shunt_device_flags(word) & (is_ip4 ? SHUNT_TABLES_IP4 : SHUNT_TABLES_IP6)))
		return shunt_ip_punt(state, pkt, SHUNT_PUNT_not_router);
	if (tags.cnt == 1)
		*last = (struct last){head_of(frame), tag, is_ip4 ? state->on : state->on6};
	shunt_tag_take(pkt, mem, &tag, tags.cnt);
	return is_ip4 ? state->on : state->on6;
}

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	const struct shunt_ip *const state = node->priv;
	struct last last = {.head = 0};
	uint8_t *const mem = node->mem;
	uint16_t first = 0, diff = 0;
	unsigned i;

	for (i = 0; i < cnt; i++) {
		/* as long as what is read; what is shorter is the kernel's */
		if (unlikely(pkts[i].len < SHUNT_ETH_LEN + 2 * SHUNT_TAG_LEN)) {
			next[i] = shunt_ip_punt(state, &pkts[i], SHUNT_PUNT_not_ip);
		} else if (likely(head_of(shunt_pkt_data(&pkts[i], mem)) == last.head)) {
			shunt_tag_take(&pkts[i], mem, &last.tag, 1);
			next[i] = last.next;
		} else {
			next[i] = judge(state, &last, &pkts[i], mem);
		}
		first = i ? first : next[0];
		diff |= next[i] ^ first;
	}
	return likely(!diff) ? first : SHUNT_NEXT_EACH;
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	int ret = shunt_ip_init(node, params, "ip4_input" SHUNT_NODE_ABOVE, err);
	const int ip6 = ret ? -1 : shunt_graph_find(node->graph, "ip6_input" SHUNT_NODE_ABOVE);

	if (!ret && ip6 < 0)
		return shunt_err_set(err, EINVAL, "node %s: no node for IPv6", node->name);
	if (!ret)
		((struct shunt_ip *)node->priv)->on6 = (uint16_t)ip6;
	return ret;
}

const struct shunt_node_type shunt_node_tag_input = {
	.name = "tag_input",
	.help = "sends a tagged frame on as one of the VLAN device that has its tags",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
