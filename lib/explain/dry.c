// SPDX-License-Identifier: BSD-2-Clause
#include "explain/dry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "engine/graph.h"
#include "graph/learn.h"
#include "graph/nodes.h"
#include "graph/worker.h"
#include "io/chain.h"
#include "xdp/explain.h"

/* Of frames: the one, and a copy for each port that a bridge floods to. */
#define FRAMES (4u * SHUNT_PORT_MAX)

struct dry_queue {
	struct shunt_queue queue;
	struct shunt_dry *dry;
};

struct shunt_dry {
	struct shunt_engine *engine;
	struct shunt_worker worker;
	struct shunt_learn learn;
	struct dry_queue queues[SHUNT_PORT_MAX];
	json_t *answer;			   /* of the frame that is under way, */
	const struct shunt_worker *server; /* and the worker that would have it */
};

/* ---- queues ---------------------------------------------------------------------------------- */

static unsigned rx(struct shunt_queue *queue, struct shunt_pkt *pkts, unsigned max)
{
	(void)queue;
	(void)pkts;
	(void)max;
	return 0;
}

/* Of the port's, that which the frame's worker transmits by. */
static json_t *queue_out(const struct shunt_dry *dry, unsigned port)
{
	const struct shunt_queue *queue = dry->server->queues[port];

	return queue ? json_integer(queue->index) : json_null();
}

static unsigned tx(struct shunt_queue *queue, const struct shunt_pkt *pkts, unsigned cnt)
{
	const struct shunt_dry *dry = shunt_container_of(queue, struct dry_queue, queue)->dry;
	unsigned i;

	for (i = 0; i < cnt; i++) {
		uint8_t *bytes = malloc(pkts[i].len);
		json_t *row = json_object();

		if (bytes)
			shunt_chain_copy(queue->pool, &pkts[i], bytes);
		set_text(row, "port", dry->engine->ports.at[queue->port].name);
		json_object_set_new(row, "queue", queue_out(dry, queue->port));
		json_object_set_new(row, "bytes",
				    shunt_explain_hex(bytes, bytes ? pkts[i].len : 0));
		json_array_append_new(json_object_get(dry->answer, "outputs"), row);
		free(bytes);
	}
	set_text(dry->answer, "result", "sent");
	set_text(dry->answer, "reason", NULL);
	shunt_pool_free_pkts(queue->pool, pkts, cnt);
	return cnt;
}

static const struct shunt_queue_ops ops = {
	.kind = "dry",
	.reclaim = shunt_queue_nothing,
	.rx = rx,
	.tx = tx,
	.flush = shunt_queue_nothing,
	.ledger = shunt_queue_ledger_none,
	.audit = shunt_queue_audit_none,
	.close = shunt_queue_nothing,
};

/* ---- nodes ----------------------------------------------------------------------------------- */

/* What stands in the place of each node's function: it notes that the frame came by. */
static unsigned step(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	const struct shunt_dry *dry =
		shunt_container_of(node->graph->pool, struct shunt_dry, worker.pool);
	json_t *row = json_object();

	set_text(row, "node", node->name);
	json_array_append_new(json_object_get(dry->answer, "nodes"), row);
	if (node->type == &shunt_node_drop) {
		set_text(dry->answer, "result", "dropped");
		set_text(dry->answer, "reason", shunt_drop_name(pkts[0].reason));
	} else if (node->type == &shunt_node_punt) {
		set_text(dry->answer, "result", "punted");
		set_text(dry->answer, "reason", shunt_punt_name(pkts[0].reason));
	}
	return node->type->fn(node, pkts, cnt, next);
}

/* Each leads to the one behind it in the list, but for the last. */
static void set_nexts(json_t *answer)
{
	json_t *nodes = json_object_get(answer, "nodes");
	size_t i, cnt = json_array_size(nodes);

	for (i = 0; i < cnt; i++)
		json_object_set(json_array_get(nodes, i), "next",
				i + 1 < cnt ? json_object_get(json_array_get(nodes, i + 1), "node")
					    : json_null());
}

/* ---- a worker -------------------------------------------------------------------------------- */

static int add_queues(struct shunt_dry *dry, struct shunt_err *err)
{
	unsigned i;

	for (i = 0; i < dry->engine->ports.cnt; i++) {
		dry->queues[i] = (struct dry_queue){.queue = {.ops = &ops,
							      .pool = &dry->worker.pool,
							      .port = (uint16_t)i,
							      .fd = -1},
						    .dry = dry};
		if (shunt_worker_add_queue(&dry->worker, &dry->queues[i].queue))
			return shunt_err_set(err, ENOSPC, "explain: too many ports");
	}
	return 0;
}

static int make(struct shunt_dry *dry, struct shunt_err *err)
{
	const struct shunt_worker_opts opts = {.cpu = -1, .batch = 1};
	unsigned i;
	int ret = shunt_worker_init(&dry->worker, &opts, err);

	if (!ret)
		ret = shunt_learn_init(&dry->learn, err);
	if (!ret)
		ret = shunt_pool_init(&dry->worker.pool, FRAMES, dry->engine->frame_size, err);
	if (!ret && dry->engine->multi_buffer)
		ret = shunt_pool_link(&dry->worker.pool, err);
	if (!ret)
		ret = add_queues(dry, err);
	if (!ret)
		ret = shunt_engine_build_dry_graph(dry->engine, &dry->worker, &dry->learn, err);
	for (i = 0; !ret && i < dry->worker.graph.node_cnt; i++)
		dry->worker.graph.nodes[i].fn = step;
	return ret;
}

int shunt_dry_create(struct shunt_dry **out, struct shunt_engine *engine, struct shunt_err *err)
{
	struct shunt_dry *dry =
		aligned_alloc(SHUNT_CACHELINE, (sizeof(*dry) + SHUNT_CACHELINE - 1) &
						       ~(size_t)(SHUNT_CACHELINE - 1));
	int ret;

	*out = NULL;
	if (!dry)
		return shunt_err_set(err, ENOMEM, "explain: not enough memory");
	memset(dry, 0, sizeof(*dry));
	dry->engine = engine;
	dry->worker.wake_fd = dry->learn.fd = -1;
	ret = make(dry, err);
	if (ret)
		shunt_dry_destroy(dry);
	else
		*out = dry;
	return ret;
}

void shunt_dry_destroy(struct shunt_dry *dry)
{
	if (!dry)
		return;
	shunt_worker_fini(&dry->worker);
	shunt_learn_fini(&dry->learn);
	free(dry);
}

int shunt_dry_run(struct shunt_dry *dry, unsigned port, const struct shunt_xdp_frame *frame,
		  json_t *answer, struct shunt_err *err)
{
	struct shunt_graph *graph = &dry->worker.graph;
	struct shunt_pkt pkt = {.port = (uint16_t)port};
	struct shunt_told told;

	if (!shunt_chain_put(&dry->worker.pool, &pkt, SHUNT_FRAME_HEADROOM, frame->bytes,
			     frame->len))
		return shunt_err_set(err, ENOSPC,
				     "explain: the frame is too long for a frame here");
	dry->answer = answer;
	dry->server = dry->engine->workers[frame->queue % dry->engine->worker_cnt];
	graph->now_ns = shunt_clock_ns();
	shunt_graph_run(graph, dry->worker.entry[port], &pkt, 1);
	if (graph->flush_due)
		shunt_graph_flush(graph);
	while (shunt_learn_take(&dry->learn, &told))
		;
	set_nexts(answer);
	return 0;
}
