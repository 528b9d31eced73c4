// SPDX-License-Identifier: BSD-2-Clause
/* What judges packets. Must hold: the list of judges stays within its bounds, and each can be
 * printed and found. */
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <stdlib.h>
#include <string.h>

#include "firewall/take.h"
#include "fuzz.h"
#include "netlink.h"

static struct shunt_judges judges;
static struct shunt_firewall_ignored ignored;
static struct shunt_firewall_device devices[PORT_CNT];
static struct shunt_firewall_devices asked = {devices, PORT_CNT, .judges = &judges};
static struct shunt_firewall_hook hook;
static bool blocks;
static unsigned policy_cnt;
static bool is_translated;

void netlink_firewall_start(void)
{
	unsigned i;

	shunt_judges_clear(&judges);
	hook = (struct shunt_firewall_hook){0};
	blocks = false;
	policy_cnt = 0;
	is_translated = false;
	for (i = 0; i < PORT_CNT; i++)
		devices[i] = (struct shunt_firewall_device){.ifindex = (int)(FIRST_PORT + i)};
}

static void take_connection(const struct nlmsghdr *nlh)
{
	struct shunt_flow flow;

	shunt_firewall_take_connection(nlh, &is_translated);
	if (!shunt_firewall_take_flow(nlh, 0, &flow))
		FUZZ_MUST(flow.family == AF_INET || flow.family == AF_INET6, "family %d",
			  flow.family);
}

static void take_netfilter(const struct nlmsghdr *nlh)
{
	struct shunt_firewall_chains chains = {&ignored, &judges, 0, ""};
	struct shunt_firewall_flowtables flowtables = {&ignored, &judges};

	if (NFNL_SUBSYS_ID(nlh->nlmsg_type) == NFNL_SUBSYS_HOOK)
		shunt_firewall_take_hook(nlh, &hook);
	else if (NFNL_SUBSYS_ID(nlh->nlmsg_type) == NFNL_SUBSYS_CTNETLINK)
		take_connection(nlh);
	else if (NFNL_MSG_TYPE(nlh->nlmsg_type) == NFT_MSG_NEWTABLE)
		shunt_firewall_take_table(nlh, &ignored);
	else if (NFNL_MSG_TYPE(nlh->nlmsg_type) == NFT_MSG_NEWFLOWTABLE)
		shunt_firewall_take_flowtable(nlh, &flowtables);
	else
		shunt_firewall_take_chain(nlh, &chains);
}

void netlink_firewall_take(const struct nlmsghdr *nlh, int bus)
{
	if (nlh->nlmsg_type < NLMSG_MIN_TYPE)
		return;
	if (bus == NETLINK_NETFILTER)
		take_netfilter(nlh);
	else if (bus == NETLINK_ROUTE)
		shunt_firewall_take_qdisc(nlh, &asked);
	else if (nlh->nlmsg_type == XFRM_MSG_GETDEFAULT)
		shunt_firewall_take_default(nlh, &blocks);
	else
		shunt_firewall_take_policy(nlh, &policy_cnt);
}

static void check_judges(void)
{
	struct shunt_judged ports[PORT_CNT];
	char text[128];
	unsigned i;

	FUZZ_MUST(judges.cnt <= SHUNT_JUDGES_MAX, "%u judges", judges.cnt);
	for (i = 0; i < judges.cnt; i++) {
		shunt_judge_print(&judges.at[i], text, sizeof(text));
		FUZZ_MUST(judges.at[i].cnt && *text, "judge %u is '%s'", i, text);
	}
	for (i = 0; i < PORT_CNT; i++)
		ports[i] = (struct shunt_judged){.ifindex = (int)(FIRST_PORT + i),
						 .master = FIRST_BRIDGE,
						 .is_routed = true,
						 .is_bridged = true,
						 .leave_by = 0xf};
	for (i = 0; i < PORT_CNT; i++)
		shunt_judge_find(&judges, ports, PORT_CNT, i);
}

void netlink_firewall_finish(void)
{
	check_judges();
	free(asked.queues);
	asked.queues = NULL;
	asked.queue_cnt = 0;
	free(ignored.at);
	ignored = (struct shunt_firewall_ignored){0};
}
