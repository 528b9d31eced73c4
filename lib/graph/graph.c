// SPDX-License-Identifier: BSD-2-Clause
#include "graph/graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "graph/ip.h"

void shunt_graph_init(struct shunt_graph *graph, struct shunt_pool *pool,
		      struct shunt_queue **queues, unsigned port_cnt)
{
	memset(graph, 0, sizeof(*graph));
	graph->pool = pool;
	graph->queues = queues;
	graph->port_cnt = port_cnt;
	memset(graph->tx_node, 0xff, sizeof(graph->tx_node));
}

int shunt_graph_add(struct shunt_graph *graph, const struct shunt_node_type *type, const char *name,
		    const void *params, struct shunt_err *err)
{
	struct shunt_node *node = &graph->nodes[graph->node_cnt];

	if (graph->node_cnt == SHUNT_NODE_MAX)
		return shunt_err_set(err, ENOSPC, "graph: no room for node %s: %u nodes at most",
				     name ? name : type->name, SHUNT_NODE_MAX);
	node->fn = type->fn;
	node->graph = graph;
	node->mem = graph->pool->mem;
	node->type = type;
	node->index = (uint16_t)graph->node_cnt;
	node->params = params;
	node->follow = SHUNT_NEXT_NONE;
	snprintf(node->name, sizeof(node->name), "%s", name ? name : type->name);
	return (int)graph->node_cnt++;
}

void shunt_graph_name_port(struct shunt_graph *graph, unsigned port, const char *name)
{
	struct shunt_node *node;

	if (!graph->queues[port])
		return;
	node = &graph->nodes[graph->tx_node[port]];
	snprintf(node->name, sizeof(node->name), "tx:%s", name);
}

void shunt_graph_set_devices(struct shunt_graph *graph, const struct shunt_graph_devices *devices)
{
	graph->devices = *devices;
}

static int add_ends(struct shunt_graph *graph, const char *const *port_names, struct shunt_err *err)
{
	unsigned port;
	int ret;

	for (port = 0; port < graph->port_cnt; port++) {
		if (!graph->queues[port])
			continue;
		ret = shunt_graph_add(graph, &shunt_node_tx, NULL, graph->queues[port], err);
		if (ret < 0)
			return ret;
		graph->tx_node[port] = (uint16_t)ret;
		shunt_graph_name_port(graph, port, port_names[port]);
	}
	ret = shunt_graph_add(graph, &shunt_node_drop, NULL, NULL, err);
	if (ret < 0)
		return ret;
	graph->drop_node = graph->drop_above_node = (uint16_t)ret;
	if (!graph->devices.above)
		return 0;
	ret = shunt_graph_add(graph, &shunt_node_drop, "drop" SHUNT_NODE_ABOVE, &graph->devices,
			      err);
	if (ret < 0)
		return ret;
	graph->drop_above_node = (uint16_t)ret;
	return 0;
}

int shunt_graph_seal(struct shunt_graph *graph, const char *const *port_names,
		     const uint32_t *max_lens, struct shunt_err *err)
{
	struct shunt_node *node;
	unsigned i;
	int ret = add_ends(graph, port_names, err);

	graph->max_lens = max_lens;

	for (i = 0; !ret && i < graph->node_cnt; i++) {
		node = &graph->nodes[i];
		graph->pending[i] =
			aligned_alloc(SHUNT_CACHELINE, SHUNT_BATCH_MAX * sizeof(struct shunt_pkt));
		if (!graph->pending[i])
			return shunt_err_set(err, ENOMEM, "graph: not enough memory for node %s",
					     node->name);
		if (node->type->init)
			ret = node->type->init(node, node->params, err);
	}
	graph->max_lens = NULL;
	return ret;
}

void shunt_graph_fini(struct shunt_graph *graph)
{
	unsigned i;

	for (i = 0; i < graph->node_cnt; i++) {
		if (graph->nodes[i].type->fini)
			graph->nodes[i].type->fini(&graph->nodes[i]);
		free(graph->pending[i]);
	}
	memset(graph, 0, sizeof(*graph));
}

