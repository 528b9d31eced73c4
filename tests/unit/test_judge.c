// SPDX-License-Identifier: BSD-2-Clause
/* Whose frames a judge judges: a row for each case, then what a list keeps and says. What the
 * kernel is asked for is looked at with real rules, in tests/e2e/test_firewall.py. */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <libmnl/libmnl.h>

#include "base/bytes.h"
#include "firewall/judge.h"
#include "firewall/take.h"

/* Interface indexes. The last device is no port's. */
enum { ETH1 = 3, ETH2, BR0, OTHER };

#define PAIR(...)                                                      \
	{                                                              \
		{.ifindex = ETH1, .leave_by = 2, __VA_ARGS__},         \
			{.ifindex = ETH2, .leave_by = 1, __VA_ARGS__}, \
	}

/* Two ports that forward to each other. The second line is like the first but for its device. */
static const struct shunt_judged routed[] = PAIR(.is_routed = true),
				 bridged[] = PAIR(.master = BR0, .is_bridged = true),
				 nf_bridged[] =
					 PAIR(.master = BR0, .is_bridged = true, .calls_ip = true),
				 arp_bridged[] =
					 PAIR(.master = BR0, .is_bridged = true, .calls_arp = true),
				 mixed[] =
					 PAIR(.master = BR0, .is_routed = true, .is_bridged = true),
				 alone[] = PAIR(.master = 0), /* a bridge that the kernel has not */
	untold[] = PAIR(.is_untold = true);

Test(judge, of_every_mode_and_place)
{
	static const struct {
		const char *name;
		const struct shunt_judged *ports;
		enum shunt_judge_place place;
		int ifindex;
		bool first, second; /* port 0 is judged, port 1 is */
	} rows[] = {
		{"forward hook, route", routed, SHUNT_JUDGE_IP, 0, true, true},
		{"forward hook, bridge", bridged, SHUNT_JUDGE_IP, 0, false, false},
		{"forward hook, bridge with br_netfilter", nf_bridged, SHUNT_JUDGE_IP, 0, true,
		 true},
		{"forward hook, mix", mixed, SHUNT_JUDGE_IP, 0, true, true},
		{"forward hook, bridge of shunt's own", alone, SHUNT_JUDGE_IP, 0, false, false},
		{"postrouting, route", routed, SHUNT_JUDGE_IP_LATE, 0, true, true},
		{"postrouting, bridge", bridged, SHUNT_JUDGE_IP_LATE, 0, false, false},
		{"bridge hook, route", routed, SHUNT_JUDGE_BRIDGE, 0, false, false},
		{"bridge hook, bridge", bridged, SHUNT_JUDGE_BRIDGE, 0, true, true},
		{"bridge hook, mix", mixed, SHUNT_JUDGE_BRIDGE, 0, true, true},
		{"bridge hook, bridge of shunt's own", alone, SHUNT_JUDGE_BRIDGE, 0, false, false},
		{"the bridge's input and output, route", routed, SHUNT_JUDGE_BRIDGE_HOST, 0, false,
		 false},
		{"the bridge's input and output, bridge", bridged, SHUNT_JUDGE_BRIDGE_HOST, 0,
		 false, false},
		{"the bridge's input and output, bridge with br_netfilter", nf_bridged,
		 SHUNT_JUDGE_BRIDGE_HOST, 0, false, false},
		{"the bridge's input and output, route over a bridge", mixed,
		 SHUNT_JUDGE_BRIDGE_HOST, 0, true, true},
		{"the bridge's input and output, bridge of shunt's own", alone,
		 SHUNT_JUDGE_BRIDGE_HOST, 0, false, false},
		{"the bridge's input and output, untold", untold, SHUNT_JUDGE_BRIDGE_HOST, 0, true,
		 true},
		{"ARP hook, bridge", bridged, SHUNT_JUDGE_ARP, 0, false, false},
		{"ARP hook, bridge with br_netfilter", arp_bridged, SHUNT_JUDGE_ARP, 0, true, true},
		{"ARP hook, route", routed, SHUNT_JUDGE_ARP, 0, false, false},
		{"forward hook, bridge that calls ARP's", arp_bridged, SHUNT_JUDGE_IP, 0, false,
		 false},
		{"ingress of a port", routed, SHUNT_JUDGE_IN, ETH1, true, false},
		{"ingress of the other", routed, SHUNT_JUDGE_IN, ETH2, false, true},
		{"ingress of a stranger", routed, SHUNT_JUDGE_IN, OTHER, false, false},
		{"ingress of every device", routed, SHUNT_JUDGE_IN, 0, true, true},
		{"ingress of the bridge", mixed, SHUNT_JUDGE_IN, BR0, true, true},
		{"ingress, bridge of shunt's own", alone, SHUNT_JUDGE_IN, ETH1, true, false},
		{"egress of a port", routed, SHUNT_JUDGE_OUT, ETH1, false, true},
		{"egress of the other", bridged, SHUNT_JUDGE_OUT, ETH2, true, false},
		{"egress of a stranger", bridged, SHUNT_JUDGE_OUT, OTHER, false, false},
		{"egress of every device", bridged, SHUNT_JUDGE_OUT, 0, true, true},
		{"egress of the bridge", mixed, SHUNT_JUDGE_OUT, BR0, true, true},
		{"ingress of the bridge, bridge", bridged, SHUNT_JUDGE_IN, BR0, false, false},
		{"egress of the bridge, bridge", bridged, SHUNT_JUDGE_OUT, BR0, false, false},
		{"forward hook, untold", untold, SHUNT_JUDGE_IP, 0, true, true},
		{"bridge hook, untold", untold, SHUNT_JUDGE_BRIDGE, 0, true, true},
		{"egress of a stranger, untold", untold, SHUNT_JUDGE_OUT, OTHER, true, true},
	};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(rows); i++) {
		struct shunt_judges judges = {0};

		shunt_judges_add(&judges, SHUNT_JUDGE_nftables, rows[i].place, rows[i].ifindex,
				 "t");
		cr_expect_eq(!!shunt_judge_find(&judges, rows[i].ports, 2, 0), rows[i].first,
			     "%s: 0", rows[i].name);
		cr_expect_eq(!!shunt_judge_find(&judges, rows[i].ports, 2, 1), rows[i].second,
			     "%s: 1", rows[i].name);
	}
}

