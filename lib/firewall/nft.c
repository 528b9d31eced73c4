// SPDX-License-Identifier: BSD-2-Clause
/* nftables, with iptables-nft and its like. A base chain judges if it has a rule or drops by its
 * policy. What the rules say is not looked at. One of address translation without a rule is asked
 * about further (nat.c). */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/netlink.h"
#include "firewall/ask.h"
#include "firewall/own_table.h"
#include "firewall/take.h"

/* linux/netfilter_bridge.h, which cannot be included beside net/if.h */
enum { BRIDGE_LOCAL_IN = 1, BRIDGE_LOCAL_OUT = 3 };

#define NAME_LEN    64
#define DEVICES_MAX 16 /* of a chain: one with more counts for every device */

/* --- tables that judge nothing ---------------------------------------------------------------- */

struct shunt_firewall_ignored_table {
	uint8_t family;
	char name[NAME_LEN];
};

struct table {
	const char *name;
	uint32_t flags;
};

static int take_table_attr(const struct nlattr *attr, void *arg)
{
	struct table *table = arg;

	if (mnl_attr_get_type(attr) == NFTA_TABLE_NAME)
		table->name = shunt_netlink_str(attr);
	if (mnl_attr_get_type(attr) == NFTA_TABLE_FLAGS)
		table->flags = ntohl(shunt_netlink_u32(attr));
	return MNL_CB_OK;
}

static bool is_own(uint8_t family, const struct table *table)
{
	return family == NFPROTO_INET && table->flags & SHUNT_TABLE_F_OWNER &&
	       shunt_own_table_is(table->name);
}

int shunt_firewall_take_table(const struct nlmsghdr *nlh, void *arg)
{
	const struct nfgenmsg *nfg = shunt_netlink_head(nlh, sizeof(*nfg));
	struct shunt_firewall_ignored *ignored = arg;
	struct table table = {0};
	struct shunt_firewall_ignored_table *p;

	if (!nfg)
		return MNL_CB_OK;
	mnl_attr_parse(nlh, sizeof(*nfg), take_table_attr, &table);
	if (!table.name || strlen(table.name) >= NAME_LEN ||
	    (!(table.flags & NFT_TABLE_F_DORMANT) && !is_own(nfg->nfgen_family, &table)))
		return MNL_CB_OK;
	p = realloc(ignored->at, (ignored->cnt + 1) * sizeof(*p));
	if (!p)
		return MNL_CB_OK; /* it counts */
	ignored->at = p;
	p += ignored->cnt++;
	p->family = nfg->nfgen_family;
	snprintf(p->name, sizeof(p->name), "%s", table.name);
	return MNL_CB_OK;
}

bool shunt_firewall_is_ignored(const struct shunt_firewall_ignored *ignored, uint8_t family,
			       const char *table)
{
	unsigned i;

	for (i = 0; i < ignored->cnt; i++)
		if (ignored->at[i].family == family && !strcmp(ignored->at[i].name, table))
			return true;
	return false;
}

static void forget_tables(void *arg)
{
	struct shunt_firewall_ignored *ignored = arg;

	free(ignored->at);
	*ignored = (struct shunt_firewall_ignored){0};
}

/* --- chains ----------------------------------------------------------------------------------- */

struct chain {
	uint8_t family;
	const char *table, *name, *type;
	uint32_t hook; /* UINT32_MAX: no base chain */
	int32_t priority;
	uint32_t policy, rule_cnt;
	unsigned device_cnt; /* more than DEVICES_MAX: every device */
	char devices[DEVICES_MAX][IF_NAMESIZE];
};

static const char *family_name(uint8_t family)
{
	switch (family) {
	case NFPROTO_INET:
		return "inet";
	case NFPROTO_IPV4:
		return "ip";
	case NFPROTO_IPV6:
		return "ip6";
	case NFPROTO_BRIDGE:
		return "bridge";
	case NFPROTO_NETDEV:
		return "netdev";
	}
	return NULL; /* of ARP: not forwarded */
}

