// SPDX-License-Identifier: BSD-2-Clause
/* The IPv4 bulk lookup with AVX-512: eight addresses a step. Words and leaves are loaded one by
 * one (on Zen 4 faster than gathers, and each load is whole), all between is done on
 * eight lanes: few enough instructions for the CPU itself to keep some 40 addresses in flight. */
#include "fib/fib4_lookup.h"

#include <arpa/inet.h>

#include "base/bytes.h"
#include "fib/cpu.h"

#ifdef SHUNT_FIB_AVX512
#include <immintrin.h>

#define LANES 8u

static inline SHUNT_FIB_TARGET_AVX512 __m512i load_words(const uint64_t *root,
							 const uint32_t *dst_be)
{
#define WORD(i) (long long)word_at(&root[ntohl(dst_be[i]) >> ROOT_SHIFT])
	return _mm512_set_epi64(WORD(7), WORD(6), WORD(5), WORD(4), WORD(3), WORD(2), WORD(1),
				WORD(0));
#undef WORD
}

static inline SHUNT_FIB_TARGET_AVX512 __m256i load_leaves(const uint32_t *leaves,
							  const uint32_t *index)
{
#define LEAF(i) (int)leaf_at(&leaves[index[i]])
	return _mm256_set_epi32(LEAF(7), LEAF(6), LEAF(5), LEAF(4), LEAF(3), LEAF(2), LEAF(1),
				LEAF(0));
#undef LEAF
}

/* Writes eight leaves to nh; returns them or-ed. */
static inline SHUNT_FIB_TARGET_AVX512 __m256i lookup_lanes(const struct shunt_fib4 *fib,
							   const uint32_t *dst_be, uint32_t *nh)
{
	uint32_t index[LANES] __attribute__((aligned(32)));
	__m512i word = load_words(fib->root, dst_be), slot, rank;
	__m256i low = _mm512_cvtepi64_epi32(word), leaf;
	__mmask8 is_run = _mm512_cmpgt_epu64_mask(word, _mm512_set1_epi64(0xffffffff));

	/* The third octet's low five bits: bits 16 to 20 of the address in network order. */
	slot = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)dst_be));
	slot = _mm512_and_si512(_mm512_srli_epi64(slot, 16), _mm512_set1_epi64(31));
	slot = _mm512_xor_si512(slot, _mm512_set1_epi64(63));
	rank = _mm512_popcnt_epi64(_mm512_srlv_epi64(word, slot));
	_mm256_store_si256((__m256i *)index,
			   _mm256_maskz_add_epi32(is_run, low, _mm512_cvtepi64_epi32(rank)));
	leaf = _mm256_mask_mov_epi32(low, is_run, load_leaves(fib->leaves, index));
	_mm256_storeu_si256((__m256i *)nh, leaf);
	return leaf;
}

/* Addresses between two looks for tails. */
#define GROUP 64u

/* How far ahead words are asked for. Without: a tenth slower on a quiet machine at a million
 * routes, and up to half when the table has lost its cache to others; 128: as without. */
#define AHEAD 32u

static inline void prefetch_words(const uint64_t *root, const uint32_t *dst_be)
{
	unsigned i;

	for (i = 0; i < LANES; i++)
		__builtin_prefetch(&root[ntohl(dst_be[i]) >> ROOT_SHIFT]);
}

static inline SHUNT_FIB_TARGET_AVX512 void lookup_group(const struct shunt_fib4 *fib,
							const uint32_t *dst_be, uint32_t *nh,
							unsigned n, unsigned left)
{
	const __m256i index_mask = _mm256_set1_epi32(LEAF_INDEX);
	__m256i seen = _mm256_setzero_si256();
	unsigned i;

	for (i = 0; i < n; i += LANES) {
		if (i + AHEAD < left)
			prefetch_words(fib->root, dst_be + i + AHEAD);
		seen = _mm256_or_si256(seen, lookup_lanes(fib, dst_be + i, nh + i));
	}
	if (unlikely(_mm256_movemask_ps(_mm256_castsi256_ps(seen))))
		shunt_fib4_finish_tails(fib, dst_be, nh, n);
	for (i = 0; i < n; i += LANES)
		_mm256_storeu_si256(
			(__m256i *)(nh + i),
			_mm256_and_si256(_mm256_loadu_si256((__m256i *)(nh + i)), index_mask));
}

SHUNT_FIB_TARGET_AVX512 void shunt_fib4_bulk_avx512(const struct shunt_fib4 *fib,
						    const uint32_t *dst_be, uint32_t *nh,
						    unsigned n)
{
	unsigned whole = n & ~(LANES - 1), i, cnt;

	for (i = 0; i < whole; i += cnt) {
		cnt = SHUNT_MIN(GROUP, whole - i);
		lookup_group(fib, dst_be + i, nh + i, cnt, whole - i);
	}
	for (i = whole; i < n; i++)
		nh[i] = shunt_fib4_lookup(fib, dst_be[i]);
}
#endif