Test(judge, nothing_judges_nobody)
{
	const struct shunt_judges none = {0};
	const struct shunt_judged memory = {.leave_by = 1, .is_routed = true};
	struct shunt_judges all = {0};

	cr_expect_null(shunt_judge_find(&none, routed, 2, 0));
	shunt_judges_add(&all, SHUNT_JUDGE_nftables, SHUNT_JUDGE_IP, 0, "t");
	cr_expect_null(shunt_judge_find(&all, &memory, 1, 0), "no device");
}

Test(judge, those_of_a_kind_are_counted)
{
	struct shunt_judges judges = {0}, same = {0};
	char text[64], cut[12];

	shunt_judges_add(&judges, SHUNT_JUDGE_nftables, SHUNT_JUDGE_IP, 0, "%s forward", "inet f");
	shunt_judge_print(&judges.at[0], text, sizeof(text));
	cr_expect_str_eq(text, "nftables inet f forward");
	same = judges;
	cr_expect(shunt_judges_equal(&judges, &same));
	shunt_judges_add(&judges, SHUNT_JUDGE_nftables, SHUNT_JUDGE_IP, 0, "ip nat post");
	cr_expect_eq(judges.cnt, 1);
	cr_expect_not(shunt_judges_equal(&judges, &same));
	shunt_judge_print(&judges.at[0], text, sizeof(text));
	cr_expect_str_eq(text, "nftables inet f forward and 1 more");
	shunt_judge_print(&judges.at[0], cut, sizeof(cut));
	cr_expect_str_eq(cut, "nftables in");
}

static const struct shunt_judged bonded[] = {
	{.ifindex = ETH1, .leave_by = 2, .is_routed = true, .master = OTHER},
	{.ifindex = ETH2, .leave_by = 1, .is_routed = true},
};

