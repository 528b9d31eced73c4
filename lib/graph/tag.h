/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet that came in tagged, by a device above its port: its tags are taken out of the frame, so
 * that nodes see it as any other, and are kept in the bytes before it, which are free. */
#ifndef SHUNT_GRAPH_TAG_H
#define SHUNT_GRAPH_TAG_H

#include <stdint.h>
#include <string.h>

#include "fib/device.h"
#include "io/pkt.h"

#define SHUNT_TAG_LEN  4u
#define SHUNT_MACS_LEN 12u

struct shunt_tag {
	uint16_t device; /* its number */
	uint8_t cnt;
	uint8_t space; /* by whose routes the packet goes (fib/fib4.h) */
	struct shunt_vlan_tag tags[SHUNT_DEVICE_TAGS_MAX]; /* the last ones, if there are fewer */
};

/* shunt_tag_of returns what is kept before a frame. Thread: owner worker. */
static inline const struct shunt_tag *shunt_tag_of(const uint8_t *frame)
{
	return (const struct shunt_tag *)(frame - sizeof(struct shunt_tag));
}

/* shunt_tag_take takes the device's tags out of a frame whose first buffer has them. Thread: owner
 * worker. Cost: packet. */
static inline void shunt_tag_take(struct shunt_pkt *pkt, uint8_t *mem, uint32_t number,
				  uint8_t space, unsigned cnt)
{
	uint8_t *const frame = shunt_pkt_data(pkt, mem), *const start = frame + cnt * SHUNT_TAG_LEN;
	struct shunt_tag tag = {.device = (uint16_t)number, .cnt = (uint8_t)cnt, .space = space};
	uint8_t macs[SHUNT_MACS_LEN];

	memcpy(macs, frame, sizeof(macs));
	memcpy(tag.tags, frame + SHUNT_MACS_LEN, sizeof(tag.tags));
	if (cnt == 1)
		tag.tags[1] = tag.tags[0];
	memcpy(start - sizeof(tag), &tag, sizeof(tag));
	memcpy(start, macs, sizeof(macs));
	pkt->addr += cnt * SHUNT_TAG_LEN;
	pkt->len -= cnt * SHUNT_TAG_LEN;
}

/* shunt_tag_give makes a frame what it was before shunt_tag_take. Thread: owner worker. Cost:
 * packet. */
static inline void shunt_tag_give(struct shunt_pkt *pkt, uint8_t *mem)
{
	uint8_t *const start = shunt_pkt_data(pkt, mem);
	const struct shunt_tag tag = *shunt_tag_of(start);
	uint8_t *const frame = start - tag.cnt * SHUNT_TAG_LEN;
	uint8_t macs[SHUNT_MACS_LEN];

	memcpy(macs, start, sizeof(macs));
	memcpy(frame, macs, sizeof(macs));
	memcpy(frame + SHUNT_MACS_LEN, &tag.tags[SHUNT_DEVICE_TAGS_MAX - tag.cnt],
	       tag.cnt * SHUNT_TAG_LEN);
	pkt->addr -= tag.cnt * SHUNT_TAG_LEN;
	pkt->len += tag.cnt * SHUNT_TAG_LEN;
}

#endif