int shunt_graph_find(const struct shunt_graph *graph, const char *name)
{
	unsigned i;

	for (i = 0; i < graph->node_cnt; i++)
		if (!strcmp(graph->nodes[i].name, name))
			return (int)i;
	return -ENOENT;
}

void shunt_graph_flush(struct shunt_graph *graph)
{
	unsigned i;

	graph->flush_due = false;
	for (i = 0; i < graph->node_cnt; i++)
		if (graph->nodes[i].type->flush)
			graph->nodes[i].type->flush(&graph->nodes[i]);
}

/* --- losses ----------------------------------------------------------------------------------- */

/* A bond or a bridge has all that comes by its members, but what its VLAN devices have. */
static uint32_t device_of(const struct shunt_graph_devices *devices, unsigned port,
			  const uint8_t *frame, uint32_t len)
{
	struct shunt_ip_tags tags;
	uint32_t number = 0;
	uint16_t own;

	if (!devices->above)
		return devices->ifindex[port];
	if (len >= SHUNT_ETH_LEN + 2 * SHUNT_TAG_LEN && shunt_ip_is_tagged(frame)) {
		tags = shunt_ip_tags_read(frame);
		number = shunt_device_number(shunt_ip_tags_find(devices->above, &tags, port));
	}
	own = __atomic_load_n(&devices->live[port].own, __ATOMIC_RELAXED);
	if (!number && own >= SHUNT_ADJ_TAGGED)
		number = own - SHUNT_ADJ_TAGGED;
	return number ? shunt_devices_at(devices->above, number)->ifindex : devices->ifindex[port];
}

uint64_t shunt_graph_loss(const struct shunt_graph *graph, enum shunt_loss_kind kind,
			  const struct shunt_pkt *pkt, unsigned port)
{
	const struct shunt_loss loss = {
		.ifindex = device_of(&graph->devices, port, shunt_pkt_data(pkt, graph->pool->mem),
				     pkt->len),
		.port = (uint8_t)port,
		.kind = (uint8_t)kind,
		.reason = pkt->reason,
	};

	return shunt_loss_key(&loss);
}

static void drop_punts(struct shunt_graph *graph, struct shunt_loss loss, enum shunt_drop reason,
		       unsigned cnt)
{
	loss.kind = SHUNT_LOSS_DROP;
	loss.reason = (uint8_t)reason;
	shunt_graph_lose(graph, shunt_loss_key(&loss), cnt);
}

void shunt_graph_lose(struct shunt_graph *graph, uint64_t key, unsigned cnt)
{
	const struct shunt_loss loss = shunt_loss_of(key);

	shunt_losses_add(&graph->losses, key, cnt);
	switch ((enum shunt_loss_kind)loss.kind) {
	case SHUNT_LOSS_PUNT:
		shunt_counter_add(&graph->punts[loss.reason], cnt);
		return;
	case SHUNT_LOSS_PUNT_LIMITED:
		shunt_counter_add(&graph->punts_limited[loss.reason], cnt);
		drop_punts(graph, loss, SHUNT_DROP_punt_limited, cnt);
		return;
	case SHUNT_LOSS_PUNT_FAILED:
		shunt_counter_add(&graph->punts_failed[loss.reason], cnt);
		drop_punts(graph, loss, SHUNT_DROP_punt_failed, cnt);
		return;
	default:
		shunt_counter_add(&graph->drops[loss.reason], cnt);
	}
}

/* Packets in a row that are lost alike are counted at once. */
void shunt_graph_drop(struct shunt_graph *graph, const struct shunt_pkt *pkts, unsigned cnt,
		      unsigned port)
{
	uint64_t key, last = 0;
	unsigned i, alike = 0;

	for (i = 0; i < cnt; i++) {
		key = shunt_graph_loss(graph, SHUNT_LOSS_DROP, &pkts[i],
				       port == SHUNT_PORT_MAX ? pkts[i].port : port);
		if (key != last && alike) {
			shunt_graph_lose(graph, last, alike);
			alike = 0;
		}
		last = key;
		alike++;
	}
	if (alike)
		shunt_graph_lose(graph, last, alike);
}