/* Connections of a flowtable are left to the port where all that judges it is IP's rules. */
Test(judge, what_leaves_flows)
{
	static const struct {
		const char *name;
		const struct shunt_judged *ports;
		enum shunt_judge_kind kind;
		enum shunt_judge_place place;
		int ifindex, flowtable;
		bool first; /* port 0 is left its connections */
	} rows[] = {
		{"nftables", routed, SHUNT_JUDGE_nftables, SHUNT_JUDGE_IP, 0, ETH1, true},
		{"iptables", routed, SHUNT_JUDGE_iptables, SHUNT_JUDGE_IP, 0, ETH1, true},
		{"postrouting", routed, SHUNT_JUDGE_nftables, SHUNT_JUDGE_IP_LATE, 0, ETH1, true},
		{"the other port's", routed, SHUNT_JUDGE_nftables, SHUNT_JUDGE_IP, 0, ETH2, false},
		{"no flowtable", routed, SHUNT_JUDGE_nftables, SHUNT_JUDGE_IP, 0, 0, false},
		{"IPsec", routed, SHUNT_JUDGE_ipsec, SHUNT_JUDGE_IP, 0, ETH1, false},
		{"IPVS", routed, SHUNT_JUDGE_ipvs, SHUNT_JUDGE_IP, 0, ETH1, false},
		{"BPF", routed, SHUNT_JUDGE_bpf, SHUNT_JUDGE_IP, 0, ETH1, false},
		{"a stranger", routed, SHUNT_JUDGE_hook, SHUNT_JUDGE_IP, 0, ETH1, false},
		{"untold", routed, SHUNT_JUDGE_untold, SHUNT_JUDGE_IN, 0, ETH1, false},
		{"ingress", routed, SHUNT_JUDGE_nftables, SHUNT_JUDGE_IN, ETH1, ETH1, false},
		{"its ingress elsewhere", routed, SHUNT_JUDGE_nftables, SHUNT_JUDGE_IN, OTHER, ETH1,
		 true},
		{"egress", routed, SHUNT_JUDGE_tc, SHUNT_JUDGE_OUT, ETH2, ETH1, false},
		{"a bridge's", routed, SHUNT_JUDGE_nftables, SHUNT_JUDGE_BRIDGE, 0, ETH1, true},
		{"bridged", nf_bridged, SHUNT_JUDGE_bpf, SHUNT_JUDGE_BRIDGE, 0, ETH1, false},
		{"a bridge's input", routed, SHUNT_JUDGE_nftables, SHUNT_JUDGE_BRIDGE_HOST, 0, ETH1,
		 true},
		{"a bridge's input, over it", mixed, SHUNT_JUDGE_nftables, SHUNT_JUDGE_BRIDGE_HOST,
		 0, ETH1, false},
		{"not asked", untold, SHUNT_JUDGE_nftables, SHUNT_JUDGE_IP, 0, ETH1, false},
		{"its bond's", bonded, SHUNT_JUDGE_nftables, SHUNT_JUDGE_IP, 0, OTHER, true},
		{"ingress of its bond", bonded, SHUNT_JUDGE_nftables, SHUNT_JUDGE_IN, OTHER, OTHER,
		 false},
	};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(rows); i++) {
		struct shunt_judges judges = {0}, more = {0};

		shunt_judges_add(&judges, rows[i].kind, rows[i].place, rows[i].ifindex, "x");
		if (rows[i].flowtable)
			shunt_judges_add_flowtable(&more, rows[i].flowtable);
		shunt_judges_append(&judges, &more);
		cr_expect_eq(shunt_judges_leave_flows(&judges, rows[i].ports, 2, 0), rows[i].first,
			     "%s", rows[i].name);
		cr_expect_eq(shunt_judges_equal(&judges, &more), false);
		shunt_judges_clear(&judges);
		cr_expect_not(shunt_judges_leave_flows(&judges, rows[i].ports, 2, 0));
	}
}

/* shunt's own table approves connections where nothing judges that these would pass by. */
Test(judge, what_wants_a_table)
{
	static const struct {
		const char *name;
		struct shunt_judge judges[2]; /* the second's what "": one alone */
		bool wants, is_refused;
	} rows[] = {
#define RULES {SHUNT_JUDGE_nftables, SHUNT_JUDGE_IP, 0, 1, "rules"}
		{"nftables", {RULES}, true, false},
		{"iptables", {{SHUNT_JUDGE_iptables, SHUNT_JUDGE_IP, 0, 1, "filter"}}, true, false},
		{"ingress", {{SHUNT_JUDGE_nftables, SHUNT_JUDGE_IN, ETH1, 1, "in"}}, false, false},
		{"a bridge's",
		 {{SHUNT_JUDGE_nftables, SHUNT_JUDGE_BRIDGE, 0, 1, "b"}},
		 false,
		 false},
		{"a bridge's input",
		 {{SHUNT_JUDGE_nftables, SHUNT_JUDGE_BRIDGE_HOST, 0, 1, "b"}},
		 false,
		 false},
		{"tc", {{SHUNT_JUDGE_tc, SHUNT_JUDGE_IN, ETH1, 1, "ingress"}}, false, false},
		{"IPsec", {{SHUNT_JUDGE_ipsec, SHUNT_JUDGE_IP, 0, 1, "policy"}}, false, false},
		{"behind",
		 {{SHUNT_JUDGE_nftables, SHUNT_JUDGE_IP_LATE, 0, 1, "post"}},
		 false,
		 true},
		{"and behind",
		 {RULES, {SHUNT_JUDGE_nftables, SHUNT_JUDGE_IP_LATE, 0, 1, "post"}},
		 false,
		 true},
		{"and mangle",
		 {RULES, {SHUNT_JUDGE_iptables, SHUNT_JUDGE_IP_LATE, 0, 1, "mangle"}},
		 false,
		 true},
		{"and IPsec", {RULES, {SHUNT_JUDGE_ipsec, SHUNT_JUDGE_IP, 0, 1, "p"}}, false, true},
		{"and IPVS", {RULES, {SHUNT_JUDGE_ipvs, SHUNT_JUDGE_IP, 0, 1, "v"}}, false, true},
		{"and BPF", {RULES, {SHUNT_JUDGE_bpf, SHUNT_JUDGE_IP, 0, 1, "p"}}, false, true},
		{"and a stranger",
		 {RULES, {SHUNT_JUDGE_hook, SHUNT_JUDGE_BRIDGE, 0, 1, "f"}},
		 false,
		 true},
		{"and untold",
		 {RULES, {SHUNT_JUDGE_untold, SHUNT_JUDGE_IN, 0, 1, "x"}},
		 false,
		 true},
		{"and tc", {RULES, {SHUNT_JUDGE_tc, SHUNT_JUDGE_OUT, ETH2, 1, "htb"}}, true, false},
		{"and ebtables",
		 {RULES, {SHUNT_JUDGE_ebtables, SHUNT_JUDGE_BRIDGE, 0, 1, "filter"}},
		 true,
		 false},
#undef RULES
	};
	const struct shunt_judge *against;
	unsigned i, k;

	for (i = 0; i < SHUNT_ARRAY_LEN(rows); i++) {
		struct shunt_judges judges = {0};

		for (k = 0; k < 2 && *rows[i].judges[k].what; k++)
			shunt_judges_add(&judges, rows[i].judges[k].kind, rows[i].judges[k].place,
					 rows[i].judges[k].ifindex, "%s", rows[i].judges[k].what);
		cr_expect_eq(shunt_judges_want_table(&judges, &against), rows[i].wants, "%s",
			     rows[i].name);
		cr_expect_eq(!!against, rows[i].is_refused, "%s: refused", rows[i].name);
	}
}

