// SPDX-License-Identifier: BSD-2-Clause
/* The memory of the IPv6 table: roots of all spaces one after the other, and what they share. */
#include "fib/fib6_table.h"

#include <errno.h>
#include <stdlib.h>

void shunt_fib6_bytes(const struct shunt_fib6 *fib, struct shunt_fib_bytes *out)
{
	const struct shunt_runs *runs = &fib->main->runs;

	out->lookup = ((size_t)ROOT_CNT + runs->live_cnt) * sizeof(uint64_t);
	out->idle = (size_t)(runs->next - runs->live_cnt) * sizeof(uint64_t);
	out->routes = shunt_routes_bytes(&fib->routes);
	out->committed = fib->main->budget.bytes;
}

void shunt_fib6_destroy(struct shunt_fib6 *fib)
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
	shunt_runs_fini(&fib->runs);
	shunt_arena_fini(&fib->root_arena);
	free(fib);
}

static int init(struct shunt_fib6 *fib, struct shunt_err *err)
{
	struct shunt_arena_budget *budget = &fib->budget;
	int ret = shunt_arena_init(&fib->root_arena, SHUNT_TABLES_SPACES * ROOT_BYTES, budget,
				   "IPv6 FIB", err);

	if (!ret)
		ret = shunt_runs_init(&fib->runs, sizeof(uint64_t), 1u << 28, budget,
				      "IPv6 FIB nodes", err);
	budget->source = NULL; /* what follows is of the control side alone */
	return ret;
}

/* A table of the memory that main has. */
static int begin(struct shunt_fib6 *fib, struct shunt_fib6 *main, unsigned space,
		 struct shunt_err *err)
{
	if (shunt_arena_commit(&main->root_arena, (space + 1) * ROOT_BYTES))
		return shunt_err_set(err, ENOMEM, "IPv6 FIB: no memory for %zu KiB",
				     ROOT_BYTES >> 10);
	fib->main = main;
	fib->root_words = (uint64_t *)main->root_arena.base + (size_t)space * ROOT_CNT;
	fib->root = fib->root_words;
	fib->elems = (const uint64_t *)main->runs.arena.base;
	shunt_fib6_bulk_choose(fib);
	return shunt_routes_init(&fib->routes, true, &main->budget, err);
}

int shunt_fib6_create_on(struct shunt_fib6 **out, const struct shunt_arena_source *source,
			 size_t bytes_max, struct shunt_err *err)
{
	struct shunt_fib6 *fib = calloc(1, sizeof(*fib));
	int ret;

	*out = NULL;
	if (!fib)
		return shunt_err_set(err, ENOMEM, "IPv6 FIB: no memory");
	fib->budget.bytes_max = bytes_max;
	fib->budget.source = source;
	ret = init(fib, err);
	if (!ret)
		ret = begin(fib, fib, 0, err);
	if (ret) {
		shunt_fib6_destroy(fib);
		return ret;
	}
	fib->spaces[0] = fib;
	*out = fib;
	return 0;
}

int shunt_fib6_open_space(struct shunt_fib6 *fib, unsigned space, struct shunt_err *err)
{
	struct shunt_fib6 *more;
	int ret;

	if (fib->spaces[space])
		return 0;
	more = calloc(1, sizeof(*more));
	if (!more)
		return shunt_err_set(err, ENOMEM, "IPv6 FIB: no memory");
	ret = begin(more, fib, space, err);
	if (ret) {
		free(more);
		return ret;
	}
	__atomic_store_n(&fib->spaces[space], more, __ATOMIC_RELEASE);
	return 0;
}

struct shunt_fib6 *shunt_fib6_space(const struct shunt_fib6 *fib, unsigned space)
{
	return __atomic_load_n(&fib->spaces[space], __ATOMIC_ACQUIRE);
}