/* --- a batch's way ---------------------------------------------------------------------------- */

static inline unsigned step(struct shunt_graph *graph, unsigned at, struct shunt_pkt *pkts,
			    unsigned cnt)
{
	struct shunt_node *node = &graph->nodes[at];
	uint64_t start = unlikely(graph->sampling) ? shunt_clock_cycles() : 0;
	unsigned next = node->fn(node, pkts, cnt, graph->next);

	shunt_counter_add(&node->stats.packets, cnt);
	shunt_counter_add(&node->stats.batches, 1);
	if (unlikely(graph->sampling)) {
		shunt_counter_add(&node->stats.sampled_packets, cnt);
		shunt_counter_add(&node->stats.sampled_cycles, shunt_clock_cycles() - start);
	}
	return next;
}

static void pend(struct shunt_graph *graph, unsigned node, const struct shunt_pkt *pkts,
		 unsigned cnt)
{
	memcpy(graph->pending[node] + graph->pending_cnt[node], pkts, cnt * sizeof(*pkts));
	graph->pending_cnt[node] = (uint16_t)(graph->pending_cnt[node] + cnt);
	graph->pending_mask[node / 64] |= 1ULL << (node % 64);
}

void shunt_graph_inject(struct shunt_graph *graph, unsigned to, const struct shunt_pkt *pkts,
			unsigned cnt)
{
	pend(graph, to, pkts, cnt);
}

/* Sends each packet to its own next node, one 32-byte move each: in mixed traffic, runs of packets
 * to one node are short. Returns the node, and moves nothing, when it is the same for all. */
static unsigned scatter(struct shunt_graph *graph, const struct shunt_pkt *pkts, unsigned cnt)
{
	const uint16_t *next = graph->next;
	unsigned i;

	for (i = 1; i < cnt && next[i] == next[0]; i++)
		;
	if (i == cnt)
		return next[0];
	for (i = 0; i < cnt; i++) {
		const unsigned node = next[i];

		if (unlikely(node == SHUNT_NEXT_NONE))
			continue;
		graph->pending[node][graph->pending_cnt[node]++] = pkts[i];
		graph->pending_mask[node / 64] |= 1ULL << (node % 64);
	}
	return SHUNT_NEXT_NONE;
}

static bool any_pending(const struct shunt_graph *graph)
{
	return graph->pending_mask[0] | graph->pending_mask[1];
}

/* The lowest pending node: its packets can come only from nodes already run. */
static unsigned take_pending(struct shunt_graph *graph, struct shunt_pkt **pkts, unsigned *cnt)
{
	unsigned word = graph->pending_mask[0] ? 0 : 1;
	unsigned at = word * 64 + (unsigned)__builtin_ctzll(graph->pending_mask[word]);

	graph->pending_mask[word] &= graph->pending_mask[word] - 1;
	*pkts = graph->pending[at];
	*cnt = graph->pending_cnt[at];
	graph->pending_cnt[at] = 0;
	return at;
}

_Static_assert(SHUNT_NODE_MAX == 128, "pending_mask is handled as two words");

void shunt_graph_run(struct shunt_graph *graph, unsigned entry, struct shunt_pkt *pkts,
		     unsigned cnt)
{
	unsigned at = entry;

	for (;;) {
		unsigned next = step(graph, at, pkts, cnt);

		if (next == SHUNT_NEXT_EACH)
			next = scatter(graph, pkts, cnt);
		if (next != SHUNT_NEXT_NONE) {
			if (likely(!any_pending(graph))) {
				at = next;
				continue;
			}
			pend(graph, next, pkts, cnt);
		}
		if (likely(!any_pending(graph)))
			return;
		at = take_pending(graph, &pkts, &cnt);
	}
}
