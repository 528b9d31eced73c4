// SPDX-License-Identifier: BSD-2-Clause
/* The control side of the IPv4 table.
 *
 * A leaf carries the length of its route, so a change needs no look at other routes: an
 * addition takes over every slot in its range whose route is not longer, a deletion gives every
 * slot in its range that has exactly its length to the covering route. Where a range covers a
 * word wholly (up to /19 in the root, up to /27 in a tail) the runs cannot change their
 * shape, and leaves are stored over in place without any allocation; so at most two words, two
 * runs and a tail are allocated for any change, all before the first store that a reader can see.
 */
#include "fib/fib4_table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

struct edit {
	struct shunt_fib4 *fib;
	uint32_t addr; /* host order */
	uint32_t leaf; /* what the slots get */
	unsigned len;
	bool add;
};

/* The control side writes through these; readers have const pointers to the same. */
static uint64_t *root_word(const struct edit *e)
{
	return e->fib->root_words + (e->addr >> ROOT_SHIFT);
}

static uint32_t *leaf_ptr(const struct shunt_fib4 *fib, uint32_t idx)
{
	return (uint32_t *)fib->main->leaf_runs.arena.base + idx;
}

static uint64_t *tail_ptr(const struct shunt_fib4 *fib, uint32_t leaf)
{
	return (uint64_t *)fib->main->tail_runs.arena.base +
	       (size_t)(leaf & LEAF_INDEX) * TAIL_WORDS;
}

static bool is_run(uint64_t word)
{
	return word >> 32;
}

static unsigned run_cnt(uint64_t word)
{
	return (unsigned)__builtin_popcountll(word >> 32);
}

static bool replaces(const struct edit *e, uint32_t leaf)
{
	unsigned len = leaf >> LEN_SHIFT;

	return e->add ? len <= e->len : len == e->len;
}

/* Pairs with word_at() in fib4_lookup.c: what the word points to is written before. */
static void publish(uint64_t *p, uint64_t word)
{
	__atomic_store_n(p, word, __ATOMIC_RELEASE);
}

static void drop_run(struct shunt_fib4 *fib, uint64_t word, bool was_published)
{
	if (!is_run(word))
		return;
	if (was_published)
		shunt_runs_retire(&fib->main->leaf_runs, (uint32_t)word + 1, run_cnt(word));
	else
		shunt_runs_free(&fib->main->leaf_runs, (uint32_t)word + 1, run_cnt(word));
}

static void expand(const struct shunt_fib4 *fib, uint64_t word, uint32_t slots[SLOT_CNT])
{
	const uint32_t *leaf = leaf_ptr(fib, (uint32_t)word);
	unsigned i;

	for (i = 0; i < SLOT_CNT; i++) {
		if (is_run(word) && word >> (63 - i) & 1)
			leaf++;
		slots[i] = is_run(word) ? *leaf : (uint32_t)word;
	}
}

/* The word for these slots, its run allocated and filled. */
static int compress(const struct edit *e, const uint32_t slots[SLOT_CNT], uint64_t *word)
{
	struct shunt_fib4 *fib = e->fib;
	uint64_t bitmap = 1ULL << 63;
	uint32_t idx, *leaf;
	unsigned i;

	for (i = 1; i < SLOT_CNT; i++)
		if (slots[i] != slots[i - 1])
			bitmap |= 1ULL << (63 - i);
	if (bitmap == 1ULL << 63) {
		*word = slots[0];
		return 0;
	}
	idx = shunt_runs_alloc(&fib->main->leaf_runs, run_cnt(bitmap), e->add);
	if (!idx)
		return -ENOMEM;
	leaf = leaf_ptr(fib, idx);
	for (i = 0; i < SLOT_CNT; i++)
		if (bitmap >> (63 - i) & 1)
			__atomic_store_n(leaf++, slots[i], __ATOMIC_RELAXED);
	*word = bitmap | (idx - 1);
	return 0;
}

static void cover_tail(const struct edit *e, uint32_t leaf);

/* Applies the edit to a word that its range covers wholly: in place, cannot fail. */
static void cover_word(const struct edit *e, uint64_t *p)
{
	uint64_t word = *p;
	uint32_t *leaf = leaf_ptr(e->fib, (uint32_t)word + 1);
	unsigned i, cnt = run_cnt(word);

	if (!is_run(word) && replaces(e, (uint32_t)word))
		publish(p, e->leaf);
	for (i = 0; i < cnt; i++) {
		if (leaf[i] & LEAF_TAIL)
			cover_tail(e, leaf[i]);
		else if (replaces(e, leaf[i]))
			__atomic_store_n(&leaf[i], e->leaf, __ATOMIC_RELAXED);
	}
}

