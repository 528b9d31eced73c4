/* SPDX-License-Identifier: BSD-2-Clause */
/* What one message of the kernel's answer says, for ask.h's functions. Each is libmnl's mnl_cb_t:
 * it adds what the message says to what arg points to, and returns MNL_CB_OK. A message that is cut
 * short adds nothing. Thread: the one that asks. */
#ifndef SHUNT_FIREWALL_TAKE_H
#define SHUNT_FIREWALL_TAKE_H

#include <linux/netlink.h>

#include "firewall/judge.h"

/* Tables of nftables whose chains judge nothing, since they are dormant. */
struct shunt_firewall_dormants {
	struct shunt_firewall_dormant *at; /* owned; free() */
	unsigned cnt;
};

struct shunt_firewall_chains {
	const struct shunt_firewall_dormants *dormants;
	struct shunt_judges *judges;
	unsigned cnt_before; /* judges that others have found */
};

/* shunt_firewall_take_table: arg is a struct shunt_firewall_dormants. shunt_firewall_take_chain:
 * arg is a struct shunt_firewall_chains. */
int shunt_firewall_take_table(const struct nlmsghdr *nlh, void *arg);
int shunt_firewall_take_chain(const struct nlmsghdr *nlh, void *arg);

/* A device whose queueing disciplines are asked for. */
struct shunt_firewall_device {
	int ifindex;
	bool has_entrance; /* clsact or ingress */
	bool has_classes;  /* a root that may have filters */
};

struct shunt_firewall_devices {
	struct shunt_firewall_device *at;
	unsigned cnt, judge_cnt_before;
	struct shunt_judges *judges;
};

/* shunt_firewall_take_qdisc: arg is a struct shunt_firewall_devices. */
int shunt_firewall_take_qdisc(const struct nlmsghdr *nlh, void *arg);

/* shunt_firewall_take_policy counts IPsec policies that forwarded packets meet: arg is an unsigned.
 * shunt_firewall_take_default: arg is a bool, set where a default of IPsec blocks them.
 * shunt_firewall_take_hook: arg is a bool, set where a BPF program is on a hook of netfilter. */
int shunt_firewall_take_policy(const struct nlmsghdr *nlh, void *arg);
int shunt_firewall_take_default(const struct nlmsghdr *nlh, void *arg);
int shunt_firewall_take_hook(const struct nlmsghdr *nlh, void *arg);

#endif
