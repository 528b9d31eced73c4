// SPDX-License-Identifier: BSD-2-Clause
/* The data side: rings in use. Opening is in xsk_open.c, signs of life are in xsk_beat.c. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "io/xsk_private.h"

/* Of n entries from at on, those before the ring's end. Loops over a plain array, at most two of
 * them, take half the instructions of one that masks each index. */
static uint32_t before_end(uint32_t at, uint32_t n, uint32_t mask)
{
	return SHUNT_MIN(n, mask + 1 - (at & mask));
}

/* --- completion and fill ---------------------------------------------------------------------- */

static void take_frames(uint64_t *restrict to, const uint64_t *restrict from, uint32_t n,
			uint64_t mask)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		to[i] = from[i] & mask;
}

static void reclaim_completions(struct xsk_queue *xsk)
{
	struct shunt_pool *pool = xsk->queue.pool;
	const uint64_t *ring = xsk->comp.ring;
	uint32_t at, n, kept, first;
	uint64_t *top;

	n = xsk_ring_cons__peek(&xsk->comp, xsk->comp.size, &at);
	if (!n)
		return;
	/* A frame that was delivered twice, and sent twice, comes back twice. */
	kept = shunt_pool_room(pool, n);
	top = pool->free + pool->free_cnt;
	first = SHUNT_MIN(before_end(at, n, xsk->comp.mask), kept);
	take_frames(top, ring + (at & xsk->comp.mask), first, pool->frame_mask);
	take_frames(top + first, ring, kept - first, pool->frame_mask);
	pool->free_cnt += kept;
	xsk_ring_cons__release(&xsk->comp, n);
	xsk->tx_outstanding -= n;
	shunt_counter_add(&xsk->queue.stats.tx_completed, n);
}

/* Frames that the kernel or the driver can still receive into. */
static uint32_t receivable(const struct xsk_queue *xsk)
{
	uint32_t given = xsk->fill.size - xsk->fill_owed;
	uint32_t received =
		__atomic_load_n(xsk->rx.producer, __ATOMIC_ACQUIRE) - xsk->rx.cached_cons;

	return given - SHUNT_MIN(received, given);
}

/* Sends the queue's frames to the kernel while there is nothing to receive them
 * into, and opens it again with twice as much in hand, so that it does not flutter. */
static void set_dry(struct xsk_queue *xsk)
{
	struct shunt_steer_gate *gate = xsk->gate;

	if (!gate)
		return;
	/* read by the steering program, which orders nothing by it */
	if (!gate->is_dry && receivable(xsk) < xsk->dry_below)
		__atomic_store_n(&gate->is_dry, 1, __ATOMIC_RELAXED);
	else if (gate->is_dry && receivable(xsk) >= 2 * xsk->dry_below)
		__atomic_store_n(&gate->is_dry, 0, __ATOMIC_RELAXED);
}

static void refill(struct xsk_queue *xsk)
{
	struct shunt_pool *pool = xsk->queue.pool;
	uint32_t n = SHUNT_MIN(xsk->fill_owed, pool->free_cnt), at = 0, first;
	uint64_t *ring = xsk->fill.ring;
	const uint64_t *top;

	if (unlikely(!n)) {
		shunt_counter_add(&xsk->queue.stats.fill_starved, 1);
		set_dry(xsk);
		return;
	}
	/* All that is owed fits, unless a driver delivered a frame twice (create_rings): then
	 * entries that the kernel has not taken must not be overwritten. */
	n = SHUNT_MIN(n, xsk_prod_nb_free(&xsk->fill, n));
	if (unlikely(!n))
		return;
	xsk_ring_prod__reserve(&xsk->fill, n, &at);
	pool->free_cnt -= n;
	top = pool->free + pool->free_cnt;
	first = before_end(at, n, xsk->fill.mask);
	memcpy(ring + (at & xsk->fill.mask), top, first * sizeof(*top));
	memcpy(ring, top + first, (n - first) * sizeof(*top));
	xsk_ring_prod__submit(&xsk->fill, n);
	xsk->fill_owed -= n;
	if (unlikely(xsk->fill_owed) || unlikely(xsk->gate && xsk->gate->is_dry))
		set_dry(xsk);
}

