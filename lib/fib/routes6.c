// SPDX-License-Identifier: BSD-2-Clause
#include "fib/routes6.h"

#include <errno.h>
#include <string.h>

#define BITS_MIN 10
#define BITS_MAX 30

static shunt_key6 mask_of(unsigned len)
{
	return len ? ~(shunt_key6)0 << (128 - len) : 0;
}

static uint32_t home(const struct shunt_routes6 *routes, uint64_t hi, uint64_t lo, unsigned len)
{
	uint64_t h = (hi ^ len) * 0x9e3779b97f4a7c15ULL;

	h = (h ^ (h >> 32) ^ lo) * 0xbf58476d1ce4e5b9ULL;
	return (uint32_t)((h ^ (h << 31)) >> (64 - routes->bits));
}

static uint32_t find(const struct shunt_routes6 *routes, shunt_key6 addr, unsigned len)
{
	uint64_t hi = (uint64_t)(addr >> 64), lo = (uint64_t)addr;
	uint32_t mask = (1u << routes->bits) - 1, i = home(routes, hi, lo, len);
	const struct shunt_route6 *r;

	for (;; i = (i + 1) & mask) {
		r = &routes->entries[i];
		if (!r->nh || (r->hi == hi && r->lo == lo && r->len == len))
			return i;
	}
}

static int allocate(struct shunt_routes6 *routes, unsigned bits, struct shunt_err *err)
{
	int ret = shunt_arena_init_full(&routes->arena, sizeof(*routes->entries) << bits,
					routes->budget, "IPv6 routes", err);

	if (ret)
		return ret;
	routes->entries = (struct shunt_route6 *)routes->arena.base;
	routes->bits = bits;
	return 0;
}

int shunt_routes6_init(struct shunt_routes6 *routes, struct shunt_arena_budget *budget,
		       struct shunt_err *err)
{
	memset(routes, 0, sizeof(*routes));
	routes->budget = budget;
	return allocate(routes, BITS_MIN, err);
}

void shunt_routes6_fini(struct shunt_routes6 *routes)
{
	shunt_arena_fini(&routes->arena);
	memset(routes, 0, sizeof(*routes));
}

static shunt_key6 addr_of(const struct shunt_route6 *r)
{
	return (shunt_key6)r->hi << 64 | r->lo;
}

int shunt_routes6_reserve(struct shunt_routes6 *routes)
{
	struct shunt_routes6 old = *routes;
	const struct shunt_route6 *r;
	uint32_t i;
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
	for (i = 0; i < 1u << old.bits; i++) {
		r = &old.entries[i];
		if (r->nh)
			routes->entries[find(routes, addr_of(r), r->len)] = *r;
	}
	shunt_arena_fini(&old.arena);
	return 0;
}

void shunt_routes6_put(struct shunt_routes6 *routes, shunt_key6 addr, unsigned len, uint32_t nh)
{
	struct shunt_route6 *r = &routes->entries[find(routes, addr, len)];

	if (!r->nh) {
		routes->cnt++;
		routes->len_cnts[len]++;
	}
	*r = (struct shunt_route6){(uint64_t)(addr >> 64), (uint64_t)addr, nh, len};
}

uint32_t shunt_routes6_get(const struct shunt_routes6 *routes, shunt_key6 addr, unsigned len)
{
	return routes->entries[find(routes, addr, len)].nh;
}

/* Deletion without tombstones: entries that probed past the hole move back into it. */
void shunt_routes6_del(struct shunt_routes6 *routes, shunt_key6 addr, unsigned len)
{
	uint32_t mask = (1u << routes->bits) - 1, hole = find(routes, addr, len), i, h;
	const struct shunt_route6 *r;

	routes->cnt--;
	routes->len_cnts[len]--;
	for (i = (hole + 1) & mask; routes->entries[i].nh; i = (i + 1) & mask) {
		r = &routes->entries[i];
		h = home(routes, r->hi, r->lo, r->len);
		if (((i - h) & mask) < ((i - hole) & mask))
			continue;
		routes->entries[hole] = *r;
		hole = i;
	}
	routes->entries[hole].nh = 0;
}

uint32_t shunt_routes6_covering(const struct shunt_routes6 *routes, shunt_key6 addr, unsigned len,
				unsigned *found_len)
{
	uint32_t nh;

	while (len--) {
		if (!routes->len_cnts[len])
			continue;
		nh = shunt_routes6_get(routes, addr & mask_of(len), len);
		if (nh) {
			*found_len = len;
			return nh;
		}
	}
	*found_len = 0;
	return 0;
}

int shunt_routes6_next(const struct shunt_routes6 *routes, uint32_t *pos, shunt_key6 *addr,
		       unsigned *len, uint32_t *nh)
{
	const struct shunt_route6 *r;

	while (*pos < 1u << routes->bits) {
		r = &routes->entries[(*pos)++];
		if (!r->nh)
			continue;
		*addr = addr_of(r);
		*len = r->len;
		*nh = r->nh;
		return 1;
	}
	return 0;
}
