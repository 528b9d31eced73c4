/* SPDX-License-Identifier: BSD-2-Clause */
/* This host's IPv4 addresses, to find forged sources: the kernel refuses a packet from outside
 * whose source is one of them (a martian). One bit of a 2048-bit filter excludes nearly every
 * source; a sorted list decides the others. Immutable: a change is a new list, published by
 * liburcu. */
#ifndef SHUNT_GRAPH_LOCAL4_H
#define SHUNT_GRAPH_LOCAL4_H

#include <stdbool.h>
#include <stdint.h>
#include <urcu-qsbr.h>

#include "base/bytes.h"

#define SHUNT_LOCAL4_WORDS 32

struct shunt_local4 {
	uint64_t filter[SHUNT_LOCAL4_WORDS];
	struct rcu_head rcu; /* shunt_local4_retire's */
	uint32_t cnt;
	uint32_t addr_be[]; /* sorted */
};

/* shunt_local4_create copies cnt addresses in network order. Returns NULL without memory.
 * Free it with free() before it is published. Thread: control. */
struct shunt_local4 *shunt_local4_create(const uint32_t *addr_be, uint32_t cnt);

/* shunt_local4_retire has it freed once no worker reads it any more, when another is published in
 * its place. It does not wait for that: a worker may hang. NULL is legal. Thread: control. */
void shunt_local4_retire(struct shunt_local4 *local);

/* shunt_local4_find looks in the list; use shunt_local4_has. */
bool shunt_local4_find(const struct shunt_local4 *local, uint32_t addr_be);

static inline unsigned shunt_local4_bit(uint32_t addr_be)
{
	return addr_be * 0x9e3779b1u >> 21; /* Fibonacci hashing to 11 bits */
}

/* shunt_local4_has says whether the address is one of this host's. Thread: any.
 * Cost: packet, one load. */
static inline bool shunt_local4_has(const struct shunt_local4 *local, uint32_t addr_be)
{
	unsigned bit = shunt_local4_bit(addr_be);

	return unlikely(local->filter[bit / 64] >> (bit % 64) & 1) &&
	       shunt_local4_find(local, addr_be);
}

#endif
