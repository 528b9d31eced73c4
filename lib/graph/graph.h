/* SPDX-License-Identifier: BSD-2-Clause */
/* The graph: nodes, each a function over a whole batch, wired by index. A node
 * sees a dense array of packets and says where they go next: all to one node
 * (the straight line, nothing is moved), or each to its own (the packets are
 * then gathered before the next nodes). Nodes run in the order of their index
 * and edges only lead upwards, so one pass over the graph finishes a batch.
 *
 * All packets of the batch that enters come from one port, so a node that only
 * an entry leads to may decide by pkts[0].port.
 *
 * Limits: no cycles; a node may copy packets (shunt_graph_inject), but at most one copy of each
 * packet to each node behind; a graph belongs to one worker.
 *
 *   shunt_graph_init(&graph, &pool, queues, port_cnt);
 *   shunt_graph_add(&graph, &shunt_node_xconnect, params, &err);
 *   ...                         one tx node per port, drop: added by shunt_graph_seal
 *   shunt_graph_run(&graph, entry, pkts, n);
 */
#ifndef SHUNT_GRAPH_GRAPH_H
#define SHUNT_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "graph/loss.h"
#include "graph/tap.h"
#include "io/queue.h"

#define SHUNT_NODE_MAX	128 /* nodes of a graph: 64 transmit nodes and room for others */

/* A node function returns the next node of the whole batch, or SHUNT_NEXT_EACH
 * after it wrote next[i] for every packet. SHUNT_NEXT_NONE: the node kept them. */
#define SHUNT_NEXT_EACH 0xffff
#define SHUNT_NEXT_NONE 0xfffe

struct shunt_node;
struct shunt_graph;

typedef unsigned (*shunt_node_fn)(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
				  uint16_t *next);

/* What a kind of node is: one file defines one of these. */
struct shunt_node_type {
	const char *name;
	const char *help; /* one line, for `shuntctl show nodes` */
	shunt_node_fn fn;
	bool is_io; /* its cycles are c_io, not c_task */
	/* May stand in front of any mode's nodes when a configuration names it: what it does not
	 * drop or keep goes to shunt_graph_follow. Its params are text, what stands behind
	 * its name and a comma, NULL where nothing does; check holds such a text to what init
	 * takes, and is NULL where no text is taken. */
	bool is_front;
	int (*check)(const char *text, struct shunt_err *err);
	/* init reads params (the type's own struct), may allocate node->priv and
	 * look up other nodes of node->graph. fini frees it. Both may be NULL. */
	int (*init)(struct shunt_node *node, const void *params, struct shunt_err *err);
	void (*fini)(struct shunt_node *node);
	/* flush ends a turn for a node that holds something back and said so in
	 * graph->flush_due; may be NULL. Thread: owner worker. */
	void (*flush)(struct shunt_node *node);
};

struct shunt_node_stats {
	uint64_t packets;
	uint64_t batches;
	uint64_t sampled_packets; /* packets whose cycles were measured */
	uint64_t sampled_cycles;  /* cycle counter ticks */
};

struct shunt_node {
	/* per batch */
	shunt_node_fn fn;
	struct shunt_graph *graph;
	void *priv;   /* of the type */
	uint8_t *mem; /* the worker's UMEM: shunt_pkt_data(pkt, node->mem) */
	struct shunt_node_stats stats;
	/* control */
	const struct shunt_node_type *type;
	const void *params; /* the caller's, until shunt_graph_seal returns */
	uint16_t index;
	uint16_t follow; /* of a front node: the next one; SHUNT_NEXT_NONE: the mode's own */
	char name[24];	 /* "ip4_lookup", "tx:eth1" */
};

/* By what the device is found that a frame belongs to. */
struct shunt_devices;
struct shunt_port_live;
struct shunt_graph_devices {
	const struct shunt_devices *above;  /* NULL: there are none; these outlive the graph */
	const struct shunt_port_live *live; /* by port */
	uint32_t ifindex[SHUNT_PORT_MAX];   /* by port; 0: it is no device */
};

struct shunt_graph {
	struct shunt_node nodes[SHUNT_NODE_MAX];
	unsigned node_cnt;
	uint16_t drop_node;
	uint16_t drop_above_node;	     /* for packets whose tags are kept (graph/tag.h) */
	uint16_t tx_node[SHUNT_PORT_MAX];    /* by port index; 0xffff without one */
	uint16_t mode_entry[SHUNT_PORT_MAX]; /* by input port: where its mode's nodes begin */
	struct shunt_pool *pool;
	struct shunt_queue **queues; /* the worker's queue for each port, by port index */
	unsigned port_cnt;
	const uint32_t *max_lens; /* during shunt_graph_seal */
	uint64_t drops[SHUNT_DROP_CNT];
	uint64_t punts[SHUNT_PUNT_CNT];		/* handed to the kernel */
	uint64_t punts_limited[SHUNT_PUNT_CNT]; /* over the rate, with nobody to pass it: dropped */
	uint64_t punts_failed[SHUNT_PUNT_CNT];	/* dropped, refused by the kernel */
	uint64_t now_ns;			/* time of the turn */
	bool sampling;				/* this turn's nodes are timed */
	bool flush_due;				/* a node wants its flush at the end of the turn */
	struct shunt_tap *taps; /* what is shown of packets; written by control, NULL: nothing */
	struct shunt_graph_devices devices;
	uint64_t pending_mask[SHUNT_NODE_MAX / 64];
	struct shunt_pkt *pending[SHUNT_NODE_MAX]; /* batches gathered behind a split */
	uint16_t pending_cnt[SHUNT_NODE_MAX];
	uint16_t next[SHUNT_BATCH_MAX];
	struct shunt_losses losses; /* drops and punts again, by port and device */
};