/* More than the list can hold: everything is judged, no port is forgotten. */
Test(judge, a_full_list_judges_everything)
{
	struct shunt_judges judges = {0};
	int i;

	for (i = 0; i <= SHUNT_JUDGES_MAX; i++)
		shunt_judges_add(&judges, SHUNT_JUDGE_tc, SHUNT_JUDGE_OUT, 100 + i, "filter");
	cr_assert_eq(judges.cnt, SHUNT_JUDGES_MAX);
	cr_expect_not_null(shunt_judge_find(&judges, routed, 2, 0));
	cr_expect_not_null(shunt_judge_find(&judges, alone, 2, 1));
}

/* --- what a message says ---------------------------------------------------------------------- */

/* A chain with a rule in ingress of devices, NULL at the end: the kernel lists them, and tells one
 * alone a second time, behind the list. */
static const struct shunt_judges *take_chain(const char *const *devices)
{
	static struct shunt_judges judges;
	static char buf[1024];
	struct shunt_firewall_ignored ignored = {0};
	struct shunt_firewall_chains chains = {&ignored, &judges, 0, ""};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct nfgenmsg *nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	struct nlattr *hook, *list;
	unsigned i;

	judges.cnt = 0;
	nfg->nfgen_family = NFPROTO_NETDEV;
	mnl_attr_put_strz(nlh, NFTA_CHAIN_TABLE, "t");
	mnl_attr_put_strz(nlh, NFTA_CHAIN_NAME, "c");
	mnl_attr_put_u32(nlh, NFTA_CHAIN_USE, htonl(1));
	hook = mnl_attr_nest_start(nlh, NFTA_CHAIN_HOOK);
	mnl_attr_put_u32(nlh, NFTA_HOOK_HOOKNUM, htonl(NF_NETDEV_INGRESS));
	list = mnl_attr_nest_start(nlh, NFTA_HOOK_DEVS);
	for (i = 0; devices[i]; i++)
		mnl_attr_put_strz(nlh, NFTA_DEVICE_NAME, devices[i]);
	mnl_attr_nest_end(nlh, list);
	if (i == 1)
		mnl_attr_put_strz(nlh, NFTA_HOOK_DEV, devices[0]);
	mnl_attr_nest_end(nlh, hook);
	shunt_firewall_take_chain(nlh, &chains);
	return &judges;
}

Test(judge, a_chain_counts_once_a_device)
{
	const struct shunt_judges *judges = take_chain((const char *[]){"lo", NULL});

	cr_assert_eq(judges->cnt, 1);
	cr_expect_eq(judges->at[0].cnt, 1);
	cr_expect_eq(judges->at[0].ifindex, (int)if_nametoindex("lo"));
	judges = take_chain((const char *[]){"lo", "is-not-there", NULL});
	cr_assert_eq(judges->cnt, 1);
	cr_expect_eq(judges->at[0].cnt, 1);
}

