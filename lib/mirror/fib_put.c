// SPDX-License-Identifier: BSD-2-Clause
/* Routes into the FIB and out of it; each one counted where that is asked for. */
#include "mirror/fib.h"

#include <errno.h>

/* --- the FIB of either family --------------------------------------------------------------- */

static uint32_t be32(const uint8_t *addr)
{
	uint32_t word;

	memcpy(&word, addr, 4);
	return word;
}

static struct shunt_fib4 *fib4_of(const struct shunt_mirror_fib *fib, unsigned rib)
{
	return shunt_fib4_space(fib->fib4, shunt_mirror_space_of(rib));
}

static struct shunt_fib6 *fib6_of(const struct shunt_mirror_fib *fib, unsigned rib)
{
	return shunt_fib6_space(fib->fib6, shunt_mirror_space_of(rib));
}

/* False of a space for which there was no memory. */
static bool has_room(const struct shunt_mirror_fib *fib, unsigned rib)
{
	return fib4_of(fib, rib) && fib6_of(fib, rib);
}

static uint32_t fib_get(const struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			unsigned len)
{
	if (!has_room(fib, rib))
		return 0;
	if (shunt_mirror_ip_of(rib) == SHUNT_MIRROR_IP4)
		return shunt_fib4_get(fib4_of(fib, rib), be32(dst), len);
	return shunt_fib6_get(fib6_of(fib, rib), dst, len);
}

static int fib_add(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst, unsigned len,
		   uint32_t nh)
{
	fib->updates++;
	if (!has_room(fib, rib))
		return -ENOMEM;
	if (shunt_mirror_ip_of(rib) == SHUNT_MIRROR_IP4)
		return shunt_fib4_add(fib4_of(fib, rib), be32(dst), len, nh, NULL);
	return shunt_fib6_add(fib6_of(fib, rib), dst, len, nh, NULL);
}

static int fib_del(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst, unsigned len)
{
	fib->updates++;
	if (shunt_mirror_ip_of(rib) == SHUNT_MIRROR_IP4)
		return shunt_fib4_del(fib4_of(fib, rib), be32(dst), len, NULL);
	return shunt_fib6_del(fib6_of(fib, rib), dst, len, NULL);
}

/* --- counted routes ------------------------------------------------------------------------- */

/* Next hops, and numbers to count by, that routes leave to neighbours and groups. */
#define LEFT_TO_OTHERS (1u << 16)

static bool may_count(const struct shunt_mirror_fib *fib)
{
	const struct shunt_counts *counts = fib->targets.adjs.counts;
	const uint32_t max = counts ? SHUNT_MIN(SHUNT_NEXTHOP_MAX, counts->max) : 0;

	return max > LEFT_TO_OTHERS && fib->targets.adjs.nexthops->cnt < max - LEFT_TO_OTHERS;
}

/* A route that is counted has an alias of its next hop, whose index it is counted by. One that
 * finds no room is not. */
static uint32_t alias_of(struct shunt_mirror_fib *fib, uint32_t nh)
{
	struct shunt_nexthops *nexthops = fib->targets.adjs.nexthops;
	uint32_t alias;

	if (!may_count(fib) || shunt_nexthop_alias_add(nexthops, nh, &alias, NULL))
		return nh;
	if (shunt_counts_begin(fib->targets.adjs.counts, alias))
		return alias;
	shunt_nexthop_put(nexthops, alias);
	return nh;
}

int shunt_mirror_fib_add(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			 unsigned len, uint32_t want)
{
	const uint32_t nh = alias_of(fib, want);
	const int ret = fib_add(fib, rib, dst, len, nh);

	if (ret && nh != want)
		shunt_nexthop_put(fib->targets.adjs.nexthops, nh);
	return ret;
}

int shunt_mirror_fib_drop(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			  unsigned len)
{
	const uint32_t have = fib_get(fib, rib, dst, len);
	const int ret = have ? fib_del(fib, rib, dst, len) : 0;

	if (have && !ret && shunt_nexthop_target(fib->targets.adjs.nexthops, have) != have)
		shunt_nexthop_put(fib->targets.adjs.nexthops, have);
	return ret;
}

/* have: its next hop now, which is not want. An alias is led to another, and goes on counting. */
static int change(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst, unsigned len,
		  uint32_t have, uint32_t want)
{
	struct shunt_nexthops *nexthops = fib->targets.adjs.nexthops;
	const uint32_t target = shunt_nexthop_target(nexthops, have);

	if (target == want)
		return 0;
	if (target == have)
		return shunt_mirror_fib_add(fib, rib, dst, len, want);
	fib->updates++;
	return shunt_nexthop_alias_set(nexthops, have, want, NULL);
}

int shunt_mirror_fib_put(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			 unsigned len, uint32_t want)
{
	const uint32_t have = fib_get(fib, rib, dst, len);

	if (want == have)
		return 0;
	if (!want)
		return shunt_mirror_fib_drop(fib, rib, dst, len);
	return have ? change(fib, rib, dst, len, have, want)
		    : shunt_mirror_fib_add(fib, rib, dst, len, want);
}
