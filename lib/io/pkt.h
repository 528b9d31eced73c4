/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet as nodes see it: where its bytes are and what earlier nodes found
 * out. Packets travel by value in dense arrays (batches); the frame that holds
 * the bytes belongs to whoever holds the struct. */
#ifndef SHUNT_IO_PKT_H
#define SHUNT_IO_PKT_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/limits.h"

/* In flags: the packet lies in several frames, addr is in the first (io/chain.h). Its
 * headers lie there; len counts all of it. */
#define SHUNT_PKT_CHAINED 1u

/* In flags: the kernel is to compute a checksum of the packet as it leaves, as its frame says
 * (shunt_xsk_tx_checksum in io/xsk.h). */
#define SHUNT_PKT_TX_META 2u

struct shunt_pkt {
	/* receive and transmit touch these 16 bytes alone */
	uint64_t addr;	/* UMEM address of the first byte, as in an AF_XDP descriptor */
	uint32_t len;	/* bytes from Ethernet header on, without FCS */
	uint16_t port;	/* index of the input port */
	uint8_t reason; /* enum shunt_drop, or the punt reason: read by those nodes only */
	uint8_t flags;	/* SHUNT_PKT_*; defined where the pool has links, see io/pool.h */
	/* what one node leaves for the next; undefined after receive */
	union {
		uint32_t dst_be; /* IPv4 destination, from input to lookup */
		uint32_t adj;	 /* index of the adjacency, from lookup on */
	};
	uint32_t route; /* where routes are counted, from lookup on: its number; 0: it is not */
	uint64_t user;	/* for an application's own nodes */
};

_Static_assert(sizeof(struct shunt_pkt) == 32, "two packets a cache line");

/* shunt_pkt_data returns the first byte. base is the worker's UMEM
 * (struct shunt_pool.mem). Thread: owner worker. Cost: packet. */
static inline uint8_t *shunt_pkt_data(const struct shunt_pkt *pkt, uint8_t *base)
{
	return base + pkt->addr;
}

#endif
