/* SPDX-License-Identifier: BSD-2-Clause */
/* What one message of the kernel's answer says, for ask.h's functions. Each is libmnl's mnl_cb_t:
 * it adds what the message says to what arg points to, and returns MNL_CB_OK. A message that is cut
 * short adds nothing. Thread: the one that asks. */
#ifndef SHUNT_FIREWALL_TAKE_H
#define SHUNT_FIREWALL_TAKE_H

#include <libmnl/libmnl.h>
#include <linux/netlink.h>

#include "firewall/flows.h"
#include "firewall/judge.h"

/* Tables of nftables whose chains judge nothing: dormant ones, and shunt's own (own_table.h). */
struct shunt_firewall_ignored {
	struct shunt_firewall_ignored_table *at; /* owned; free() */
	unsigned cnt;
};

struct shunt_firewall_chains {
	const struct shunt_firewall_ignored *ignored;
	struct shunt_judges *judges;
	unsigned cnt_before; /* judges that others have found */
	char nat[48];	     /* a chain of address translation without a rule, "" none */
};

struct shunt_firewall_flowtables {
	const struct shunt_firewall_ignored *ignored;
	struct shunt_judges *judges;
};

/* shunt_firewall_take_table: arg is a struct shunt_firewall_ignored. shunt_firewall_take_chain:
 * arg is a struct shunt_firewall_chains. shunt_firewall_take_flowtable: arg is a struct
 * shunt_firewall_flowtables. */
int shunt_firewall_take_table(const struct nlmsghdr *nlh, void *arg);
int shunt_firewall_take_chain(const struct nlmsghdr *nlh, void *arg);
int shunt_firewall_take_flowtable(const struct nlmsghdr *nlh, void *arg);

/* shunt_firewall_is_ignored says whether a table of that family and name is among them.
 */
bool shunt_firewall_is_ignored(const struct shunt_firewall_ignored *ignored, uint8_t family,
			       const char *table);

/* shunt_firewall_dump_nft asks nftables for all that a message (NFT_MSG_GET...) is about. Returns 0
 * or -errno. shunt_firewall_lacks_nft: the -errno says that the kernel has no nftables. */
int shunt_firewall_dump_nft(uint8_t message, mnl_cb_t take, void (*forget)(void *), void *arg);
bool shunt_firewall_lacks_nft(int ret);

/* shunt_firewall_dump_ignored returns 0 or -errno. The list is the caller's: free(at). */
int shunt_firewall_dump_ignored(struct shunt_firewall_ignored *ignored);

/* A device whose queueing disciplines are asked for. */
struct shunt_firewall_device {
	int ifindex;
	bool has_ingress; /* filters where frames come in: ingress or clsact */
	bool has_egress;  /* or leave: clsact alone */
};

/* One that queues only, but for filters that it may have. */
struct shunt_firewall_queue {
	int ifindex;
	uint32_t parent; /* of its filters: its handle, 0 for the root */
};

struct shunt_firewall_devices {
	struct shunt_firewall_device *at;
	unsigned cnt, judge_cnt_before;
	struct shunt_judges *judges;
	struct shunt_firewall_queue *queues; /* owned; free() */
	unsigned queue_cnt;
};

/* shunt_firewall_take_qdisc: arg is a struct shunt_firewall_devices. */
int shunt_firewall_take_qdisc(const struct nlmsghdr *nlh, void *arg);

/* What is on a hook of netfilter, beside what is asked for elsewhere. */
struct shunt_firewall_hook {
	bool has_bpf;
	char stranger[40]; /* a function, "" none */
};

/* shunt_firewall_take_connection: arg is a bool, set where the connection is translated. */
int shunt_firewall_take_connection(const struct nlmsghdr *nlh, void *arg);

/* shunt_firewall_take_flow reads a connection. Returns 0, or -ENOENT where its status (IPS_...) has
 * not all those bits. */
int shunt_firewall_take_flow(const struct nlmsghdr *nlh, uint32_t status, struct shunt_flow *out);

/* shunt_firewall_take_policy counts IPsec policies that forwarded packets meet: arg is an unsigned.
 * shunt_firewall_take_default: arg is a bool, set where a default of IPsec blocks them.
 * shunt_firewall_take_hook: arg is a struct shunt_firewall_hook. */
int shunt_firewall_take_policy(const struct nlmsghdr *nlh, void *arg);
int shunt_firewall_take_default(const struct nlmsghdr *nlh, void *arg);
int shunt_firewall_take_hook(const struct nlmsghdr *nlh, void *arg);

#endif
