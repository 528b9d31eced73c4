/* SPDX-License-Identifier: BSD-2-Clause */
/* What br_netfilter shows of the frames that a bridge of the kernel's forwards: to the hooks of IP,
 * and to those of ARP. */
#ifndef SHUNT_FIREWALL_CALLS_H
#define SHUNT_FIREWALL_CALLS_H

#include <stdbool.h>

struct shunt_firewall_calls {
	bool ip, arp;
};

/* shunt_firewall_calls_ask asks the network namespace's settings and the bridge's own: either is
 * enough. Returns 0 or -errno; then nothing is known. Thread: control. Cost: some files, and a
 * netlink exchange. */
int shunt_firewall_calls_ask(int bridge, struct shunt_firewall_calls *out);

#endif
