/* SPDX-License-Identifier: BSD-2-Clause */
/* The host's firewall, followed: what judges or changes packets that the kernel forwards (judge.h),
 * asked for at the start and again when it may have changed. nftables, tc and IPsec send events.
 * iptables-legacy, ebtables, IPVS, tcx, BPF programs and br_netfilter do not: these are asked every
 * second.
 *
 *	shunt_firewall_create(&firewall, ifindexes, cnt, &err);		asks
 *	poll shunt_firewall_fd(firewall) for input
 *	shunt_firewall_service(firewall);	asks again if an event came
 *	shunt_firewall_look(firewall);		asks in any case, every second
 *	shunt_firewall_judges(firewall);
 *	shunt_firewall_destroy(firewall);
 *
 * A set of rules that is replaced in one transaction opens no gap: each dump is of one generation
 * of rules, and until the next one the last stands. */
#ifndef SHUNT_FIREWALL_FIREWALL_H
#define SHUNT_FIREWALL_FIREWALL_H

#include "base/err.h"
#include "firewall/judge.h"

struct shunt_firewall;

/* shunt_firewall_create opens what is needed, in the caller's network namespace, and asks. tc is
 * asked about on the given devices and the bridges that they are ports of. Returns 0 or -errno with
 * err set. shunt_firewall_destroy: NULL is legal. Thread: control. */
int shunt_firewall_create(struct shunt_firewall **out, const int *ifindexes, unsigned cnt,
			  struct shunt_err *err);
void shunt_firewall_destroy(struct shunt_firewall *firewall);

/* shunt_firewall_fd returns a descriptor that is readable when events wait. */
int shunt_firewall_fd(const struct shunt_firewall *firewall);

/* shunt_firewall_service takes events, shunt_firewall_look needs none. Both return whether the
 * judges are others than before. Thread: control. Cost: a dump of tables and chains, of policies
 * and qdiscs; a syscall or more for everything else. */
bool shunt_firewall_service(struct shunt_firewall *firewall);
bool shunt_firewall_look(struct shunt_firewall *firewall);

/* shunt_firewall_judges returns what was found last; valid until the next service or look.
 * shunt_firewall_calls_ip says whether br_netfilter shows the IP hooks what the bridge forwards.
 * shunt_firewall_query asks once, without following. Thread: control. */
const struct shunt_judges *shunt_firewall_judges(const struct shunt_firewall *firewall);
bool shunt_firewall_calls_ip(int bridge);
void shunt_firewall_query(const int *ifindexes, unsigned cnt, struct shunt_judges *out);

#endif
