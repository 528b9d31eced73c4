// SPDX-License-Identifier: BSD-2-Clause
/* IPv4 rewrite: TTL less one, the checksum brought along, the Ethernet header of the next hop. */
#include "graph/ip.h"

static unsigned run(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	return shunt_ip_rewrite(node, pkts, cnt, next, shunt_ip4_decrease_ttl, false);
}

static unsigned run_counted(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			    uint16_t *next)
{
	return shunt_ip_rewrite(node, pkts, cnt, next, shunt_ip4_decrease_ttl, true);
}

static int init(struct shunt_node *node, const void *params, struct shunt_err *err)
{
	if (((const struct shunt_ip_params *)params)->counts)
		node->fn = run_counted;
	return shunt_ip_init(node, params, NULL, err);
}

const struct shunt_node_type shunt_node_ip4_rewrite = {
	.name = "ip4_rewrite",
	.help = "IPv4: TTL less one, checksum, Ethernet header of the next hop",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