static void cover_tail(const struct edit *e, uint32_t leaf)
{
	uint64_t *tail = tail_ptr(e->fib, leaf);
	unsigned i;

	for (i = 0; i < TAIL_WORDS; i++)
		cover_word(e, &tail[i]);
}

/* Applies the edit to slots first..first + cnt - 1; the new word in *out is not published. */
static int edit_slots(const struct edit *e, uint64_t word, unsigned first, unsigned cnt,
		      uint64_t *out)
{
	uint32_t slots[SLOT_CNT];
	unsigned i;

	expand(e->fib, word, slots);
	for (i = first; i < first + cnt; i++)
		if (!(slots[i] & LEAF_TAIL) && replaces(e, slots[i]))
			slots[i] = e->leaf;
	return compress(e, slots, out);
}

/* Replaces a published word. */
static void swap(const struct edit *e, uint64_t *p, uint64_t word)
{
	uint64_t old = *p;

	publish(p, word);
	drop_run(e->fib, old, true);
}

static int set_slot(const struct edit *e, uint64_t *p, unsigned slot, uint32_t leaf)
{
	uint32_t slots[SLOT_CNT];
	uint64_t word;

	expand(e->fib, *p, slots);
	slots[slot] = leaf;
	if (compress(e, slots, &word))
		return -ENOMEM;
	swap(e, p, word);
	return 0;
}

/* /28 to /32: part of one word of a tail. */
static int edit_tail_word(const struct edit *e, uint64_t *p, bool was_published)
{
	uint64_t word, old = *p;
	int ret = edit_slots(e, old, e->addr & 31, 1u << (32 - e->len), &word);

	if (ret)
		return ret;
	publish(p, word);
	drop_run(e->fib, old, was_published);
	return 0;
}

static int edit_tail(const struct edit *e, uint64_t *tail, bool was_published)
{
	uint64_t *p = &tail[e->addr >> 5 & 7];
	unsigned i;

	if (e->len > 27)
		return edit_tail_word(e, p, was_published);
	for (i = 0; i < 1u << (27 - e->len); i++)
		cover_word(e, &p[i]);
	return 0;
}

static int add_tail(const struct edit *e, uint64_t *p, unsigned slot, uint32_t leaf)
{
	struct shunt_fib4 *fib = e->fib;
	uint32_t idx = shunt_runs_alloc(&fib->main->tail_runs, 1, e->add);
	uint64_t *tail = tail_ptr(fib, idx);
	unsigned i;

	if (!idx)
		return -ENOMEM;
	for (i = 0; i < TAIL_WORDS; i++)
		__atomic_store_n(&tail[i], leaf, __ATOMIC_RELAXED);
	if (edit_tail(e, tail, false))
		goto err_tail;
	if (set_slot(e, p, slot, LEAF_TAIL | idx))
		goto err_words;
	return 0;

err_words:
	for (i = 0; i < TAIL_WORDS; i++)
		drop_run(fib, tail[i], false);
err_tail:
	shunt_runs_free(&fib->main->tail_runs, idx, 1);
	return -ENOMEM;
}

/* A tail whose addresses all have one answer is no longer needed. Without memory it stays,
 * which is correct. */
static void collapse_tail(const struct edit *e, uint64_t *p, unsigned slot, uint32_t leaf)
{
	const uint64_t *tail = tail_ptr(e->fib, leaf);
	unsigned i;

	for (i = 0; i < TAIL_WORDS; i++)
		if (is_run(tail[i]) || tail[i] != tail[0])
			return;
	if (!set_slot(e, p, slot, (uint32_t)tail[0]))
		shunt_runs_retire(&e->fib->main->tail_runs, leaf & LEAF_INDEX, 1);
}

/* /25 to /32. */
static int edit_long(const struct edit *e)
{
	unsigned slot = e->addr >> 8 & 31;
	uint64_t *p = root_word(e);
	uint32_t slots[SLOT_CNT];
	int ret;

	expand(e->fib, *p, slots);
	if (!(slots[slot] & LEAF_TAIL))
		return add_tail(e, p, slot, slots[slot]);
	ret = edit_tail(e, tail_ptr(e->fib, slots[slot]), true);
	if (!ret && !e->add)
		collapse_tail(e, p, slot, slots[slot]);
	return ret;
}

/* /20 to /24: some slots of one word of the root. */
static int edit_middle(const struct edit *e)
{
	unsigned first = e->addr >> 8 & 31, cnt = 1u << (24 - e->len), i;
	uint64_t *p = root_word(e), word;
	uint32_t slots[SLOT_CNT];
	int ret = edit_slots(e, *p, first, cnt, &word);

	if (ret)
		return ret;
	expand(e->fib, word, slots);
	for (i = first; i < first + cnt; i++)
		if (slots[i] & LEAF_TAIL)
			cover_tail(e, slots[i]);
	swap(e, p, word);
	return 0;
}

