// SPDX-License-Identifier: BSD-2-Clause
#include "engine/graph.h"

#include <net/ethernet.h>
#include <stdio.h>
#include <string.h>

#include "bridge/bridge.h"
#include "firewall/origin.h"
#include "router/router.h"
#include "graph/nodes.h"
#include "io/xsk.h"

static const struct shunt_node_type *node_type_of(enum shunt_forward_mode mode)
{
	switch (mode) {
	case SHUNT_FORWARD_STATIC3:
		return &shunt_node_static3;
	case SHUNT_FORWARD_MACREWRITE:
		return &shunt_node_macrewrite;
	default:
		return &shunt_node_xconnect;
	}
}

static void fill_pair(const struct shunt_pair_config *pair, unsigned in,
		      struct shunt_pair_params *params)
{
	unsigned from = pair->port[in], to = pair->port[!in];

	params->out_port[from] = (uint16_t)to;
	memcpy(params->dst_mac[from], pair->next_hop[!in], 6);
}

/* The longest packet that comes in. */
static uint32_t longest(const struct shunt_engine *engine)
{
	uint32_t len = engine->frame_size;
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++)
		if (engine->ports.at[i].multi_buffer)
			len = SHUNT_MAX(len, shunt_port_len_max(&engine->ports.at[i]));
	return len;
}

/* A node for each mode in use; the queues of a pair's ports enter at theirs. */
static int add_modes(struct shunt_engine *engine, struct shunt_worker *worker,
		     const struct shunt_pair_params *params, struct shunt_err *err)
{
	const struct shunt_config *config = engine->config;
	unsigned i, q;
	int node;

	for (i = 0; i < config->pair_cnt; i++) {
		const struct shunt_pair_config *pair = &config->pairs[i];
		const struct shunt_node_type *type = node_type_of(pair->mode);

		node = shunt_graph_find(&worker->graph, type->name);
		if (node < 0)
			node = shunt_graph_add(&worker->graph, type, NULL, params, err);
		if (node < 0)
			return node;
		for (q = 0; q < worker->rx_queue_cnt; q++)
			if (worker->rx_queues[q]->port == pair->port[0] ||
			    worker->rx_queues[q]->port == pair->port[1])
				worker->entry[q] = (uint16_t)node;
	}
	return 0;
}

/* What frames that are too short have to be padded to. Drivers pad what the kernel sends. What a
 * zero-copy queue sends leaves as it is. */
static uint32_t min_len_of(const struct shunt_worker *worker)
{
	struct shunt_xsk_in_use in_use;
	unsigned q;

	for (q = 0; q < worker->rx_queue_cnt; q++)
		if (!shunt_xsk_in_use(worker->rx_queues[q], &in_use) && in_use.zerocopy)
			return ETH_ZLEN;
	return 0;
}

/* What the nodes behind groups of ports are made with; must live until the graph is sealed. */
struct group_params {
	struct shunt_eth_params eth;
	struct shunt_ip_params ip, ip_above;
	struct shunt_bridge_params bridge;
	struct shunt_punt_params punt, punt_above;
};

/* In this order: edges lead to later nodes. */
static int add_ip_nodes(struct shunt_worker *worker, const struct shunt_ip_params *ip,
			struct shunt_err *err)
{
	static const struct shunt_node_type *const types[] = {
		&shunt_node_ip4_input,	 &shunt_node_ip6_input,	 &shunt_node_ip4_rpf,
		&shunt_node_ip4_lookup,	 &shunt_node_ip6_lookup, &shunt_node_ip4_rewrite,
		&shunt_node_ip6_rewrite, &shunt_node_tag_output,
	};
	char name[sizeof(worker->graph.nodes[0].name)];
	unsigned i;
	int ret = 0;

	for (i = 0; i < SHUNT_ARRAY_LEN(types) && ret >= 0; i++) {
		snprintf(name, sizeof(name), "%s%s", types[i]->name,
			 ip->is_above ? SHUNT_NODE_ABOVE : "");
		ret = shunt_graph_add(&worker->graph, types[i], name, ip, err);
	}
	return SHUNT_MIN(ret, 0);
}

static int add_route_nodes(struct shunt_worker *worker, const struct group_params *params,
			   struct shunt_err *err)
{
	int ret = shunt_graph_add(&worker->graph, &shunt_node_eth_input, NULL, &params->eth, err);

