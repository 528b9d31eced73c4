// SPDX-License-Identifier: BSD-2-Clause
/* What the kernel tells of bridges, to values: their settings, the state of a port, VLANs. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_bridge.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/brvlan.h"
#include "base/bytes.h"
#include "mirror/parse.h"

static char buf[1024];

/* --- VLANs ------------------------------------------------------------------------------------ */

#define PORT	 7u
#define RUNS_MAX 8

static struct run {
	struct shunt_brvlan info;
	unsigned last;
} runs[RUNS_MAX];
static unsigned run_cnt, run_max;

static int take_run(void *ctx, const struct shunt_brvlan *info, unsigned last)
{
	cr_assert_eq(ctx, &run_cnt);
	cr_assert_lt(run_cnt, RUNS_MAX);
	runs[run_cnt++] = (struct run){*info, last};
	return run_cnt == run_max ? -ENOMEM : 0;
}

static struct nlmsghdr *begin_vlans(void)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct br_vlan_msg *msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));

	nlh->nlmsg_type = RTM_NEWVLAN;
	msg->family = AF_BRIDGE;
	msg->ifindex = PORT;
	run_cnt = run_max = 0;
	return nlh;
}

/* last, state: not said where they are 0. */
static void put_entry(struct nlmsghdr *nlh, uint16_t vid, uint16_t flags, uint16_t last,
		      uint8_t state)
{
	const struct bridge_vlan_info info = {.flags = flags, .vid = vid};
	struct nlattr *nest = mnl_attr_nest_start(nlh, BRIDGE_VLANDB_ENTRY);

	mnl_attr_put(nlh, BRIDGE_VLANDB_ENTRY_INFO, sizeof(info), &info);
	if (last)
		mnl_attr_put_u16(nlh, BRIDGE_VLANDB_ENTRY_RANGE, last);
	if (state)
		mnl_attr_put_u8(nlh, BRIDGE_VLANDB_ENTRY_STATE, state);
	mnl_attr_nest_end(nlh, nest);
}

static int parse(const struct nlmsghdr *nlh)
{
	uint32_t ifindex = 0;
	const int ret = shunt_brvlan_parse(nlh, &ifindex, take_run, &run_cnt);

	if (!ret)
		cr_expect_eq(ifindex, PORT);
	return ret;
}

static void expect_run(unsigned at, unsigned first, unsigned last, bool is_pvid, bool is_bare,
		       uint8_t state)
{
	const struct run *run = &runs[at];

	cr_expect(run->info.ifindex == PORT && run->info.vid == first && run->last == last,
		  "run %u: %u to %u", at, run->info.vid, run->last);
	cr_expect(run->info.is_pvid == is_pvid && run->info.is_bare == is_bare, "run %u", at);
	cr_expect_eq(run->info.state, state, "run %u: state %u", at, run->info.state);
}

Test(mirror_bridge_parse, vlans)
{
	struct nlmsghdr *nlh = begin_vlans();

	put_entry(nlh, 1, BRIDGE_VLAN_INFO_PVID | BRIDGE_VLAN_INFO_UNTAGGED, 0,
		  BR_STATE_FORWARDING);
	put_entry(nlh, 5, BRIDGE_VLAN_INFO_UNTAGGED, 9, BR_STATE_BLOCKING);
	put_entry(nlh, 100, 0, 4094, 0);
	put_entry(nlh, 20, BRIDGE_VLAN_INFO_PVID | BRIDGE_VLAN_INFO_MASTER, 20, BR_STATE_LEARNING);
	cr_assert_eq(parse(nlh), 0);
	cr_assert_eq(run_cnt, 4);
	expect_run(0, 1, 1, true, true, BR_STATE_FORWARDING);
	expect_run(1, 5, 9, false, true, BR_STATE_BLOCKING);
	expect_run(2, 100, 4094, false, false, BR_STATE_FORWARDING);
	expect_run(3, 20, 20, true, false, BR_STATE_LEARNING);
}

/* Values are compared as bytes (mirror/table.h). */
Test(mirror_bridge_parse, vlans_have_no_rest)
{
	struct shunt_brvlan want = {.ifindex = PORT, .vid = 5, .state = BR_STATE_FORWARDING};
	struct nlmsghdr *nlh = begin_vlans();

	memset(runs, 0xff, sizeof(runs));
	put_entry(nlh, 5, 0, 0, 0);
	cr_assert_eq(parse(nlh), 0);
	cr_expect_eq(memcmp(&runs[0].info, &want, sizeof(want)), 0);
}

