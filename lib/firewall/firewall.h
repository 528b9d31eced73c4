/* SPDX-License-Identifier: BSD-2-Clause */
/* The host's firewall, followed: what judges or changes packets that the kernel forwards (judge.h),
 * asked for at the start and again when it may have changed. nftables, tc and IPsec send events.
 * iptables-legacy, ebtables, IPVS, tcx, BPF programs and br_netfilter do not: these are asked every
 * second.
 *
 * It is asked by two threads, since some of it waits for the kernel's lock of all devices: the one
 * that follows, when an event came, and control, every second. Each has its own place for the
 * answer, and puts it in force with the guard held (base/guard.h).
 *
 *	shunt_firewall_create(&firewall, ifindexes, cnt, &err);		asks
 *	poll shunt_firewall_fd(firewall) for input
 *	parts = shunt_firewall_take(firewall);				the events
 *	shunt_firewall_ask(firewall, SHUNT_FIREWALL_FOLLOWS, parts);
 *	guarded: if (shunt_firewall_put(firewall, SHUNT_FIREWALL_FOLLOWS))
 *			shunt_firewall_judges(firewall);
 *	shunt_firewall_destroy(firewall);
 *
 * A set of rules that is replaced in one transaction opens no gap: each dump is of one generation
 * of rules, and until the next one the last stands. */
#ifndef SHUNT_FIREWALL_FIREWALL_H
#define SHUNT_FIREWALL_FIREWALL_H

#include <stdint.h>

#include "base/err.h"
#include "firewall/judge.h"

struct shunt_firewall;

/* The thread that asks: the follower follows, control looks. */
enum shunt_firewall_side { SHUNT_FIREWALL_FOLLOWS, SHUNT_FIREWALL_LOOKS, SHUNT_FIREWALL_SIDES };

#define SHUNT_FIREWALL_ALL ~0u

/* shunt_firewall_create opens what is needed, in the caller's network namespace, and asks. tc is
 * asked about on the given devices and the bridges that they are ports of. Returns 0 or -errno with
 * err set. shunt_firewall_destroy: NULL is legal. Thread: control. */
int shunt_firewall_create(struct shunt_firewall **out, const int *ifindexes, unsigned cnt,
			  struct shunt_err *err);
void shunt_firewall_destroy(struct shunt_firewall *firewall);

/* shunt_firewall_fd returns a descriptor that is readable when events wait. */
int shunt_firewall_fd(const struct shunt_firewall *firewall);

/* shunt_firewall_take takes the events, and returns what they are about, a bit each; 0: none came.
 * Thread: the follower. */
unsigned shunt_firewall_take(struct shunt_firewall *firewall);

/* shunt_firewall_ask asks about these parts (SHUNT_FIREWALL_ALL: all; FOLLOWS: those of the
 * events). Nothing is in force yet. Thread: the side's, without the guard. Cost: a dump of tables
 * and chains, of policies and qdiscs; a syscall or more for everything else. */
void shunt_firewall_ask(struct shunt_firewall *firewall, enum shunt_firewall_side side,
			unsigned parts);

/* shunt_firewall_put puts the side's answer in force, but for parts of which the other side heard
 * something newer meanwhile. Returns whether the judges are others than before. Thread: the side's,
 * with the guard. */
bool shunt_firewall_put(struct shunt_firewall *firewall, enum shunt_firewall_side side);

/* shunt_firewall_answers says how many answers of a side were put in force: a test waits until what
 * it has changed was asked about. Thread: any. */
uint64_t shunt_firewall_answers(const struct shunt_firewall *firewall,
				enum shunt_firewall_side side);

/* shunt_firewall_judges returns what is in force, with the guard; valid until the next put.
 * shunt_firewall_query asks once, without following. Thread: control. */
const struct shunt_judges *shunt_firewall_judges(const struct shunt_firewall *firewall);
void shunt_firewall_query(const int *ifindexes, unsigned cnt, struct shunt_judges *out);

/* shunt_firewall_has_flowtable says whether a flowtable of the kernel's has the device, the bridge
 * or bond that it belongs to, or a VLAN device above them, without following. Thread: control.
 * Cost: a dump of tables and flowtables. */
bool shunt_firewall_has_flowtable(int ifindex);

/* `firewall: manage`: shunt's own table of nftables (own_table.h) approves connections where the
 * host's rules have no flowtable. X(state, sentence) */
#define SHUNT_MANAGED_STATES(X)                                               \
	X(needless, "no rules judge what is routed, or they have flowtables") \
	X(pending, "the table is about to be made")                           \
	X(active, "connections that the rules let through are approved")      \
	X(refused, "something would be passed by")                            \
	X(failed, "the kernel refuses the table")

enum shunt_managed_state {
#define X(state, sentence) SHUNT_MANAGED_##state,
	SHUNT_MANAGED_STATES(X)
#undef X
};

struct shunt_managed {
	enum shunt_managed_state state;
	uint64_t change_cnt;  /* times that it was made, made anew or removed */
	struct shunt_err why; /* of refused and failed */
};

const char *shunt_managed_state_name(enum shunt_managed_state state);

/* shunt_firewall_manage has these ports managed, ifindexes[cnt], and makes the table where it is
 * wanted. Its ports count as a flowtable's from the next put on. Returns 0 or -errno with err set;
 * that the kernel refuses the table is no error. Thread: control, before shunt_firewall_start.
 *
 * shunt_firewall_start starts a thread that follows; shunt_firewall_stop ends it: -ETIMEDOUT where
 * it does not end within limit_ms; then the firewall must stay. Both are legal where nothing is
 * managed. Thread: control. */
int shunt_firewall_manage(struct shunt_firewall *firewall, const int *ifindexes, unsigned cnt,
			  struct shunt_err *err);
int shunt_firewall_start(struct shunt_firewall *firewall, struct shunt_err *err);
int shunt_firewall_stop(struct shunt_firewall *firewall, unsigned limit_ms);

/* shunt_firewall_managed says how that stands. Returns false where nothing is managed; NULL is
 * legal. Thread: any. */
bool shunt_firewall_managed(const struct shunt_firewall *firewall, struct shunt_managed *out);

/* shunt_firewall_can_manage tries a table on the loopback device, and removes it. The kernel loads
 * the modules of flowtables for that, without which programs that ask flowtables are not loaded.
 * Returns 0 or -errno with err set. Thread: control. Cost: a transaction of nftables. */
int shunt_firewall_can_manage(struct shunt_err *err);

/* What br_netfilter shows of the frames that a bridge of the kernel's forwards: to the hooks of IP,
 * and to those of ARP. */
struct shunt_firewall_calls {
	bool ip, arp;
};

/* shunt_firewall_calls_ask asks the network namespace's settings and the bridge's own: either is
 * enough. Returns 0 or -errno; then nothing is known. Thread: control. Cost: some files, and a
 * netlink exchange. */
int shunt_firewall_calls_ask(int bridge, struct shunt_firewall_calls *out);

#endif
