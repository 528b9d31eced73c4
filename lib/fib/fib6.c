// SPDX-License-Identifier: BSD-2-Clause
/* The control side of the IPv6 table.
 *
 * A leaf carries the length of its route, so a change needs no look at other routes: an
 * addition takes over every leaf in its range whose route is not longer, a deletion gives every
 * leaf in its range that has exactly its length to the covering route. Below a slot that the range
 * covers wholly the shape cannot change, and leaves are stored over in place. On the way to the
 * range new nodes are built from the bottom up and hung in with one store. All that a change
 * needs is allocated before the first store that a reader can see; the runs it replaces are
 * retired after the last.
 */
#include "fib/fib6_table.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

#define LEVEL_MAX ((128 - ROOT_BITS) / STRIDE)

struct edit {
	struct shunt_fib6 *fib;
	shunt_key addr;
	uint32_t leaf; /* what the slots get */
	unsigned len;
	bool add;
	unsigned old_cnt;
	uint64_t old[LEVEL_MAX + 1]; /* nodes whose runs go when all is published */
};

static bool is_node(uint64_t word)
{
	return word >> 32;
}

static unsigned run_cnt(uint64_t word)
{
	return (unsigned)__builtin_popcountll(word >> 32);
}

/* The control side writes through this; readers have a const pointer to the same. */
static uint64_t *elem_ptr(const struct shunt_fib6 *fib, uint64_t word)
{
	return (uint64_t *)fib->main->runs.arena.base + (uint32_t)word + 1;
}

static unsigned slot_at(shunt_key addr, unsigned pos)
{
	return (unsigned)(addr >> (128 - STRIDE - pos)) & (SLOT_CNT - 1);
}

static bool replaces(const struct edit *e, uint64_t leaf)
{
	unsigned len = (unsigned)(leaf >> LEN_SHIFT);

	return e->add ? len <= e->len : len == e->len;
}

/* Pairs with word_at() in fib6_lookup.c: what the word points to is written before. */
static void publish(uint64_t *p, uint64_t word)
{
	__atomic_store_n(p, word, __ATOMIC_RELEASE);
}

static void expand(const struct shunt_fib6 *fib, uint64_t word, uint64_t slots[SLOT_CNT])
{
	const uint64_t *elem = elem_ptr(fib, word);
	unsigned i, run = 0;

	for (i = 0; i < SLOT_CNT; i++) {
		run += word >> (63 - i) & 1;
		slots[i] = is_node(word) ? elem[run - 1] : word;
	}
}

/* The word for these slots, its run allocated and filled. */
static int compress(const struct edit *e, const uint64_t slots[SLOT_CNT], uint64_t *word)
{
	struct shunt_fib6 *fib = e->fib;
	uint64_t bitmap = 1ULL << 63, *elem;
	uint32_t idx;
	unsigned i;

	for (i = 1; i < SLOT_CNT; i++)
		if (slots[i] != slots[i - 1])
			bitmap |= 1ULL << (63 - i);
	if (bitmap == 1ULL << 63 && !is_node(slots[0])) {
		*word = slots[0];
		return 0;
	}
	idx = shunt_runs_alloc(&fib->main->runs, run_cnt(bitmap), e->add);
	if (!idx)
		return -ENOMEM;
	*word = bitmap | (idx - 1);
	elem = elem_ptr(fib, *word);
	for (i = 0; i < SLOT_CNT; i++)
		if (bitmap >> (63 - i) & 1)
			__atomic_store_n(elem++, slots[i], __ATOMIC_RELAXED);
	return 0;
}

/* Frees a tree that was never published. */
static void free_tree(struct shunt_fib6 *fib, uint64_t word)
{
	uint64_t *elem = elem_ptr(fib, word);
	unsigned i;

	if (!is_node(word))
		return;
	for (i = 0; i < run_cnt(word); i++)
		free_tree(fib, elem[i]);
	shunt_runs_free(&fib->main->runs, (uint32_t)word + 1, run_cnt(word));
}