/* A name that is cut off, or of a kind that this file does not know, stands for every device. */
static void add_device(struct chain *chain, const struct nlattr *attr, bool is_known)
{
	const char *name = shunt_netlink_str(attr);

	if (!is_known || strnlen(name, IF_NAMESIZE) == IF_NAMESIZE ||
	    chain->device_cnt >= DEVICES_MAX)
		chain->device_cnt = DEVICES_MAX + 1;
	else
		memcpy(chain->devices[chain->device_cnt++], name, strlen(name) + 1);
}

static int take_device(const struct nlattr *attr, void *arg)
{
	add_device(arg, attr, mnl_attr_get_type(attr) == NFTA_DEVICE_NAME);
	return MNL_CB_OK;
}

static int take_hook(const struct nlattr *attr, void *arg)
{
	struct chain *chain = arg;

	switch (mnl_attr_get_type(attr)) {
	case NFTA_HOOK_HOOKNUM:
		chain->hook = ntohl(shunt_netlink_u32(attr));
		break;
	case NFTA_HOOK_PRIORITY:
		chain->priority = (int32_t)ntohl(shunt_netlink_u32(attr));
		break;
	case NFTA_HOOK_DEV: /* a list of one has it, too, behind the list */
		if (!chain->device_cnt)
			add_device(chain, attr, true);
		break;
	case NFTA_HOOK_DEVS:
		chain->device_cnt = 0;
		mnl_attr_parse_nested(attr, take_device, chain);
		break;
	}
	return MNL_CB_OK;
}

static int take_chain_attr(const struct nlattr *attr, void *arg)
{
	struct chain *chain = arg;

	switch (mnl_attr_get_type(attr)) {
	case NFTA_CHAIN_TABLE:
		chain->table = shunt_netlink_str(attr);
		break;
	case NFTA_CHAIN_NAME:
		chain->name = shunt_netlink_str(attr);
		break;
	case NFTA_CHAIN_TYPE:
		chain->type = shunt_netlink_str(attr);
		break;
	case NFTA_CHAIN_HOOK:
		mnl_attr_parse_nested(attr, take_hook, chain);
		break;
	case NFTA_CHAIN_POLICY:
		chain->policy = ntohl(shunt_netlink_u32(attr));
		break;
	case NFTA_CHAIN_USE:
		chain->rule_cnt = ntohl(shunt_netlink_u32(attr));
		break;
	}
	return MNL_CB_OK;
}

static void add(struct shunt_judges *judges, const struct chain *chain,
		enum shunt_judge_place place, int ifindex)
{
	shunt_judges_add(judges, SHUNT_JUDGE_nftables, place, ifindex, "%s %.24s %.24s",
			 family_name(chain->family), chain->table, chain->name);
}

/* A device that is not there has no frames. One that cannot be asked for stands for every device.
 */
static void add_of_devices(struct shunt_judges *judges, const struct chain *chain,
			   enum shunt_judge_place place)
{
	unsigned i, ifindex;

	if (!chain->device_cnt || chain->device_cnt > DEVICES_MAX) {
		add(judges, chain, place, 0);
		return;
	}
	for (i = 0; i < chain->device_cnt; i++) {
		ifindex = if_nametoindex(chain->devices[i]);
		if (ifindex || errno != ENODEV)
			add(judges, chain, place, (int)ifindex);
	}
}

/* Behind shunt's own chain, which is the last of hook forward; of one with its priority nobody can
 * say. Translation is by connection. */
static bool is_late(const struct chain *chain)
{
	if (chain->hook == NF_INET_POST_ROUTING)
		return !chain->type || strcmp(chain->type, "nat") != 0;
	return chain->hook == NF_INET_FORWARD && chain->priority == INT_MAX;
}

/* What is for this host, or from it, is the kernel's in any case. To a bridge, what is routed is.
 */