Test(mirror_bridge_parse, vlans_that_are_none)
{
	struct nlmsghdr *nlh = begin_vlans();
	struct nlattr *nest;

	put_entry(nlh, 0, 0, 0, 0);
	put_entry(nlh, 0, 0, 20, 0);
	put_entry(nlh, 4095, 0, 0, 0);
	put_entry(nlh, 10, 0, 4095, 0);
	put_entry(nlh, 10, 0, 65535, 0);
	nest = mnl_attr_nest_start(nlh, BRIDGE_VLANDB_GLOBAL_OPTIONS);
	mnl_attr_put_u16(nlh, BRIDGE_VLANDB_GOPTS_ID, 30);
	mnl_attr_nest_end(nlh, nest);
	nest = mnl_attr_nest_start(nlh, BRIDGE_VLANDB_ENTRY);
	mnl_attr_nest_end(nlh, nest);
	cr_expect_eq(parse(nlh), 0);
	cr_expect_eq(run_cnt, 0);
	nlh = begin_vlans();
	put_entry(nlh, 10, 0, 9, 0); /* a run that ends before it begins */
	cr_expect_eq(parse(nlh), 0);
	cr_assert_eq(run_cnt, 1);
	expect_run(0, 10, 10, false, false, BR_STATE_FORWARDING);
}

Test(mirror_bridge_parse, vlans_until_one_cannot_be_taken)
{
	struct nlmsghdr *nlh = begin_vlans();

	put_entry(nlh, 1, 0, 0, 0);
	put_entry(nlh, 2, 0, 0, 0);
	put_entry(nlh, 3, 0, 0, 0);
	run_max = 2;
	cr_expect_eq(parse(nlh), -ENOMEM);
	cr_expect_eq(run_cnt, 2);
}

/* Cut at each word: nothing behind the message is read, and what is there whole is taken. */
Test(mirror_bridge_parse, vlans_cut_short)
{
	struct nlmsghdr *nlh = begin_vlans();
	uint32_t len, whole;

	put_entry(nlh, 1, 0, 0, BR_STATE_BLOCKING);
	whole = nlh->nlmsg_len;
	put_entry(nlh, 2, 0, 9, BR_STATE_BLOCKING);
	for (len = NLMSG_LENGTH(0); len < nlh->nlmsg_len; len += NLMSG_ALIGNTO) {
		char *cut = malloc(len);

		memcpy(cut, nlh, len);
		((struct nlmsghdr *)cut)->nlmsg_len = len;
		run_cnt = 0;
		cr_expect_eq(parse((struct nlmsghdr *)cut),
			     len < NLMSG_LENGTH(sizeof(struct br_vlan_msg)) ? -EBADMSG : 0,
			     "%u bytes", len);
		cr_expect_eq(run_cnt, len >= whole, "%u bytes", len);
		free(cut);
	}
}

/* An attribute that is shorter than what it should hold. */
Test(mirror_bridge_parse, vlan_of_few_bytes)
{
	struct nlmsghdr *nlh = begin_vlans();
	struct nlattr *nest = mnl_attr_nest_start(nlh, BRIDGE_VLANDB_ENTRY);

	mnl_attr_put_u16(nlh, BRIDGE_VLANDB_ENTRY_INFO, BRIDGE_VLAN_INFO_PVID);
	mnl_attr_put_u8(nlh, BRIDGE_VLANDB_ENTRY_RANGE, 5);
	mnl_attr_nest_end(nlh, nest);
	cr_expect_eq(parse(nlh), 0);
	cr_expect_eq(run_cnt, 0, "no VLAN was named");
}

/* --- the state of a port ---------------------------------------------------------------------- */

static struct nlmsghdr *begin_link(uint16_t type, uint8_t family)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

	nlh->nlmsg_type = type;
	ifi->ifi_family = family;
	ifi->ifi_index = (int)PORT;
	mnl_attr_put_u32(nlh, IFLA_MASTER, 30);
	return nlh;
}

/* br_port_info_size and br_port_fill_attrs: nested. */
static void put_state(struct nlmsghdr *nlh, uint16_t attr, uint8_t state)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, attr);

	mnl_attr_put_u16(nlh, IFLA_BRPORT_PRIORITY, 32);
	mnl_attr_put_u8(nlh, IFLA_BRPORT_STATE, state);
	mnl_attr_put_u8(nlh, IFLA_BRPORT_LEARNING, 1);
	mnl_attr_nest_end(nlh, nest);
}

static int parse_state(const struct nlmsghdr *nlh, uint8_t *state)
{
	struct shunt_mirror_bridged out;
	uint32_t ifindex = 0;
	int ret;

	memset(&out, 0xff, sizeof(out));
	ret = shunt_mirror_parse_bridged(nlh, &ifindex, &out);
	if (ret > 0)
		cr_expect(ifindex == PORT && !out.pad[0] && !out.pad[1] && !out.pad[2]);
	*state = out.state;
	return ret;
}

