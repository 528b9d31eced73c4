// SPDX-License-Identifier: BSD-2-Clause
#include "io/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "io/chain.h"

#define FRAME_MAX	     1518
#define HUGE_BYTES	     (2u << 20)

/* Copies fetch a set that is larger than the first-level cache so many frames ahead: it is
 * read from memory, in order, and its misses are not the forwarder's cost. A small set is in the
 * cache, and fetching past its end can mean a page walk for each frame. */
#define PREFETCH_AHEAD	     16
#define PREFETCH_ABOVE_BYTES (16u << 10)

struct mem_queue {
	struct shunt_queue queue;
	uint8_t *set;	 /* frame_cnt frames, stride apart */
	uint32_t stride; /* bytes: whole cache lines that hold the longest frame */
	uint32_t ahead;	 /* bytes from the frame in hand to the one to fetch; 0: none */
	uint32_t *lens;
	unsigned frame_cnt;
	unsigned next;	      /* frame of the set to hand out */
	uint64_t left;	      /* frames still to hand out */
	uint8_t *out_chained; /* where they end in a pool with links: SHUNT_CHAIN_BYTES_MAX bytes */
	uint8_t out[FRAME_MAX + 50]; /* where copied frames end */
};

static struct mem_queue *mem_of(struct shunt_queue *queue)
{
	return shunt_container_of(queue, struct mem_queue, queue);
}

/* Frames of up to 64 bytes, which benchmarks use, get a copy of constant length: four vector
 * moves instead of a call. Source and destination have room for the excess. */
static inline void copy_frame(uint8_t *dst, const uint8_t *src, uint32_t len)
{
	if (likely(len <= 64))
		memcpy(dst, src, 64);
	else
		memcpy(dst, src, len);
}

/* One body for both: `copy` is a constant in each caller. */
static inline unsigned receive(struct shunt_queue *queue, struct shunt_pkt *pkts, unsigned max,
			       const bool copy)
{
	struct mem_queue *mem = mem_of(queue);
	struct shunt_pool *pool = queue->pool;
	unsigned n = SHUNT_MIN(max, pool->free_cnt), next = mem->next, i;
	/* in registers: the compiler must assume that the stores below change them */
	const uint32_t *const lens = mem->lens;
	const uint8_t *const set = mem->set;
	uint8_t *const base = pool->mem;
	const uint32_t stride = mem->stride, ahead = mem->ahead, frame_cnt = mem->frame_cnt;
	const uint16_t port = queue->port;
	const uint64_t *top;
	uint64_t bytes = 0;

	n = (unsigned)SHUNT_MIN((uint64_t)n, mem->left);
	if (unlikely(!n))
		return 0;
	mem->left -= n;
	pool->free_cnt -= n;
	top = pool->free + pool->free_cnt;
	for (i = 0; i < n; i++) {
		const uint64_t addr = top[i] + SHUNT_FRAME_HEADROOM;
		const uint32_t len = lens[next];

		pkts[i].addr = addr;
		pkts[i].len = len;
		pkts[i].port = port;
		if (copy) {
			const uint8_t *frame = set + (size_t)next * stride;

			__builtin_prefetch(frame + ahead);
			copy_frame(base + addr, frame, len);
		}
		bytes += len;
		next = next + 1 == frame_cnt ? 0 : next + 1;
	}
	mem->next = next;
	shunt_queue_count_rx(queue, n, bytes);
	return n;
}

static inline unsigned transmit(struct shunt_queue *queue, const struct shunt_pkt *pkts,
				unsigned cnt, const bool copy)
{
	struct mem_queue *mem = mem_of(queue);
	const uint8_t *const base = queue->pool->mem;
	uint8_t *const out = mem->out;
	uint64_t bytes = 0;
	unsigned i;

	for (i = 0; i < cnt; i++) {
		const uint32_t len = pkts[i].len;

		bytes += len;
		if (copy) {
			copy_frame(out, base + pkts[i].addr, len);
			/* keeps the copy: nobody reads it */
			__asm__ volatile("" : : "r"(out) : "memory");
		}
	}
	shunt_pool_free_pkts(queue->pool, pkts, cnt);
	shunt_queue_count_tx(queue, cnt, bytes);
	shunt_counter_add(&queue->stats.tx_completed, cnt);
	return cnt;
}

static unsigned mem_rx(struct shunt_queue *queue, struct shunt_pkt *pkts, unsigned max)
{
	return receive(queue, pkts, max, false);
}

static unsigned mem_rx_copy(struct shunt_queue *queue, struct shunt_pkt *pkts, unsigned max)
{
	return receive(queue, pkts, max, true);
}

static unsigned mem_tx(struct shunt_queue *queue, const struct shunt_pkt *pkts, unsigned cnt)
{
	return transmit(queue, pkts, cnt, false);
}

static unsigned mem_tx_copy(struct shunt_queue *queue, const struct shunt_pkt *pkts, unsigned cnt)
{
	return transmit(queue, pkts, cnt, true);
}

/* In a pool with links every packet is copied, in as many frames as it takes. */
static unsigned mem_rx_chained(struct shunt_queue *queue, struct shunt_pkt *pkts, unsigned max)
{
	struct mem_queue *mem = mem_of(queue);
	uint64_t bytes = 0;
	unsigned n;

	for (n = 0; n < max && mem->left; n++, mem->left--) {
		if (!shunt_chain_put(queue->pool, &pkts[n], SHUNT_FRAME_HEADROOM,
				     mem->set + (size_t)mem->next * mem->stride,
				     mem->lens[mem->next]))
			break;
		pkts[n].port = queue->port;
		bytes += pkts[n].len;
		mem->next = mem->next + 1 == mem->frame_cnt ? 0 : mem->next + 1;
	}
	if (!n)
		return 0;
	shunt_queue_count_rx(queue, n, bytes);
	return n;
}

