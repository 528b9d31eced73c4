// SPDX-License-Identifier: BSD-2-Clause
#include "fib/routes.h"

#include <errno.h>
#include <string.h>

/* An entry of IPv4: addr(32) | len(8) | nh(24). nh is never 0 but in an empty one. */
#define NH_BITS	  24
#define BITS_MIN4 12
#define BITS_MIN6 10
#define BITS_MAX  30

struct entry6 {
	uint64_t hi, lo;
	uint32_t nh;
	uint32_t len;
};

/* is_ip6 is a constant in each caller: a table of one family is not asked which for each entry. */
#define FAMILY static inline __attribute__((always_inline))

FAMILY struct shunt_route load(const struct shunt_routes *routes, uint32_t i, const bool is_ip6)
{
	const struct entry6 *e6 = (const struct entry6 *)routes->arena.base + i;
	uint64_t e4;

	if (is_ip6)
		return (struct shunt_route){(shunt_key)e6->hi << 64 | e6->lo, e6->nh, e6->len};
	e4 = ((const uint64_t *)routes->arena.base)[i];
	return (struct shunt_route){(shunt_key)(e4 >> 32) << 96, e4 & ((1u << NH_BITS) - 1),
				    e4 >> NH_BITS & 0xff};
}

FAMILY void store(struct shunt_routes *routes, uint32_t i, const struct shunt_route *r,
		  const bool is_ip6)
{
	const uint64_t hi = (uint64_t)(r->addr >> 64), lo = (uint64_t)r->addr;

	if (is_ip6)
		((struct entry6 *)routes->arena.base)[i] = (struct entry6){hi, lo, r->nh, r->len};
	else
		((uint64_t *)routes->arena.base)[i] = hi | r->len << NH_BITS | r->nh;
}

FAMILY shunt_key mask_of(unsigned len, const bool is_ip6)
{
	if (!len)
		return 0;
	return is_ip6 ? ~(shunt_key)0 << (128 - len) : (shunt_key)(~0u << (32 - len)) << 96;
}

/* What an entry of IPv4 is without its next hop. */
static uint64_t tag4(shunt_key addr, unsigned len)
{
	return (uint64_t)(addr >> 96) << 8 | len;
}

FAMILY uint32_t home(const struct shunt_routes *routes, shunt_key addr, unsigned len,
		     const bool is_ip6)
{
	const unsigned shift = 64 - routes->bits;
	uint64_t h;

	if (!is_ip6)
		return (uint32_t)((tag4(addr, len) * 0x9e3779b97f4a7c15ULL) >> shift);
	h = ((uint64_t)(addr >> 64) ^ len) * 0x9e3779b97f4a7c15ULL;
	h = (h ^ (h >> 32) ^ (uint64_t)addr) * 0xbf58476d1ce4e5b9ULL;
	return (uint32_t)((h ^ (h << 31)) >> shift);
}

/* Whether an entry is this route's, or nobody's. */
FAMILY bool ends_at(const struct shunt_routes *routes, uint32_t i, shunt_key addr, unsigned len,
		    const bool is_ip6)
{
	const struct shunt_route r = load(routes, i, is_ip6);
	uint64_t e4;

	if (is_ip6)
		return !r.nh || (r.addr == addr && r.len == len);
	e4 = ((const uint64_t *)routes->arena.base)[i];
	return !e4 || e4 >> NH_BITS == tag4(addr, len);
}

/* The entry of this route, or the empty one that it would take. */
FAMILY uint32_t find(const struct shunt_routes *routes, shunt_key addr, unsigned len,
		     const bool is_ip6)
{
	const uint32_t mask = (1u << routes->bits) - 1;
	uint32_t i = home(routes, addr, len, is_ip6);

	while (!ends_at(routes, i, addr, len, is_ip6))
		i = (i + 1) & mask;
	return i;
}

static int allocate(struct shunt_routes *routes, unsigned bits, struct shunt_err *err)
{
	routes->bits = bits;
	return shunt_arena_init_full(&routes->arena, shunt_routes_bytes(routes), routes->budget,
				     routes->is_ip6 ? "IPv6 routes" : "IPv4 routes", err);
}

int shunt_routes_init(struct shunt_routes *routes, bool is_ip6, struct shunt_arena_budget *budget,
		      struct shunt_err *err)
{
	memset(routes, 0, sizeof(*routes));
	routes->is_ip6 = is_ip6;
	routes->budget = budget;
	return allocate(routes, is_ip6 ? BITS_MIN6 : BITS_MIN4, err);
}

