/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that the host's rules have put into a flowtable, as connection tracking has them.
 *
 * Source: ctnetlink_dump_table of Linux 6.12 (its filter by status: Linux 5.14), and
 * linux/netfilter/nfnetlink_conntrack.h. */
#ifndef SHUNT_FIREWALL_FLOWS_H
#define SHUNT_FIREWALL_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

/* What the packets of one direction have. */
struct shunt_flow_way {
	uint8_t src[16], dst[16]; /* IPv4: the first four bytes */
	uint16_t sport, dport;
};

struct shunt_flow {
	int family;    /* AF_INET or AF_INET6 */
	uint8_t proto; /* of IP */
	/* As who began it sends, and as the answers come in. Not translated, one is the other
	 * turned round. */
	struct shunt_flow_way out, back;
	bool is_translated;
	uint32_t mark; /* of the connection */
};

/* shunt_flows_ask calls fn for each connection that has the kernel's mark OFFLOAD, in the kernel's
 * order; forget before, and again where the kernel has to be asked anew. Returns 0 or -errno;
 * -ENOSYS where the kernel has no connection tracking. Thread: control. Cost: a dump of these
 * connections. */
int shunt_flows_ask(void (*fn)(void *arg, const struct shunt_flow *flow), void (*forget)(void *arg),
		    void *arg);

#endif
