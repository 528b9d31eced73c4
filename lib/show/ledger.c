// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "show/show.h"
#include "base/json.h"

/* A healthy worker answers within a turn; a worker that sleeps is woken. Workers that do not answer
 * must not hold up the daemon: the budget is for all of them together. */
#define WORKER_MS 200u
#define BUDGET_MS 500u

#define PLACES(X)    \
	X(pool)      \
	X(fill)      \
	X(driver_rx) \
	X(rx)        \
	X(tx)        \
	X(driver_tx) \
	X(completion)

static json_t *worker_json(struct shunt_worker *w, unsigned timeout_ms)
{
	json_t *row = json_object();
	struct shunt_ledger l;
	int ret = shunt_worker_ledger(w, &l, timeout_ms);

	set_u64(row, "worker", w->opts.id);
	if (ret) {
		json_object_set_new(row, "balanced", json_null());
		json_object_set_new(
			row, "error",
			ret == -ETIMEDOUT
				? json_sprintf("the worker did not answer within %u ms", timeout_ms)
				: json_string(strerror(-ret)));
		return row;
	}
#define X(place) set_u64(row, #place, l.place);
	PLACES(X)
#undef X
	set_u64(row, "sum", shunt_ledger_sum(&l));
	set_u64(row, "total", l.total);
	set_u64(row, "doubled", __atomic_load_n(&w->pool.doubled, __ATOMIC_RELAXED));
	json_object_set_new(row, "balanced", json_boolean(shunt_ledger_sum(&l) == l.total));
	return row;
}

json_t *shunt_show_ledger(const struct shunt_show *show)
{
	const struct shunt_engine *engine = show->engine;
	uint64_t start_ns = shunt_clock_ns(), spent_ms;
	json_t *rows = json_array();
	unsigned i;

	for (i = 0; i < engine->worker_cnt; i++) {
		spent_ms = (shunt_clock_ns() - start_ns) / 1000000;
		json_array_append_new(
			rows, worker_json(engine->workers[i],
					  spent_ms + WORKER_MS <= BUDGET_MS ? WORKER_MS : 1));
	}
	return timed("ledger", rows);
}
