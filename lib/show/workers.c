// SPDX-License-Identifier: BSD-2-Clause
#include <sched.h>

#include "show/show.h"
#include "base/json.h"

/* The one CPU that the kernel lets the thread run on, -1 when there are several. */
static int pinned_cpu(int tid)
{
	cpu_set_t set;
	int cpu;

	if (sched_getaffinity(tid, sizeof(set), &set) || CPU_COUNT(&set) != 1)
		return -1;
	for (cpu = 0; !CPU_ISSET(cpu, &set); cpu++)
		;
	return cpu;
}

static json_t *cpu_json(int cpu)
{
	return cpu < 0 ? json_null() : json_integer(cpu);
}

/* How often the watch took the worker for hung. It looks at each queue of each port by itself. */
static uint64_t hangs_of(const struct shunt_engine *engine, unsigned worker)
{
	uint64_t most = 0;
	unsigned i, q;

	for (i = 0; i < engine->ports.cnt; i++) {
		const struct shunt_port *port = &engine->ports.at[i];

		for (q = worker; port->xdp && q < port->queue_cnt; q += engine->config->worker_cnt)
			most = SHUNT_MAX(most, __atomic_load_n(&shunt_xdp_gate(port->xdp, q)->hangs,
							       __ATOMIC_RELAXED));
	}
	return most;
}

static json_t *worker_json(const struct shunt_engine *engine, const struct shunt_worker *w,
			   uint64_t now_ns)
{
	const struct shunt_worker_stats *s = &w->stats;
	uint64_t beat_ns = shunt_counter_read(&s->heartbeat_ns);
	json_t *row = json_object();

	set_u64(row, "worker", w->opts.id);
	json_object_set_new(row, "running", json_boolean(w->running));
	json_object_set_new(row, "tid", w->running ? json_integer(w->tid) : json_null());
	json_object_set_new(row, "cpu_requested", cpu_json(w->opts.cpu));
	json_object_set_new(row, "cpu_in_use", cpu_json(w->running ? pinned_cpu(w->tid) : -1));
	set_text(row, "poll", shunt_poll_mode_name(w->opts.poll));
	set_u64(row, "batch", w->opts.batch);
	set_u64(row, "idle_us", w->opts.idle_us);
	set_u64(row, "queues", w->rx_queue_cnt);
	set_u64(row, "frames", w->pool.total);
	set_u64(row, "frame_size", w->pool.frame_size);
	set_text(row, "pages", shunt_page_kind_name(w->pool.page_kind));
	set_u64(row, "packets", shunt_counter_read(&s->packets));
	set_u64(row, "turns", shunt_counter_read(&s->turns));
	set_u64(row, "empty_turns", shunt_counter_read(&s->empty_turns));
	set_u64(row, "sleeps", shunt_counter_read(&s->sleeps));
	set_u64(row, "hangs", hangs_of(engine, w->opts.id));
	/* The worker may beat after now_ns was read. */
	json_object_set_new(row, "heartbeat_age_ns",
			    !beat_ns		? json_null()
			    : beat_ns >= now_ns ? json_integer(0)
						: json_integer((json_int_t)(now_ns - beat_ns)));
	return row;
}

json_t *shunt_show_workers(const struct shunt_show *show)
{
	const struct shunt_engine *engine = show->engine;
	uint64_t now_ns = shunt_clock_ns();
	json_t *rows = json_array();
	unsigned i;

	for (i = 0; i < engine->worker_cnt; i++)
		json_array_append_new(rows, worker_json(engine, engine->workers[i], now_ns));
	return timed("workers", rows);
}
