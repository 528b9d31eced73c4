// SPDX-License-Identifier: BSD-2-Clause
/* Address translation goes on for the connections that it has begun with, as long as a chain or a
 * table for it is there: without a rule, too. Whether there are such connections the kernel's
 * connection tracking tells.
 *
 * Source: nf_nat_inet_fn and ctnetlink_dump_table of Linux 6.12. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <string.h>

#include "base/netlink.h"
#include "firewall/ask.h"
#include "firewall/take.h"

static int take_attr(const struct nlattr *attr, void *arg)
{
	if (mnl_attr_get_type(attr) == CTA_STATUS &&
	    ntohl(shunt_netlink_u32(attr)) & (IPS_SRC_NAT | IPS_DST_NAT))
		*(bool *)arg = true;
	return MNL_CB_OK;
}

int shunt_firewall_take_connection(const struct nlmsghdr *nlh, void *arg)
{
	bool *is_translated = arg;

	if (shunt_netlink_head(nlh, sizeof(struct nfgenmsg)))
		mnl_attr_parse(nlh, sizeof(struct nfgenmsg), take_attr, is_translated);
	return *is_translated ? MNL_CB_STOP : MNL_CB_OK;
}

/* Kernels before 5.14 show all connections, whatever their status. Returns 0 or -errno. */
static int find(uint32_t status, bool *is_there)
{
	char buf[128];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct nfgenmsg));
	mnl_attr_put_u32(nlh, CTA_STATUS, htonl(status));
	mnl_attr_put_u32(nlh, CTA_STATUS_MASK, htonl(status));
	return shunt_netlink_dump(&(struct shunt_netlink_dump){
		.bus = NETLINK_NETFILTER,
		.request = nlh,
		.take = shunt_firewall_take_connection,
		.arg = is_there,
	});
}

static bool are_judged(const struct shunt_judges *judges)
{
	unsigned i;

	for (i = 0; i < judges->cnt; i++)
		if (judges->at[i].place == SHUNT_JUDGE_IP ||
		    judges->at[i].place == SHUNT_JUDGE_IP_LATE)
			return true;
	return false;
}

void shunt_firewall_ask_nat(struct shunt_judges *judges, enum shunt_judge_kind kind,
			    const char *table)
{
	bool is_there = false;
	int ret;

	if (are_judged(judges)) /* all connections are, whatever these are */
		return;
	ret = find(IPS_SRC_NAT, &is_there);
	if (!ret && !is_there)
		ret = find(IPS_DST_NAT, &is_there);
	if (ret)
		shunt_judges_add(judges, SHUNT_JUDGE_untold, SHUNT_JUDGE_IP, 0, "connections: %s",
				 strerror(-ret));
	else if (is_there)
		shunt_judges_add(judges, kind, SHUNT_JUDGE_IP, 0, "%s, for connections of before",
				 table);
}
