/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps shunt's own table (own_table.h) as rules of the host want it, for `firewall: manage`. The
 * table is there while rules of nftables or iptables judge what ports route, and nothing that its
 * connections would pass by (shunt_judges_want_table). It is made anew, empty, when a rule has
 * changed: connections that were approved before are judged anew.
 *
 * A thread of its own does that, since a transaction waits for those of others, which may take
 * seconds. Those that follow the kernel give it orders, and never wait.
 *
 *	shunt_manager_create(&manager, ifindexes, cnt, &err);
 *	shunt_manager_order(manager, &judges, is_changed);	by who follows, when it has asked
 *	shunt_manager_obey(manager);				before the thread runs
 *	shunt_manager_start(manager, &err);
 *	shunt_manager_add(manager, &judges);			what is in force
 *	shunt_manager_stop(manager, limit_ms); shunt_manager_destroy(manager);
 */
#ifndef SHUNT_FIREWALL_MANAGER_H
#define SHUNT_FIREWALL_MANAGER_H

#include "base/err.h"
#include "firewall/firewall.h"

struct shunt_manager;

/* shunt_manager_create makes a manager of these ports: ifindexes[cnt], at most SHUNT_PORT_MAX. No
 * table yet. Returns 0 or -errno with err set. shunt_manager_destroy removes the table; NULL is
 * legal. Thread: control, no other running. */
int shunt_manager_create(struct shunt_manager **out, const int *ifindexes, unsigned cnt,
			 struct shunt_err *err);
void shunt_manager_destroy(struct shunt_manager *manager);

/* shunt_manager_order says what judges now. is_changed: rules may be others, though the judges are
 * the same. Thread: any. */
void shunt_manager_order(struct shunt_manager *manager, const struct shunt_judges *judges,
			 bool is_changed);

/* shunt_manager_obey does what was ordered. Returns whether the table is another than before.
 * Thread: control before shunt_manager_start, then the manager's own. Cost: a transaction of
 * nftables, where something is to be done. */
bool shunt_manager_obey(struct shunt_manager *manager);

/* shunt_manager_start starts the thread. Returns 0 or -errno with err set. shunt_manager_stop: -
 * ETIMEDOUT where the thread does not end within limit_ms; then the manager must stay. Thread:
 * control. */
int shunt_manager_start(struct shunt_manager *manager, struct shunt_err *err);
int shunt_manager_stop(struct shunt_manager *manager, unsigned limit_ms);

/* shunt_manager_add adds to judges the ports of the table that is in force, none where an order has
 * not been obeyed that ends it. Thread: any. */
void shunt_manager_add(struct shunt_manager *manager, struct shunt_judges *judges);

/* shunt_manager_tell says how it stands. Thread: any. */
void shunt_manager_tell(struct shunt_manager *manager, struct shunt_managed *out);

#endif
