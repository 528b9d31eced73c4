/* SPDX-License-Identifier: BSD-2-Clause */
/* The IPv4 table's layout, shared by its control side (fib4.c) and data side
 * (fib4_lookup.c). Private to them.
 *
 * Word, 64 bits: if the upper half is 0, the lower half is the leaf of all 32 slots.
 * Otherwise bit 63 - i says that a new run begins at slot i (bit 63 is always set), and
 * leaves[lower half + (set bits for slots 0..i)] is slot i's leaf. The bitmap is at the top and
 * mirrored so that one shift and one population count give the rank.
 *
 * Leaf, 32 bits: bit 31 clear: length of the route << 24 | next hop, 0 for none. Bit 31 set: the
 * /24 has a tail, 8 words of 32 addresses at tails[(leaf & 0xffffff) * 8].
 */
#ifndef SHUNT_FIB_FIB4_TABLE_H
#define SHUNT_FIB_FIB4_TABLE_H

#include "fib/fib4.h"
#include "fib/routes.h"
#include "fib/runs.h"

#define SLOT_CNT   32u
#define ROOT_CNT   (1u << 19)
#define ROOT_BYTES (ROOT_CNT * sizeof(uint64_t))
#define ROOT_SHIFT 13
#define TAIL_WORDS 8u
#define LEAF_TAIL  (1u << 31)
#define LEAF_INDEX 0xffffffu
#define LEN_SHIFT  24

struct shunt_fib4 {
	/* Lookups: constant from create to destroy. */
	const uint64_t *root;
	const uint32_t *leaves;
	const uint64_t *tails;
	void (*bulk)(const struct shunt_fib4 *fib, const uint32_t *dst_be, uint32_t *nh,
		     unsigned n);
	/* Control. */
	uint64_t *root_words; /* root */
	struct shunt_routes routes;
	struct shunt_fib4 *main; /* itself, or the table of space 0, which has what follows */
	struct shunt_fib4 *spaces[SHUNT_TABLES_SPACES];
	struct shunt_arena root_arena; /* root after root */
	struct shunt_runs leaf_runs;
	struct shunt_runs tail_runs;
	struct shunt_arena_budget budget;
};

/* shunt_fib4_bulk_choose sets fib->bulk to the fastest variant for this CPU. */
void shunt_fib4_bulk_choose(struct shunt_fib4 *fib);

#endif