static void judge(struct shunt_judges *judges, const struct chain *chain)
{
	if (chain->family == NFPROTO_NETDEV)
		add_of_devices(judges, chain,
			       chain->hook == NF_NETDEV_INGRESS ? SHUNT_JUDGE_IN : SHUNT_JUDGE_OUT);
	else if (chain->family == NFPROTO_BRIDGE)
		add(judges, chain,
		    chain->hook == BRIDGE_LOCAL_IN || chain->hook == BRIDGE_LOCAL_OUT
			    ? SHUNT_JUDGE_BRIDGE_HOST
			    : SHUNT_JUDGE_BRIDGE,
		    0);
	else if (chain->hook == NF_INET_INGRESS)
		add_of_devices(judges, chain, SHUNT_JUDGE_IN);
	else if (chain->hook != NF_INET_LOCAL_IN && chain->hook != NF_INET_LOCAL_OUT)
		add(judges, chain, is_late(chain) ? SHUNT_JUDGE_IP_LATE : SHUNT_JUDGE_IP, 0);
}

int shunt_firewall_take_chain(const struct nlmsghdr *nlh, void *arg)
{
	const struct nfgenmsg *nfg = shunt_netlink_head(nlh, sizeof(*nfg));
	struct chain chain = {.hook = UINT32_MAX, .policy = NF_ACCEPT};
	struct shunt_firewall_chains *chains = arg;

	if (!nfg)
		return MNL_CB_OK;
	chain.family = nfg->nfgen_family;
	mnl_attr_parse(nlh, sizeof(*nfg), take_chain_attr, &chain);
	if (chain.hook == UINT32_MAX || !chain.table || !chain.name || !family_name(chain.family) ||
	    shunt_firewall_is_ignored(chains->ignored, chain.family, chain.table))
		return MNL_CB_OK;
	if (chain.rule_cnt || chain.policy != NF_ACCEPT)
		judge(chains->judges, &chain);
	else if (chain.type && !strcmp(chain.type, "nat") &&
		 (chain.hook == NF_INET_PRE_ROUTING || chain.hook == NF_INET_POST_ROUTING))
		snprintf(chains->nat, sizeof(chains->nat), "%s %.16s %.16s",
			 family_name(chain.family), chain.table, chain.name);
	return MNL_CB_OK;
}

static void forget_chains(void *arg)
{
	struct shunt_firewall_chains *chains = arg;

	chains->judges->cnt = chains->cnt_before;
	chains->nat[0] = '\0';
}

/* --- both ------------------------------------------------------------------------------------- */

int shunt_firewall_dump_nft(uint8_t message, mnl_cb_t take, void (*forget)(void *), void *arg)
{
	char buf[MNL_NLMSG_HDRLEN + MNL_ALIGN(sizeof(struct nfgenmsg))];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | message);
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct nfgenmsg));
	return shunt_netlink_dump(&(struct shunt_netlink_dump){.bus = NETLINK_NETFILTER,
							       .request = nlh,
							       .take = take,
							       .forget = forget,
							       .arg = arg});
}

/* Without nf_tables in the kernel the answer is EINVAL, without netfilter there is no bus. */
bool shunt_firewall_lacks_nft(int ret)
{
	return ret == -EINVAL || ret == -EPROTONOSUPPORT || ret == -EOPNOTSUPP;
}

int shunt_firewall_dump_ignored(struct shunt_firewall_ignored *ignored)
{
	return shunt_firewall_dump_nft(NFT_MSG_GETTABLE, shunt_firewall_take_table, forget_tables,
				       ignored);
}

void shunt_firewall_ask_nft(struct shunt_judges *judges)
{
	struct shunt_firewall_ignored ignored = {0};
	struct shunt_firewall_chains chains = {&ignored, judges, judges->cnt, ""};
	int ret = shunt_firewall_dump_ignored(&ignored);

	if (!ret)
		ret = shunt_firewall_dump_nft(NFT_MSG_GETCHAIN, shunt_firewall_take_chain,
					      forget_chains, &chains);
	if (ret && !shunt_firewall_lacks_nft(ret))
		shunt_judges_add(judges, SHUNT_JUDGE_untold, SHUNT_JUDGE_IN, 0, "nftables: %s",
				 strerror(-ret));
	if (*chains.nat)
		shunt_firewall_ask_nat(judges, SHUNT_JUDGE_nftables, chains.nat);
	free(ignored.at);
}
