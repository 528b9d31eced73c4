// SPDX-License-Identifier: BSD-2-Clause
/* The data side of the IPv4 table. Loads are relaxed: a word is published with release, and the
 * leaf is loaded from an address computed from the word, which orders the two on every CPU
 * that Linux runs on (rcu_dereference's rule). */
#include "fib/fib4_lookup.h"

#include <arpa/inet.h>

#include "base/bytes.h"
#include "fib/cpu.h"

/* Addresses in flight. Fewer: misses do not overlap enough once the table has to share its cache
 * (a million routes, Zen 4, a busy machine: 32 costs 59 cycles a lookup, 64 costs 43); more: on a
 * quiet machine prefetches of a group evict one another (32: 8.3 cycles, 64: 9.5). */
#define GROUP 64u

/* Index of the leaf of slot (its low 5 bits count), 0 if the word is its own leaf. */
static inline uint32_t leaf_index(uint64_t word, uint32_t slot)
{
	uint32_t rank = (uint32_t)__builtin_popcountll(word >> ((~slot | 32) & 63));

	return word >> 32 ? (uint32_t)word + rank : 0;
}

static inline uint32_t leaf_of(const struct shunt_fib4 *fib, uint64_t word, uint32_t slot)
{
	uint32_t i = leaf_index(word, slot);

	return i ? leaf_at(&fib->leaves[i]) : (uint32_t)word;
}

static uint32_t tail_leaf(const struct shunt_fib4 *fib, uint32_t leaf, uint32_t addr)
{
	const uint64_t *tail = &fib->tails[(size_t)(leaf & LEAF_INDEX) * TAIL_WORDS];

	return leaf_of(fib, word_at(&tail[addr >> 5 & 7]), addr);
}

const uint64_t *shunt_fib4_words(const struct shunt_fib4 *fib)
{
	return fib->root;
}

void shunt_fib4_tables(const struct shunt_fib4 *fib, const void *tables[3])
{
	tables[0] = fib->root;
	tables[1] = fib->leaves;
	tables[2] = fib->tails;
}

uint32_t shunt_fib4_lookup(const struct shunt_fib4 *fib, uint32_t dst_be)
{
	uint32_t addr = ntohl(dst_be);
	uint32_t leaf = leaf_of(fib, word_at(&fib->root[addr >> ROOT_SHIFT]), addr >> 8);

	if (unlikely(leaf & LEAF_TAIL))
		leaf = tail_leaf(fib, leaf, addr);
	return leaf & LEAF_INDEX;
}

void shunt_fib4_finish_tails(const struct shunt_fib4 *fib, const uint32_t *dst_be, uint32_t *nh,
			     unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		if (nh[i] & LEAF_TAIL)
			nh[i] = tail_leaf(fib, nh[i], ntohl(dst_be[i]));
}

/* One group: all words are asked for, then all leaves, then taken. */
static inline void lookup_group(const struct shunt_fib4 *fib, const uint32_t *dst_be, uint32_t *nh,
				unsigned n)
{
	uint32_t index[GROUP], addr, seen = 0;
	uint64_t word;
	unsigned i;

	for (i = 0; i < n; i++)
		__builtin_prefetch(&fib->root[ntohl(dst_be[i]) >> ROOT_SHIFT]);
	for (i = 0; i < n; i++) {
		addr = ntohl(dst_be[i]);
		word = word_at(&fib->root[addr >> ROOT_SHIFT]);
		index[i] = leaf_index(word, addr >> 8);
		nh[i] = (uint32_t)word;
		__builtin_prefetch(&fib->leaves[index[i]]);
	}
	for (i = 0; i < n; i++) {
		/* Loaded even if not wanted (index 0 is always cached): no branch to mispredict. */
		uint32_t leaf = leaf_at(&fib->leaves[index[i]]);

		nh[i] = index[i] ? leaf : nh[i];
		seen |= nh[i];
	}
	if (unlikely(seen & LEAF_TAIL))
		shunt_fib4_finish_tails(fib, dst_be, nh, n);
	for (i = 0; i < n; i++)
		nh[i] &= LEAF_INDEX;
}

void shunt_fib4_bulk_portable(const struct shunt_fib4 *fib, const uint32_t *dst_be, uint32_t *nh,
			      unsigned n)
{
	for (; n >= GROUP; n -= GROUP, dst_be += GROUP, nh += GROUP)
		lookup_group(fib, dst_be, nh, GROUP);
	if (n)
		lookup_group(fib, dst_be, nh, n);
}

void shunt_fib4_bulk_choose(struct shunt_fib4 *fib)
{
	fib->bulk = shunt_fib4_bulk_portable;
#ifdef SHUNT_FIB_AVX512
	if (shunt_fib_cpu_has_avx512())
		fib->bulk = shunt_fib4_bulk_avx512;
#endif
}

void shunt_fib4_lookup_bulk(const struct shunt_fib4 *fib, const uint32_t *dst_be, uint32_t *nh,
			    unsigned n)
{
	fib->bulk(fib, dst_be, nh, n);
}
