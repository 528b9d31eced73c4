/* SPDX-License-Identifier: BSD-2-Clause */
/* The IPv6 table's layout, shared by its control side (fib6.c) and data side
 * (fib6_lookup.c). Private to them.
 *
 * Word, 64 bits: if the upper half is 0, the word is a leaf, good for all that lies below: length
 * of the route << 24 | next hop, 0 for none. Otherwise it is a node: bit 63 - i says that a new
 * run begins at slot i (bit 63 is always set), and elems[lower half + (set bits for slots 0..i)]
 * is the word of slot i, 5 bits further down. The bitmap is at the top and mirrored so that one
 * shift and one population count give the rank.
 */
#ifndef SHUNT_FIB_FIB6_TABLE_H
#define SHUNT_FIB_FIB6_TABLE_H

#include "fib/fib6.h"
#include "fib/routes.h"
#include "fib/runs.h"

#define SLOT_CNT   32u
#define STRIDE	   5u
#define ROOT_BITS  18u /* 18 + 22 * 5 = 128 */
#define ROOT_CNT   (1u << ROOT_BITS)
#define ROOT_BYTES (ROOT_CNT * sizeof(uint64_t))
#define LEAF_NH	   0xffffffu
#define LEN_SHIFT  24

struct shunt_fib6 {
	/* Lookups: constant from create to destroy. */
	const uint64_t *root;
	const uint64_t *elems;
	void (*bulk)(const struct shunt_fib6 *fib, const uint8_t (*dst)[16], uint32_t *nh,
		     unsigned n);
	/* Control. */
	uint64_t *root_words; /* root */
	struct shunt_routes routes;
	struct shunt_fib6 *main; /* itself, or the table of space 0, which has what follows */
	struct shunt_fib6 *spaces[SHUNT_TABLES_SPACES];
	struct shunt_arena root_arena; /* root after root */
	struct shunt_runs runs;
	struct shunt_arena_budget budget;
};

/* shunt_fib6_bulk_choose sets fib->bulk to the fastest variant for this CPU. */
void shunt_fib6_bulk_choose(struct shunt_fib6 *fib);

#endif