static int apply(const struct edit *e)
{
	uint64_t *p = root_word(e);
	uint32_t i;

	if (e->len > 24)
		return edit_long(e);
	if (e->len > 19)
		return edit_middle(e);
	for (i = 0; i < 1u << (19 - e->len); i++)
		cover_word(e, &p[i]);
	return 0;
}

static shunt_key key_of(uint32_t addr_be)
{
	return (shunt_key)ntohl(addr_be) << 96;
}

static int check(uint32_t addr, unsigned len, struct shunt_err *err)
{
	if (len > 32)
		return shunt_err_set(err, EINVAL, "IPv4 route: length %u is over 32", len);
	if (len < 32 && addr & (~0u >> len))
		return shunt_err_set(err, EINVAL, "IPv4 route %u.%u.%u.%u/%u: host bits are set",
				     addr >> 24, addr >> 16 & 255, addr >> 8 & 255, addr & 255,
				     len);
	return 0;
}

static int no_memory(const struct shunt_fib4 *fib, const struct edit *e, struct shunt_err *err)
{
	uint32_t a = e->addr;

	return shunt_err_set(err, ENOMEM,
			     "IPv4 route %u.%u.%u.%u/%u: no memory to %s it; the table has %u "
			     "routes in %zu KiB (bound: %zu KiB, 0 for none) and is unchanged",
			     a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255, e->len,
			     e->add ? "add" : "delete", fib->routes.cnt,
			     fib->main->budget.bytes >> 10, fib->main->budget.bytes_max >> 10);
}

int shunt_fib4_add(struct shunt_fib4 *fib, uint32_t addr_be, unsigned len, uint32_t nh,
		   struct shunt_err *err)
{
	struct edit e = {.fib = fib, .addr = ntohl(addr_be), .len = len, .add = true};
	int ret = check(e.addr, len, err);

	if (ret)
		return ret;
	if (!nh || nh > SHUNT_FIB_NH_MAX)
		return shunt_err_set(err, EINVAL, "IPv4 route: next hop %u is not in 1..%u", nh,
				     SHUNT_FIB_NH_MAX);
	e.leaf = len << LEN_SHIFT | nh;
	if (shunt_routes_reserve(&fib->routes) || apply(&e))
		return no_memory(fib, &e, err);
	shunt_routes_put(&fib->routes, key_of(addr_be), len, nh);
	return 0;
}

int shunt_fib4_del(struct shunt_fib4 *fib, uint32_t addr_be, unsigned len, struct shunt_err *err)
{
	struct edit e = {.fib = fib, .addr = ntohl(addr_be), .len = len, .add = false};
	unsigned cover_len;
	uint32_t cover_nh;
	int ret = check(e.addr, len, err);

	if (ret)
		return ret;
	if (!shunt_routes_get(&fib->routes, key_of(addr_be), len))
		return shunt_err_set(err, ENOENT, "IPv4 route %u.%u.%u.%u/%u: no such route",
				     e.addr >> 24, e.addr >> 16 & 255, e.addr >> 8 & 255,
				     e.addr & 255, len);
	cover_nh = shunt_routes_covering(&fib->routes, key_of(addr_be), len, &cover_len);
	e.leaf = cover_len << LEN_SHIFT | cover_nh;
	if (apply(&e))
		return no_memory(fib, &e, err);
	shunt_routes_del(&fib->routes, key_of(addr_be), len);
	return 0;
}

uint32_t shunt_fib4_get(const struct shunt_fib4 *fib, uint32_t addr_be, unsigned len)
{
	return len > 32 ? 0 : shunt_routes_get(&fib->routes, key_of(addr_be), len);
}

uint32_t shunt_fib4_best(const struct shunt_fib4 *fib, uint32_t addr_be, unsigned *len)
{
	return shunt_routes_covering(&fib->routes, key_of(addr_be), 33, len);
}

int shunt_fib4_walk(const struct shunt_fib4 *fib,
		    int (*fn)(void *arg, uint32_t addr_be, unsigned len, uint32_t nh), void *arg)
{
	struct shunt_route r;
	uint32_t pos = 0;
	int ret = 0;

	while (!ret && shunt_routes_next(&fib->routes, &pos, &r))
		ret = fn(arg, htonl((uint32_t)(r.addr >> 96)), r.len, r.nh);
	return ret;
}

uint32_t shunt_fib4_route_cnt(const struct shunt_fib4 *fib)
{
	return fib->routes.cnt;
}