	if (ret >= 0)
		ret = shunt_graph_add(&worker->graph, &shunt_node_tag_input, NULL, &params->ip,
				      err);
	if (ret >= 0)
		ret = add_ip_nodes(worker, &params->ip, err);
	return ret < 0 ? ret : add_ip_nodes(worker, &params->ip_above, err);
}

/* The queues of ports with that mode enter the graph at node. */
static void enter_at(const struct shunt_engine *engine, struct shunt_worker *worker,
		     enum shunt_forward_mode mode, int node)
{
	unsigned i;

	for (i = 0; i < worker->rx_queue_cnt; i++)
		if (shunt_config_mode(engine->config, worker->rx_queues[i]->port) == (int)mode)
			worker->entry[i] = (uint16_t)node;
}

/* Whether the port bridges: also what a bridge forwards for which it routes. */
static bool bridges(const struct shunt_engine *engine, unsigned port)
{
	return shunt_ports_bridges(&engine->ports, port) ||
	       (engine->bridge && shunt_bridge_routes(engine->bridge, port));
}

static bool any_bridges(const struct shunt_engine *engine)
{
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++)
		if (bridges(engine, i))
			return true;
	return false;
}

static int add_route(struct shunt_engine *engine, struct shunt_worker *worker,
		     struct group_params *params, struct shunt_err *err)
{
	struct shunt_router *router = engine->router;
	const int entry = (int)worker->graph.node_cnt;
	unsigned i;

	params->eth = (struct shunt_eth_params){.macs = engine->ports.macs, .live = router->live};
	params->ip = (struct shunt_ip_params){
		.fib4 = router->fib4,
		.fib6 = router->fib6,
		.nexthops = router->nexthops,
		.local4 = &router->local4,
		.live = router->live,
		.flow_seed = router->flow_seed,
		.counts = router->counts,
		.writer = router->first_worker + worker->opts.id,
		.devices = router->devices,
		.min_len = min_len_of(worker),
	};
	params->ip_above = params->ip;
	params->ip_above.is_above = true;
	for (i = 0; i < engine->ports.cnt; i++)
		params->eth.bridges[i] = bridges(engine, i);
	enter_at(engine, worker, SHUNT_FORWARD_ROUTE, entry);
	enter_at(engine, worker, SHUNT_FORWARD_MIX, entry);
	return add_route_nodes(worker, params, err);
}

static int add_bridge(struct shunt_engine *engine, struct shunt_worker *worker,
		      struct shunt_learn *learn, struct group_params *params, struct shunt_err *err)
{
	int node;

	shunt_bridge_params(engine->bridge, worker->opts.id, &params->bridge);
	if (learn)
		params->bridge.learn = learn;
	params->bridge.min_len = min_len_of(worker);
	node = shunt_graph_add(&worker->graph, &shunt_node_bridge, NULL, &params->bridge, err);
	enter_at(engine, worker, SHUNT_FORWARD_BRIDGE, node);
	return SHUNT_MIN(node, 0);
}

static int restore(void *arg, uint8_t *frame, uint32_t len)
{
	return shunt_origin_restore(arg, frame, len);
}

/* queue: where frames go back to the kernel by; NULL: nowhere. */
static int add_punt(struct shunt_engine *engine, struct shunt_worker *worker,
		    struct shunt_puntdev_queue **queue, struct group_params *params,
		    struct shunt_err *err)
{
	const struct shunt_puntdev *dev = engine->router   ? engine->router->puntdev
					  : engine->bridge ? engine->bridge->puntdev
							   : NULL;
	unsigned i;
	int ret = queue ? shunt_puntdev_queue_create(queue, dev, longest(engine), err) : 0;

