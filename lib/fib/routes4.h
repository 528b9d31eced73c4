/* SPDX-License-Identifier: BSD-2-Clause */
/* The IPv4 routes as they were given: an exact-match hash table of (prefix, length) to
 * next hop, 8 bytes an entry, open addressing. It answers what the lookup structure
 * cannot: is this route there, and which route shows again when this one is deleted.
 * Limits: one table, one writer, no concurrent readers; walks in no order.
 */
#ifndef SHUNT_FIB_ROUTES4_H
#define SHUNT_FIB_ROUTES4_H

#include "fib/arena.h"

struct shunt_routes4 {
	struct shunt_arena arena;
	struct shunt_arena_budget *budget;
	uint64_t *entries;
	unsigned bits; /* 1 << bits entries */
	uint32_t cnt;
	uint32_t len_cnts[33];
};

/* shunt_routes4_init makes an empty table. Returns 0 or -ENOMEM, *err filled.
 * shunt_routes4_fini frees it; legal on zeroed memory. Thread: control. */
int shunt_routes4_init(struct shunt_routes4 *routes, struct shunt_arena_budget *budget,
		       struct shunt_err *err);
void shunt_routes4_fini(struct shunt_routes4 *routes);

/* shunt_routes4_reserve makes room for one more route, so that the next put cannot fail.
 * Returns 0 or -ENOMEM. Thread: control. Cost: now and then a copy of the table. */
int shunt_routes4_reserve(struct shunt_routes4 *routes);

/* shunt_routes4_put adds or replaces; addr in host order without host bits, len 0..32, nh
 * below 1 << 24 and not 0. Room must have been reserved. Thread: control. */
void shunt_routes4_put(struct shunt_routes4 *routes, uint32_t addr, unsigned len, uint32_t nh);

/* shunt_routes4_get returns the next hop of exactly this route, or 0. Thread: control. */
uint32_t shunt_routes4_get(const struct shunt_routes4 *routes, uint32_t addr, unsigned len);

/* shunt_routes4_del removes a route that is there. Thread: control. */
void shunt_routes4_del(struct shunt_routes4 *routes, uint32_t addr, unsigned len);

/* shunt_routes4_covering returns the next hop of the longest route that covers addr and is
 * shorter than len, its length in *found_len; 0 and 0 if there is none.
 * Thread: control. Cost: a probe for each shorter length in use. */
uint32_t shunt_routes4_covering(const struct shunt_routes4 *routes, uint32_t addr, unsigned len,
				unsigned *found_len);

/* shunt_routes4_next steps through all routes: *pos starts at 0; returns 0 at the end, 1 with
 * the route in *addr, *len and *nh. Thread: control; no change in between. */
int shunt_routes4_next(const struct shunt_routes4 *routes, uint32_t *pos, uint32_t *addr,
		       unsigned *len, uint32_t *nh);

#endif