static void xsk_reclaim(struct shunt_queue *queue)
{
	struct xsk_queue *xsk = xsk_of(queue);

	if (xsk->tx_outstanding)
		reclaim_completions(xsk);
	if (xsk->fill_owed >= xsk->fill_batch)
		refill(xsk);
}

/* --- receive and transmit --------------------------------------------------------------------- */

/* Keeps gcc from gathering four packets' fields into vectors and scattering them again. */
static inline uint32_t scalar(uint32_t value)
{
	__asm__("" : "+r"(value));
	return value;
}

/* The bytes of n packets, which it takes from their descriptors. */
static uint64_t take_packets(struct shunt_pkt *restrict pkts, const struct xdp_desc *restrict descs,
			     uint32_t n, uint16_t port)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		const uint32_t len = scalar(descs[i].len);

		pkts[i].addr = descs[i].addr;
		pkts[i].len = len;
		pkts[i].port = port;
		bytes += len;
	}
	return bytes;
}

static inline uint64_t put_packets(struct xdp_desc *restrict descs,
				   const struct shunt_pkt *restrict pkts, uint32_t n,
				   const bool has_meta)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		const uint32_t len = scalar(pkts[i].len);

		descs[i].addr = pkts[i].addr;
		descs[i].len = len;
		descs[i].options =
			has_meta && pkts[i].flags & SHUNT_PKT_TX_META ? XDP_TX_METADATA : 0;
		bytes += len;
	}
	return bytes;
}

static unsigned xsk_rx(struct shunt_queue *queue, struct shunt_pkt *pkts, unsigned max)
{
	struct xsk_queue *xsk = xsk_of(queue);
	const struct xdp_desc *ring = xsk->rx.ring;
	uint32_t at, n, first;
	uint64_t bytes;

	n = xsk_ring_cons__peek(&xsk->rx, max, &at);
	if (!n)
		return 0;
	first = before_end(at, n, xsk->rx.mask);
	bytes = take_packets(pkts, ring + (at & xsk->rx.mask), first, queue->port);
	bytes += take_packets(pkts + first, ring, n - first, queue->port);
	xsk_ring_cons__release(&xsk->rx, n);
	xsk->fill_owed += n;
	shunt_queue_count_rx(queue, n, bytes);
	return n;
}

/* has_meta is a constant in each caller. */
static inline unsigned transmit(struct shunt_queue *queue, const struct shunt_pkt *pkts,
				unsigned cnt, const bool has_meta)
{
	struct xsk_queue *xsk = xsk_of(queue);
	uint32_t room = xsk_prod_nb_free(&xsk->tx, cnt), at = 0, first;
	struct xdp_desc *ring = xsk->tx.ring;
	uint64_t bytes;

	/* The completion ring has the transmit ring's size: frames that the
	 * driver still has count against both. */
	room = SHUNT_MIN(room, xsk->tx.size - xsk->tx_outstanding);
	cnt = SHUNT_MIN(cnt, room);
	if (unlikely(!cnt))
		return 0;
	xsk_ring_prod__reserve(&xsk->tx, cnt, &at);
	first = before_end(at, cnt, xsk->tx.mask);
	bytes = put_packets(ring + (at & xsk->tx.mask), pkts, first, has_meta);
	bytes += put_packets(ring, pkts + first, cnt - first, has_meta);
	xsk_ring_prod__submit(&xsk->tx, cnt);
	xsk->tx_outstanding += cnt;
	shunt_queue_count_tx(queue, cnt, bytes);
	return cnt;
}

static unsigned xsk_tx(struct shunt_queue *queue, const struct shunt_pkt *pkts, unsigned cnt)
{
	return transmit(queue, pkts, cnt, false);
}