/* What a chain of a family, with a rule, counts as: its place, or -1. */
static int place_in(uint8_t family, const char *table, uint32_t table_flags, const char *type,
		    uint32_t hook, int32_t priority)
{
	struct shunt_judges judges = {0};
	char buf[2][512];
	struct shunt_firewall_ignored ignored = {0};
	struct shunt_firewall_chains chains = {&ignored, &judges, 0, ""};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf[0]);
	struct nfgenmsg *nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	struct nlattr *nest;

	nfg->nfgen_family = family;
	mnl_attr_put_strz(nlh, NFTA_TABLE_NAME, table);
	mnl_attr_put_u32(nlh, NFTA_TABLE_FLAGS, htonl(table_flags));
	shunt_firewall_take_table(nlh, &ignored);
	nlh = mnl_nlmsg_put_header(buf[1]);
	nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	nfg->nfgen_family = family;
	mnl_attr_put_strz(nlh, NFTA_CHAIN_TABLE, table);
	mnl_attr_put_strz(nlh, NFTA_CHAIN_NAME, "c");
	mnl_attr_put_strz(nlh, NFTA_CHAIN_TYPE, type);
	mnl_attr_put_u32(nlh, NFTA_CHAIN_USE, htonl(1));
	nest = mnl_attr_nest_start(nlh, NFTA_CHAIN_HOOK);
	mnl_attr_put_u32(nlh, NFTA_HOOK_HOOKNUM, htonl(hook));
	mnl_attr_put_u32(nlh, NFTA_HOOK_PRIORITY, htonl((uint32_t)priority));
	mnl_attr_nest_end(nlh, nest);
	shunt_firewall_take_chain(nlh, &chains);
	free(ignored.at);
	return judges.cnt ? (int)judges.at[0].place : -1;
}

static int place_of(const char *table, uint32_t table_flags, const char *type, uint32_t hook,
		    int32_t priority)
{
	return place_in(NFPROTO_INET, table, table_flags, type, hook, priority);
}

Test(judge, where_a_chain_stands)
{
	enum { OWNER = 2 };

	cr_expect_eq(place_of("t", 0, "filter", NF_INET_FORWARD, 0), SHUNT_JUDGE_IP);
	cr_expect_eq(place_of("t", 0, "filter", NF_INET_FORWARD, INT_MAX - 1), SHUNT_JUDGE_IP);
	cr_expect_eq(place_of("t", 0, "filter", NF_INET_FORWARD, INT_MAX), SHUNT_JUDGE_IP_LATE);
	cr_expect_eq(place_of("t", 0, "filter", NF_INET_PRE_ROUTING, INT_MAX), SHUNT_JUDGE_IP);
	cr_expect_eq(place_of("t", 0, "filter", NF_INET_POST_ROUTING, -150), SHUNT_JUDGE_IP_LATE);
	cr_expect_eq(place_of("t", 0, "nat", NF_INET_POST_ROUTING, 100), SHUNT_JUDGE_IP);
	cr_expect_eq(place_of("t", 0, "filter", NF_INET_LOCAL_IN, INT_MAX), -1);
	/* shunt's own, and what only looks like it */
	cr_expect_eq(place_of("shunt-12", OWNER, "filter", NF_INET_FORWARD, INT_MAX), -1);
	cr_expect_eq(place_of("shunt-12", 0, "filter", NF_INET_FORWARD, 0), SHUNT_JUDGE_IP);
	cr_expect_eq(place_of("shunt-", OWNER, "filter", NF_INET_FORWARD, 0), SHUNT_JUDGE_IP);
	cr_expect_eq(place_of("shunt-1x", OWNER, "filter", NF_INET_FORWARD, 0), SHUNT_JUDGE_IP);
	cr_expect_eq(place_of("t", OWNER, "filter", NF_INET_FORWARD, 0), SHUNT_JUDGE_IP);
}

/* What a bridge gives the host, or gets from it, is judged of what is routed alone. */
Test(judge, where_a_chain_of_a_bridge_stands)
{
	static const struct {
		uint32_t hook; /* linux/netfilter_bridge.h */
		enum shunt_judge_place place;
	} rows[] = {
		{0, SHUNT_JUDGE_BRIDGE},      /* NF_BR_PRE_ROUTING */
		{1, SHUNT_JUDGE_BRIDGE_HOST}, /* NF_BR_LOCAL_IN */
		{2, SHUNT_JUDGE_BRIDGE},      /* NF_BR_FORWARD */
		{3, SHUNT_JUDGE_BRIDGE_HOST}, /* NF_BR_LOCAL_OUT */
		{4, SHUNT_JUDGE_BRIDGE},      /* NF_BR_POST_ROUTING */
	};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(rows); i++)
		cr_expect_eq(place_in(NFPROTO_BRIDGE, "t", 0, "filter", rows[i].hook, 0),
			     (int)rows[i].place, "hook %u", rows[i].hook);
	cr_expect_eq(place_in(NFPROTO_IPV4, "t", 0, "filter", NF_INET_LOCAL_IN, 0), -1);
	cr_expect_eq(place_in(NFPROTO_ARP, "t", 0, "filter", 1, 0), -1);
}

