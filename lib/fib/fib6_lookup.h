/* SPDX-License-Identifier: BSD-2-Clause */
/* What the variants of the IPv6 bulk lookup share. Private to lib/fib. */
#ifndef SHUNT_FIB_FIB6_LOOKUP_H
#define SHUNT_FIB_FIB6_LOOKUP_H

#include <endian.h>
#include <string.h>

#include "fib/fib6_table.h"

/* What is left of an address, its next bit the highest. */
struct rest {
	uint64_t hi, lo;
};

static inline uint64_t word_at(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline bool is_node(uint64_t word)
{
	return word >> 32;
}

static inline struct rest rest_of(const uint8_t dst[16])
{
	uint64_t part[2];

	memcpy(part, dst, sizeof(part));
	return (struct rest){be64toh(part[0]), be64toh(part[1])};
}

/* 0 < bits < 64. */
static inline void skip(struct rest *rest, unsigned bits)
{
	rest->hi = rest->hi << bits | rest->lo >> (64 - bits);
	rest->lo <<= bits;
}

/* Index of the element below node for the next bits of the address. */
static inline uint32_t next_index(uint64_t node, const struct rest *rest)
{
	unsigned shift = (unsigned)(~rest->hi >> (64 - STRIDE)) | 32;

	return (uint32_t)node + (uint32_t)__builtin_popcountll(node >> shift);
}

/* Down from word, of which rest are the next bits. */
static inline uint32_t descend(const struct shunt_fib6 *fib, uint64_t word, struct rest rest)
{
	for (; is_node(word); skip(&rest, STRIDE))
		word = word_at(&fib->elems[next_index(word, &rest)]);
	return (uint32_t)word & LEAF_NH;
}

/* shunt_fib6_bulk_portable and _avx512 are two forms of shunt_fib6_lookup_bulk; the second
 * exists and may be called only where fib/cpu.h says so. */
void shunt_fib6_bulk_portable(const struct shunt_fib6 *fib, const uint8_t (*dst)[16], uint32_t *nh,
			      unsigned n);
void shunt_fib6_bulk_avx512(const struct shunt_fib6 *fib, const uint8_t (*dst)[16], uint32_t *nh,
			    unsigned n);

#endif