	if (ret)
		return ret;
	params->punt =
		(struct shunt_punt_params){.queue = queue ? *queue : NULL,
					   .rate = queue ? engine->config->punt_rate : 0,
					   .queues = worker->rx_queues,
					   .queue_cnt = &worker->rx_queue_cnt,
					   .live = engine->router ? engine->router->live : NULL,
					   .restore = restore,
					   .restore_arg = engine->lanes.origin};
	for (i = 0; i < engine->ports.cnt; i++)
		params->punt.ifindex[i] = (uint32_t)engine->ports.at[i].netdev.ifindex;
	params->punt_above = params->punt;
	params->punt_above.is_above = true;
	ret = shunt_graph_add(&worker->graph, &shunt_node_punt, NULL, &params->punt, err);
	if (ret >= 0 && engine->router)
		ret = shunt_graph_add(&worker->graph, &shunt_node_punt, "punt" SHUNT_NODE_ABOVE,
				      &params->punt_above, err);
	return SHUNT_MIN(ret, 0);
}

/* In this order: edges lead to later nodes. */
static int add_groups(struct shunt_engine *engine, struct shunt_worker *worker,
		      struct shunt_learn *learn, struct group_params *params, struct shunt_err *err)
{
	struct shunt_puntdev_queue **queue =
		engine->punts && !learn ? &engine->punts[worker->opts.id] : NULL;
	int ret = 0;

	if (engine->router)
		ret = add_route(engine, worker, params, err);
	if (!ret && any_bridges(engine))
		ret = add_bridge(engine, worker, learn, params, err);
	if (!ret && engine->punts)
		ret = add_punt(engine, worker, queue, params, err);
	return ret;
}

/* The configuration's own nodes, which every packet passes before its port's mode. */
static int add_fronts(const struct shunt_config *config, struct shunt_graph *graph,
		      struct shunt_err *err)
{
	unsigned i;
	int at;

	for (i = 0; i < config->front_cnt; i++) {
		at = shunt_graph_add(graph, shunt_node_find_front(config->fronts[i]), NULL,
				     shunt_node_front_text(config->fronts[i]), err);
		if (at < 0)
			return at;
		if (i)
			graph->nodes[at - 1].follow = (uint16_t)at;
	}
	return 0;
}

static void enter_by_fronts(const struct shunt_config *config, struct shunt_worker *worker)
{
	unsigned q;

	for (q = 0; q < worker->rx_queue_cnt; q++) {
		worker->graph.mode_entry[worker->rx_queues[q]->port] = worker->entry[q];
		if (config->front_cnt)
			worker->entry[q] = 0;
	}
}

static void set_devices(const struct shunt_engine *engine, struct shunt_graph *graph)
{
	struct shunt_graph_devices devices = {
		.above = engine->router ? engine->router->devices : NULL,
		.live = engine->router ? engine->router->live : NULL,
	};
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++)
		devices.ifindex[i] = (uint32_t)engine->ports.at[i].netdev.ifindex;
	shunt_graph_set_devices(graph, &devices);
}

static int build(struct shunt_engine *engine, struct shunt_worker *worker,
		 struct shunt_learn *learn, struct shunt_err *err)
{
	struct group_params groups;
	const struct shunt_config *config = engine->config;
	const char *names[SHUNT_PORT_MAX];
	struct shunt_pair_params params;
	unsigned i;
	int ret;

	memset(&params, 0, sizeof(params));
	memset(params.out_port, 0xff, sizeof(params.out_port));
	params.macs = engine->ports.macs;
	for (i = 0; i < config->pair_cnt; i++) {
		fill_pair(&config->pairs[i], 0, &params);
		fill_pair(&config->pairs[i], 1, &params);
	}
	for (i = 0; i < engine->ports.cnt; i++)
		names[i] = engine->ports.at[i].name;
	shunt_graph_init(&worker->graph, &worker->pool, worker->queues, engine->ports.cnt);
	set_devices(engine, &worker->graph);
	ret = add_fronts(config, &worker->graph, err);
	if (!ret)
		ret = add_modes(engine, worker, &params, err);
	if (!ret)
		ret = add_groups(engine, worker, learn, &groups, err);
	enter_by_fronts(config, worker);
	return ret ? ret : shunt_graph_seal(&worker->graph, names, engine->ports.max_lens, err);
}

int shunt_engine_build_graph(struct shunt_engine *engine, struct shunt_worker *worker,
			     struct shunt_err *err)
{
	return build(engine, worker, NULL, err);
}

int shunt_engine_build_dry_graph(struct shunt_engine *engine, struct shunt_worker *worker,
				 struct shunt_learn *learn, struct shunt_err *err)
{
	return build(engine, worker, learn, err);
}