static unsigned xsk_tx_meta(struct shunt_queue *queue, const struct shunt_pkt *pkts, unsigned cnt)
{
	return transmit(queue, pkts, cnt, true);
}

/* --- wake-ups --------------------------------------------------------------------------------- */

static bool tx_ring_empty(const struct xsk_queue *xsk)
{
	return __atomic_load_n(xsk->tx.consumer, __ATOMIC_ACQUIRE) == xsk->tx.cached_prod;
}

static bool expected(int error)
{
	return error == EAGAIN || error == EBUSY || error == ENOBUFS || error == EINTR;
}

/* On a socket that prefers busy polling, sendto runs the NAPI that receives and
 * wakes no other. A driver that transmits in a NAPI of its own (virtio_net) would
 * never send: poll wakes whatever asked for it (xsk_poll in net/xdp/xsk.c). */
static void wake_tx_napi(struct xsk_queue *xsk)
{
	struct pollfd fd = {.fd = xsk->queue.fd, .events = POLLOUT};

	poll(&fd, 1, 0);
	shunt_counter_add(&xsk->queue.stats.tx_kicks, 1);
}

/* A copying transmit sends at most tx_budget packets a call and says EAGAIN when
 * more are left. The number of calls is bounded: a device that takes nothing
 * leaves the rest for the next turn. */
static void kick_tx(struct xsk_queue *xsk)
{
	uint32_t left = xsk->tx_outstanding;

	for (;;) {
		int ret = (int)sendto(xsk->queue.fd, NULL, 0, MSG_DONTWAIT, NULL, 0);

		shunt_counter_add(&xsk->queue.stats.tx_kicks, 1);
		if (ret < 0 && unlikely(!expected(errno))) {
			shunt_counter_add(&xsk->queue.stats.kick_errors, 1);
			return;
		}
		if (xsk->in_use.zerocopy)
			break;
		if (left <= xsk->tx_budget || tx_ring_empty(xsk))
			return;
		left -= xsk->tx_budget;
	}
	if (xsk->in_use.busy_poll && !tx_ring_empty(xsk))
		wake_tx_napi(xsk);
}

/* A kick can wait when another turn follows at once and adds to it, until the ring is a quarter
 * full of what waits. */
static bool can_wait(const struct xsk_queue *xsk)
{
	return xsk->queue.has_more && xsk->in_use.zerocopy &&
	       xsk->tx.cached_prod - xsk->tx_flushed < xsk->tx.size / 4;
}

static void flush_tx(struct xsk_queue *xsk)
{
	if (can_wait(xsk))
		return;
	xsk->tx_flushed = xsk->tx.cached_prod;
	if (xsk->tx_outstanding && xsk_ring_prod__needs_wakeup(&xsk->tx) && !tx_ring_empty(xsk))
		kick_tx(xsk);
	xsk->queue.has_unsent = !xsk->in_use.zerocopy && xsk->tx_outstanding && !tx_ring_empty(xsk);
}

