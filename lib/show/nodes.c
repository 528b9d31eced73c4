// SPDX-License-Identifier: BSD-2-Clause
#include "show/show.h"
#include "base/json.h"

static json_t *node_json(const struct shunt_worker *w, const struct shunt_node *node)
{
	json_t *row = json_object();

	set_u64(row, "worker", w->opts.id);
	set_u64(row, "index", node->index);
	set_text(row, "name", node->name);
	set_text(row, "type", node->type->name);
	set_text(row, "help", node->type->help);
	set_u64(row, "packets", shunt_counter_read(&node->stats.packets));
	set_u64(row, "batches", shunt_counter_read(&node->stats.batches));
	return row;
}

json_t *shunt_show_nodes(const struct shunt_show *show)
{
	const struct shunt_engine *engine = show->engine;
	json_t *rows = json_array();
	unsigned i, n;

	for (i = 0; i < engine->worker_cnt; i++) {
		const struct shunt_worker *w = engine->workers[i];

		for (n = 0; n < w->graph.node_cnt; n++)
			json_array_append_new(rows, node_json(w, &w->graph.nodes[n]));
	}
	return timed("nodes", rows);
}