static unsigned mem_tx_chained(struct shunt_queue *queue, const struct shunt_pkt *pkts,
			       unsigned cnt)
{
	struct mem_queue *mem = mem_of(queue);
	unsigned i;

	for (i = 0; i < cnt; i++)
		shunt_chain_copy(queue->pool, &pkts[i], mem->out_chained);
	return transmit(queue, pkts, cnt, false);
}

static void mem_close(struct shunt_queue *queue)
{
	struct mem_queue *mem = mem_of(queue);

	free(mem->set);
	free(mem->lens);
	free(mem->out_chained);
	free(mem);
}

/* They differ in nothing but what receive and transmit copy. */
#define MEM_OPS(name, rx_fn, tx_fn)                  \
	static const struct shunt_queue_ops name = { \
		.kind = "mem",                       \
		.reclaim = shunt_queue_nothing,      \
		.rx = rx_fn,                         \
		.tx = tx_fn,                         \
		.flush = shunt_queue_nothing,        \
		.ledger = shunt_queue_ledger_none,   \
		.audit = shunt_queue_audit_none,     \
		.close = mem_close,                  \
	}

MEM_OPS(mem_ops, mem_rx, mem_tx);
MEM_OPS(mem_copy_ops, mem_rx_copy, mem_tx_copy);
MEM_OPS(mem_chained_ops, mem_rx_chained, mem_tx_chained);

/* Without copy, frame i of the pool carries frame i of the set. */
static void fill_pool(const struct mem_queue *mem, struct shunt_pool *pool)
{
	uint32_t i;

	for (i = 0; i < pool->free_cnt; i++)
		memcpy(pool->mem + pool->free[i] + SHUNT_FRAME_HEADROOM,
		       mem->set + (size_t)(i % mem->frame_cnt) * mem->stride,
		       mem->lens[i % mem->frame_cnt]);
}

static int check_frames(const struct shunt_mem_opts *opts, uint32_t max, struct shunt_err *err)
{
	unsigned i;

	if (!opts->frame_cnt)
		return shunt_err_set(err, EINVAL,
				     "mem port: no frames to replay; give at least one");
	for (i = 0; i < opts->frame_cnt; i++)
		if (opts->lens[i] < 14 || opts->lens[i] > max)
			return shunt_err_set(err, EINVAL,
					     "mem port: frame %u has %u bytes; 14 to %u can be "
					     "replayed",
					     i, opts->lens[i], max);
	return 0;
}

/* A large set on huge pages, where there are some: page walks would be most of what
 * reading it costs. */
static uint8_t *alloc_set(size_t bytes)
{
	const size_t align = bytes < HUGE_BYTES ? SHUNT_CACHELINE : HUGE_BYTES;
	uint8_t *set;

	bytes = (bytes + align - 1) & ~(align - 1);
	set = aligned_alloc(align, bytes);
	if (!set)
		return NULL;
	if (align == HUGE_BYTES)
		madvise(set, bytes, MADV_HUGEPAGE);
	return memset(set, 0, bytes);
}

static uint32_t longest(const struct shunt_mem_opts *opts)
{
	uint32_t max = 0;
	unsigned i;

	for (i = 0; i < opts->frame_cnt; i++)
		max = SHUNT_MAX(max, opts->lens[i]);
	return max;
}

int shunt_mem_open(struct shunt_queue **out, struct shunt_pool *pool,
		   const struct shunt_mem_opts *opts, struct shunt_err *err)
{
	struct mem_queue *mem;
	unsigned i;
	int ret = check_frames(opts, pool->links ? SHUNT_CHAIN_BYTES_MAX : FRAME_MAX, err);

	if (ret)
		return ret;
	mem = aligned_alloc(SHUNT_CACHELINE, (sizeof(*mem) + 63) & ~63UL);
	if (!mem)
		return shunt_err_set(err, ENOMEM, "mem port: not enough memory");
	memset(mem, 0, sizeof(*mem));
	mem->stride = (longest(opts) + SHUNT_CACHELINE - 1) & ~(SHUNT_CACHELINE - 1u);
	if ((uint64_t)opts->frame_cnt * mem->stride > PREFETCH_ABOVE_BYTES)
		mem->ahead = PREFETCH_AHEAD * mem->stride;
	mem->set = alloc_set((size_t)opts->frame_cnt * mem->stride);
	mem->lens = calloc(opts->frame_cnt, sizeof(*mem->lens));
	if (pool->links)
		mem->out_chained = malloc(SHUNT_CHAIN_BYTES_MAX);
	if (!mem->set || !mem->lens || (pool->links && !mem->out_chained)) {
		mem_close(&mem->queue);
		return shunt_err_set(err, ENOMEM, "mem port: not enough memory for %u frames",
				     opts->frame_cnt);
	}
	for (i = 0; i < opts->frame_cnt; i++) {
		memcpy(mem->set + (size_t)i * mem->stride, opts->frames[i], opts->lens[i]);
		mem->lens[i] = opts->lens[i];
	}
	mem->frame_cnt = opts->frame_cnt;
	mem->left = opts->limit ? opts->limit : UINT64_MAX;
	mem->queue.ops = pool->links ? &mem_chained_ops : opts->copy ? &mem_copy_ops : &mem_ops;
	mem->queue.pool = pool;
	mem->queue.port = opts->port;
	mem->queue.index = opts->queue;
	mem->queue.fd = -1;
	if (!opts->copy && !pool->links)
		fill_pool(mem, pool);
	*out = &mem->queue;
	return 0;
}
