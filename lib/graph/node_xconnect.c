// SPDX-License-Identifier: BSD-2-Clause
/* Cross-connect: what comes in on one port leaves by its partner, byte for byte.
 * No packet is looked at. */
#include <errno.h>
#include <stdlib.h>

#include "graph/nodes.h"

struct xconnect {
	uint16_t next[SHUNT_PORT_MAX]; /* by input port */
};

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	const struct xconnect *xc = node->priv;
	unsigned to = xc->next[pkts[0].port];

	(void)next;
	if (unlikely(to == node->graph->drop_node))
		shunt_graph_set_reason(pkts, cnt, SHUNT_DROP_no_output);
	return to;
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	const struct shunt_pair_params *pairs = params;
	struct xconnect *xc = malloc(sizeof(*xc));
	unsigned port;

	if (!xc)
		return shunt_err_set(err, ENOMEM, "node %s: not enough memory", node->name);
	for (port = 0; port < SHUNT_PORT_MAX; port++)
		xc->next[port] = shunt_graph_tx_or_drop(node->graph, pairs->out_port[port]);
	node->priv = xc;
	return 0;
}

static void fini(struct shunt_node *node)
{
	free(node->priv);
}

const struct shunt_node_type shunt_node_xconnect = {
	.name = "xconnect",
	.help = "every packet leaves unchanged by its input port's partner",
	.fn = run,
	.init = init,
	.fini = fini,
};
