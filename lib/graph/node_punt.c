// SPDX-License-Identifier: BSD-2-Clause
/* Punt: hands packets to the kernel as received on their port. Each is copied and its frame
 * freed at once, so a slow kernel holds no frames; the copies of a turn are sent at its end.
 *
 * A token bucket for each reason bounds what a flood of one kind costs. Nothing is dropped for it:
 * when the bucket is empty, the steering program is told to give the frame's destination to the
 * kernel itself (ops->leave), and what is here already is handed over all the same. Only a port
 * without such a program has its frames dropped. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "graph/nodes.h"
#include "graph/tag.h"
#include "io/chain.h"

/* A bucket holds a tenth of a second's packets, at least 32. Less: a burst of first packets to new
 * neighbours is cut. More: a flood holds the worker up for longer. */
#define BURST_DIVISOR 10u
#define BURST_MIN     32u
/* Ethernet and IPv6; and with two tags and TCP. The first frame of a packet of several has them. */
#define HEADERS_MAX   54u
#define RESTORED_MAX  82u

struct bucket {
	uint64_t tokens_ns; /* a packet costs punt.cost_ns of them */
	uint64_t filled_ns; /* CLOCK_MONOTONIC */
};

struct punt {
	struct shunt_punt_params params;
	uint64_t cost_ns;  /* 0: no limit */
	uint64_t burst_ns; /* what a full bucket holds */
	struct bucket buckets[SHUNT_PUNT_CNT];
};

static bool take(struct punt *punt, unsigned reason, uint64_t now_ns)
{
	struct bucket *bucket = &punt->buckets[reason];
	uint64_t gained = now_ns - bucket->filled_ns;

	if (!punt->cost_ns)
		return true;
	bucket->filled_ns = now_ns;
	bucket->tokens_ns = gained > punt->burst_ns
				    ? punt->burst_ns
				    : SHUNT_MIN(bucket->tokens_ns + gained, punt->burst_ns);
	if (bucket->tokens_ns < punt->cost_ns)
		return false;
	bucket->tokens_ns -= punt->cost_ns;
	return true;
}

/* tag: the key of a punt. */
static void settle(void *arg, uint64_t tag, bool sent)
{
	struct shunt_loss loss = shunt_loss_of(tag);

	if (!sent)
		loss.kind = SHUNT_LOSS_PUNT_FAILED;
	shunt_graph_lose(arg, shunt_loss_key(&loss), 1);
}

static void flush(struct shunt_node *node)
{
	struct punt *punt = node->priv;

	if (punt->params.queue)
		shunt_puntdev_queue_send(punt->params.queue, settle, node->graph);
}

static void hand_over(struct shunt_node *node, const struct shunt_pkt *pkt)
{
	struct punt *punt = node->priv;
	const uint64_t tag = shunt_graph_loss(node->graph, SHUNT_LOSS_PUNT, pkt, pkt->port);
	uint32_t ifindex = punt->params.ifindex[pkt->port];
	uint8_t *room = NULL;

	if (punt->params.queue && ifindex) {
		room = shunt_puntdev_queue_put(punt->params.queue, pkt->len, ifindex, tag);
		if (!room) {
			flush(node);
			room = shunt_puntdev_queue_put(punt->params.queue, pkt->len, ifindex, tag);
		}
	}
	if (!room) {
		settle(node->graph, tag, false);
		return;
	}
	shunt_chain_copy(node->graph->pool, pkt, room);
	node->graph->flush_due = true;
}

/* Which of its queues a frame came from is not known: all of its port's are told. */
static bool leave(const struct punt *punt, const struct shunt_graph *graph,
		  const struct shunt_pkt *pkt)
{
	const uint8_t *data = shunt_pkt_data(pkt, graph->pool->mem);
	const uint32_t len = SHUNT_MIN(pkt->len, HEADERS_MAX);
	bool is_left = false;
	unsigned i;

	for (i = 0; punt->params.queues && i < *punt->params.queue_cnt; i++) {
		struct shunt_queue *queue = punt->params.queues[i];

		if (queue->port == pkt->port && queue->ops->leave)
			is_left |= queue->ops->leave(queue, data, len, graph->now_ns);
	}
	return is_left;
}

/* Whether the packet is, or now is, what it was when it arrived: translated, it would be translated
 * again. */
static bool is_as_received(const struct shunt_node *node, const struct shunt_pkt *pkt)
{
	const struct shunt_punt_params *params = &((const struct punt *)node->priv)->params;
	uint8_t approved = SHUNT_APPROVED_NEVER;
	int ret;

	if (params->live)
		approved = __atomic_load_n(&params->live[pkt->port].approved, __ATOMIC_RELAXED);
	if (approved == SHUNT_APPROVED_NEVER)
		return true;
	ret = params->restore(params->restore_arg, shunt_pkt_data(pkt, node->graph->pool->mem),
			      SHUNT_MIN(pkt->len, RESTORED_MAX));
	return shunt_approved_is_known(approved, ret);
}

static void lose(struct shunt_graph *graph, enum shunt_loss_kind kind, const struct shunt_pkt *pkt)
{
	shunt_graph_lose(graph, shunt_graph_loss(graph, kind, pkt, pkt->port), 1);
}

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	struct shunt_graph *graph = node->graph;
	bool is_known[SHUNT_BATCH_MAX];
	unsigned i;

	(void)next;
	for (i = 0; i < cnt && ((struct punt *)node->priv)->params.is_above; i++)
		shunt_tag_give(&pkts[i], node->mem);
	for (i = 0; i < cnt; i++)
		is_known[i] = is_as_received(node, &pkts[i]);
	if (unlikely(graph->taps))
		shunt_tap_show(&graph->taps, graph->pool,
			       &(struct shunt_tap_batch){.place = SHUNT_TAP_PUNTED}, pkts, cnt);
	for (i = 0; i < cnt; i++) {
		if (unlikely(!is_known[i])) {
			lose(graph, SHUNT_LOSS_PUNT_FAILED, &pkts[i]);
			continue;
		}
		if (likely(take(node->priv, pkts[i].reason, graph->now_ns)) ||
		    leave(node->priv, graph, &pkts[i])) {
			hand_over(node, &pkts[i]);
			continue;
		}
		lose(graph, SHUNT_LOSS_PUNT_LIMITED, &pkts[i]);
	}
	shunt_pool_free_pkts(graph->pool, pkts, cnt);
	return SHUNT_NEXT_NONE;
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	const struct shunt_punt_params *in = params;
	struct punt *punt = calloc(1, sizeof(*punt));
	unsigned i;

	if (!punt)
		return shunt_err_set(err, ENOMEM, "node %s: not enough memory", node->name);
	punt->params = *in;
	if (in->rate) {
		punt->cost_ns = SHUNT_MAX(SHUNT_NS_PER_SEC / in->rate, 1ULL);
		punt->burst_ns = SHUNT_MAX(in->rate / BURST_DIVISOR, BURST_MIN) * punt->cost_ns;
	}
	for (i = 0; i < SHUNT_PUNT_CNT; i++)
		punt->buckets[i].tokens_ns = punt->burst_ns;
	node->priv = punt;
	return 0;
}

static void fini(struct shunt_node *node)
{
	free(node->priv);
}

const struct shunt_node_type shunt_node_punt = {
	.name = "punt",
	.help = "hands packets to the kernel as received on their port",
	.fn = run,
	.is_io = true,
	.init = init,
	.fini = fini,
	.flush = flush,
};
