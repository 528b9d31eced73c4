// SPDX-License-Identifier: BSD-2-Clause
/* The ends of every graph: transmit, one node a port, and drop. */
#include <errno.h>
#include <stdlib.h>

#include "graph/nodes.h"
#include "graph/tag.h"

struct tx {
	struct shunt_queue *queue;
	const uint32_t *max_len; /* control may lower it */
	uint32_t longest;	 /* that any port sends, at the start */
};

static void show(struct shunt_graph *graph, enum shunt_tap_place place,
		 const struct shunt_queue *queue, const struct shunt_pkt *pkts, unsigned cnt)
{
	const struct shunt_tap_batch batch = {
		.place = place,
		.port = queue ? (uint8_t)queue->port : SHUNT_TAP_NO_PORT,
		.queue = queue ? queue->index : 0,
	};

	shunt_tap_show(&graph->taps, graph->pool, &batch, pkts, cnt);
}

static void drop(struct shunt_graph *graph, struct shunt_pkt *pkts, unsigned cnt, unsigned port)
{
	if (unlikely(graph->taps))
		show(graph, SHUNT_TAP_DROPPED, NULL, pkts, cnt);
	shunt_graph_drop(graph, pkts, cnt, port);
	shunt_pool_free_pkts(graph->pool, pkts, cnt);
}

/* As they would have left. */
static void drop_tail(const struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
		      enum shunt_drop reason)
{
	shunt_graph_set_reason(pkts, cnt, reason);
	drop(node->graph, pkts, cnt, ((const struct tx *)node->priv)->queue->port);
}

static unsigned drop_too_big(const struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			     uint32_t max_len)
{
	unsigned kept = 0, i;

	for (i = 0; i < cnt; i++) {
		if (unlikely(pkts[i].len > max_len))
			drop_tail(node, &pkts[i], 1, SHUNT_DROP_too_big);
		else
			pkts[kept++] = pkts[i];
	}
	return kept;
}

static unsigned run_tx(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
		       uint16_t *next)
{
	const struct tx *tx = node->priv;
	const uint32_t max_len = __atomic_load_n(tx->max_len, __ATOMIC_RELAXED);
	unsigned sent;

	(void)next;
	/* only then can a frame of another port be too long for this one */
	if (unlikely(max_len < tx->longest)) {
		cnt = drop_too_big(node, pkts, cnt, max_len);
		if (!cnt)
			return SHUNT_NEXT_NONE;
	}
	if (unlikely(shunt_queue_is_hung(tx->queue))) {
		drop_tail(node, pkts, cnt, SHUNT_DROP_late);
		return SHUNT_NEXT_NONE;
	}
	sent = tx->queue->ops->tx(tx->queue, pkts, cnt);
	/* what was accepted lies where it was until it is reclaimed, by this thread */
	if (unlikely(node->graph->taps))
		show(node->graph, SHUNT_TAP_SENT, tx->queue, pkts, sent);
	if (unlikely(sent < cnt))
		drop_tail(node, pkts + sent, cnt - sent, SHUNT_DROP_tx_ring_full);
	return SHUNT_NEXT_NONE;
}

static int init_tx(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	struct shunt_queue *queue = (struct shunt_queue *)params;
	const struct shunt_graph *graph = node->graph;
	struct tx *tx = malloc(sizeof(*tx));
	unsigned port;

	if (!tx)
		return shunt_err_set(err, ENOMEM, "node %s: not enough memory", node->name);
	*tx = (struct tx){.queue = queue, .max_len = &graph->max_lens[queue->port]};
	for (port = 0; port < graph->port_cnt; port++)
		tx->longest = SHUNT_MAX(tx->longest, graph->max_lens[port]);
	node->priv = tx;
	return 0;
}

static void fini_tx(struct shunt_node *node)
{
	free(node->priv);
}

const struct shunt_node_type shunt_node_tx = {
	.name = "tx",
	.help = "queues the packets on its port's transmit ring",
	.fn = run_tx,
	.is_io = true,
	.init = init_tx,
	.fini = fini_tx,
};

static unsigned run_drop(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			 uint16_t *next)
{
	(void)next;
	drop(node->graph, pkts, cnt, SHUNT_PORT_MAX);
	return SHUNT_NEXT_NONE;
}

/* As they came in. */
static unsigned run_drop_above(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			       uint16_t *next)
{
	unsigned i;

	for (i = 0; i < cnt; i++)
		shunt_tag_give(&pkts[i], node->mem);
	return run_drop(node, pkts, cnt, next);
}

/* params: not NULL: for packets whose tags are kept. */
static int init_drop(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	(void)err;
	if (params)
		node->fn = run_drop_above;
	return 0;
}

const struct shunt_node_type shunt_node_drop = {
	.name = "drop",
	.help = "counts the packets by reason and frees their frames",
	.fn = run_drop,
	.is_io = true,
	.init = init_drop,
};
