// SPDX-License-Identifier: BSD-2-Clause
/* Where the cycles go. Stages and nodes are timed in one working turn of
 * SHUNT_SAMPLE_EVERY: what is per packet there is per sampled packet. */
#include <string.h>

#include "show/show.h"
#include "base/json.h"

/* The plain counters among the worker's, read once so that quotients agree. */
#define PLAIN(X)           \
	X(turns)           \
	X(empty_turns)     \
	X(packets)         \
	X(busy_cycles)     \
	X(work_cycles)     \
	X(sleep_cycles)    \
	X(sleeps)          \
	X(sampled_turns)   \
	X(sampled_packets) \
	X(sampled_tx_cycles)

static void add_stats(struct shunt_worker_stats *sum, const struct shunt_worker_stats *s)
{
	unsigned i;

#define X(name) sum->name += shunt_counter_read(&s->name);
	PLAIN(X)
#undef X
	for (i = 0; i < SHUNT_STAGE_CNT; i++)
		sum->sampled_cycles[i] += shunt_counter_read(&s->sampled_cycles[i]);
	for (i = 0; i <= SHUNT_BATCH_MAX; i++)
		sum->batch[i] += shunt_counter_read(&s->batch[i]);
}

static json_t *stages_json(const struct shunt_worker_stats *s)
{
	json_t *rows = json_array(), *row;
	unsigned i;

	for (i = 0; i < SHUNT_STAGE_CNT; i++) {
		row = json_object();
		set_text(row, "name", shunt_stage_name((enum shunt_stage)i));
		set_u64(row, "sampled_cycles", s->sampled_cycles[i]);
		set_ratio(row, "cycles_per_packet", s->sampled_cycles[i], s->sampled_packets);
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *batch_json(const struct shunt_worker_stats *s)
{
	json_t *sizes = json_array(), *batch = json_object();
	uint64_t receives = 0, packets = 0;
	unsigned i;

	for (i = 1; i <= SHUNT_BATCH_MAX; i++) {
		if (!s->batch[i])
			continue;
		receives += s->batch[i];
		packets += s->batch[i] * i;
		json_array_append_new(sizes, json_pack("{s:i, s:I}", "packets", (int)i, "receives",
						       (json_int_t)s->batch[i]));
	}
	set_u64(batch, "receives", receives);
	set_u64(batch, "packets", packets);
	set_ratio(batch, "mean", packets, receives);
	json_object_set_new(batch, "sizes", sizes);
	return batch;
}

/* c_io, c_task, c_busy as graph/worker.h defines them. */
static void set_stats(json_t *row, const struct shunt_worker_stats *s)
{
	const uint64_t *c = s->sampled_cycles;
	uint64_t tx = SHUNT_MIN(s->sampled_tx_cycles, c[SHUNT_STAGE_GRAPH]);
	uint64_t io = c[SHUNT_STAGE_RECLAIM] + c[SHUNT_STAGE_RX] + c[SHUNT_STAGE_FLUSH] + tx;

#define X(name) set_u64(row, #name, s->name);
	PLAIN(X)
#undef X
	set_ratio(row, "c_io", io, s->sampled_packets);
	set_ratio(row, "c_task", c[SHUNT_STAGE_GRAPH] - tx, s->sampled_packets);
	set_ratio(row, "c_busy", s->busy_cycles, s->packets);
	set_ratio(row, "work_cycles_per_packet", s->work_cycles, s->packets);
	json_object_set_new(row, "stages", stages_json(s));
	json_object_set_new(row, "batch", batch_json(s));
}

static json_t *node_json(const struct shunt_node *node)
{
	uint64_t packets = shunt_counter_read(&node->stats.sampled_packets);
	uint64_t cycles = shunt_counter_read(&node->stats.sampled_cycles);
	json_t *row = json_object();

	set_text(row, "name", node->name);
	set_u64(row, "packets", shunt_counter_read(&node->stats.packets));
	set_u64(row, "batches", shunt_counter_read(&node->stats.batches));
	set_u64(row, "sampled_packets", packets);
	set_u64(row, "sampled_cycles", cycles);
	set_ratio(row, "cycles_per_packet", cycles, packets);
	return row;
}

static json_t *worker_json(const struct shunt_worker *w, struct shunt_worker_stats *total)
{
	json_t *row = json_object(), *nodes = json_array();
	struct shunt_worker_stats s;
	unsigned i;

	memset(&s, 0, sizeof(s));
	add_stats(&s, &w->stats);
	for (i = 0; i < w->graph.node_cnt; i++)
		json_array_append_new(nodes, node_json(&w->graph.nodes[i]));
	add_stats(total, &s);
	set_u64(row, "worker", w->opts.id);
	set_stats(row, &s);
	json_object_set_new(row, "nodes", nodes);
	return row;
}

json_t *shunt_show_runtime(const struct shunt_show *show)
{
	const struct shunt_engine *engine = show->engine;
	json_t *rows = json_array(), *total = json_object(), *result;
	struct shunt_worker_stats sum;
	unsigned i;

	memset(&sum, 0, sizeof(sum));
	for (i = 0; i < engine->worker_cnt; i++)
		json_array_append_new(rows, worker_json(engine->workers[i], &sum));
	set_stats(total, &sum);
	result = timed("workers", rows);
	set_u64(result, "cycles_hz", shunt_clock_hz());
	set_u64(result, "sample_every_turns", SHUNT_SAMPLE_EVERY);
	json_object_set_new(result, "total", total);
	return result;
}
