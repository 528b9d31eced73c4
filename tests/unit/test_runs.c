// SPDX-License-Identifier: BSD-2-Clause
/* Memory of tables comes back after a grace period, and a reader that hangs makes no update wait.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <urcu-qsbr.h>

#include "fib/runs.h"
#include "graph/local4.h"

#define RETIRED_CNT 100000u
#define ELEMS	    (4u * SHUNT_ARENA_STEP_BYTES / sizeof(uint32_t))

/* A worker in an endless turn, until it is told to end it. */
struct stuck {
	pthread_t thread;
	sem_t is_stuck, may_go;
};

static void *hang(void *arg)
{
	struct stuck *s = arg;

	urcu_qsbr_register_thread();
	sem_post(&s->is_stuck);
	sem_wait(&s->may_go);
	shunt_runs_tsan_quiescent();
	urcu_qsbr_unregister_thread();
	return NULL;
}

static void stuck_start(struct stuck *s)
{
	sem_init(&s->is_stuck, 0, 0);
	sem_init(&s->may_go, 0, 0);
	cr_assert_eq(pthread_create(&s->thread, NULL, hang, s), 0);
	sem_wait(&s->is_stuck);
}

static void stuck_end(struct stuck *s)
{
	sem_post(&s->may_go);
	pthread_join(s->thread, NULL);
}

/* Every run is taken and given back, which it is not before nobody can read it. */
static uint32_t churn(struct shunt_runs *runs)
{
	uint32_t i, idx, max = 0;

	for (i = 0; i < RETIRED_CNT; i++) {
		idx = shunt_runs_alloc(runs, 1, true);
		cr_assert(idx);
		max = idx > max ? idx : max;
		shunt_runs_retire(runs, idx, 1);
	}
	return max;
}

static void runs_start(struct shunt_runs *runs, struct shunt_arena_budget *budget)
{
	struct shunt_err err;

	cr_assert_eq(shunt_runs_init(runs, sizeof(uint32_t), ELEMS, budget, "test", &err), 0);
}

Test(runs, who_hangs_keeps_memory_but_nobody_waiting, .timeout = 120)
{
	struct shunt_arena_budget budget = {0};
	struct shunt_runs runs;
	struct stuck stuck;

	runs_start(&runs, &budget);
	stuck_start(&stuck);
	/* Each run is a new one: the worker might read any of them. */
	cr_expect_geq(churn(&runs), RETIRED_CNT);
	cr_expect_eq(runs.limbo_cnt, RETIRED_CNT);
	stuck_end(&stuck);
	urcu_qsbr_barrier();
	shunt_runs_retire(&runs, shunt_runs_alloc(&runs, 1, true), 1);
	cr_expect_lt(runs.limbo_cnt, RETIRED_CNT);
	urcu_qsbr_barrier();
	cr_expect_leq(churn(&runs), RETIRED_CNT + 1);
	shunt_runs_fini(&runs);
}

/* How often this thread slept. Waiting for a grace period is some hundred short sleeps. */
static long sleeps(void)
{
	struct rusage used;

	getrusage(RUSAGE_THREAD, &used);
	return used.ru_nvcsw;
}

Test(runs, an_allocation_without_memory_waits_once_for_who_hangs, .timeout = 120)
{
	struct shunt_arena_budget budget = {.bytes_max = SHUNT_ARENA_STEP_BYTES};
	struct shunt_runs runs;
	struct stuck stuck;
	long before;
	unsigned i;

	runs_start(&runs, &budget);
	stuck_start(&stuck);
	for (i = 1; i < SHUNT_ARENA_STEP_BYTES / sizeof(uint32_t); i++) {
		cr_assert(shunt_runs_alloc(&runs, 1, false));
		shunt_runs_retire(&runs, i, 1);
	}
	cr_expect_eq(shunt_runs_alloc(&runs, 1, false), 0);
	before = sleeps();
	for (i = 0; i < 20; i++)
		cr_expect_eq(shunt_runs_alloc(&runs, 1, false), 0);
	cr_expect_lt(sleeps() - before, 20);
	stuck_end(&stuck);
	urcu_qsbr_barrier();
	cr_expect(shunt_runs_alloc(&runs, 1, false));
	shunt_runs_fini(&runs);
}

Test(runs, a_table_may_go_while_somebody_hangs, .timeout = 120)
{
	struct shunt_arena_budget budget = {0};
	struct shunt_runs runs;
	struct stuck stuck;

	runs_start(&runs, &budget);
	stuck_start(&stuck);
	churn(&runs);
	shunt_runs_fini(&runs);
	shunt_local4_retire(shunt_local4_create(NULL, 0));
	stuck_end(&stuck);
	urcu_qsbr_barrier();
}
