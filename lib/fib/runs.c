// SPDX-License-Identifier: BSD-2-Clause
#include "fib/runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <urcu-qsbr.h>

/* Retired runs for one grace period. Fewer: a burst waits more often (a grace period is
 * a worker's batch, tens of microseconds); more: more memory is idle in limbo. */
#define LIMBO_MAX 16384u

/* Elements that only deletions may take. */
#define SPARE_CNT 4096u

#ifdef __SANITIZE_THREAD__
char shunt_runs_tsan_grace;
#endif

int shunt_runs_init(struct shunt_runs *runs, uint32_t elem_bytes, uint32_t elem_max,
		    struct shunt_arena_budget *budget, const char *what, struct shunt_err *err)
{
	int ret;

	memset(runs, 0, sizeof(*runs));
	runs->elem_bytes = elem_bytes;
	runs->next = 1;
	runs->limbo = malloc(LIMBO_MAX * sizeof(*runs->limbo));
	if (!runs->limbo)
		return shunt_err_set(err, ENOMEM, "%s: no memory for the list of retired runs",
				     what);
	ret = shunt_arena_init(&runs->arena, (size_t)elem_max * elem_bytes, budget, what, err);
	if (ret)
		return ret;
	if (shunt_arena_commit(&runs->arena, SHUNT_ARENA_STEP_BYTES))
		return shunt_err_set(err, ENOMEM,
				     "%s: no memory for the first %lu KiB; raise the bound on the "
				     "table's memory",
				     what, SHUNT_ARENA_STEP_BYTES >> 10);
	return 0;
}

void shunt_runs_fini(struct shunt_runs *runs)
{
	shunt_arena_fini(&runs->arena);
	free(runs->limbo);
	memset(runs, 0, sizeof(*runs));
}

/* The link is in the run's first word. Readers of runs are atomic and so is it. */
static uint32_t *link_of(struct shunt_runs *runs, uint32_t idx)
{
	return (uint32_t *)(runs->arena.base + (size_t)idx * runs->elem_bytes);
}

static void push(struct shunt_runs *runs, uint32_t idx, unsigned cnt)
{
	__atomic_store_n(link_of(runs, idx), runs->free_heads[cnt], __ATOMIC_RELAXED);
	runs->free_heads[cnt] = idx;
}

static uint32_t pop(struct shunt_runs *runs, unsigned cnt)
{
	uint32_t idx = runs->free_heads[cnt];

	if (idx)
		runs->free_heads[cnt] = __atomic_load_n(link_of(runs, idx), __ATOMIC_RELAXED);
	return idx;
}

static uint32_t bump(struct shunt_runs *runs, unsigned cnt, bool spare)
{
	uint32_t idx = runs->next;
	size_t end = (size_t)idx + cnt + (spare ? SPARE_CNT : 0);

	if (shunt_arena_commit(&runs->arena, end * runs->elem_bytes))
		return 0;
	runs->next += cnt;
	return idx;
}

static uint32_t split(struct shunt_runs *runs, unsigned cnt)
{
	unsigned from;
	uint32_t idx;

	for (from = cnt + 1; from <= SHUNT_RUN_MAX; from++) {
		idx = pop(runs, from);
		if (!idx)
			continue;
		push(runs, idx + cnt, from - cnt);
		return idx;
	}
	return 0;
}

static void reclaim(struct shunt_runs *runs)
{
	uint32_t i;

	if (!runs->limbo_cnt)
		return;
	urcu_qsbr_synchronize_rcu();
	if (runs->arena.source)
		runs->arena.source->grace(runs->arena.source->ctx);
	shunt_runs_tsan_reclaim();
	for (i = 0; i < runs->limbo_cnt; i++)
		push(runs, (uint32_t)runs->limbo[i], (unsigned)(runs->limbo[i] >> 32));
	runs->limbo_cnt = 0;
}

uint32_t shunt_runs_alloc(struct shunt_runs *runs, unsigned cnt, bool spare)
{
	uint32_t idx = pop(runs, cnt);

	if (!idx)
		idx = bump(runs, cnt, spare);
	if (!idx) {
		reclaim(runs);
		idx = pop(runs, cnt);
	}
	if (!idx)
		idx = split(runs, cnt);
	if (idx)
		runs->live_cnt += cnt;
	return idx;
}

void shunt_runs_free(struct shunt_runs *runs, uint32_t idx, unsigned cnt)
{
	runs->live_cnt -= cnt;
	push(runs, idx, cnt);
}

void shunt_runs_retire(struct shunt_runs *runs, uint32_t idx, unsigned cnt)
{
	runs->live_cnt -= cnt;
	if (runs->limbo_cnt == LIMBO_MAX)
		reclaim(runs);
	runs->limbo[runs->limbo_cnt++] = (uint64_t)cnt << 32 | idx;
}
