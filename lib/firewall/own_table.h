/* SPDX-License-Identifier: BSD-2-Clause */
/* shunt's own table of nftables, for `firewall: manage`: a flowtable over ports, and a chain that
 * puts into it what all other chains of the hook forward have let through.
 *
 *	table inet shunt-PID { # progname shuntd
 *		flags owner
 *		set ports { type iface_index; elements = { PORT, ... } }
 *		set answered { type mark . inet_service . inet_service; timeout 10s; }
 *		flowtable flows { hook ingress priority INT_MAX; devices = { PORT, ... }; }
 *		chain forward {
 *			type filter hook forward priority INT_MAX; policy accept;
 *			REPLY update @answered { ct id . th dport . th sport }
 *			ORIGINAL ct id . th sport . th dport @answered flow add @flows
 *		}
 *	}
 *
 * REPLY stands for: iif @ports oif @ports ct state established ct direction reply. ORIGINAL is the
 * same with ct direction original. A flowtable forwards both ways: so a connection is put into it
 * only where packets of both ways have come through all rules since the table was made. A rule may
 * drop one way alone.
 *
 * Of chains with one priority the newest comes first, and none has a higher one: a chain that is
 * added later stands before this one. The table belongs to a socket: nobody else can change it,
 * `nft flush ruleset` spares it, and the kernel removes it with the process, however that ends.
 *
 * Source: nf_tables_api.c of Linux 6.12 (NFT_TABLE_F_OWNER, Linux 5.12); netfilter's nft wiki,
 * "Flowtables". */
#ifndef SHUNT_FIREWALL_OWN_TABLE_H
#define SHUNT_FIREWALL_OWN_TABLE_H

#include <stdbool.h>

#include "base/err.h"

/* NFT_TABLE_F_OWNER, Linux 5.12: older headers lack it. */
#define SHUNT_TABLE_F_OWNER 0x2

struct shunt_own_table;

/* A port by index and name. */
struct shunt_own_table_port {
	int ifindex;
	const char *name;
};

/* shunt_own_table_open opens the socket; there is no table yet. Returns 0 or -errno with err set.
 * shunt_own_table_close removes the table; NULL is legal. Thread: one at a time. */
int shunt_own_table_open(struct shunt_own_table **out, struct shunt_err *err);
void shunt_own_table_close(struct shunt_own_table *table);

/* shunt_own_table_put makes the table, or makes it anew, without a connection in its flowtable, in
 * one transaction. Returns 0, or -errno with err set: then it is as before. Thread: one at a time.
 * Cost: a transaction of nftables, which waits for those of others. */
int shunt_own_table_put(struct shunt_own_table *table, const struct shunt_own_table_port *ports,
			unsigned cnt, struct shunt_err *err);

/* shunt_own_table_remove removes it, where there is one. Returns 0 or -errno with err set. Thread
 * and cost: as shunt_own_table_put. */
int shunt_own_table_remove(struct shunt_own_table *table, struct shunt_err *err);

/* shunt_own_table_is says whether a table of family inet with that name is one of these, of any
 * shuntd's, by its name alone. Thread: any. */
bool shunt_own_table_is(const char *name);

#endif