/* A flowtable of a table over these devices. */
static const struct shunt_judges *take_flowtable(const char *table, uint32_t flags,
						 const char *const *devices, uint16_t type)
{
	static struct shunt_judges judges;
	static char buf[1024];
	struct shunt_firewall_ignored ignored = {0};
	struct shunt_firewall_flowtables all = {&ignored, &judges};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct nfgenmsg *nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	struct nlattr *hook, *list;

	shunt_judges_clear(&judges);
	nfg->nfgen_family = NFPROTO_INET;
	if (table)
		mnl_attr_put_strz(nlh, NFTA_FLOWTABLE_TABLE, table);
	mnl_attr_put_u32(nlh, NFTA_FLOWTABLE_FLAGS, htonl(flags));
	hook = mnl_attr_nest_start(nlh, NFTA_FLOWTABLE_HOOK);
	list = mnl_attr_nest_start(nlh, NFTA_FLOWTABLE_HOOK_DEVS);
	for (; *devices; devices++)
		mnl_attr_put_strz(nlh, type, *devices);
	mnl_attr_nest_end(nlh, list);
	mnl_attr_nest_end(nlh, hook);
	shunt_firewall_take_flowtable(nlh, &all);
	return &judges;
}

Test(judge, of_a_flowtable_its_devices)
{
	const char *const devices[] = {"is-not-there", "lo", "lo", NULL};
	const char *const prefix[] = {"l", NULL};
	const struct shunt_judges *judges = take_flowtable("t", 0, devices, NFTA_DEVICE_NAME);

	cr_assert_eq(judges->flowtable_cnt, 1);
	cr_expect_eq(judges->flowtables[0], (int)if_nametoindex("lo"));
	cr_expect_eq(judges->cnt, 0);
	cr_expect_eq(take_flowtable("t", 0, prefix, 2)->flowtable_cnt, 1); /* NFTA_DEVICE_PREFIX */
	/* of the NIC's own, which XDP programs cannot ask */
	cr_expect_eq(take_flowtable("t", 1, devices, NFTA_DEVICE_NAME)->flowtable_cnt, 0);
	cr_expect_eq(take_flowtable(NULL, 0, devices, NFTA_DEVICE_NAME)->flowtable_cnt, 0);
}

/* Without a file that could be opened the device is not asked for: the chain counts everywhere. */
Test(judge, a_device_that_cannot_be_asked_for_is_every_device)
{
	const struct shunt_judges *judges;

	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 4096}), 0);
	judges = take_chain((const char *[]){"lo", NULL});
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){1024, 4096}), 0);
	cr_assert_eq(judges->cnt, 1);
	cr_expect_eq(judges->at[0].ifindex, 0);
}

static void put_tuple(struct nlmsghdr *nlh, uint16_t type, uint32_t src, uint32_t dst,
		      uint16_t sport, uint16_t dport)
{
	struct nlattr *tuple = mnl_attr_nest_start(nlh, type), *nest;

	nest = mnl_attr_nest_start(nlh, CTA_TUPLE_IP);
	mnl_attr_put_u32(nlh, CTA_IP_V4_SRC, htonl(src));
	mnl_attr_put_u32(nlh, CTA_IP_V4_DST, htonl(dst));
	mnl_attr_nest_end(nlh, nest);
	nest = mnl_attr_nest_start(nlh, CTA_TUPLE_PROTO);
	mnl_attr_put_u8(nlh, CTA_PROTO_NUM, 17);
	mnl_attr_put_u16(nlh, CTA_PROTO_SRC_PORT, htons(sport));
	mnl_attr_put_u16(nlh, CTA_PROTO_DST_PORT, htons(dport));
	mnl_attr_nest_end(nlh, nest);
	mnl_attr_nest_end(nlh, tuple);
}

