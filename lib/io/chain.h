/* SPDX-License-Identifier: BSD-2-Clause */
/* Chains: packets that lie in several frames, because none is long enough (jumbo frames).
 * The packet itself stays what it is, 32 bytes that travel by value: its addr is in the first
 * frame, its flags say SHUNT_PKT_CHAINED, and the pool's links, one a frame, lead from piece to
 * piece. A node that looks at headers and lengths alone need not know of chains; one that reads
 * or copies a whole packet uses these functions.
 *
 * Headers lie in the first piece: the kernel fills each frame before it takes the next, and
 * so does shunt_chain_put. A packet may be cut by lowering its len; what lies behind goes back
 * to the pool when the packet is sent.
 *
 * Limits: SHUNT_CHAIN_MAX pieces, what the kernel can send (MAX_SKB_FRAGS); the links of a
 * frame are valid while it holds a piece.
 *
 *   link = shunt_chain_link(pool, pkt.addr);
 *   shunt_chain_copy(pool, &pkt, buf);
 *   shunt_chain_clone(pool, &pkt, &copy);
 */
#ifndef SHUNT_IO_CHAIN_H
#define SHUNT_IO_CHAIN_H

#include "io/pool.h"

/* The kernel's MAX_SKB_FRAGS: a copying transmit makes each piece behind the first one of
 * these, and a driver's receive has as many. */
#define SHUNT_CHAIN_MAX	      17u

/* The longest packet: an MTU of 65535, the Ethernet header and a VLAN tag. */
#define SHUNT_CHAIN_BYTES_MAX 65553

/* shunt_chain_link returns the link of the frame that addr is in. Thread: owner worker. */
static inline struct shunt_link *shunt_chain_link(const struct shunt_pool *pool, uint64_t addr)
{
	return &pool->links[addr >> pool->frame_shift];
}

/* shunt_chain_is tells whether pkt lies in several frames of pool. Thread: owner worker. */
static inline bool shunt_chain_is(const struct shunt_pool *pool, const struct shunt_pkt *pkt)
{
	return pool->links && pkt->flags & SHUNT_PKT_CHAINED;
}

/* shunt_chain_free frees all frames of the chain that begins at addr.
 * Thread: owner worker. Cost: a line a frame. */
void shunt_chain_free(struct shunt_pool *pool, uint64_t addr);

/* shunt_chain_copy writes the pkt->len bytes of a packet, chained or not, to out.
 * Thread: owner worker. Cost: packet, a copy. */
void shunt_chain_copy(const struct shunt_pool *pool, const struct shunt_pkt *pkt, uint8_t *out);

/* shunt_chain_frames returns how many frames hold len bytes, the first byte of each piece
 * offset bytes into its frame. Thread: any. */
static inline uint32_t shunt_chain_frames(const struct shunt_pool *pool, uint32_t offset,
					  uint32_t len)
{
	const uint32_t room = pool->frame_size - offset;

	return len ? (len + room - 1) / room : 1;
}

/* shunt_chain_put makes a packet of len bytes: takes frames from the pool, copies bytes into
 * them from offset on in each, and sets addr, len and flags of pkt. Chains only where the pool
 * has links. Returns false, with nothing taken, when the pool has too few frames or the packet
 * would need more than SHUNT_CHAIN_MAX. Thread: owner worker. Cost: packet, a copy. */
bool shunt_chain_put(struct shunt_pool *pool, struct shunt_pkt *pkt, uint32_t offset,
		     const uint8_t *bytes, uint32_t len);

/* shunt_chain_clone makes copy, with all fields of pkt and frames of its own. Returns false,
 * with nothing taken, when the pool has too few. Thread: owner worker. Cost: packet, a copy. */
bool shunt_chain_clone(struct shunt_pool *pool, const struct shunt_pkt *pkt,
		       struct shunt_pkt *copy);

#endif