/* Applies the edit to all below a word that its range covers: in place, cannot fail. */
static void cover(const struct edit *e, uint64_t *p)
{
	uint64_t word = *p, *elem = elem_ptr(e->fib, word);
	unsigned i;

	if (!is_node(word)) {
		if (replaces(e, word))
			publish(p, e->leaf);
		return;
	}
	for (i = 0; i < run_cnt(word); i++)
		cover(e, &elem[i]);
}

/* The range is some slots of this node. */
static int edit_slots(const struct edit *e, uint64_t word, unsigned pos, uint64_t *out)
{
	unsigned first = slot_at(e->addr, pos), cnt = 1u << (pos + STRIDE - e->len), i;
	uint64_t slots[SLOT_CNT];

	expand(e->fib, word, slots);
	for (i = first; i < first + cnt; i++)
		if (!is_node(slots[i]) && replaces(e, slots[i]))
			slots[i] = e->leaf;
	if (compress(e, slots, out))
		return -ENOMEM;
	for (i = first; i < first + cnt; i++)
		if (is_node(slots[i]))
			cover(e, &slots[i]);
	return 0;
}

static int edit_node(struct edit *e, uint64_t word, unsigned pos, uint64_t *out);

/* The range lies within one slot of this node. */
static int edit_below(struct edit *e, uint64_t word, unsigned pos, uint64_t *out)
{
	unsigned slot = slot_at(e->addr, pos);
	uint64_t slots[SLOT_CNT], below, *elem;

	expand(e->fib, word, slots);
	if (edit_node(e, slots[slot], pos + STRIDE, &below))
		return -ENOMEM;
	*out = word;
	if (below == slots[slot])
		return 0;
	elem = elem_ptr(e->fib, word) + __builtin_popcountll(word >> (63 - slot)) - 1;
	if (is_node(slots[slot]) && is_node(below)) {
		publish(elem, below);
		return 0;
	}
	if (is_node(slots[slot])) { /* folded into a leaf, which may join its neighbours */
		slots[slot] = below;
		if (compress(e, slots, out))
			publish(elem, below);
		return 0;
	}
	slots[slot] = below;
	if (!compress(e, slots, out))
		return 0;
	free_tree(e->fib, below);
	return -ENOMEM;
}

/* Applies the edit to a node (or leaf) at bit pos, of which it covers a part; the new word in *out
 * is the caller's to publish. */
static int edit_node(struct edit *e, uint64_t word, unsigned pos, uint64_t *out)
{
	int ret = e->len <= pos + STRIDE ? edit_slots(e, word, pos, out)
					 : edit_below(e, word, pos, out);

	if (!ret && is_node(word) && *out != word)
		e->old[e->old_cnt++] = word;
	return ret;
}

static int apply(struct edit *e)
{
	uint64_t *p = e->fib->root_words + (uint32_t)(e->addr >> (128 - ROOT_BITS));
	uint64_t word;
	uint32_t i;

	if (e->len <= ROOT_BITS) {
		for (i = 0; i < 1u << (ROOT_BITS - e->len); i++)
			cover(e, &p[i]);
		return 0;
	}
	if (edit_node(e, *p, ROOT_BITS, &word))
		return -ENOMEM;
	publish(p, word);
	for (i = 0; i < e->old_cnt; i++)
		shunt_runs_retire(&e->fib->main->runs, (uint32_t)e->old[i] + 1, run_cnt(e->old[i]));
	return 0;
}

static shunt_key key_of(const uint8_t addr[16])
{
	uint64_t part[2];

	memcpy(part, addr, sizeof(part));
	return (shunt_key)be64toh(part[0]) << 64 | be64toh(part[1]);
}

static void bytes_of(shunt_key key, uint8_t addr[16])
{
	uint64_t part[2] = {htobe64((uint64_t)(key >> 64)), htobe64((uint64_t)key)};

	memcpy(addr, part, sizeof(part));
}

