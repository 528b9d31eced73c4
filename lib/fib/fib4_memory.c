// SPDX-License-Identifier: BSD-2-Clause
/* The memory of the IPv4 table: roots of all spaces one after the other, and what they share. */
#include "fib/fib4_table.h"

#include <errno.h>
#include <stdlib.h>

void shunt_fib4_bytes(const struct shunt_fib4 *fib, struct shunt_fib_bytes *out)
{
	const struct shunt_runs *leaf = &fib->main->leaf_runs, *tail = &fib->main->tail_runs;

	out->lookup = ROOT_CNT * sizeof(uint64_t) + (size_t)leaf->live_cnt * leaf->elem_bytes +
		      (size_t)tail->live_cnt * tail->elem_bytes;
	out->idle = (size_t)(leaf->next - leaf->live_cnt) * leaf->elem_bytes +
		    (size_t)(tail->next - tail->live_cnt) * tail->elem_bytes;
	out->routes = shunt_routes_bytes(&fib->routes);
	out->committed = fib->main->budget.bytes;
}

void shunt_fib4_destroy(struct shunt_fib4 *fib)
{
	unsigned i;

	if (!fib)
		return;
	for (i = 1; i < SHUNT_TABLES_SPACES; i++) {
		if (fib->spaces[i])
			shunt_routes_fini(&fib->spaces[i]->routes);
		free(fib->spaces[i]);
	}
	shunt_routes_fini(&fib->routes);
	shunt_runs_fini(&fib->tail_runs);
	shunt_runs_fini(&fib->leaf_runs);
	shunt_arena_fini(&fib->root_arena);
	free(fib);
}

static int init(struct shunt_fib4 *fib, struct shunt_err *err)
{
	struct shunt_arena_budget *budget = &fib->budget;
	int ret = shunt_arena_init(&fib->root_arena, SHUNT_TABLES_SPACES * ROOT_BYTES, budget,
				   "IPv4 FIB", err);

	if (!ret)
		ret = shunt_runs_init(&fib->leaf_runs, sizeof(uint32_t), 1u << 28, budget,
				      "IPv4 FIB leaves", err);
	if (!ret)
		ret = shunt_runs_init(&fib->tail_runs, TAIL_WORDS * sizeof(uint64_t), 1u << 22,
				      budget, "IPv4 FIB tails", err);
	budget->source = NULL; /* what follows is of the control side alone */
	return ret;
}

/* A table of the memory that main has. */
static int begin(struct shunt_fib4 *fib, struct shunt_fib4 *main, unsigned space,
		 struct shunt_err *err)
{
	if (shunt_arena_commit(&main->root_arena, (space + 1) * ROOT_BYTES))
		return shunt_err_set(err, ENOMEM, "IPv4 FIB: no memory for %zu KiB",
				     ROOT_BYTES >> 10);
	fib->main = main;
	fib->root_words = (uint64_t *)main->root_arena.base + (size_t)space * ROOT_CNT;
	fib->root = fib->root_words;
	fib->leaves = (const uint32_t *)main->leaf_runs.arena.base;
	fib->tails = (const uint64_t *)main->tail_runs.arena.base;
	shunt_fib4_bulk_choose(fib);
	return shunt_routes_init(&fib->routes, false, &main->budget, err);
}

int shunt_fib4_create_on(struct shunt_fib4 **out, const struct shunt_arena_source *source,
			 size_t bytes_max, struct shunt_err *err)
{
	struct shunt_fib4 *fib = calloc(1, sizeof(*fib));
	int ret;

	*out = NULL;
	if (!fib)
		return shunt_err_set(err, ENOMEM, "IPv4 FIB: no memory");
	fib->budget.bytes_max = bytes_max;
	fib->budget.source = source;
	ret = init(fib, err);
	if (!ret)
		ret = begin(fib, fib, 0, err);
	if (ret) {
		shunt_fib4_destroy(fib);
		return ret;
	}
	fib->spaces[0] = fib;
	*out = fib;
	return 0;
}

int shunt_fib4_open_space(struct shunt_fib4 *fib, unsigned space, struct shunt_err *err)
{
	struct shunt_fib4 *more;
	int ret;

	if (fib->spaces[space])
		return 0;
	more = calloc(1, sizeof(*more));
	if (!more)
		return shunt_err_set(err, ENOMEM, "IPv4 FIB: no memory");
	ret = begin(more, fib, space, err);
	if (ret) {
		free(more);
		return ret;
	}
	__atomic_store_n(&fib->spaces[space], more, __ATOMIC_RELEASE);
	return 0;
}

struct shunt_fib4 *shunt_fib4_space(const struct shunt_fib4 *fib, unsigned space)
{
	return __atomic_load_n(&fib->spaces[space], __ATOMIC_ACQUIRE);
}
