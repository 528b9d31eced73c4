// SPDX-License-Identifier: BSD-2-Clause
#include "fib/routes4.h"

#include <errno.h>
#include <string.h>

/* An entry is used(1) | addr(32) | len(7) | nh(24); all but nh is the tag. 0 is empty. */
#define NH_BITS	 24
#define NH_MASK	 ((1u << NH_BITS) - 1)
#define BITS_MIN 12
#define BITS_MAX 30

static uint64_t tag_of(uint32_t addr, unsigned len)
{
	return 1ULL << 39 | (uint64_t)addr << 7 | len;
}

static uint32_t mask_of(unsigned len)
{
	return len ? ~0u << (32 - len) : 0;
}

static uint32_t home(const struct shunt_routes4 *routes, uint64_t tag)
{
	return (uint32_t)((tag * 0x9e3779b97f4a7c15ULL) >> (64 - routes->bits));
}

static uint32_t find(const struct shunt_routes4 *routes, uint64_t tag)
{
	uint32_t mask = (1u << routes->bits) - 1, i = home(routes, tag);

	while (routes->entries[i] && routes->entries[i] >> NH_BITS != tag)
		i = (i + 1) & mask;
	return i;
}

static int allocate(struct shunt_routes4 *routes, unsigned bits, struct shunt_err *err)
{
	int ret = shunt_arena_init_full(&routes->arena, sizeof(*routes->entries) << bits,
					routes->budget, "IPv4 routes", err);

	if (ret)
		return ret;
	routes->entries = (uint64_t *)routes->arena.base;
	routes->bits = bits;
	return 0;
}

int shunt_routes4_init(struct shunt_routes4 *routes, struct shunt_arena_budget *budget,
		       struct shunt_err *err)
{
	memset(routes, 0, sizeof(*routes));
	routes->budget = budget;
	return allocate(routes, BITS_MIN, err);
}

void shunt_routes4_fini(struct shunt_routes4 *routes)
{
	shunt_arena_fini(&routes->arena);
	memset(routes, 0, sizeof(*routes));
}

int shunt_routes4_reserve(struct shunt_routes4 *routes)
{
	struct shunt_routes4 old = *routes;
	uint64_t e;
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
		e = old.entries[i];
		if (e)
			routes->entries[find(routes, e >> NH_BITS)] = e;
	}
	shunt_arena_fini(&old.arena);
	return 0;
}

void shunt_routes4_put(struct shunt_routes4 *routes, uint32_t addr, unsigned len, uint32_t nh)
{
	uint64_t tag = tag_of(addr, len);
	uint32_t i = find(routes, tag);

	if (!routes->entries[i]) {
		routes->cnt++;
		routes->len_cnts[len]++;
	}
	routes->entries[i] = tag << NH_BITS | nh;
}

uint32_t shunt_routes4_get(const struct shunt_routes4 *routes, uint32_t addr, unsigned len)
{
	return routes->entries[find(routes, tag_of(addr, len))] & NH_MASK;
}

/* Deletion without tombstones: entries that probed past the hole move back into it. */
void shunt_routes4_del(struct shunt_routes4 *routes, uint32_t addr, unsigned len)
{
	uint32_t mask = (1u << routes->bits) - 1, hole = find(routes, tag_of(addr, len)), i, h;

	routes->cnt--;
	routes->len_cnts[len]--;
	for (i = (hole + 1) & mask; routes->entries[i]; i = (i + 1) & mask) {
		h = home(routes, routes->entries[i] >> NH_BITS);
		if (((i - h) & mask) < ((i - hole) & mask))
			continue;
		routes->entries[hole] = routes->entries[i];
		hole = i;
	}
	routes->entries[hole] = 0;
}

uint32_t shunt_routes4_covering(const struct shunt_routes4 *routes, uint32_t addr, unsigned len,
				unsigned *found_len)
{
	uint32_t nh;

	while (len--) {
		if (!routes->len_cnts[len])
			continue;
		nh = shunt_routes4_get(routes, addr & mask_of(len), len);
		if (nh) {
			*found_len = len;
			return nh;
		}
	}
	*found_len = 0;
	return 0;
}

int shunt_routes4_next(const struct shunt_routes4 *routes, uint32_t *pos, uint32_t *addr,
		       unsigned *len, uint32_t *nh)
{
	uint64_t e;

	while (*pos < 1u << routes->bits) {
		e = routes->entries[(*pos)++];
		if (!e)
			continue;
		*addr = (uint32_t)(e >> (NH_BITS + 7));
		*len = (unsigned)(e >> NH_BITS) & 0x7f;
		*nh = (uint32_t)e & NH_MASK;
		return 1;
	}
	return 0;
}