void shunt_routes_fini(struct shunt_routes *routes)
{
	shunt_arena_fini(&routes->arena);
	memset(routes, 0, sizeof(*routes));
}

size_t shunt_routes_bytes(const struct shunt_routes *routes)
{
	return (routes->is_ip6 ? sizeof(struct entry6) : sizeof(uint64_t)) << routes->bits;
}

FAMILY void copy(struct shunt_routes *to, const struct shunt_routes *from, const bool is_ip6)
{
	struct shunt_route r;
	uint32_t pos = 0;

	while (shunt_routes_next(from, &pos, &r))
		store(to, find(to, r.addr, r.len, is_ip6), &r, is_ip6);
}

int shunt_routes_reserve(struct shunt_routes *routes)
{
	struct shunt_routes old = *routes;
	int ret;

	if (routes->cnt + 1 <= (3u << routes->bits) / 4)
		return 0;
	if (routes->bits == BITS_MAX)
		return -ENOMEM;
	ret = allocate(routes, old.bits + 1, NULL);
	if (ret) {
		*routes = old;
		return ret;
	}
	if (routes->is_ip6)
		copy(routes, &old, true);
	else
		copy(routes, &old, false);
	shunt_arena_fini(&old.arena);
	return 0;
}

FAMILY void put(struct shunt_routes *routes, const struct shunt_route *r, const bool is_ip6)
{
	const uint32_t i = find(routes, r->addr, r->len, is_ip6);

	if (!load(routes, i, is_ip6).nh) {
		routes->cnt++;
		routes->len_cnts[r->len]++;
	}
	store(routes, i, r, is_ip6);
}

void shunt_routes_put(struct shunt_routes *routes, shunt_key addr, unsigned len, uint32_t nh)
{
	const struct shunt_route r = {addr, nh, len};

	if (routes->is_ip6)
		put(routes, &r, true);
	else
		put(routes, &r, false);
}

FAMILY uint32_t get(const struct shunt_routes *routes, shunt_key addr, unsigned len,
		    const bool is_ip6)
{
	return load(routes, find(routes, addr, len, is_ip6), is_ip6).nh;
}

uint32_t shunt_routes_get(const struct shunt_routes *routes, shunt_key addr, unsigned len)
{
	return routes->is_ip6 ? get(routes, addr, len, true) : get(routes, addr, len, false);
}

/* Deletion without tombstones: entries that probed past the hole move back into it. */
FAMILY void del(struct shunt_routes *routes, shunt_key addr, unsigned len, const bool is_ip6)
{
	uint32_t mask = (1u << routes->bits) - 1, hole = find(routes, addr, len, is_ip6), i;
	static const struct shunt_route none;
	struct shunt_route r;

	routes->cnt--;
	routes->len_cnts[len]--;
	for (i = (hole + 1) & mask; (r = load(routes, i, is_ip6)).nh; i = (i + 1) & mask) {
		if (((i - home(routes, r.addr, r.len, is_ip6)) & mask) < ((i - hole) & mask))
			continue;
		store(routes, hole, &r, is_ip6);
		hole = i;
	}
	store(routes, hole, &none, is_ip6);
}

void shunt_routes_del(struct shunt_routes *routes, shunt_key addr, unsigned len)
{
	if (routes->is_ip6)
		del(routes, addr, len, true);
	else
		del(routes, addr, len, false);
}

FAMILY uint32_t covering(const struct shunt_routes *routes, shunt_key addr, unsigned len,
			 unsigned *found_len, const bool is_ip6)
{
	uint32_t nh;

	while (len--) {
		if (!routes->len_cnts[len])
			continue;
		nh = get(routes, addr & mask_of(len, is_ip6), len, is_ip6);
		if (nh) {
			*found_len = len;
			return nh;
		}
	}
	*found_len = 0;
	return 0;
}

uint32_t shunt_routes_covering(const struct shunt_routes *routes, shunt_key addr, unsigned len,
			       unsigned *found_len)
{
	return routes->is_ip6 ? covering(routes, addr, len, found_len, true)
			      : covering(routes, addr, len, found_len, false);
}

bool shunt_routes_next(const struct shunt_routes *routes, uint32_t *pos, struct shunt_route *out)
{
	while (*pos < 1u << routes->bits) {
		*out = routes->is_ip6 ? load(routes, (*pos)++, true)
				      : load(routes, (*pos)++, false);
		if (out->nh)
			return true;
	}
	return false;
}
