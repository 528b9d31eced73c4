/* SPDX-License-Identifier: BSD-2-Clause */
/* The slow and obvious longest prefix match that the FIB tests compare with: an array of
 * routes, searched from end to end. Keys are 128 bits, an IPv4 address in the top 32. */
#ifndef SHUNT_TESTS_FIB_ORACLE_H
#define SHUNT_TESTS_FIB_ORACLE_H

#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"

typedef unsigned __int128 naive_key;

struct naive_route {
	naive_key key;
	uint32_t nh;
	unsigned len;
};

#define NAIVE_MAX 4096

struct naive_fib {
	struct naive_route routes[NAIVE_MAX];
	unsigned cnt;
};

static inline naive_key naive_mask(unsigned len)
{
	return len ? ~(naive_key)0 << (128 - len) : 0;
}

static inline struct naive_route *naive_find(struct naive_fib *fib, naive_key key, unsigned len)
{
	unsigned i;

	for (i = 0; i < fib->cnt; i++)
		if (fib->routes[i].len == len && fib->routes[i].key == key)
			return &fib->routes[i];
	return NULL;
}

static inline void naive_add(struct naive_fib *fib, naive_key key, unsigned len, uint32_t nh)
{
	struct naive_route *r = naive_find(fib, key, len);

	if (!r)
		r = &fib->routes[fib->cnt++];
	*r = (struct naive_route){key, nh, len};
}

static inline void naive_del(struct naive_fib *fib, naive_key key, unsigned len)
{
	*naive_find(fib, key, len) = fib->routes[fib->cnt - 1];
	fib->cnt--;
}

static inline uint32_t naive_lookup(const struct naive_fib *fib, naive_key key)
{
	const struct naive_route *best = NULL, *r;

	for (r = fib->routes; r < fib->routes + fib->cnt; r++)
		if (!((r->key ^ key) & naive_mask(r->len)) && (!best || r->len > best->len))
			best = r;
	return best ? best->nh : 0;
}

/* SHUNT_SEED in the environment, or one that differs from run to run. */
static inline uint64_t naive_seed(void)
{
	const char *text = getenv("SHUNT_SEED");

	return text ? strtoull(text, NULL, 0) : shunt_clock_cycles();
}

#endif