Test(mirror_bridge_parse, state)
{
	struct shunt_mirror_link_info info;
	struct nlmsghdr *nlh = begin_link(RTM_NEWLINK, AF_BRIDGE);
	uint8_t state;

	put_state(nlh, IFLA_PROTINFO, BR_STATE_LISTENING);
	cr_expect_eq(parse_state(nlh, &state), 1);
	cr_expect_eq(state, BR_STATE_LISTENING);
	cr_expect_eq(shunt_mirror_parse_link(nlh, &info), 0, "it says nothing else of the device");
	nlh = begin_link(RTM_DELLINK, AF_BRIDGE);
	put_state(nlh, IFLA_PROTINFO, BR_STATE_FORWARDING);
	cr_expect_eq(parse_state(nlh, &state), 0, "it has left");
	nlh = begin_link(RTM_NEWLINK, AF_UNSPEC);
	put_state(nlh, IFLA_PROTINFO, BR_STATE_FORWARDING);
	cr_expect_eq(parse_state(nlh, &state), 0, "another family");
	nlh = begin_link(RTM_NEWLINK, AF_BRIDGE);
	cr_expect_eq(parse_state(nlh, &state), 0, "as a driver speaks of its own switch");
	mnl_attr_put_u8(nlh, IFLA_PROTINFO, BR_STATE_FORWARDING);
	cr_expect_eq(parse_state(nlh, &state), 0, "as bridges spoke long ago");
}

Test(mirror_bridge_parse, state_cut_short)
{
	struct nlmsghdr *nlh = begin_link(RTM_NEWLINK, AF_BRIDGE);
	uint32_t len;
	uint8_t state;

	put_state(nlh, IFLA_PROTINFO, BR_STATE_LISTENING);
	for (len = NLMSG_LENGTH(0); len < nlh->nlmsg_len; len += NLMSG_ALIGNTO) {
		char *cut = malloc(len);

		memcpy(cut, nlh, len);
		((struct nlmsghdr *)cut)->nlmsg_len = len;
		cr_expect_eq(parse_state((struct nlmsghdr *)cut, &state),
			     len < NLMSG_LENGTH(sizeof(struct ifinfomsg)) ? -EBADMSG : 0,
			     "%u bytes", len);
		free(cut);
	}
}

/* --- devices ---------------------------------------------------------------------------------- */

static struct shunt_mirror_link_info parse_bridge(bool filters_vlans)
{
	struct nlmsghdr *nlh = begin_link(RTM_NEWLINK, AF_UNSPEC);
	struct nlattr *nest = mnl_attr_nest_start(nlh, IFLA_LINKINFO), *data;
	struct shunt_mirror_link_info info;

	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "bridge");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	mnl_attr_put_u32(nlh, IFLA_BR_AGEING_TIME, 30000);
	mnl_attr_put_u8(nlh, IFLA_BR_VLAN_FILTERING, filters_vlans);
	mnl_attr_put_u16(nlh, IFLA_BR_VLAN_PROTOCOL, htons(ETH_P_8021AD));
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, nest);
	cr_assert_eq(shunt_mirror_parse_link(nlh, &info), 1);
	return info;
}

Test(mirror_bridge_parse, bridge)
{
	const struct shunt_mirror_link_info info = parse_bridge(true);

	cr_expect(shunt_mirror_is_bridge(&info) && !shunt_mirror_is_bond(&info) &&
		  !shunt_mirror_is_vlan(&info));
	cr_expect(info.bridge.filters_vlans);
	cr_expect_eq(info.bridge.vlan_type_be, htons(ETH_P_8021AD));
	cr_expect_not(parse_bridge(false).bridge.filters_vlans);
}

/* A port of a bridge, or a member of something else whose data has the same numbers. */
static struct shunt_mirror_link_info parse_member(const char *of)
{
	struct nlmsghdr *nlh = begin_link(RTM_NEWLINK, AF_UNSPEC);
	struct nlattr *nest = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	struct shunt_mirror_link_info info;

	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
	mnl_attr_put_strz(nlh, IFLA_INFO_SLAVE_KIND, of);
	put_state(nlh, IFLA_INFO_SLAVE_DATA, BR_STATE_FORWARDING);
	mnl_attr_nest_end(nlh, nest);
	cr_assert_eq(shunt_mirror_parse_link(nlh, &info), 1);
	return info;
}

Test(mirror_bridge_parse, port)
{
	const struct shunt_mirror_link_info info = parse_member("bridge");

	cr_expect(info.bridged.state == BR_STATE_FORWARDING && info.master == 30);
	cr_expect_not(shunt_mirror_is_bridge(&info));
	cr_expect_eq(parse_member("team").bridged.state, 0);
	cr_expect_eq(parse_member("bond").bridged.state, 0);
}
