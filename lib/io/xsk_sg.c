// SPDX-License-Identifier: BSD-2-Clause
/* Receive and transmit of queues whose packets may take several frames: each frame is a
 * descriptor of its own, all but the last one marked as continued. The rings carry whole
 * packets: what is there in part is left there, and what does not fit wholly is not begun. */
#include "io/chain.h"
#include "io/xsk_private.h"

/* Linux 6.6: the packet goes on in the next descriptor. */
#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1 << 0)
#endif

/* --- receive ---------------------------------------------------------------------------------- */

/* Descriptors of the packet at at, 0 when its end is not among the n that are there. */
static uint32_t pieces_at(const struct xsk_queue *xsk, uint32_t at, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!(xsk_ring_cons__rx_desc(&xsk->rx, at + i)->options & XDP_PKT_CONTD))
			return i + 1;
	return 0;
}

/* The links behind the first piece, and the packet's length. */
static void link_pieces(const struct xsk_queue *xsk, uint32_t at, uint32_t cnt,
			struct shunt_pkt *pkt)
{
	const struct shunt_pool *pool = xsk->queue.pool;
	uint32_t i;

	pkt->flags = SHUNT_PKT_CHAINED;
	for (i = 0; i < cnt; i++) {
		const struct xdp_desc *desc = xsk_ring_cons__rx_desc(&xsk->rx, at + i);
		uint64_t next = 0;

		if (i + 1 < cnt)
			next = xsk_ring_cons__rx_desc(&xsk->rx, at + i + 1)->addr;
		*shunt_chain_link(pool, desc->addr) =
			(struct shunt_link){.next = next, .len = desc->len, .cnt = cnt - i};
		pkt->len += i ? desc->len : 0;
	}
}

unsigned shunt_xsk_sg_rx(struct shunt_queue *queue, struct shunt_pkt *pkts, unsigned max)
{
	struct xsk_queue *xsk = xsk_of(queue);
	uint32_t at = 0, taken = 0, n;
	uint64_t bytes = 0;
	unsigned k;

	/* peek looks for more only when it has nothing left, and the head of a packet is not */
	xsk->rx.cached_prod = __atomic_load_n(xsk->rx.producer, __ATOMIC_ACQUIRE);
	n = xsk_ring_cons__peek(&xsk->rx, xsk->rx.size, &at);
	for (k = 0; k < max; k++) {
		const uint32_t cnt = pieces_at(xsk, at + taken, n - taken);
		const struct xdp_desc *desc = xsk_ring_cons__rx_desc(&xsk->rx, at + taken);

		if (!cnt)
			break;
		pkts[k].addr = desc->addr;
		pkts[k].len = desc->len;
		pkts[k].port = queue->port;
		pkts[k].flags = 0;
		if (cnt > 1)
			link_pieces(xsk, at + taken, cnt, &pkts[k]);
		bytes += pkts[k].len;
		taken += cnt;
	}
	xsk_ring_cons__cancel(&xsk->rx, n - taken);
	if (!k)
		return 0;
	xsk_ring_cons__release(&xsk->rx, taken);
	xsk->fill_owed += taken;
	shunt_queue_count_rx(queue, k, bytes);
	return k;
}

/* Also one whose end is not there yet. */
unsigned shunt_xsk_sg_late(const struct shunt_queue *queue)
{
	const struct xsk_queue *xsk = xsk_of_const(queue);
	uint32_t at = xsk->rx.cached_cons, cnt;
	unsigned n = 0;

	for (; (int32_t)(xsk->late_end - at) > 0; at += cnt, n++) {
		cnt = pieces_at(xsk, at, xsk->late_end - at);
		if (!cnt)
			return n + 1;
	}
	return n;
}

/* --- transmit --------------------------------------------------------------------------------- */

static uint32_t pieces_of(const struct shunt_pool *pool, const struct shunt_pkt *pkt)
{
	return shunt_chain_is(pool, pkt) ? shunt_chain_link(pool, pkt->addr)->cnt : 1;
}

/* Writes the packet's descriptors. A packet that was cut ends before its chain does: the
 * frames behind its end go back to the pool. Returns the descriptors written. */
static uint32_t write_pieces(struct xsk_queue *xsk, uint32_t at, const struct shunt_pkt *pkt)
{
	struct shunt_pool *pool = xsk->queue.pool;
	uint32_t left = pkt->len, cnt = pieces_of(pool, pkt), i;
	uint64_t addr = pkt->addr;

	for (i = 0; i < cnt; i++) {
		const struct shunt_link link =
			cnt > 1 ? *shunt_chain_link(pool, addr) : (struct shunt_link){.len = left};
		struct xdp_desc *desc = xsk_ring_prod__tx_desc(&xsk->tx, at + i);

		desc->addr = addr;
		desc->len = SHUNT_MIN(left, link.len);
		left -= desc->len;
		addr = link.next;
		desc->options = left && i + 1 < cnt ? XDP_PKT_CONTD : 0;
		if (!desc->options)
			break;
	}
	if (i + 1 < cnt)
		shunt_chain_free(pool, addr);
	return SHUNT_MIN(i + 1, cnt);
}

unsigned shunt_xsk_sg_tx(struct shunt_queue *queue, const struct shunt_pkt *pkts, unsigned cnt)
{
	struct xsk_queue *xsk = xsk_of(queue);
	uint32_t room = xsk_prod_nb_free(&xsk->tx, xsk->tx.size), at = xsk->tx.cached_prod;
	uint32_t used = 0;
	uint64_t bytes = 0;
	unsigned k;

	/* The completion ring has the transmit ring's size: frames that the
	 * driver still has count against both. */
	room = SHUNT_MIN(room, xsk->tx.size - xsk->tx_outstanding);
	for (k = 0; k < cnt; k++) {
		if (pieces_of(queue->pool, &pkts[k]) > room - used)
			break;
		used += write_pieces(xsk, at + used, &pkts[k]);
		bytes += pkts[k].len;
	}
	if (!k)
		return 0;
	xsk_ring_prod__reserve(&xsk->tx, used, &at);
	xsk_ring_prod__submit(&xsk->tx, used);
	xsk->tx_outstanding += used;
	shunt_queue_count_tx(queue, k, bytes);
	return k;
}