/* An error about one route: "IPv6 route 2001:db8::/32: ...". */
static int route_err(struct shunt_err *err, int code, shunt_key key, unsigned len, const char *what)
{
	char text[INET6_ADDRSTRLEN];
	uint8_t addr[16];

	bytes_of(key, addr);
	inet_ntop(AF_INET6, addr, text, sizeof(text));
	return shunt_err_set(err, code, "IPv6 route %s/%u: %s", text, len, what);
}

static int check(shunt_key key, unsigned len, struct shunt_err *err)
{
	if (len > 128)
		return route_err(err, EINVAL, key, len, "the length is over 128");
	if (len < 128 && key & (~(shunt_key)0 >> len))
		return route_err(err, EINVAL, key, len, "host bits are set");
	return 0;
}

static int no_memory(const struct edit *e, struct shunt_err *err)
{
	const struct shunt_fib6 *fib = e->fib;
	char what[192];

	snprintf(what, sizeof(what),
		 "no memory to %s it; the table has %u routes in %zu KiB (bound: %zu KiB, 0 for "
		 "none) and is unchanged",
		 e->add ? "add" : "delete", fib->routes.cnt, fib->main->budget.bytes >> 10,
		 fib->main->budget.bytes_max >> 10);
	return route_err(err, ENOMEM, e->addr, e->len, what);
}

int shunt_fib6_add(struct shunt_fib6 *fib, const uint8_t addr[16], unsigned len, uint32_t nh,
		   struct shunt_err *err)
{
	struct edit e = {.fib = fib, .addr = key_of(addr), .len = len, .add = true};
	int ret = check(e.addr, len, err);

	if (ret)
		return ret;
	if (!nh || nh > SHUNT_FIB_NH_MAX)
		return route_err(err, EINVAL, e.addr, len, "the next hop is not in 1..16777215");
	e.leaf = len << LEN_SHIFT | nh;
	if (shunt_routes_reserve(&fib->routes) || apply(&e))
		return no_memory(&e, err);
	shunt_routes_put(&fib->routes, e.addr, len, nh);
	return 0;
}

int shunt_fib6_del(struct shunt_fib6 *fib, const uint8_t addr[16], unsigned len,
		   struct shunt_err *err)
{
	struct edit e = {.fib = fib, .addr = key_of(addr), .len = len, .add = false};
	unsigned cover_len;
	uint32_t cover_nh;
	int ret = check(e.addr, len, err);

	if (ret)
		return ret;
	if (!shunt_routes_get(&fib->routes, e.addr, len))
		return route_err(err, ENOENT, e.addr, len, "no such route");
	cover_nh = shunt_routes_covering(&fib->routes, e.addr, len, &cover_len);
	e.leaf = cover_len << LEN_SHIFT | cover_nh;
	if (apply(&e))
		return no_memory(&e, err);
	shunt_routes_del(&fib->routes, e.addr, len);
	return 0;
}

uint32_t shunt_fib6_get(const struct shunt_fib6 *fib, const uint8_t addr[16], unsigned len)
{
	return len > 128 ? 0 : shunt_routes_get(&fib->routes, key_of(addr), len);
}

uint32_t shunt_fib6_best(const struct shunt_fib6 *fib, const uint8_t addr[16], unsigned *len)
{
	return shunt_routes_covering(&fib->routes, key_of(addr), 129, len);
}

int shunt_fib6_walk(const struct shunt_fib6 *fib,
		    int (*fn)(void *arg, const uint8_t addr[16], unsigned len, uint32_t nh),
		    void *arg)
{
	struct shunt_route r;
	uint8_t addr[16];
	uint32_t pos = 0;
	int ret = 0;

	while (!ret && shunt_routes_next(&fib->routes, &pos, &r)) {
		bytes_of(r.addr, addr);
		ret = fn(arg, addr, r.len, r.nh);
	}
	return ret;
}

uint32_t shunt_fib6_route_cnt(const struct shunt_fib6 *fib)
{
	return fib->routes.cnt;
}

void shunt_fib6_tables(const struct shunt_fib6 *fib, const void *tables[2])
{
	tables[0] = fib->root;
	tables[1] = fib->elems;
}
