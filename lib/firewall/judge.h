/* SPDX-License-Identifier: BSD-2-Clause */
/* What of the host judges or changes packets that it forwards: packet filters, address translation,
 * IPsec policies, tc. All of that comes behind XDP. So a port whose frames would meet any of it is
 * left to the kernel (mode auto), or bypasses it at the operator's word (mode ignore).
 *
 * Judges are values: ask.h finds them, the functions here say which port's frames meet one. Nothing
 * is asked here.
 *
 * Source: net/netfilter and net/bridge of Linux 6.12; nft(8), "Address families" and "Hooks". */
#ifndef SHUNT_FIREWALL_JUDGE_H
#define SHUNT_FIREWALL_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "firewall/above.h"

/* X(kind, what it is called) */
#define SHUNT_JUDGE_KINDS(X)                                                        \
	X(nftables, "nftables")	  /* a base chain with a rule, or that drops */     \
	X(iptables, "legacy")	  /* a table of iptables-legacy */                  \
	X(ebtables, "legacy")	  /* a table of ebtables-legacy */                  \
	X(tc, "tc")		  /* filters, programs, and queues that shape */    \
	X(bpf, "BPF netfilter")	  /* a program on a hook of netfilter, Linux 6.4 */ \
	X(hook, "netfilter hook") /* a function there that shunt does not know */   \
	X(ipsec, "IPsec")	  /* a policy, or a default that blocks */          \
	X(ipvs, "IPVS")		  /* a virtual service */                           \
	X(untold, "what the kernel does not tell of") /* what cannot be asked counts */

enum shunt_judge_kind {
#define X(kind, called) SHUNT_JUDGE_##kind,
	SHUNT_JUDGE_KINDS(X)
#undef X
		SHUNT_JUDGE_KIND_CNT,
};

/* Where a frame on its way through the host meets a judge. */
enum shunt_judge_place {
	SHUNT_JUDGE_IP,		 /* prerouting, forward and postrouting of IP packets */
	SHUNT_JUDGE_IP_LATE,	 /* the same, but behind what shunt's own table judges */
	SHUNT_JUDGE_BRIDGE,	 /* the same of the kernel's bridges */
	SHUNT_JUDGE_BRIDGE_HOST, /* input and output there: what a bridge gives the host, or gets */
	SHUNT_JUDGE_ARP,	 /* forward of ARP that a bridge shows to the hooks of ARP */
	SHUNT_JUDGE_IN,		 /* where it comes in by a device, */
	SHUNT_JUDGE_OUT,	 /* or leaves by it */
};

struct shunt_judge {
	enum shunt_judge_kind kind;
	enum shunt_judge_place place;
	int ifindex;   /* of IN and OUT; 0: every device */
	unsigned cnt;  /* of this kind there: what, and so many more */
	char what[72]; /* "inet filter forward", cut off where it is longer */
};

/* Of each kind, place and device one is kept, so many in all. With one more, everything counts as
 * judged. */
#define SHUNT_JUDGES_MAX     256

/* Devices that flowtables have, at most: of more none is known. */
#define SHUNT_FLOWTABLES_MAX 256

struct shunt_judges {
	unsigned cnt;
	struct shunt_judge at[SHUNT_JUDGES_MAX];
	/* What judges IP packets may have put connections into a flowtable: those need no judge any
	 * more. By ifindex. */
	unsigned flowtable_cnt;
	int flowtables[SHUNT_FLOWTABLES_MAX];
	uint64_t legacy; /* another when a rule of iptables-legacy is, of which no event tells */
	/* While they are added: a judge at one of these is one at the device beneath; NULL. */
	const struct shunt_firewall_aboves *aboves;
};

/* shunt_judges_clear empties the list. Thread: the list's. */
void shunt_judges_clear(struct shunt_judges *judges);

/* shunt_judges_add_flowtable says that a flowtable has the device, or that beneath it. Thread: the
 * list's. */
void shunt_judges_add_flowtable(struct shunt_judges *judges, int ifindex);

/* shunt_judges_add adds a judge to the list; `what` in printf's way. Thread: the list's. */
void shunt_judges_add(struct shunt_judges *judges, enum shunt_judge_kind kind,
		      enum shunt_judge_place place, int ifindex, const char *what, ...)
	__attribute__((format(printf, 5, 6)));

/* shunt_judges_append adds all of `more` to the list. Thread: the list's. */
void shunt_judges_append(struct shunt_judges *judges, const struct shunt_judges *more);

/* shunt_judges_equal says whether two lists have the same judges in the same order. Thread: any. */
bool shunt_judges_equal(const struct shunt_judges *a, const struct shunt_judges *b);

/* What has to be known of a port. */
struct shunt_judged {
	int ifindex;	   /* 0: no device */
	int master;	   /* its bridge's or bond's, 0: none */
	bool is_routed;	   /* its IP packets pass the kernel's IP layer: modes route and mix */
	bool is_bridged;   /* its frames pass a bridge of the kernel's */
	bool calls_ip;	   /* is_bridged, and br_netfilter shows what is bridged to the IP hooks */
	bool calls_arp;	   /* and to those of ARP */
	bool is_untold;	   /* the device above could not be asked for: every judge counts */
	uint64_t leave_by; /* bit p: its frames can leave by port p */
};

/* shunt_judge_find returns the first judge that frames of the port would meet in the kernel, NULL
 * where there is none. ports: cnt of them, at most 64. Thread: any. */
const struct shunt_judge *shunt_judge_find(const struct shunt_judges *judges,
					   const struct shunt_judged *ports, unsigned cnt,
					   unsigned port);

/* shunt_judges_flow_device returns the ifindex by which flowtables know what comes in on the port:
 * its own, or that of the bridge that it belongs to; 0: none has it. Thread: any. */
int shunt_judges_flow_device(const struct shunt_judges *judges, const struct shunt_judged *port);

/* shunt_judges_leave_flows says whether all that judges the port's frames are rules for IP packets,
 * nftables' or iptables', and a flowtable has the port: then connections that are in it have passed
 * them. Thread: any. */
bool shunt_judges_leave_flows(const struct shunt_judges *judges, const struct shunt_judged *ports,
			      unsigned cnt, unsigned port);

/* shunt_judges_want_table says whether a table of shunt's own (`firewall: manage`) may approve
 * connections: rules of nftables or iptables judge IP packets, and nothing does that such
 * connections would pass by. *against: that, NULL where nothing is; only what judges per packet
 * in any case may stand before it. Thread: any. */
bool shunt_judges_want_table(const struct shunt_judges *judges, const struct shunt_judge **against);

/* shunt_judge_print writes what the judge is: "nftables inet filter forward and 2 more", cut off at
 * len bytes. Thread: any. */
void shunt_judge_print(const struct shunt_judge *judge, char *out, unsigned len);

#endif
