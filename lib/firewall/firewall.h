/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel does to packets that it forwards: packet filters, address translation, IPsec
 * policies. They come behind XDP, so what shunt forwards bypasses them. A steering rule with lane
 * kernel gives packets to them. */
#ifndef SHUNT_FIREWALL_FIREWALL_H
#define SHUNT_FIREWALL_FIREWALL_H

#include <stdbool.h>

#include "base/err.h"

struct shunt_firewall {
	bool is_untold;	     /* without CAP_NET_ADMIN the kernel does not tell */
	unsigned chain_cnt;  /* nftables' base chains (iptables-nft's too) that do something */
	char chain[64];	     /* one of them: "inet filter forward" */
	char iptables[64];   /* iptables-legacy's tables, separated by spaces; "" */
	unsigned policy_cnt; /* of IPsec (xfrm), for what is forwarded or sent */
};

/* shunt_firewall_query asks the kernel, in the caller's network namespace. A part that this kernel
 * lacks counts as none. Thread: init, control. */
void shunt_firewall_query(struct shunt_firewall *out);

/* shunt_firewall_sentence writes what packets bypass that shunt forwards. Returns false, with
 * nothing written, where that is nothing. Thread: any. */
bool shunt_firewall_sentence(const struct shunt_firewall *by, struct shunt_err *out);

#endif
