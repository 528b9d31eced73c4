// SPDX-License-Identifier: BSD-2-Clause
/* The IPv6 bulk lookup with AVX-512: blocks of eight addresses take their steps down together,
 * several blocks in turn so that their misses overlap. The steps cover the first 63 bits, below
 * which few routes lie; what is not done then goes on one by one. */
#include "fib/fib6_lookup.h"

#include "base/bytes.h"
#include "fib/cpu.h"

#ifdef SHUNT_FIB_AVX512
#include <immintrin.h>

#define LANES	 8u
#define BLOCKS	 4u
#define GROUP	 (LANES * BLOCKS)
#define STEP_END 63u /* a step at this bit or later would need the lower half */

struct block {
	__m512i word, hi;
};

/* Eight words of table at the indices in the lanes. */
static inline SHUNT_FIB_TARGET_AVX512 __m512i load_words(const uint64_t *table, __m512i lanes)
{
	uint64_t index[LANES] __attribute__((aligned(64)));

	_mm512_store_si512(index, lanes);
#define WORD(i) (long long)word_at(&table[index[i]])
	return _mm512_set_epi64(WORD(7), WORD(6), WORD(5), WORD(4), WORD(3), WORD(2), WORD(1),
				WORD(0));
#undef WORD
}

static inline SHUNT_FIB_TARGET_AVX512 void start(const struct shunt_fib6 *fib, struct block *b,
						 const uint8_t (*dst)[16])
{
	const __m512i swap = _mm512_set_epi64(
		0x08090a0b0c0d0e0f, 0x0001020304050607, 0x08090a0b0c0d0e0f, 0x0001020304050607,
		0x08090a0b0c0d0e0f, 0x0001020304050607, 0x08090a0b0c0d0e0f, 0x0001020304050607);
	const __m512i even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);

	b->hi = _mm512_permutex2var_epi64(_mm512_loadu_si512(dst), even,
					  _mm512_loadu_si512(dst + 4));
	b->hi = _mm512_shuffle_epi8(b->hi, swap);
	b->word = load_words(fib->root, _mm512_srli_epi64(b->hi, 64 - ROOT_BITS));
}

/* One step down at bit pos for the lanes that are nodes; returns those that still are. */
static inline SHUNT_FIB_TARGET_AVX512 __mmask8 step(const struct shunt_fib6 *fib, struct block *b,
						    unsigned pos, __mmask8 nodes)
{
	const __m512i low = _mm512_set1_epi64(0xffffffff);
	__m512i slot, index;

	slot = _mm512_srl_epi64(b->hi, _mm_cvtsi32_si128((int)(64 - STRIDE - pos)));
	slot = _mm512_and_si512(slot, _mm512_set1_epi64(SLOT_CNT - 1));
	slot = _mm512_xor_si512(slot, _mm512_set1_epi64(63));
	index = _mm512_popcnt_epi64(_mm512_srlv_epi64(b->word, slot));
	/* Done lanes load element 0, which is always cached. */
	index = _mm512_maskz_add_epi64(nodes, index, _mm512_and_si512(b->word, low));
	b->word = _mm512_mask_mov_epi64(b->word, nodes, load_words(fib->elems, index));
	return _mm512_cmpgt_epu64_mask(b->word, low);
}

/* Lanes that the steps did not finish. */
static void finish(const struct shunt_fib6 *fib, const uint64_t *words, const uint8_t (*dst)[16],
		   uint32_t *nh, __mmask8 nodes)
{
	struct rest rest;
	unsigned i;

	for (; nodes; nodes &= (__mmask8)(nodes - 1)) {
		i = (unsigned)__builtin_ctz(nodes);
		rest = rest_of(dst[i]);
		skip(&rest, STEP_END);
		nh[i] = descend(fib, words[i], rest);
	}
}

static inline SHUNT_FIB_TARGET_AVX512 void lookup_group(const struct shunt_fib6 *fib,
							const uint8_t (*dst)[16], uint32_t *nh)
{
	const __m512i low = _mm512_set1_epi64(0xffffffff);
	uint64_t words[LANES] __attribute__((aligned(64)));
	struct block blocks[BLOCKS];
	__mmask8 nodes[BLOCKS], any = 1;
	unsigned i, pos;

	for (i = 0; i < BLOCKS; i++) {
		start(fib, &blocks[i], dst + i * LANES);
		nodes[i] = _mm512_cmpgt_epu64_mask(blocks[i].word, low);
	}
	for (pos = ROOT_BITS; pos < STEP_END && any; pos += STRIDE)
		for (i = any = 0; i < BLOCKS; i++) {
			nodes[i] = step(fib, &blocks[i], pos, nodes[i]);
			any |= nodes[i];
		}
	for (i = 0; i < BLOCKS; i++) {
		_mm256_storeu_si256((__m256i *)(nh + i * LANES),
				    _mm256_and_si256(_mm512_cvtepi64_epi32(blocks[i].word),
						     _mm256_set1_epi32(LEAF_NH)));
		if (unlikely(nodes[i])) {
			_mm512_store_si512(words, blocks[i].word);
			finish(fib, words, dst + i * LANES, nh + i * LANES, nodes[i]);
		}
	}
}

SHUNT_FIB_TARGET_AVX512 void shunt_fib6_bulk_avx512(const struct shunt_fib6 *fib,
						    const uint8_t (*dst)[16], uint32_t *nh,
						    unsigned n)
{
	for (; n >= GROUP; n -= GROUP, dst += GROUP, nh += GROUP)
		lookup_group(fib, dst, nh);
	if (n)
		shunt_fib6_bulk_portable(fib, dst, nh, n);
}
#endif