/* A connection with this status, masqueraded. */
static int take_flow(uint32_t status, uint8_t family, struct shunt_flow *out)
{
	char buf[512];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct nfgenmsg *nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));

	nfg->nfgen_family = family;
	put_tuple(nlh, CTA_TUPLE_ORIG, 0x0a000102, 0x0a000202, 1024, 53);
	put_tuple(nlh, CTA_TUPLE_REPLY, 0x0a000202, 0x0a000201, 53, 1025);
	mnl_attr_put_u32(nlh, CTA_STATUS, htonl(status));
	mnl_attr_put_u32(nlh, CTA_MARK, htonl(7));
	return shunt_firewall_take_flow(nlh, IPS_OFFLOAD, out);
}

Test(judge, a_connection_in_a_flowtable)
{
	struct shunt_flow flow = {0};

	cr_assert_eq(take_flow(IPS_OFFLOAD | IPS_SRC_NAT, AF_INET, &flow), 0);
	cr_expect(flow.is_translated);
	cr_expect_eq(flow.proto, 17);
	cr_expect_eq(flow.mark, 7);
	cr_expect_arr_eq(flow.out.src, ((uint8_t[]){10, 0, 1, 2}), 4);
	cr_expect_arr_eq(flow.back.dst, ((uint8_t[]){10, 0, 2, 1}), 4);
	cr_expect_eq(flow.out.dport, 53);
	cr_expect_eq(flow.back.dport, 1025);
	cr_expect_eq(take_flow(IPS_OFFLOAD, AF_INET, &flow), 0);
	cr_expect_not(flow.is_translated);
	cr_expect_eq(take_flow(IPS_SRC_NAT, AF_INET, &flow), -ENOENT);
	cr_expect_eq(take_flow(IPS_OFFLOAD, AF_UNSPEC, &flow), -ENOENT);
}

static char qdisc_buf[512];

static struct nlmsghdr *begin_qdisc(const char *kind, uint32_t handle, uint32_t parent)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(qdisc_buf);
	struct tcmsg *tcm = mnl_nlmsg_put_extra_header(nlh, sizeof(*tcm));

	nlh->nlmsg_type = RTM_NEWQDISC;
	tcm->tcm_ifindex = ETH1;
	tcm->tcm_handle = handle;
	tcm->tcm_parent = parent;
	mnl_attr_put_strz(nlh, TCA_KIND, kind);
	return nlh;
}

/* What is asked of a device after one message about its queues. */
struct asks {
	bool ingress, egress, is_judge;
	int parent; /* of filters of a queue, -1: of none */
};

static struct asks take_qdisc(const struct nlmsghdr *nlh)
{
	struct shunt_judges judges = {0};
	struct shunt_firewall_device device = {.ifindex = ETH1};
	struct shunt_firewall_devices devices = {&device, 1, .judges = &judges};
	struct asks asks;

	shunt_firewall_take_qdisc(nlh, &devices);
	asks = (struct asks){device.has_ingress, device.has_egress, judges.cnt,
			     devices.queue_cnt ? (int)devices.queues[0].parent : -1};
	free(devices.queues);
	return asks;
}

Test(judge, of_queues)
{
	static const struct {
		const char *kind;
		uint32_t handle, parent;
		struct asks asks;
	} rows[] = {
		{"ingress", 0xffff0000, TC_H_INGRESS, {true, false, false, -1}},
		{"clsact", 0xffff0000, TC_H_CLSACT, {true, true, false, -1}},
		{"noqueue", 0, TC_H_ROOT, {false, false, false, -1}},
		{"fq_codel", 0, TC_H_ROOT, {false, false, false, 0}},
		{"fq_codel", 0x80010000, TC_H_ROOT, {false, false, false, 0}},
		{"fq_codel", 0x100000, 0x10001, {false, false, false, 0x100000}},
		{"fq_codel", 0, 0x10001, {false, false, false, -1}},
		{"prio", 0x100000, 0x10001, {false, false, false, 0x100000}},
		{"fq", 0x10000, TC_H_ROOT, {false, false, false, -1}},
		{"tbf", 0x100000, 0x10001, {false, false, true, -1}},
		{"drr", 0x10000, TC_H_ROOT, {false, false, true, -1}},
		{"qfq", 0x10000, TC_H_ROOT, {false, false, true, -1}},
		{"a new one", 0x10000, TC_H_ROOT, {false, false, true, -1}},
	};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(rows); i++) {
		const struct asks asks =
			take_qdisc(begin_qdisc(rows[i].kind, rows[i].handle, rows[i].parent));

		cr_expect_eq(asks.ingress, rows[i].asks.ingress, "%s, row %u", rows[i].kind, i);
		cr_expect_eq(asks.egress, rows[i].asks.egress, "%s, row %u", rows[i].kind, i);
		cr_expect_eq(asks.is_judge, rows[i].asks.is_judge, "%s, row %u", rows[i].kind, i);
		cr_expect_eq(asks.parent, rows[i].asks.parent, "%s, row %u", rows[i].kind, i);
	}
}

