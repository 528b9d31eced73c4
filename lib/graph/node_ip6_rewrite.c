// SPDX-License-Identifier: BSD-2-Clause
/* IPv6 rewrite: hop limit less one, the Ethernet header of the next hop. */
#include "graph/ip.h"

static inline void decrease_hop_limit(uint8_t *ip)
{
	ip[7]--;
}

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	return shunt_ip_rewrite(node, pkts, cnt, next, decrease_hop_limit, false, false);
}

static unsigned run_counted(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			    uint16_t *next)
{
	return shunt_ip_rewrite(node, pkts, cnt, next, decrease_hop_limit, true, false);
}

static unsigned run_above(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			  uint16_t *next)
{
	return shunt_ip_rewrite(node, pkts, cnt, next, decrease_hop_limit, false, true);
}

static unsigned run_above_counted(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
				  uint16_t *next)
{
	return shunt_ip_rewrite(node, pkts, cnt, next, decrease_hop_limit, true, true);
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	static const shunt_node_fn fns[2][2] = {{run, run_counted}, {run_above, run_above_counted}};
	const struct shunt_ip_params *in = params;

	node->fn = fns[in->is_above][!!in->counts];
	return shunt_ip_init(node, params, NULL, err);
}

const struct shunt_node_type shunt_node_ip6_rewrite = {
	.name = "ip6_rewrite",
	.help = "IPv6: hop limit less one, Ethernet header of the next hop",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
