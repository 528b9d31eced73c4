/* SPDX-License-Identifier: BSD-2-Clause */
/* The IPv6 forwarding table: longest prefix match from an address to a next-hop index,
 * changed by one thread, the writer, while any number of workers look up. The calls are those of
 * fib4.h, with 16-byte addresses.
 *
 * The idea: a trie over 18 bits, then 5 bits a step, whose every node is one 8-byte word: a
 * bitmap that says where among its 32 slots the contents change, and where its run of
 * elements begins. An element is again such a word, or the answer. The first 18 bits index a
 * root of 2 MiB, so a /32 takes four dependent loads and a /48 seven, from a few bytes a route;
 * bulk lookups walk 32 addresses at once. A change stores one word, atomically; what it replaces
 * is freed after a grace period of liburcu, QSBR flavour.
 *
 * Limits: next-hop indices are 1 to 2^24 - 1 (SHUNT_FIB_NH_MAX). A host route costs up to
 * 23 dependent loads. Adding or deleting a short prefix costs a walk over what it covers;
 * each address changes atomically, the whole range does not. Reserves about 2.5 GiB of
 * address space.
 *
 *	shunt_fib6_create(&fib, 0, &err);
 *	shunt_fib6_add(fib, addr, 48, nh, &err);
 *	shunt_fib6_lookup_bulk(fib, dst, nhs, n);	workers, between quiescent states
 *	shunt_fib6_del(fib, addr, 48, &err);
 *	shunt_fib6_destroy(fib);
 */
#ifndef SHUNT_FIB_FIB6_H
#define SHUNT_FIB_FIB6_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "fib/fib4.h"

struct shunt_fib6;

/* shunt_fib6_create_on does what shunt_fib6_create does with memory of the source, which must
 * outlive it; NULL: the system's. Thread: the writer. */
int shunt_fib6_create_on(struct shunt_fib6 **out, const struct shunt_arena_source *source,
			 size_t bytes_max, struct shunt_err *err);

/* shunt_fib6_create makes an empty table in *out. bytes_max bounds the memory it may take,
 * 0 for no bound. Returns 0 or -ENOMEM with *err filled and *out NULL. Thread: the writer. */
static inline int shunt_fib6_create(struct shunt_fib6 **out, size_t bytes_max,
				    struct shunt_err *err)
{
	return shunt_fib6_create_on(out, NULL, bytes_max, err);
}

/* shunt_fib6_open_space and shunt_fib6_space are to this table what those of fib4.h are to that.
 * Cost: 2 MiB. */
int shunt_fib6_open_space(struct shunt_fib6 *fib, unsigned space, struct shunt_err *err);
struct shunt_fib6 *shunt_fib6_space(const struct shunt_fib6 *fib, unsigned space);

/* shunt_fib6_destroy frees the table; NULL is legal. No worker may look up any more: unpublish
 * the pointer and wait for a grace period first. Thread: the writer. */
void shunt_fib6_destroy(struct shunt_fib6 *fib);

/* shunt_fib6_add adds the route or replaces its next hop. addr has no host bits, len 0..128, nh
 * 1..SHUNT_FIB_NH_MAX. Returns 0; -EINVAL for a bad argument; -ENOMEM (the table is as
 * before); *err is filled on both. Lookups that begin after the return see the route. Thread:
 * the writer, outside of a read (it may wait for a grace period). Cost: about a microsecond for
 * long prefixes, a walk over what they cover for short ones. */
int shunt_fib6_add(struct shunt_fib6 *fib, const uint8_t addr[16], unsigned len, uint32_t nh,
		   struct shunt_err *err);

/* shunt_fib6_del deletes the route; the longest route that covers it shows again. Returns 0;
 * -ENOENT if there is no such route, -EINVAL, -ENOMEM (rare: memory is kept back for
 * deletions; the table is as before). Thread and cost: as shunt_fib6_add. */
int shunt_fib6_del(struct shunt_fib6 *fib, const uint8_t addr[16], unsigned len,
		   struct shunt_err *err);

/* shunt_fib6_get returns the next hop of exactly this route, 0 if there is none. Thread: the
 * writer.
 */
uint32_t shunt_fib6_get(const struct shunt_fib6 *fib, const uint8_t addr[16], unsigned len);

/* shunt_fib6_best returns the next hop that a lookup of addr gives, and the length of the
 * route it comes from in *len; 0 if there is none. Thread: the writer. */
uint32_t shunt_fib6_best(const struct shunt_fib6 *fib, const uint8_t addr[16], unsigned *len);

/* shunt_fib6_walk calls fn for every route, in no order, until fn returns other than 0, which it
 * returns. fn must not change the table. Thread: the writer. */
int shunt_fib6_walk(const struct shunt_fib6 *fib,
		    int (*fn)(void *arg, const uint8_t addr[16], unsigned len, uint32_t nh),
		    void *arg);

/* shunt_fib6_route_cnt returns the number of routes. Thread: the writer. */
uint32_t shunt_fib6_route_cnt(const struct shunt_fib6 *fib);

/* shunt_fib6_tables says where root and nodes lie, as shunt_fib4_tables does. Thread: any. */
void shunt_fib6_tables(const struct shunt_fib6 *fib, const void *tables[2]);

/* shunt_fib6_bytes says what memory is used for. Thread: the writer. */
void shunt_fib6_bytes(const struct shunt_fib6 *fib, struct shunt_fib_bytes *out);

/* shunt_fib6_lookup returns the next hop for one address, 0 for no route. Thread: any
 * registered QSBR thread; the answer's meaning holds until its next quiescent state. Cost: one
 * load, and one more for each 5 bits beyond 18 of the routes around the address. */
uint32_t shunt_fib6_lookup(const struct shunt_fib6 *fib, const uint8_t dst[16]);

/* shunt_fib6_lookup_bulk writes the next hop of dst[i] to nh[i] for all i below n, 0 for no
 * route. dst needs no alignment; the arrays must not overlap. Thread: as shunt_fib6_lookup.
 * Cost: batch; cache misses of 32 addresses overlap, so give it whole batches. */
void shunt_fib6_lookup_bulk(const struct shunt_fib6 *fib, const uint8_t (*dst)[16], uint32_t *nh,
			    unsigned n);

#endif
