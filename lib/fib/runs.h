/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs: blocks of 1 to 32 equal elements in an arena, named by the index of their first
 * element, with deferred freeing. A retired run may still be read by workers; it waits in
 * limbo until a grace period of liburcu (QSBR) has passed and only then is handed out
 * again. Grace periods are waited for by a thread of liburcu's, one for thousands of retired
 * runs. So a burst of updates does not wait for one each, and a worker that hangs makes limbo grow
 * but stops no update.
 * Limits: free runs are split when memory is short but not joined, so a table that
 * changes its shape wholly may hold some free runs of sizes it no longer needs.
 *
 *	i = shunt_runs_alloc(&runs, 5, true);	elements i..i+4, 0 if none
 *	... fill, publish, and once unpublished:
 *	shunt_runs_retire(&runs, i, 5);
 */
#ifndef SHUNT_FIB_RUNS_H
#define SHUNT_FIB_RUNS_H

#include <stdbool.h>

#include "fib/arena.h"

#define SHUNT_RUN_MAX 32

struct shunt_runs {
	struct shunt_arena arena;
	uint32_t elem_bytes;
	uint32_t next;	   /* elements never handed out start here */
	uint32_t live_cnt; /* elements in use, limbo not counted */
	uint32_t limbo_cnt, limbo_max;
	uint32_t waiting_cnt;		/* the first of them, for `grace` */
	struct shunt_runs_grace *grace; /* NULL: none is asked for */
	uint64_t *limbo;
	uint32_t free_heads[SHUNT_RUN_MAX + 1]; /* by length; linked through the first word */
};

/* shunt_runs_init prepares for up to elem_max elements of elem_bytes (4 to 64) each; the
 * first is never handed out. Returns 0 or -ENOMEM with *err filled. Thread: the writer. */
int shunt_runs_init(struct shunt_runs *runs, uint32_t elem_bytes, uint32_t elem_max,
		    struct shunt_arena_budget *budget, const char *what, struct shunt_err *err);

/* shunt_runs_fini frees all; no reader may be left. Legal on zeroed memory. Thread: the writer. */
void shunt_runs_fini(struct shunt_runs *runs);

/* shunt_runs_alloc returns the index of cnt (1..32) elements with undefined contents, or 0
 * if there is no memory. Some memory is kept back for callers with spare false, so that
 * deletions still work when additions no longer do. May wait a tenth of a second for a grace
 * period when memory is short. Thread: the writer. */
uint32_t shunt_runs_alloc(struct shunt_runs *runs, unsigned cnt, bool spare);

/* shunt_runs_free returns a run that no reader can have seen. Thread: the writer. */
void shunt_runs_free(struct shunt_runs *runs, uint32_t idx, unsigned cnt);

/* shunt_runs_retire returns a run that is no longer published but may still be read.
 * Never waits. Thread: the writer. */
void shunt_runs_retire(struct shunt_runs *runs, uint32_t idx, unsigned cnt);

/* shunt_runs_tsan_quiescent tells ThreadSanitizer, which does not see liburcu's grace
 * periods, that the calling reader is about to announce a quiescent state; what is reclaimed
 * afterwards is ordered behind its reads. Nothing in other builds. Thread: any. */
#ifdef __SANITIZE_THREAD__
extern char shunt_runs_tsan_grace;
void __tsan_acquire(void *p);
void __tsan_release(void *p);

static inline void shunt_runs_tsan_quiescent(void)
{
	__tsan_release(&shunt_runs_tsan_grace);
}

static inline void shunt_runs_tsan_reclaim(void)
{
	__tsan_acquire(&shunt_runs_tsan_grace);
}
#else
static inline void shunt_runs_tsan_quiescent(void)
{
}

static inline void shunt_runs_tsan_reclaim(void)
{
}
#endif

#endif
