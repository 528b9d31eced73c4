// SPDX-License-Identifier: BSD-2-Clause
#include "fib/runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <urcu-qsbr.h>

/* Retired runs for one grace period. Fewer: more grace periods, for each of which liburcu's thread
 * takes some 10 ms. More: more memory is idle in limbo. */
#define LIMBO_CNT     16384u

/* How long an allocation that finds no memory waits for a grace period: many times what one takes
 * where no worker hangs. */
#define GRACE_WAIT_MS 100

/* Elements that only deletions may take. */
#define SPARE_CNT     4096u

/* A grace period that was asked for. The table and liburcu's thread both let go of it, in either
 * order, as a worker that hangs keeps the thread waiting: the last of the two frees it. */
struct shunt_runs_grace {
	struct rcu_head head;
	enum { UNDER_WAY, OVER, FORSAKEN } state;
	bool was_waited_for;
};

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
	runs->limbo_max = 2 * LIMBO_CNT; /* as many more come while they wait */
	runs->limbo = malloc(runs->limbo_max * sizeof(*runs->limbo));
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

static void grace_forsake(struct shunt_runs_grace *grace)
{
	if (grace && __atomic_exchange_n(&grace->state, FORSAKEN, __ATOMIC_ACQ_REL) == OVER)
		free(grace);
}

void shunt_runs_fini(struct shunt_runs *runs)
{
	grace_forsake(runs->grace);
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

/* In liburcu's thread. */
static void grace_is_over(struct rcu_head *head)
{
	struct shunt_runs_grace *grace = caa_container_of(head, struct shunt_runs_grace, head);

	shunt_runs_tsan_reclaim(); /* pairs with grace_begin */
	if (__atomic_exchange_n(&grace->state, OVER, __ATOMIC_ACQ_REL) == FORSAKEN)
		free(grace);
}

/* All that is in limbo by now waits for it; without memory it waits for a later one. */
static void grace_begin(struct shunt_runs *runs)
{
	if (runs->grace || !runs->limbo_cnt)
		return;
	runs->grace = calloc(1, sizeof(*runs->grace));
	if (!runs->grace)
		return;
	runs->waiting_cnt = runs->limbo_cnt;
	shunt_runs_tsan_quiescent();
	urcu_qsbr_call_rcu(&runs->grace->head, grace_is_over);
}

/* Takes back what has waited for long enough. */
static void reclaim(struct shunt_runs *runs)
{
	uint32_t i;

	if (!runs->grace || __atomic_load_n(&runs->grace->state, __ATOMIC_ACQUIRE) != OVER)
		return;
	free(runs->grace);
	runs->grace = NULL;
	if (runs->arena.source)
		runs->arena.source->grace(runs->arena.source->ctx);
	shunt_runs_tsan_reclaim();
	for (i = 0; i < runs->waiting_cnt; i++)
		push(runs, (uint32_t)runs->limbo[i], (unsigned)(runs->limbo[i] >> 32));
	runs->limbo_cnt -= runs->waiting_cnt;
	memmove(runs->limbo, runs->limbo + runs->waiting_cnt,
		runs->limbo_cnt * sizeof(*runs->limbo));
}

/* Waits, but only once for a worker that hangs. Returns whether anything may have come back. */
static bool wait_for_grace(struct shunt_runs *runs)
{
	const struct timespec pause = {.tv_nsec = 1000 * 1000};
	struct shunt_runs_grace *grace;
	unsigned ms;

	grace_begin(runs);
	grace = runs->grace;
	if (!grace)
		return false;
	for (ms = 0; ms < GRACE_WAIT_MS && !grace->was_waited_for &&
		     __atomic_load_n(&grace->state, __ATOMIC_ACQUIRE) != OVER;
	     ms++)
		nanosleep(&pause, NULL);
	grace->was_waited_for = true;
	reclaim(runs);
	return !runs->grace;
}

static uint32_t take_again(struct shunt_runs *runs, unsigned cnt)
{
	uint32_t idx = pop(runs, cnt);

	return idx ? idx : split(runs, cnt);
}

uint32_t shunt_runs_alloc(struct shunt_runs *runs, unsigned cnt, bool spare)
{
	uint32_t idx = pop(runs, cnt);

	if (!idx)
		idx = bump(runs, cnt, spare);
	if (!idx) {
		reclaim(runs);
		idx = take_again(runs, cnt);
	}
	while (!idx && wait_for_grace(runs))
		idx = take_again(runs, cnt);
	if (idx)
		runs->live_cnt += cnt;
	return idx;
}

void shunt_runs_free(struct shunt_runs *runs, uint32_t idx, unsigned cnt)
{
	runs->live_cnt -= cnt;
	push(runs, idx, cnt);
}

static bool grow(struct shunt_runs *runs)
{
	uint64_t *limbo = realloc(runs->limbo, 2 * runs->limbo_max * sizeof(*limbo));

	if (!limbo)
		return false;
	runs->limbo = limbo;
	runs->limbo_max *= 2;
	return true;
}

void shunt_runs_retire(struct shunt_runs *runs, uint32_t idx, unsigned cnt)
{
	runs->live_cnt -= cnt;
	if (runs->limbo_cnt >= LIMBO_CNT) {
		reclaim(runs);
		if (runs->limbo_cnt >= LIMBO_CNT)
			grace_begin(runs);
	}
	/* What finds no place is never handed out again, which is safe too. */
	if (runs->limbo_cnt < runs->limbo_max || grow(runs))
		runs->limbo[runs->limbo_cnt++] = (uint64_t)cnt << 32 | idx;
}
