/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of a bridge that keeps VLANs apart: the VLAN that a frame's tag says, and the tag that it
 * leaves with. Tags of 802.1Q: to such a bridge another kind is part of what a frame carries. */
#ifndef SHUNT_GRAPH_RETAG_H
#define SHUNT_GRAPH_RETAG_H

#include "graph/ip.h"

static inline bool shunt_retag_has_tag(const uint8_t *frame)
{
	return shunt_ip_load16(frame + SHUNT_MACS_LEN) == htons(ETHERTYPE_VLAN);
}

/* shunt_retag_vid returns the ID in the frame's tag; 0: it has none, or one that says its priority
 * alone. Thread: owner worker. Cost: packet. */
static inline unsigned shunt_retag_vid(const uint8_t *frame)
{
	return shunt_retag_has_tag(frame) ? ntohs(shunt_ip_load16(frame + SHUNT_ETH_LEN)) & 0xfff
					  : 0;
}

static inline void shunt_retag_put(struct shunt_pkt *pkt, uint8_t *frame, unsigned vid)
{
	const uint16_t tag[2] = {htons(ETHERTYPE_VLAN), htons((uint16_t)vid)};

	memmove(frame - sizeof(tag), frame, SHUNT_MACS_LEN);
	memcpy(frame + SHUNT_MACS_LEN - sizeof(tag), tag, sizeof(tag));
	pkt->addr -= sizeof(tag);
	pkt->len += sizeof(tag);
}

/* What is shorter than min_len without its tag is padded with zeros. */
static inline void shunt_retag_take(struct shunt_pkt *pkt, uint8_t *frame, uint32_t min_len)
{
	memmove(frame + SHUNT_TAG_LEN, frame, SHUNT_MACS_LEN);
	pkt->addr += SHUNT_TAG_LEN;
	pkt->len -= SHUNT_TAG_LEN;
	if (unlikely(pkt->len < min_len)) {
		memset(frame + SHUNT_TAG_LEN + pkt->len, 0, min_len - pkt->len);
		pkt->len = min_len;
	}
}

/* shunt_retag makes a frame of a VLAN what leaves by a port: bare, or with the VLAN's tag, in which
 * a priority stays (br_handle_vlan). Returns false, with nothing done, where a tag would have to go
 * in or out of a packet of several buffers: the first of them says how long it is. Thread: owner
 * worker. Cost: packet. */
static inline bool shunt_retag(struct shunt_pkt *pkt, uint8_t *frame, unsigned vid, bool is_bare,
			       bool is_chain, uint32_t min_len)
{
	const bool has_tag = shunt_retag_has_tag(frame);

	if (has_tag && !is_bare) {
		frame[SHUNT_ETH_LEN] |= (uint8_t)(vid >> 8);
		frame[SHUNT_ETH_LEN + 1] |= (uint8_t)vid;
	}
	if (has_tag != is_bare)
		return true;
	if (is_chain)
		return false;
	if (is_bare)
		shunt_retag_take(pkt, frame, min_len);
	else
		shunt_retag_put(pkt, frame, vid);
	return true;
}

#endif
