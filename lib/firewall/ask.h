/* SPDX-License-Identifier: BSD-2-Clause */
/* Asking the host for what judges forwarded packets; for this folder and its tests. Every function
 * adds what it finds to the list. What this kernel lacks adds nothing. What cannot be asked, for
 * want of a right or for an error, adds a judge of kind untold. Thread: the one that follows the
 * kernel. Cost: some netlink exchanges or syscalls each. */
#ifndef SHUNT_FIREWALL_ASK_H
#define SHUNT_FIREWALL_ASK_H

#include "firewall/judge.h"

/* What is kept open, since the daemon opens no such socket or file once it has dropped its rights.
 * -1: not to be had. */
struct shunt_firewall_asker {
	int inet_fd, inet6_fd; /* sockets that tables of iptables and its like are asked through */
	int names_fds[3];      /* /proc/net/ip_tables_names, ip6_, arp_: root's */
	unsigned built_in_bridge_tables; /* of ebtables, a bit each */
	bool lists_hooks;		 /* the kernel lists netfilter's hooks */
	bool has_bpf;			 /* it does not, and a program was on one */
};

void shunt_firewall_ask_nft(struct shunt_judges *judges);
void shunt_firewall_ask_flowtables(struct shunt_judges *judges);	   /* none: none is known */
void shunt_firewall_ask_iptables(const struct shunt_firewall_asker *asker, /* and arptables */
				 struct shunt_judges *judges);
void shunt_firewall_ask_ebtables(const struct shunt_firewall_asker *asker,
				 struct shunt_judges *judges);
/* shunt_firewall_ask_nat is for a table or a chain of address translation without a rule. It adds a
 * judge where connections are there that are translated, of any table, unless IP packets meet one
 * already. */
void shunt_firewall_ask_nat(struct shunt_judges *judges, enum shunt_judge_kind kind,
			    const char *table);
void shunt_firewall_ask_ipsec(struct shunt_judges *judges);
void shunt_firewall_ask_ipvs(struct shunt_judges *judges);

/* shunt_firewall_ask_tc asks about devices alone: ifindexes[cnt]. */
void shunt_firewall_ask_tc(const int *ifindexes, unsigned cnt, struct shunt_judges *judges);

/* shunt_firewall_ask_hooks asks for BPF programs on netfilter's hooks, and for what is there of
 * owners that nobody else here asks about. Where the kernel does not list its hooks
 * (CONFIG_NETFILTER_NETLINK_HOOK), only root can ask, and for programs alone, by all of BPF's
 * links. So the answer stays the one that shunt_firewall_open_hooks got. */
void shunt_firewall_ask_hooks(const struct shunt_firewall_asker *asker,
			      struct shunt_judges *judges);
void shunt_firewall_open_hooks(struct shunt_firewall_asker *asker);

/* shunt_firewall_open_asker opens what it can, shunt_firewall_close_asker closes it. Thread: init.
 */
void shunt_firewall_open_asker(struct shunt_firewall_asker *asker);
void shunt_firewall_close_asker(struct shunt_firewall_asker *asker);

#endif
