/* SPDX-License-Identifier: BSD-2-Clause */
/* The IPv4 forwarding table: longest prefix match from an address to a next-hop index,
 * changed by one thread, the writer, while any number of workers look up.
 *
 * The idea: the 2^24 /24s are 2^19 words of 32 /24s each. A word is 8 bytes: a bitmap that
 * says where among its 32 slots the answer changes, and where its run of answers begins in
 * a dense array. A lookup is thus two dependent loads (word, answer) from some 10 MB where a
 * flat table has one from 64 MiB; a /24 that holds longer prefixes has 8 such words of its
 * own in one cache line. A word is read and written whole, so a reader sees the routes
 * before or after a change, never between; what a change replaces is freed after a grace
 * period of liburcu, QSBR flavour.
 *
 * Limits: next-hop indices are 1 to 2^24 - 1. Adding or deleting a short prefix costs a walk
 * over what it covers (a default route at a million routes: some milliseconds); each address
 * changes atomically, the whole range does not. Lookups spread over fewer routes than fit the
 * caches gain little over a flat table. Reserves about 1.5 GiB of address space.
 *
 *	shunt_fib4_create(&fib, 0, &err);
 *	shunt_fib4_add(fib, htonl(0x0a000000), 8, nh, &err);
 *	shunt_fib4_lookup_bulk(fib, dst_be, nhs, n);	workers, between quiescent states
 *	shunt_fib4_del(fib, htonl(0x0a000000), 8, &err);
 *	shunt_fib4_destroy(fib);
 */
#ifndef SHUNT_FIB_FIB4_H
#define SHUNT_FIB_FIB4_H

#include <arpa/inet.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "fib/arena.h"
#include "shunt_tables.h"

#define SHUNT_FIB_NH_MAX ((1u << 24) - 1)

struct shunt_fib4;

/* What the memory of a table is used for, of either family. */
struct shunt_fib_bytes {
	size_t lookup;	  /* what lookups read, in use */
	size_t idle;	  /* free or waiting for a grace period, of the same arrays */
	size_t routes;	  /* the routes as given (control side only) */
	size_t committed; /* all memory taken from the system */
};

/* shunt_fib4_create_on does what shunt_fib4_create does with memory of the source, which must
 * outlive it; NULL: the system's. Thread: the writer. */
int shunt_fib4_create_on(struct shunt_fib4 **out, const struct shunt_arena_source *source,
			 size_t bytes_max, struct shunt_err *err);

/* shunt_fib4_create makes an empty table in *out. bytes_max bounds the memory it may take,
 * 0 for no bound. Returns 0 or -ENOMEM with *err filled and *out NULL. Thread: the writer. */
static inline int shunt_fib4_create(struct shunt_fib4 **out, size_t bytes_max,
				    struct shunt_err *err)
{
	return shunt_fib4_create_on(out, NULL, bytes_max, err);
}

/* shunt_fib4_open_space makes an empty table for another space (SHUNT_TABLES_SPACES of them, 0 is
 * the one created) in the memory of the first, if there is none. It goes with that one. Returns 0
 * or -ENOMEM with *err filled. Thread: the writer. Cost: 4 MiB.
 *
 * shunt_fib4_space returns the table of a space, NULL where none was made. Thread: any. */
int shunt_fib4_open_space(struct shunt_fib4 *fib, unsigned space, struct shunt_err *err);
struct shunt_fib4 *shunt_fib4_space(const struct shunt_fib4 *fib, unsigned space);

/* shunt_fib4_destroy frees the table; NULL is legal. No worker may look up any more: unpublish
 * the pointer and wait for a grace period first. Thread: the writer. */
void shunt_fib4_destroy(struct shunt_fib4 *fib);

/* shunt_fib4_add adds the route or replaces its next hop. addr_be is in network order with no
 * host bits, len 0..32, nh 1..SHUNT_FIB_NH_MAX. Returns 0; -EINVAL for a bad argument; -ENOMEM
 * (the table is as before); *err is filled on both. Lookups that begin after the return see
 * the route. Thread: the writer, outside of a read (it may wait for a grace period). Cost: below a
 * microsecond for long prefixes, a walk over what they cover for those shorter than /20. */
int shunt_fib4_add(struct shunt_fib4 *fib, uint32_t addr_be, unsigned len, uint32_t nh,
		   struct shunt_err *err);

/* shunt_fib4_del deletes the route; the longest route that covers it shows again. Returns 0;
 * -ENOENT if there is no such route, -EINVAL, -ENOMEM (rare: memory is kept back for
 * deletions; the table is as before). Thread and cost: as shunt_fib4_add. */
int shunt_fib4_del(struct shunt_fib4 *fib, uint32_t addr_be, unsigned len, struct shunt_err *err);

/* shunt_fib4_get returns the next hop of exactly this route, 0 if there is none. Thread: the
 * writer.
 */
uint32_t shunt_fib4_get(const struct shunt_fib4 *fib, uint32_t addr_be, unsigned len);

/* shunt_fib4_best returns the next hop that a lookup of addr_be gives, and the length of the
 * route it comes from in *len; 0 if there is none. Thread: the writer. */
uint32_t shunt_fib4_best(const struct shunt_fib4 *fib, uint32_t addr_be, unsigned *len);

/* shunt_fib4_walk calls fn for every route, in no order, until fn returns other than 0, which it
 * returns. fn must not change the table. Thread: the writer. */
int shunt_fib4_walk(const struct shunt_fib4 *fib,
		    int (*fn)(void *arg, uint32_t addr_be, unsigned len, uint32_t nh), void *arg);

/* shunt_fib4_route_cnt returns the number of routes. Thread: the writer. */
uint32_t shunt_fib4_route_cnt(const struct shunt_fib4 *fib);

/* shunt_fib4_tables says where root, leaves and tails lie, for readers that walk them by the
 * layout in bpf/shunt_tables.h. Thread: any. */
void shunt_fib4_tables(const struct shunt_fib4 *fib, const void *tables[3]);

/* shunt_fib4_bytes says what memory is used for. Thread: the writer. */
void shunt_fib4_bytes(const struct shunt_fib4 *fib, struct shunt_fib_bytes *out);

/* shunt_fib4_lookup returns the next hop for one address in network order, 0 for no route.
 * Thread: any registered QSBR thread; the answer's meaning holds until its next quiescent
 * state. Cost: two dependent loads, three or four if the /24 holds longer prefixes. */
uint32_t shunt_fib4_lookup(const struct shunt_fib4 *fib, uint32_t dst_be);

/* shunt_fib4_words returns the words that a lookup reads first, for shunt_fib4_prefetch: the
 * same from create to destroy. Thread: any. */
const uint64_t *shunt_fib4_words(const struct shunt_fib4 *fib);

/* shunt_fib4_prefetch asks for the word of an address that will be looked up soon: worth it where
 * other work lies between. Thread: any. Cost: packet, two instructions. */
static inline void shunt_fib4_prefetch(const uint64_t *words, uint32_t dst_be)
{
	__builtin_prefetch(&words[ntohl(dst_be) >> 13]);
}

/* shunt_fib4_lookup_bulk writes the next hop of dst_be[i] (network order) to nh[i] for all i
 * below n, 0 for no route. The arrays must not overlap. Thread: as shunt_fib4_lookup. Cost:
 * batch; cache misses of 32 addresses overlap, so give it whole batches. */
void shunt_fib4_lookup_bulk(const struct shunt_fib4 *fib, const uint32_t *dst_be, uint32_t *nh,
			    unsigned n);

#endif
