// SPDX-License-Identifier: BSD-2-Clause
/* IPv4 rewrite: TTL less one, the checksum brought along, the Ethernet header of the next hop. */
#include "graph/ip.h"

SHUNT_IP_REWRITE(shunt_ip4_decrease_ttl)

const struct shunt_node_type shunt_node_ip4_rewrite = {
	.name = "ip4_rewrite",
	.help = "IPv4: TTL less one, checksum, Ethernet header of the next hop",
	.fn = run,
	.init = init,
	.fini = shunt_ip_fini,
};