/* shunt_graph_init makes an empty graph over the worker's pool and its queues
 * (queues[port], NULL where it has none; the array stays the caller's and must
 * outlive the graph). Thread: init. */
void shunt_graph_init(struct shunt_graph *graph, struct shunt_pool *pool,
		      struct shunt_queue **queues, unsigned port_cnt);

/* shunt_graph_add appends a node of the given type. Order matters: a node may
 * lead only to nodes added after it. name NULL means the type's; params goes to
 * the type's init and must live until shunt_graph_seal. Returns the node's index, or -errno with
 * err set. Thread: init. */
int shunt_graph_add(struct shunt_graph *graph, const struct shunt_node_type *type, const char *name,
		    const void *params, struct shunt_err *err);

/* shunt_graph_set_devices says how losses get their devices, before shunt_graph_seal. Without it
 * they have none, and no node keeps tags. Thread: init. */
void shunt_graph_set_devices(struct shunt_graph *graph, const struct shunt_graph_devices *devices);

/* shunt_graph_seal appends what every graph ends in (a transmit node for each
 * port, the drop node) and calls the nodes' init. port_names[port] is for show;
 * max_lens[port] is the longest frame, in bytes without FCS, that the port sends; it must outlive
 * the graph, and may become less, by a store of the whole, while workers run.
 * Returns 0 or -errno with err set. Thread: init. */
int shunt_graph_seal(struct shunt_graph *graph, const char *const *port_names,
		     const uint32_t *max_lens, struct shunt_err *err);

/* shunt_graph_name_port calls a port's transmit node by the name that its device has now.
 * Thread: init, control. */
void shunt_graph_name_port(struct shunt_graph *graph, unsigned port, const char *name);

/* shunt_graph_fini frees the nodes; legal on a zeroed graph. Thread: init. */
void shunt_graph_fini(struct shunt_graph *graph);

/* shunt_graph_find returns the index of the node of that name, or -ENOENT.
 * Thread: init. */
int shunt_graph_find(const struct shunt_graph *graph, const char *name);

/* shunt_graph_tx_or_drop returns the transmit node of a port, or the drop node
 * for SHUNT_NEXT_NONE and ports the worker has no queue of. Thread: init, from a
 * node's init. */
static inline uint16_t shunt_graph_tx_or_drop(const struct shunt_graph *graph, uint16_t port)
{
	if (port >= SHUNT_PORT_MAX || graph->tx_node[port] == SHUNT_NEXT_EACH)
		return graph->drop_node;
	return graph->tx_node[port];
}

/* shunt_graph_follow returns where a front node sends what it lets pass: the next front node,
 * or the nodes of the input port's mode. Thread: owner worker. Cost: batch. */
static inline uint16_t shunt_graph_follow(const struct shunt_node *node,
					  const struct shunt_pkt *pkts)
{
	return node->follow != SHUNT_NEXT_NONE ? node->follow
					       : node->graph->mode_entry[pkts[0].port];
}

/* shunt_graph_set_reason marks a whole batch on its way to the drop node.
 * Thread: owner worker. */
static inline void shunt_graph_set_reason(struct shunt_pkt *pkts, unsigned cnt,
					  enum shunt_drop reason)
{
	unsigned i;

	for (i = 0; i < cnt; i++)
		pkts[i].reason = (uint8_t)reason;
}

/* shunt_graph_loss returns the key (graph/loss.h) of a packet that ends for its reason: lost by a
 * frame, as it lies there, at a port. Thread: owner worker. Cost: packet. */
uint64_t shunt_graph_loss(const struct shunt_graph *graph, enum shunt_loss_kind kind,
			  const struct shunt_pkt *pkt, unsigned port);

/* shunt_graph_lose counts cnt packets of that key. Thread: owner worker. Cost: packet. */
void shunt_graph_lose(struct shunt_graph *graph, uint64_t key, unsigned cnt);

/* shunt_graph_drop counts packets that are dropped for their reasons. port: SHUNT_PORT_MAX: each is
 * lost at that which it came in by, as it came. The caller frees them. Thread: owner worker. Cost:
 * packet. */
void shunt_graph_drop(struct shunt_graph *graph, const struct shunt_pkt *pkts, unsigned cnt,
		      unsigned port);

/* shunt_graph_flush ends the turn for the nodes; call it when graph->flush_due.
 * Thread: owner worker. */
void shunt_graph_flush(struct shunt_graph *graph);

/* shunt_graph_inject adds packets, for a node that makes copies: they go to node to, one behind
 * the caller, before what the caller returns. At most one for each packet of its batch and each
 * node: there is room for no more. Thread: owner worker, from a node's function. Cost: batch. */
void shunt_graph_inject(struct shunt_graph *graph, unsigned to, const struct shunt_pkt *pkts,
			unsigned cnt);

/* shunt_graph_run sends a batch through the graph, starting at node entry, until
 * every packet is transmitted or dropped. pkts is scratch afterwards.
 * Thread: owner worker. Cost: batch. */
void shunt_graph_run(struct shunt_graph *graph, unsigned entry, struct shunt_pkt *pkts,
		     unsigned cnt);

#endif
