// SPDX-License-Identifier: BSD-2-Clause
#include "io/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "io/chain.h"

#define HUGE_BYTES (2ULL << 20)

uint64_t shunt_ledger_sum(const struct shunt_ledger *ledger)
{
	return ledger->pool + ledger->fill + ledger->driver_rx + ledger->rx + ledger->tx +
	       ledger->driver_tx + ledger->completion;
}

const char *shunt_page_kind_name(enum shunt_page_kind kind)
{
	static const char *const names[] = {"4k", "thp", "hugetlb"};

	return (unsigned)kind < SHUNT_ARRAY_LEN(names) ? names[kind] : "?";
}

/* Reserved huge pages first, then transparent ones, which the kernel may or may
 * not grant: a worker's frames under 4 KiB pages cost a TLB miss each. */
static void *map_frames(uint64_t len, enum shunt_page_kind *kind)
{
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	uint8_t *mem, *aligned;

	mem = mmap(NULL, len, prot, flags | MAP_HUGETLB | MAP_POPULATE, -1, 0);
	*kind = SHUNT_PAGE_HUGETLB;
	if (mem != MAP_FAILED)
		return mem;
	mem = mmap(NULL, len + HUGE_BYTES, prot, flags, -1, 0);
	if (mem == MAP_FAILED)
		return NULL;
	aligned = (uint8_t *)(((uintptr_t)mem + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1));
	if (aligned > mem)
		munmap(mem, (size_t)(aligned - mem));
	munmap(aligned + len, (size_t)(mem + HUGE_BYTES - aligned));
	*kind = madvise(aligned, len, MADV_HUGEPAGE) ? SHUNT_PAGE_BASE : SHUNT_PAGE_THP;
	if (madvise(aligned, len, MADV_POPULATE_WRITE) && errno == ENOMEM) {
		munmap(aligned, len);
		return NULL;
	}
	return aligned;
}

int shunt_pool_init(struct shunt_pool *pool, uint32_t total, uint32_t frame_size,
		    struct shunt_err *err)
{
	uint32_t i;

	memset(pool, 0, sizeof(*pool));
	if (!total || (frame_size != 2048 && frame_size != 4096))
		return shunt_err_set(err, EINVAL,
				     "pool: %u frames of %u bytes asked for; a frame has 2048 or "
				     "4096 bytes",
				     total, frame_size);
	pool->mem_len = ((uint64_t)total * frame_size + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
	pool->free = malloc((size_t)total * sizeof(*pool->free));
	pool->mem = pool->free ? map_frames(pool->mem_len, &pool->page_kind) : NULL;
	if (!pool->mem) {
		free(pool->free);
		memset(pool, 0, sizeof(*pool));
		return shunt_err_set(
			err, ENOMEM,
			"pool: cannot map %u frames of %u bytes (%llu MiB): not enough "
			"memory; ask for fewer or smaller frames, or smaller rings",
			total, frame_size, (unsigned long long)total * frame_size >> 20);
	}
	pool->total = total;
	pool->frame_size = frame_size;
	pool->frame_mask = ~(uint64_t)(frame_size - 1);
	pool->frame_shift = (unsigned)__builtin_ctz(frame_size);
	for (i = 0; i < total; i++)
		pool->free[i] = (uint64_t)(total - 1 - i) * frame_size;
	pool->free_cnt = total;
	return 0;
}

int shunt_pool_link(struct shunt_pool *pool, struct shunt_err *err)
{
	pool->links = calloc(pool->total, sizeof(*pool->links));
	if (!pool->links)
		return shunt_err_set(err, ENOMEM,
				     "pool: not enough memory to link %u frames; ask for fewer",
				     pool->total);
	return 0;
}

void shunt_pool_free_linked(struct shunt_pool *pool, const struct shunt_pkt *pkts, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		if (pkts[i].flags & SHUNT_PKT_CHAINED)
			shunt_chain_free(pool, pkts[i].addr);
		else
			shunt_pool_free(pool, &pkts[i].addr, 1);
}

unsigned shunt_pool_weed(struct shunt_pool *pool, unsigned n)
{
	uint8_t *seen = calloc(pool->total, 1);
	const uint32_t cnt = pool->free_cnt;
	uint32_t i, kept = 0, room;

	for (i = 0; seen && i < cnt; i++) {
		const uint64_t frame = pool->free[i] / pool->frame_size;

		if (frame >= pool->total || seen[frame]++)
			continue;
		pool->free[kept++] = pool->free[i];
	}
	if (seen)
		pool->free_cnt = kept;
	free(seen);
	room = SHUNT_MIN(n, pool->total - pool->free_cnt);
	__atomic_store_n(&pool->doubled, pool->doubled + cnt - pool->free_cnt + n - room,
			 __ATOMIC_RELAXED);
	return room;
}

void shunt_pool_fini(struct shunt_pool *pool)
{
	free(pool->links);
	if (pool->mem)
		munmap(pool->mem, pool->mem_len);
	free(pool->free);
	memset(pool, 0, sizeof(*pool));
}

unsigned shunt_pool_audit(const struct shunt_pool *pool, uint8_t *seen)
{
	unsigned strays = 0;
	uint64_t frame;
	uint32_t i;

	for (i = 0; i < pool->free_cnt; i++) {
		frame = pool->free[i] / pool->frame_size;
		if (frame < pool->total && !(pool->free[i] & ~pool->frame_mask))
			seen[frame]++;
		else
			strays++;
	}
	return strays;
}
