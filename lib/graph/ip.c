// SPDX-License-Identifier: BSD-2-Clause
#include "graph/ip.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A packet that leaves by the device it came in on is punted: the kernel also sends a redirect. */
static void fill_tx(struct shunt_ip *ip, const struct shunt_graph *graph, unsigned in)
{
	unsigned out;

	for (out = 0; out < SHUNT_PORT_MAX; out++) {
		uint16_t node = shunt_graph_tx_or_drop(graph, (uint16_t)out);
		bool is_back = in == out && !ip->tables.is_above;

		ip->tx[in][out] = node == graph->drop_node || is_back ? ip->punt : node;
	}
	ip->tx[in][SHUNT_ADJ_TAGGED] = ip->punt;
}

/* The node of that name among those for packets of devices above a port, or among the others. */
static int find(const struct shunt_graph *graph, const struct shunt_ip_params *params,
		const char *name)
{
	char text[sizeof(graph->nodes[0].name)];

	snprintf(text, sizeof(text), "%s%s", name, params->is_above ? SHUNT_NODE_ABOVE : "");
	return shunt_graph_find(graph, text);
}

int shunt_ip_init(struct shunt_node *node, const struct shunt_ip_params *params, const char *on,
		  struct shunt_err *err)
{
	const struct shunt_graph *graph = node->graph;
	int next = on ? find(graph, params, on) : 0, punt = find(graph, params, "punt");
	const int tag = find(graph, params, "tag_output");
	struct shunt_ip *ip;
	unsigned port;

	if (next < 0 || punt < 0)
		return shunt_err_set(err, EINVAL, "node %s: no node %s in the graph", node->name,
				     punt < 0 ? "punt" : on);
	ip = calloc(1, sizeof(*ip));
	if (!ip)
		return shunt_err_set(err, ENOMEM, "node %s: not enough memory", node->name);
	ip->tables = *params;
	ip->on = (uint16_t)next;
	next = find(graph, params, "ip4_rpf");
	ip->rpf = next < 0 ? ip->on : (uint16_t)next;
	ip->punt = (uint16_t)punt;
	ip->drop = params->is_above ? graph->drop_above_node : graph->drop_node;
	ip->tag = tag < 0 ? ip->punt : (uint16_t)tag;
	for (port = 0; port < SHUNT_PORT_MAX; port++)
		fill_tx(ip, graph, port);
	node->priv = ip;
	return 0;
}

void shunt_ip_fini(struct shunt_node *node)
{
	free(node->priv);
}

unsigned shunt_ip_divert(uint16_t *next, unsigned i, unsigned cnt, unsigned bad, uint16_t on,
			 uint16_t to)
{
	unsigned k;

	if (to == on)
		return 0;
	for (k = 0; !bad && k < cnt; k++)
		next[k] = on;
	next[i] = to;
	return 1;
}

uint16_t shunt_ip_turn_away(const struct shunt_ip *ip, struct shunt_pkt *pkt,
			    const struct shunt_adj *adj)
{
	static const uint8_t reasons[SHUNT_ADJ_KIND_CNT] = {
		[SHUNT_ADJ_NOROUTE] = SHUNT_PUNT_noroute,
		[SHUNT_ADJ_REWRITE] = SHUNT_PUNT_other_path,
		[SHUNT_ADJ_GLEAN] = SHUNT_PUNT_glean,
		[SHUNT_ADJ_LOCAL] = SHUNT_PUNT_local,
		[SHUNT_ADJ_PUNT] = SHUNT_PUNT_other_path,
		[SHUNT_ADJ_UNREACHABLE] = SHUNT_PUNT_unreachable,
		[SHUNT_ADJ_PROHIBIT] = SHUNT_PUNT_prohibit,
	};

	if (adj->kind == SHUNT_ADJ_BLACKHOLE)
		return shunt_ip_drop(ip, pkt, SHUNT_DROP_blackhole);
	return shunt_ip_punt(ip, pkt, (enum shunt_punt)reasons[adj->kind]);
}

uint16_t shunt_ip_hold_back(const struct shunt_ip *ip, struct shunt_pkt *pkt,
			    const struct shunt_adj *adj)
{
	if (pkt->len - SHUNT_ETH_LEN > adj->mtu)
		return shunt_ip_punt(ip, pkt, SHUNT_PUNT_too_big);
	if (adj->port == pkt->port || adj->port == SHUNT_ADJ_TAGGED)
		return shunt_ip_punt(ip, pkt, SHUNT_PUNT_redirect);
	return shunt_ip_punt(ip, pkt, SHUNT_PUNT_other_path);
}
