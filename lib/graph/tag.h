/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet that came in tagged, by a device above its port. Its frame begins behind as many bytes
 * as its tags take, so that nodes of layer 3 see it as any other: in the place of its MAC addresses
 * lies what of addresses and tags is there. What nodes want to know of it is kept before the frame,
 * in bytes that are free. */
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
	uint8_t space;	       /* by whose routes the packet goes (fib/fib4.h) */
	uint16_t tci_be;       /* of the innermost tag */
	uint8_t checks_source; /* of IPv4: the device asks where its source is */
	uint8_t pad;
};

/* Before two tags: with one, as far before the frame. */
#define SHUNT_TAG_AT (SHUNT_DEVICE_TAGS_MAX * SHUNT_TAG_LEN + sizeof(struct shunt_tag))

/* shunt_tag_of returns what is kept before a frame. Thread: owner worker. */
static inline const struct shunt_tag *shunt_tag_of(const uint8_t *frame)
{
	return (const struct shunt_tag *)(frame - SHUNT_TAG_AT);
}

/* shunt_tag_take has a frame begin behind its tags, cnt of them. Thread: owner worker. Cost:
 * packet. */
static inline void shunt_tag_take(struct shunt_pkt *pkt, uint8_t *mem, const struct shunt_tag *tag,
				  unsigned cnt)
{
	pkt->addr += cnt * SHUNT_TAG_LEN;
	pkt->len -= cnt * SHUNT_TAG_LEN;
	memcpy(shunt_pkt_data(pkt, mem) - SHUNT_TAG_AT, tag, sizeof(*tag));
}

/* shunt_tag_give makes a frame to which nothing was written what it was before shunt_tag_take.
 * Thread: owner worker. Cost: packet. */
static inline void shunt_tag_give(struct shunt_pkt *pkt, uint8_t *mem)
{
	const unsigned cnt = shunt_tag_of(shunt_pkt_data(pkt, mem))->cnt;

	pkt->addr -= cnt * SHUNT_TAG_LEN;
	pkt->len += cnt * SHUNT_TAG_LEN;
}

#endif
