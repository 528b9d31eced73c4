/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's frames: one block of memory (the UMEM), cut into equal frames, and
 * a stack of the free ones. A stack, because the frame freed last is the one
 * still in the cache. The ledger says where every frame is:
 *
 *   pool + fill + driver_rx + rx + tx + driver_tx + completion = total
 *
 * Limits: one owner thread, no locks; frames of 2048 or 4096 bytes (what the
 * kernel's aligned mode takes). A packet above frame_size minus headroom takes
 * several frames, in a pool that was told to allow it (shunt_pool_link, io/chain.h).
 *
 *   struct shunt_pool pool;
 *   shunt_pool_init(&pool, 4096, 2048, &err);
 *   n = shunt_pool_alloc(&pool, addr, 64);
 *   shunt_pool_free(&pool, addr, n);
 *   shunt_pool_fini(&pool);
 */
#ifndef SHUNT_IO_POOL_H
#define SHUNT_IO_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "io/pkt.h"

enum shunt_page_kind {
	SHUNT_PAGE_BASE,    /* the kernel's smallest pages */
	SHUNT_PAGE_THP,	    /* transparent huge pages were asked for */
	SHUNT_PAGE_HUGETLB, /* reserved huge pages of 2 MiB */
};

/* One piece of a packet that lies in several frames. */
struct shunt_link {
	uint64_t next; /* UMEM address of the next piece's first byte; while cnt > 1 */
	uint32_t len;  /* bytes of this piece */
	uint32_t cnt;  /* pieces from here to the packet's end, this one included */
};

_Static_assert(sizeof(struct shunt_link) == 16, "four links a cache line");

struct shunt_pool {
	uint64_t *free; /* stack of UMEM addresses of frame starts */
	uint32_t free_cnt;
	uint32_t total;	     /* frames */
	uint64_t frame_mask; /* clears the offset inside a frame */
	uint8_t *mem;
	struct shunt_link *links; /* [total], by frame; NULL: every packet lies in one */
	unsigned frame_shift;	  /* frame_size is 1 << frame_shift */
	uint64_t doubled;	  /* frames that were given back while they were free already */
	/* control */
	uint64_t mem_len;    /* bytes mapped */
	uint32_t frame_size; /* bytes */
	enum shunt_page_kind page_kind;
};

/* The ledger of one worker: frames by place, all counted at one moment between
 * two turns. driver_rx and driver_tx are what the kernel took from a ring and
 * has not given back: inside the NIC's own rings, or a socket buffer. */
struct shunt_ledger {
	uint64_t total;
	uint64_t pool;
	uint64_t fill;	     /* in fill rings */
	uint64_t driver_rx;  /* taken from a fill ring, not yet received */
	uint64_t rx;	     /* in receive rings */
	uint64_t tx;	     /* in transmit rings */
	uint64_t driver_tx;  /* taken from a transmit ring, not yet completed */
	uint64_t completion; /* in completion rings */
};

/* shunt_ledger_sum returns the frames accounted for; the ledger balances when
 * it equals total. Thread: any. */
uint64_t shunt_ledger_sum(const struct shunt_ledger *ledger);

/* shunt_page_kind_name returns "4k", "thp" or "hugetlb". Thread: any. */
const char *shunt_page_kind_name(enum shunt_page_kind kind);

/* shunt_pool_init maps total frames of frame_size bytes (2048 or 4096), from
 * huge pages when the machine has some, and puts all of them on the stack.
 * Returns 0, -EINVAL or -ENOMEM with err set and nothing held.
 * Thread: init. Cost: setup; touches every page. */
int shunt_pool_init(struct shunt_pool *pool, uint32_t total, uint32_t frame_size,
		    struct shunt_err *err);

/* shunt_pool_link allows packets of several frames; every queue of the pool must set the
 * packets' flags on receive from then on. Returns 0, or -ENOMEM with err set. Thread: init. */
int shunt_pool_link(struct shunt_pool *pool, struct shunt_err *err);

/* shunt_pool_fini unmaps the frames; legal on a zeroed pool. Thread: init. */
void shunt_pool_fini(struct shunt_pool *pool);

/* shunt_pool_audit counts, in the array seen[total] of the caller, one for each
 * frame that is free. Returns the number of free entries that name no frame.
 * Thread: owner worker. Cost: setup. */
unsigned shunt_pool_audit(const struct shunt_pool *pool, uint8_t *seen);

/* shunt_pool_alloc moves up to n free frames into out[]. Returns the count,
 * 0..n; never blocks. The frames belong to the caller until shunt_pool_free or
 * a submit. Thread: owner worker. Cost: batch, no syscall. */
static inline unsigned shunt_pool_alloc(struct shunt_pool *pool, uint64_t *out, unsigned n)
{
	unsigned i;

	n = SHUNT_MIN(n, pool->free_cnt);
	pool->free_cnt -= n;
	for (i = 0; i < n; i++)
		out[i] = pool->free[pool->free_cnt + i];
	return n;
}

/* shunt_pool_weed makes room for n frames on a stack that has none, which cannot be unless a driver
 * delivered a frame twice (igb does, when it is starved of frames): it removes what is on the stack
 * twice, and counts it. Returns how many of the n fit then; the others are lost to the pool.
 * Thread: owner worker. Cost: setup. */
unsigned shunt_pool_weed(struct shunt_pool *pool, unsigned n);

/* shunt_pool_room returns how many of n frames fit on the stack: all of them. Thread: owner worker.
 * Cost: batch. */
static inline unsigned shunt_pool_room(struct shunt_pool *pool, unsigned n)
{
	return likely(n <= pool->total - pool->free_cnt) ? n : shunt_pool_weed(pool, n);
}

/* shunt_pool_free takes back n frames; addr[] may point anywhere inside them.
 * Thread: owner worker. Cost: batch. */
static inline void shunt_pool_free(struct shunt_pool *pool, const uint64_t *addr, unsigned n)
{
	uint64_t *top;
	unsigned i;

	n = shunt_pool_room(pool, n);
	top = pool->free + pool->free_cnt;
	for (i = 0; i < n; i++)
		top[i] = addr[i] & pool->frame_mask;
	pool->free_cnt += n;
}

/* shunt_pool_free_linked is shunt_pool_free_pkts in a pool with links.
 * Thread: owner worker. Cost: batch. */
void shunt_pool_free_linked(struct shunt_pool *pool, const struct shunt_pkt *pkts, unsigned n);

/* shunt_pool_free_pkts is shunt_pool_free for the frames of a batch, all of each packet. */
static inline void shunt_pool_free_pkts(struct shunt_pool *pool, const struct shunt_pkt *pkts,
					unsigned n)
{
	uint64_t *top;
	unsigned i;

	if (unlikely(pool->links)) {
		shunt_pool_free_linked(pool, pkts, n);
		return;
	}
	n = shunt_pool_room(pool, n);
	top = pool->free + pool->free_cnt;
	for (i = 0; i < n; i++)
		top[i] = pkts[i].addr & pool->frame_mask;
	pool->free_cnt += n;
}

#endif
