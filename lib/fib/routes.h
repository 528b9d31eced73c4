/* SPDX-License-Identifier: BSD-2-Clause */
/* The routes of a family as they were given: an exact-match hash table of (prefix, length) to
 * next hop, open addressing, 8 bytes an entry for IPv4 and 24 for IPv6. It answers what the lookup
 * structure cannot: is this route there, and which route shows again when this one is deleted.
 * Limits: one table, one writer, no concurrent readers; walks in no order.
 */
#ifndef SHUNT_FIB_ROUTES_H
#define SHUNT_FIB_ROUTES_H

#include <stdbool.h>

#include "fib/arena.h"

/* An address as a number: its first bit is the highest. An IPv4 address is the first 32 bits, the
 * others are 0. */
typedef unsigned __int128 shunt_key;

struct shunt_route {
	shunt_key addr;
	uint32_t nh; /* 0: none */
	uint32_t len;
};

struct shunt_routes {
	struct shunt_arena arena;
	struct shunt_arena_budget *budget;
	bool is_ip6;
	unsigned bits; /* 1 << bits entries */
	uint32_t cnt;
	uint32_t len_cnts[129];
};

/* shunt_routes_init makes an empty table. Returns 0 or -ENOMEM, *err filled.
 * shunt_routes_fini frees it; legal on zeroed memory. Thread: the writer. */
int shunt_routes_init(struct shunt_routes *routes, bool is_ip6, struct shunt_arena_budget *budget,
		      struct shunt_err *err);
void shunt_routes_fini(struct shunt_routes *routes);

/* shunt_routes_bytes returns the bytes of its entries, the empty ones too. Thread: the writer. */
size_t shunt_routes_bytes(const struct shunt_routes *routes);

/* shunt_routes_reserve makes room for one more route, so that the next put cannot fail.
 * Returns 0 or -ENOMEM. Thread: the writer. Cost: now and then a copy of the table. */
int shunt_routes_reserve(struct shunt_routes *routes);

/* shunt_routes_put adds or replaces; addr without host bits, len 0..32 or 0..128, nh
 * below 1 << 24 and not 0. Room must have been reserved. Thread: the writer. */
void shunt_routes_put(struct shunt_routes *routes, shunt_key addr, unsigned len, uint32_t nh);

/* shunt_routes_get returns the next hop of exactly this route, or 0. Thread: the writer. */
uint32_t shunt_routes_get(const struct shunt_routes *routes, shunt_key addr, unsigned len);

/* shunt_routes_del removes a route that is there. Thread: the writer. */
void shunt_routes_del(struct shunt_routes *routes, shunt_key addr, unsigned len);

/* shunt_routes_covering returns the next hop of the longest route that covers addr and is
 * shorter than len, its length in *found_len; 0 and 0 if there is none.
 * Thread: the writer. Cost: a probe for each shorter length in use. */
uint32_t shunt_routes_covering(const struct shunt_routes *routes, shunt_key addr, unsigned len,
			       unsigned *found_len);

/* shunt_routes_next steps through all routes: *pos starts at 0. Returns false at the end, else
 * true with the route in *out. Thread: the writer; no change in between. */
bool shunt_routes_next(const struct shunt_routes *routes, uint32_t *pos, struct shunt_route *out);

#endif