static void xsk_flush(struct shunt_queue *queue)
{
	struct xsk_queue *xsk = xsk_of(queue);

	flush_tx(xsk);
	if (unlikely(xsk_ring_prod__needs_wakeup(&xsk->fill)) && xsk->in_use.zerocopy) {
		recvfrom(queue->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
		shunt_counter_add(&queue->stats.rx_kicks, 1);
	}
}

static void xsk_busy_poll(struct shunt_queue *queue)
{
	recvfrom(queue->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
	shunt_counter_add(&queue->stats.rx_kicks, 1);
}

/* --- where the frames are --------------------------------------------------------------------- */

static void xsk_ledger(const struct shunt_queue *queue, struct shunt_ledger *ledger)
{
	const struct xsk_queue *xsk = xsk_of_const(queue);
	uint32_t given = xsk->fill.size - xsk->fill_owed;
	/* What the kernel moves while we look may be seen once too early, never
	 * twice: downstream rings are read first. */
	uint32_t rx = __atomic_load_n(xsk->rx.producer, __ATOMIC_ACQUIRE) - xsk->rx.cached_cons;
	uint32_t fill =
		xsk->fill.cached_prod - __atomic_load_n(xsk->fill.consumer, __ATOMIC_ACQUIRE);
	uint32_t comp =
		__atomic_load_n(xsk->comp.producer, __ATOMIC_ACQUIRE) - xsk->comp.cached_cons;
	uint32_t tx = xsk->tx.cached_prod - __atomic_load_n(xsk->tx.consumer, __ATOMIC_ACQUIRE);

	rx = SHUNT_MIN(rx, given);
	fill = SHUNT_MIN(fill, given - rx);
	comp = SHUNT_MIN(comp, xsk->tx_outstanding);
	tx = SHUNT_MIN(tx, xsk->tx_outstanding - comp);
	ledger->rx += rx;
	ledger->fill += fill;
	ledger->driver_rx += given - rx - fill;
	ledger->completion += comp;
	ledger->tx += tx;
	ledger->driver_tx += xsk->tx_outstanding - comp - tx;
}

static void mark(const struct xsk_queue *xsk, uint8_t *seen, uint64_t addr)
{
	uint64_t frame = addr / xsk->queue.pool->frame_size;

	if (frame < xsk->queue.pool->total)
		seen[frame]++;
}

static void xsk_audit(const struct shunt_queue *queue, uint8_t *seen)
{
	const struct xsk_queue *xsk = xsk_of_const(queue);
	uint32_t at, end;

	end = __atomic_load_n(xsk->rx.producer, __ATOMIC_ACQUIRE);
	for (at = xsk->rx.cached_cons; at != end; at++)
		mark(xsk, seen, xsk_ring_cons__rx_desc(&xsk->rx, at)->addr);
	at = __atomic_load_n(xsk->fill.consumer, __ATOMIC_ACQUIRE);
	for (; at != xsk->fill.cached_prod; at++)
		mark(xsk, seen, ((const uint64_t *)xsk->fill.ring)[at & xsk->fill.mask]);
	end = __atomic_load_n(xsk->comp.producer, __ATOMIC_ACQUIRE);
	for (at = xsk->comp.cached_cons; at != end; at++)
		mark(xsk, seen, *xsk_ring_cons__comp_addr(&xsk->comp, at));
	at = __atomic_load_n(xsk->tx.consumer, __ATOMIC_ACQUIRE);
	for (; at != xsk->tx.cached_prod; at++)
		mark(xsk, seen, ((const struct xdp_desc *)xsk->tx.ring)[at & xsk->tx.mask].addr);
}

/* They differ in nothing but how packets get in and out of the rings. */
#define XSK_OPS(name, rx_fn, tx_fn, late_fn)            \
	const struct shunt_queue_ops name = {           \
		.kind = "xsk",                          \
		.reclaim = xsk_reclaim,                 \
		.rx = rx_fn,                            \
		.tx = tx_fn,                            \
		.flush = xsk_flush,                     \
		.busy_poll = xsk_busy_poll,             \
		.beat = shunt_xsk_beat,                 \
		.is_overtaken = shunt_xsk_is_overtaken, \
		.late = late_fn,                        \
		.leave = shunt_xsk_leave,               \
		.ledger = xsk_ledger,                   \
		.audit = xsk_audit,                     \
		.close = shunt_xsk_close,               \
	}

XSK_OPS(shunt_xsk_ops, xsk_rx, xsk_tx, shunt_xsk_late);
XSK_OPS(shunt_xsk_tx_meta_ops, xsk_rx, xsk_tx_meta, shunt_xsk_late);
XSK_OPS(shunt_xsk_sg_ops, shunt_xsk_sg_rx, shunt_xsk_sg_tx, shunt_xsk_sg_late);
