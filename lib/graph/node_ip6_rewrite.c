// SPDX-License-Identifier: BSD-2-Clause
/* IPv6 rewrite: hop limit less one, the Ethernet header of the next hop. */
#include "graph/ip.h"

static inline void decrease_hop_limit(uint8_t *ip)
{
	ip[7]--;
}

SHUNT_IP_REWRITE(decrease_hop_limit)

const struct shunt_node_type shunt_node_ip6_rewrite = {
	.name = "ip6_rewrite",
	.help = "IPv6: hop limit less one, Ethernet header of the next hop",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