static bool judges_fq(uint32_t max_rate, uint32_t is_on)
{
	struct nlmsghdr *nlh = begin_qdisc("fq", 0x10000, TC_H_ROOT);
	struct nlattr *options = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	mnl_attr_put_u32(nlh, TCA_FQ_PLIMIT, 10000);
	mnl_attr_put_u32(nlh, TCA_FQ_RATE_ENABLE, is_on);
	mnl_attr_put_u32(nlh, TCA_FQ_FLOW_MAX_RATE, max_rate);
	mnl_attr_nest_end(nlh, options);
	return take_qdisc(nlh).is_judge;
}

static bool judges_mqprio(uint16_t shaper)
{
	struct nlmsghdr *nlh = begin_qdisc("mqprio", 0x10000, TC_H_ROOT);
	struct nlattr *options = mnl_attr_nest_start(nlh, TCA_OPTIONS);
	struct tc_mqprio_qopt *opt = mnl_nlmsg_get_payload_tail(nlh);

	memset(opt, 0, MNL_ALIGN(sizeof(*opt)));
	nlh->nlmsg_len += MNL_ALIGN(sizeof(*opt));
	mnl_attr_put_u16(nlh, TCA_MQPRIO_SHAPER, shaper);
	mnl_attr_nest_end(nlh, options);
	return take_qdisc(nlh).is_judge;
}

/* What queues only judges where it has a rate. */
Test(judge, a_queue_with_a_rate_shapes)
{
	cr_expect_not(judges_fq(UINT32_MAX, 1));
	cr_expect(judges_fq(125000, 1));
	cr_expect_not(judges_fq(125000, 0), "pacing is off");
	cr_expect_not(judges_mqprio(TC_MQPRIO_SHAPER_DCB));
	cr_expect(judges_mqprio(TC_MQPRIO_SHAPER_BW_RATE));
}

static unsigned policies(uint8_t dir, uint32_t if_id)
{
	static char buf[512] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct xfrm_userpolicy_info info = {.dir = dir};
	unsigned cnt = 0;

	memcpy(mnl_nlmsg_put_extra_header(nlh, sizeof(info)), &info, sizeof(info));
	if (if_id)
		mnl_attr_put_u32(nlh, XFRMA_IF_ID, if_id);
	shunt_firewall_take_policy(nlh, &cnt);
	return cnt;
}

Test(judge, policies_that_forwarded_packets_can_meet)
{
	cr_expect_eq(policies(XFRM_POLICY_FWD, 0), 1);
	cr_expect_eq(policies(XFRM_POLICY_OUT, 0), 1);
	cr_expect_eq(policies(XFRM_POLICY_IN, 0), 0);
	cr_expect_eq(policies(XFRM_POLICY_FWD, 7), 0, "of an XFRM interface");
}

/* The numbers of linux/netfilter/nfnetlink_hook.h. type 0: no chain. */
static struct shunt_firewall_hook take_hook(const char *function, uint32_t type)
{
	static char buf[512];
	struct shunt_firewall_hook hook = {0};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct nlattr *info;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct nfgenmsg));
	if (*function)
		mnl_attr_put_strz(nlh, 4, function);
	if (type) {
		info = mnl_attr_nest_start(nlh, 6);
		mnl_attr_put_u32(nlh, 2, htonl(type));
		mnl_attr_nest_end(nlh, info);
	}
	shunt_firewall_take_hook(nlh, &hook);
	return hook;
}

/* As kernels list them, 6.12 and 7.3. */
Test(judge, of_functions_on_hooks)
{
	static const struct {
		const char *function;
		uint32_t type;
		bool is_bpf;
		const char *stranger;
	} rows[] = {
		{"ipv4_conntrack_defrag", 0, false, ""},
		{"ipv6_conntrack_in", 0, false, ""},
		{"nf_confirm", 0, false, ""},
		{"nf_nat_ipv4_out", 0, false, ""},
		{"apparmor_ip_postroute", 0, false, ""},
		{"iptable_mangle_hook", 0, false, ""},
		{"br_nf_forward", 0, false, ""},
		{"nft_do_chain_inet", 1, false, ""},
		{"nft_nat_do_chain", 1, false, ""},
		{"nf_hook_run_bpf", 2, true, ""},
		{"ila_nf_input", 0, false, "ila_nf_input"},
		{"", 0, false, "of an owner untold"},
	};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(rows); i++) {
		const struct shunt_firewall_hook hook = take_hook(rows[i].function, rows[i].type);

		cr_expect_eq(hook.has_bpf, rows[i].is_bpf, "%s", rows[i].function);
		cr_expect_str_eq(hook.stranger, rows[i].stranger);
	}
}
