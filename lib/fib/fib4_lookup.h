/* SPDX-License-Identifier: BSD-2-Clause */
/* What the variants of the IPv4 bulk lookup share. Private to lib/fib. */
#ifndef SHUNT_FIB_FIB4_LOOKUP_H
#define SHUNT_FIB_FIB4_LOOKUP_H

#include "fib/fib4_table.h"

static inline uint64_t word_at(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline uint32_t leaf_at(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* shunt_fib4_finish_tails replaces those of nh[0..n-1] that are leaves with a tail by the leaf
 * for the whole address. */
void shunt_fib4_finish_tails(const struct shunt_fib4 *fib, const uint32_t *dst_be, uint32_t *nh,
			     unsigned n);

/* shunt_fib4_bulk_portable and _avx512 are two forms of shunt_fib4_lookup_bulk; the second
 * exists and may be called only where fib/cpu.h says so. */
void shunt_fib4_bulk_portable(const struct shunt_fib4 *fib, const uint32_t *dst_be, uint32_t *nh,
			      unsigned n);
void shunt_fib4_bulk_avx512(const struct shunt_fib4 *fib, const uint32_t *dst_be, uint32_t *nh,
			    unsigned n);

#endif
