/* SPDX-License-Identifier: BSD-2-Clause */
/* The mirrored routes: for each prefix the chain of all its routes, the one that counts first,
 * in the order in which the kernel tries them: table local before main, then TOS, then metric,
 * then as they came. When the first is withdrawn, the next takes over.
 *
 * A route takes 20 bytes (IPv4) or 32 (IPv6), a prefix 10 to 21 more for its hash slots.
 * At 1,000,000 IPv4 prefixes that is 37 bytes each.
 */
#ifndef SHUNT_MIRROR_ROUTE_H
#define SHUNT_MIRROR_ROUTE_H

#include <assert.h>

#include "mirror/path.h"

/* In live. */
#define SHUNT_MIRROR_ROUTE_LOCAL 2 /* of table local, else main */
#define SHUNT_MIRROR_ROUTE_FIRST 4 /* the first of its prefix */

struct shunt_mirror_route {
	uint32_t next; /* the next best to the same prefix; 0: none */
	uint8_t live;  /* 1, and SHUNT_MIRROR_ROUTE_* */
	uint8_t seen;
	uint8_t len; /* of the prefix */
	uint8_t tos; /* IPv4 */
	uint32_t metric;
	uint32_t path;
	uint8_t dst[]; /* 4 or 16 bytes */
};

#define SHUNT_MIRROR_ROUTE4_BYTES (sizeof(struct shunt_mirror_route) + 4)
#define SHUNT_MIRROR_ROUTE6_BYTES (sizeof(struct shunt_mirror_route) + 16)
static_assert(offsetof(struct shunt_mirror_route, next) == offsetof(struct shunt_mirror_obj, next),
	      "a route begins as an object does");
static_assert(offsetof(struct shunt_mirror_route, live) == offsetof(struct shunt_mirror_obj, live),
	      "a route begins as an object does");
static_assert(offsetof(struct shunt_mirror_route, seen) == offsetof(struct shunt_mirror_obj, seen),
	      "a route begins as an object does");

/* A route as a message tells of it. */
struct shunt_mirror_route_info {
	enum shunt_mirror_ip ip;
	bool is_local; /* table local, else main or that of a space */
	uint8_t space;
	uint32_t table; /* the kernel's number of it */
	uint8_t len;
	uint8_t tos;
	uint32_t metric;
	uint8_t dst[16];
	struct shunt_mirror_path_key path;
	struct shunt_mirror_hop hops[SHUNT_MIRROR_HOPS_MAX];
};

/* How it came. */
enum shunt_mirror_how {
	SHUNT_MIRROR_HOW_ADD,	  /* before those of the same metric */
	SHUNT_MIRROR_HOW_APPEND,  /* behind them */
	SHUNT_MIRROR_HOW_REPLACE, /* in the place of the first of them */
	SHUNT_MIRROR_HOW_DUMP,	  /* as the kernel lists it */
};

static inline struct shunt_mirror_route *shunt_mirror_route_at(
	const struct shunt_mirror_table *table, unsigned rib, uint32_t idx)
{
	return shunt_mirror_store_at(&table->routes[rib], idx);
}

/* shunt_mirror_route_put takes the route over. Returns 1 for a change, 0 for none, -ENOMEM
 * (the table is as before). */
int shunt_mirror_route_put(struct shunt_mirror_table *table,
			   const struct shunt_mirror_route_info *info, enum shunt_mirror_how how);

/* shunt_mirror_route_del removes the route; of an IPv6 multipath route the next hops named.
 * Returns 1, or 0 if there was none such (counted in unmatched_deletes). */
int shunt_mirror_route_del(struct shunt_mirror_table *table,
			   const struct shunt_mirror_route_info *info);

/* shunt_mirror_route_remove removes a route by its number. */
void shunt_mirror_route_remove(struct shunt_mirror_table *table, unsigned rib, uint32_t idx);

/* shunt_mirror_route_first returns the first route to exactly this prefix, or 0. dst has no
 * host bits. */
uint32_t shunt_mirror_route_first(const struct shunt_mirror_table *table, unsigned rib,
				  const uint8_t *dst, unsigned len);

/* What to sweep: routes of one table, or those that use a device. */
struct shunt_mirror_route_sweep {
	unsigned rib;
	bool is_local;
	uint32_t ifindex; /* 0: any */
	uint32_t pos;	  /* where it stands; 0 to begin */
};

/* shunt_mirror_route_sweep removes routes that do not carry the mark, looking at up to budget
 * of them. Returns true when it is through; *removed grows by what it removed. */
bool shunt_mirror_route_sweep(struct shunt_mirror_table *table,
			      struct shunt_mirror_route_sweep *sweep, uint32_t budget,
			      uint64_t *removed);

#endif
