// SPDX-License-Identifier: BSD-2-Clause
/* The data side of the IPv6 table. Loads are relaxed: a word is published with release, and what
 * it points to is loaded from an address computed from the word, which orders the two on every
 * CPU that Linux runs on (rcu_dereference's rule). */
#include "fib/fib6_lookup.h"

#include "base/bytes.h"
#include "fib/cpu.h"

#define GROUP 32u /* addresses in flight */

uint32_t shunt_fib6_lookup(const struct shunt_fib6 *fib, const uint8_t dst[16])
{
	struct rest rest = rest_of(dst);
	uint64_t word = word_at(&fib->root[rest.hi >> (64 - ROOT_BITS)]);

	skip(&rest, ROOT_BITS);
	return descend(fib, word, rest);
}

/* The addresses still on their way down. */
struct walk {
	struct rest rest[GROUP];
	const uint64_t *at[GROUP]; /* asked for, not yet loaded */
	uint8_t left[GROUP];
};

/* Takes one step with the addresses that are left; returns how many are left then. An
 * address that is done is overwritten by the next one, without a branch. */
static inline unsigned step(const struct shunt_fib6 *fib, struct walk *w, uint32_t *nh, unsigned n)
{
	unsigned k, i, left = 0;
	uint64_t word;

	for (k = 0; k < n; k++) {
		i = w->left[k];
		word = word_at(w->at[i]);
		nh[i] = (uint32_t)word & LEAF_NH;
		/* A leaf leads nowhere: element 0, not a page that is not there. */
		w->at[i] = &fib->elems[is_node(word) ? next_index(word, &w->rest[i]) : 0];
		skip(&w->rest[i], STRIDE);
		__builtin_prefetch(w->at[i]);
		w->left[left] = (uint8_t)i;
		left += is_node(word);
	}
	return left;
}

static inline void lookup_group(const struct shunt_fib6 *fib, const uint8_t (*dst)[16],
				uint32_t *nh, unsigned n)
{
	struct walk w;
	unsigned i;

	for (i = 0; i < n; i++) {
		w.rest[i] = rest_of(dst[i]);
		w.at[i] = &fib->root[w.rest[i].hi >> (64 - ROOT_BITS)];
		__builtin_prefetch(w.at[i]);
		skip(&w.rest[i], ROOT_BITS);
		w.left[i] = (uint8_t)i;
	}
	while (n)
		n = step(fib, &w, nh, n);
}

void shunt_fib6_bulk_portable(const struct shunt_fib6 *fib, const uint8_t (*dst)[16], uint32_t *nh,
			      unsigned n)
{
	for (; n >= GROUP; n -= GROUP, dst += GROUP, nh += GROUP)
		lookup_group(fib, dst, nh, GROUP);
	if (n)
		lookup_group(fib, dst, nh, n);
}

void shunt_fib6_bulk_choose(struct shunt_fib6 *fib)
{
	fib->bulk = shunt_fib6_bulk_portable;
#ifdef SHUNT_FIB_AVX512
	if (shunt_fib_cpu_has_avx512())
		fib->bulk = shunt_fib6_bulk_avx512;
#endif
}

void shunt_fib6_lookup_bulk(const struct shunt_fib6 *fib, const uint8_t (*dst)[16], uint32_t *nh,
			    unsigned n)
{
	fib->bulk(fib, dst, nh, n);
}
