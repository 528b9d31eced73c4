// SPDX-License-Identifier: BSD-2-Clause
/* IPv4 rewrite: TTL less one, the checksum brought along, the Ethernet header of the next hop. */
#include "graph/ip.h"

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	return shunt_ip_rewrite(node, pkts, cnt, next, shunt_ip4_decrease_ttl, false, false);
}

static unsigned run_counted(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			    uint16_t *next)
{
	return shunt_ip_rewrite(node, pkts, cnt, next, shunt_ip4_decrease_ttl, true, false);
}

static unsigned run_above(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			  uint16_t *next)
{
	return shunt_ip_rewrite(node, pkts, cnt, next, shunt_ip4_decrease_ttl, false, true);
}

static unsigned run_above_counted(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
				  uint16_t *next)
{
	return shunt_ip_rewrite(node, pkts, cnt, next, shunt_ip4_decrease_ttl, true, true);
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	static const shunt_node_fn fns[2][2] = {{run, run_counted}, {run_above, run_above_counted}};
	const struct shunt_ip_params *in = params;

	node->fn = fns[in->is_above][!!in->counts];
	return shunt_ip_init(node, params, NULL, err);
}

const struct shunt_node_type shunt_node_ip4_rewrite = {
	.name = "ip4_rewrite",
	.help = "IPv4: TTL less one, checksum, Ethernet header of the next hop",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
