// SPDX-License-Identifier: BSD-2-Clause
/* Kernel bridges that filter VLANs: whose ports are left to them, what they know in which VLAN, and
 * what they are told. Bridge 0 has ports of mode route, bridge 1 ports of mode bridge. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <libmnl/libmnl.h>
#include <linux/if_bridge.h>
#include <linux/if_ether.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/netlink.h"
#include "bridge/brlink.h"
#include "bridge/fdb_take.h"
#include "bridge/follow.h"

enum { PORTS = 4, FIRST_PORT = 2, FIRST_BRIDGE = 20 };

static struct shunt_bridge bridge;
static struct shunt_port at[PORTS];
static struct shunt_ports ports = {.at = at, .cnt = PORTS};
static struct shunt_err err;
static char buf[512];

static void is_port(unsigned port, unsigned of)
{
	const struct shunt_fdb_port info = {.ifindex = FIRST_PORT + port,
					    .bridge = FIRST_BRIDGE + of,
					    .forwards = true,
					    .learns = true,
					    .floods = true};

	shunt_bridge_fdb_ops.port(&bridge, &info);
}

static void filters_by(unsigned of, bool is_on, uint16_t type)
{
	const struct shunt_brlink info = {.ifindex = FIRST_BRIDGE + of,
					  .is_bridge = true,
					  .filters_vlans = is_on,
					  .vlan_type_be = htons(type),
					  .age_s = SHUNT_MAC_AGE_S_DEFAULT};

	shunt_bridge_fdb_ops.bridge(&bridge, &info);
}

static void filters(unsigned of, bool is_on)
{
	filters_by(of, is_on, ETH_P_8021Q);
}

static void init(void)
{
	unsigned i;

	memset(&bridge, 0, sizeof(bridge));
	memset(at, 0, sizeof(at));
	bridge.ports = &ports;
	bridge.epoll_fd = -1;
	bridge.bridge_cnt = 2;
	bridge.bridges[0].is_routed = true;
	cr_assert_eq(shunt_mac_create(&bridge.macs, 64, 1, &err), 0);
	for (i = 0; i < PORTS; i++) {
		at[i].index = i;
		at[i].netdev.ifindex = FIRST_PORT + i;
		at[i].xdp = (void *)&at[i]; /* a device's; not looked into */
		bridge.bridge_of[i] = (uint8_t)(i / 2);
		bridge.bridges[i / 2].members |= 1ULL << i;
		bridge.bridges[i / 2].ifindex = FIRST_BRIDGE + i / 2;
		bridge.bridges[i / 2].age_s = SHUNT_MAC_AGE_S_DEFAULT;
	}
	for (i = 0; i < PORTS; i++)
		is_port(i, i / 2);
}

static void fini(void)
{
	shunt_mac_destroy(bridge.macs);
}

TestSuite(bridge_vlan, .init = init, .fini = fini);

static void station(uint16_t type, uint8_t n, unsigned port, unsigned vid)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, n};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ndmsg *ndm = mnl_nlmsg_put_extra_header(nlh, sizeof(*ndm));

	nlh->nlmsg_type = type;
	ndm->ndm_family = AF_BRIDGE;
	ndm->ndm_ifindex = (int)(FIRST_PORT + port);
	ndm->ndm_state = NUD_REACHABLE;
	mnl_attr_put(nlh, NDA_LLADDR, sizeof(mac), mac);
	mnl_attr_put_u32(nlh, NDA_MASTER, FIRST_BRIDGE + port / 2);
	if (vid)
		mnl_attr_put_u16(nlh, NDA_VLAN, (uint16_t)vid);
	shunt_fdb_take(nlh, &shunt_bridge_fdb_ops, &bridge);
}

static unsigned port_of(uint8_t n, unsigned of, unsigned vid)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, n};

	return shunt_mac_lookup(
		bridge.macs,
		shunt_mac_hash(bridge.macs, shunt_mac_key(mac, shunt_mac_group(of, vid))));
}

Test(bridge_vlan, ports_are_not_left)
{
	unsigned i;

	filters(0, true);
	filters(1, true);
	for (i = 0; i < PORTS; i++)
		cr_expect_eq(shunt_bridge_leaves(&bridge, i), SHUNT_LANE_REASON_none);
	cr_expect_eq(bridge.masks.kernels, 0);
	cr_expect_eq(bridge.masks.filters, 0xf);
	filters(0, false);
	cr_expect_eq(bridge.masks.filters, 0xc);
}

/* Of ports that route the router says which tags are followed. */
Test(bridge_vlan, tags_of_another_protocol)
{
	filters_by(0, true, ETH_P_8021AD);
	filters_by(1, true, ETH_P_8021AD);
	cr_expect_eq(shunt_bridge_leaves(&bridge, 0), SHUNT_LANE_REASON_none);
	cr_expect_eq(shunt_bridge_leaves(&bridge, 2), SHUNT_LANE_REASON_vlan_filtering);
	cr_expect_eq(shunt_bridge_leaves(&bridge, 3), SHUNT_LANE_REASON_vlan_filtering);
	cr_expect_eq(bridge.masks.kernels, 0xc);
	filters(1, true);
	cr_expect_eq(bridge.masks.kernels, 0);
}

/* --- members ---------------------------------------------------------------------------------- */

static struct shunt_steer_vlans vlans;

static void vlan(uint16_t type, unsigned port, unsigned flags, unsigned first, unsigned last,
		 uint8_t state)
{
	const struct bridge_vlan_info info = {.flags = (uint16_t)flags, .vid = (uint16_t)first};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct br_vlan_msg *msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));
	struct nlattr *nest = mnl_attr_nest_start(nlh, BRIDGE_VLANDB_ENTRY);

	nlh->nlmsg_type = type;
	msg->family = AF_BRIDGE;
	msg->ifindex = FIRST_PORT + port;
	mnl_attr_put(nlh, BRIDGE_VLANDB_ENTRY_INFO, sizeof(info), &info);
	mnl_attr_put_u16(nlh, BRIDGE_VLANDB_ENTRY_RANGE, (uint16_t)last);
	mnl_attr_put_u8(nlh, BRIDGE_VLANDB_ENTRY_STATE, state);
	mnl_attr_nest_end(nlh, nest);
	shunt_fdb_take(nlh, &shunt_bridge_fdb_ops, &bridge);
}

static void expect_vlan(unsigned vid, uint64_t members, uint64_t bare)
{
	cr_expect_eq(vlans.at[vid].members, members, "VLAN %u: %#lx", vid, vlans.at[vid].members);
	cr_expect_eq(vlans.at[vid].bare & members, bare, "VLAN %u", vid);
}

static void init_members(void)
{
	static struct shunt_steer_bridge published;
	static uint64_t none[8192]; /* a port without a program to tell: all zeros */
	static struct shunt_xdp_macs lane = {.fd = -1, .bridge = &published, .vlans = &vlans};

	unsigned i;

	init();
	memset(&vlans, 0, sizeof(vlans));
	bridge.xdp_macs = &lane;
	bridge.vlans.told = &vlans;
	for (i = 0; i < PORTS; i++)
		at[i].xdp = (void *)none;
	filters(0, true);
	filters(1, true);
}

Test(bridge_vlan, members, .init = init_members)
{
	vlan(RTM_NEWVLAN, 0, BRIDGE_VLAN_INFO_PVID | BRIDGE_VLAN_INFO_UNTAGGED, 1, 1,
	     BR_STATE_FORWARDING);
	vlan(RTM_NEWVLAN, 1, 0, 1, 20, BR_STATE_FORWARDING);
	vlan(RTM_NEWVLAN, 3, 0, 20, 20, BR_STATE_FORWARDING);
	vlan(RTM_NEWVLAN, 60, 0, 20, 20, BR_STATE_FORWARDING); /* no port of shunt's */
	expect_vlan(1, 3, 1);
	expect_vlan(2, 2, 0);
	expect_vlan(20, 0xa, 0);
	expect_vlan(21, 0, 0);
	cr_expect_eq(vlans.pvids[0], 1);
	cr_expect_eq(vlans.pvids[1], 0);
	vlan(RTM_NEWVLAN, 1, 0, 5, 6, BR_STATE_BLOCKING);
	vlan(RTM_NEWVLAN, 1, 0, 7, 7, BR_STATE_LEARNING);
	expect_vlan(4, 2, 0);
	expect_vlan(5, 0, 0);
	expect_vlan(6, 0, 0);
	expect_vlan(7, 0, 0);
	vlan(RTM_NEWVLAN, 1, BRIDGE_VLAN_INFO_UNTAGGED, 5, 5, BR_STATE_FORWARDING);
	expect_vlan(5, 2, 2);
	vlan(RTM_DELVLAN, 1, 0, 1, 4, BR_STATE_FORWARDING);
	expect_vlan(1, 1, 1);
	expect_vlan(4, 0, 0);
	expect_vlan(5, 2, 2);
}

/* The kernel tells of the new one alone. */
Test(bridge_vlan, pvids, .init = init_members)
{
	vlan(RTM_NEWVLAN, 0, BRIDGE_VLAN_INFO_PVID, 1, 1, BR_STATE_FORWARDING);
	vlan(RTM_NEWVLAN, 0, BRIDGE_VLAN_INFO_PVID, 10, 10, BR_STATE_FORWARDING);
	cr_expect_eq(vlans.pvids[0], 10);
	vlan(RTM_NEWVLAN, 0, 0, 1, 1, BR_STATE_FORWARDING);
	cr_expect_eq(vlans.pvids[0], 10);
	vlan(RTM_DELVLAN, 0, 0, 1, 1, BR_STATE_FORWARDING);
	cr_expect_eq(vlans.pvids[0], 10);
	vlan(RTM_NEWVLAN, 0, 0, 10, 10, BR_STATE_FORWARDING);
	cr_expect_eq(vlans.pvids[0], 0);
	vlan(RTM_NEWVLAN, 0, BRIDGE_VLAN_INFO_PVID, 10, 10, BR_STATE_FORWARDING);
	vlan(RTM_DELVLAN, 0, 0, 10, 10, BR_STATE_FORWARDING);
	cr_expect_eq(vlans.pvids[0], 0);
}

/* Of a port that leaves, and of all in a dump, which tells of what there is. */
Test(bridge_vlan, members_are_forgotten, .init = init_members)
{
	const struct shunt_fdb_port gone = {.ifindex = FIRST_PORT};
	unsigned i;

	for (i = 0; i < 3; i++)
		vlan(RTM_NEWVLAN, i, BRIDGE_VLAN_INFO_PVID, 10, 10, BR_STATE_FORWARDING);
	shunt_bridge_fdb_ops.port(&bridge, &gone);
	expect_vlan(10, 6, 0);
	cr_expect_eq(vlans.pvids[0], 0);
	shunt_bridge_fdb_ops.begin(&bridge);
	expect_vlan(10, 0, 0);
	cr_expect_eq(vlans.pvids[1], 0);
}

/* While a bridge goes by other tags its ports are members of no VLAN. */
Test(bridge_vlan, members_by_other_tags, .init = init_members)
{
	vlan(RTM_NEWVLAN, 0, BRIDGE_VLAN_INFO_PVID, 10, 12, BR_STATE_FORWARDING);
	vlan(RTM_NEWVLAN, 2, 0, 10, 10, BR_STATE_FORWARDING);
	filters_by(0, true, ETH_P_8021AD);
	expect_vlan(10, 4, 0);
	vlan(RTM_NEWVLAN, 1, BRIDGE_VLAN_INFO_UNTAGGED, 10, 10, BR_STATE_FORWARDING);
	vlan(RTM_DELVLAN, 0, 0, 11, 11, BR_STATE_FORWARDING);
	expect_vlan(10, 4, 0);
	expect_vlan(12, 0, 0);
	filters(0, true);
	expect_vlan(10, 7, 2);
	expect_vlan(11, 0, 0);
	expect_vlan(12, 1, 0);
}

/* What the programs go by. */
Test(bridge_vlan, is_told_to_the_programs, .init = init_members)
{
	cr_expect_eq(bridge.xdp_macs->bridge->filters, 0xf);
	filters(1, false);
	cr_expect_eq(bridge.xdp_macs->bridge->filters, 3);
}

/* Only the first have VLANs in the table of stations. */
Test(bridge_vlan, routed_ports_of_a_bridge_without_room_for_vlans)
{
	bridge.bridges[SHUNT_MAC_VLAN_BRIDGES] = bridge.bridges[0];
	bridge.bridge_cnt = SHUNT_MAC_VLAN_BRIDGES + 1;
	bridge.bridges[0].ifindex = 0;
	bridge.bridge_of[0] = bridge.bridge_of[1] = SHUNT_MAC_VLAN_BRIDGES;
	filters(0, false);
	cr_expect_eq(shunt_bridge_leaves(&bridge, 0), SHUNT_LANE_REASON_none);
	filters(0, true);
	cr_expect_eq(shunt_bridge_leaves(&bridge, 0), SHUNT_LANE_REASON_vlan_filtering);
	station(RTM_NEWNEIGH, 1, 0, 100);
	cr_expect_eq(port_of(1, SHUNT_MAC_VLAN_BRIDGES, 0), SHUNT_MAC_NONE);
	station(RTM_NEWNEIGH, 1, 0, 0);
	cr_expect_eq(port_of(1, SHUNT_MAC_VLAN_BRIDGES, 0), 0);
}

/* What has tags is the kernel's, where it is bridged. What is routed with tags the router knows. */
Test(bridge_vlan, vlan_devices_of_ports)
{
	struct shunt_brlink vlan = {.ifindex = 50, .is_vlan = true, .lower = FIRST_PORT};

	shunt_bridge_fdb_ops.vlan(&bridge, &vlan, false);
	cr_expect_eq(bridge.masks.kernels, 0);
	cr_expect_eq(bridge.masks.untagged, 1);
	vlan.lower = FIRST_PORT + 2;
	vlan.ifindex++;
	shunt_bridge_fdb_ops.vlan(&bridge, &vlan, false);
	cr_expect_eq(bridge.masks.kernels, 4);
	cr_expect_eq(bridge.masks.untagged, 5);
}

Test(bridge_vlan, stations_by_vlan)
{
	filters(0, true);
	station(RTM_NEWNEIGH, 1, 0, 100);
	cr_expect_eq(port_of(1, 0, 100), 0);
	cr_expect_eq(port_of(1, 0, 0), SHUNT_MAC_NONE);
	cr_expect_eq(port_of(1, 0, 101), SHUNT_MAC_NONE);
	cr_expect_eq(port_of(1, 1, 100), SHUNT_MAC_NONE);
	station(RTM_NEWNEIGH, 1, 1, 101); /* one address, two stations */
	station(RTM_NEWNEIGH, 1, 1, 0);
	station(RTM_NEWNEIGH, 1, 2, 100);
	cr_expect_eq(port_of(1, 0, 100), 0);
	cr_expect_eq(port_of(1, 0, 101), 1);
	cr_expect_eq(port_of(1, 0, 0), 1);
	cr_expect_eq(port_of(1, 1, 100), 2);
	station(RTM_NEWNEIGH, 1, 1, 100);
	cr_expect_eq(port_of(1, 0, 100), 1);
	station(RTM_DELNEIGH, 1, 0, 101); /* it is not there any more */
	cr_expect_eq(port_of(1, 0, 101), 1);
	station(RTM_DELNEIGH, 1, 1, 101);
	cr_expect_eq(port_of(1, 0, 101), SHUNT_MAC_NONE);
	cr_expect_eq(port_of(1, 0, 100), 1);
}

/* A port that leaves, and a dump, end what is known in whatever VLAN. */
Test(bridge_vlan, stations_are_forgotten)
{
	const struct shunt_fdb_port gone = {.ifindex = FIRST_PORT};

	station(RTM_NEWNEIGH, 1, 0, 100);
	station(RTM_NEWNEIGH, 2, 1, 100);
	station(RTM_NEWNEIGH, 3, 2, 100);
	shunt_bridge_fdb_ops.port(&bridge, &gone);
	cr_expect_eq(port_of(1, 0, 100), SHUNT_MAC_NONE);
	cr_expect_eq(port_of(2, 0, 100), 1);
	shunt_bridge_fdb_ops.begin(&bridge);
	cr_expect_eq(port_of(2, 0, 100), SHUNT_MAC_NONE);
	cr_expect_eq(port_of(3, 1, 100), SHUNT_MAC_NONE);
}

/* --- what it is told -------------------------------------------------------------------------- */

#define TELL_CNT 2500u /* three calls, and some */

static bool is_netlink(int fd)
{
	int domain = 0;
	socklen_t len = sizeof(domain);

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_NETLINK;
}

/* In the place of the socket that tells the kernel, a pair: returns the end that hears it. */
static int overhear(struct shunt_fdb **fdb)
{
	bool was_netlink[64];
	int pair[2], bytes = 4 << 20, fd;

	for (fd = 0; fd < 64; fd++)
		was_netlink[fd] = is_netlink(fd);
	cr_assert_eq(shunt_fdb_create(fdb, &shunt_bridge_fdb_ops, &bridge, &err), 0, "%s", err.msg);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	for (fd = 0; fd < 64; fd++)
		if (is_netlink(fd) && !was_netlink[fd] && fd != shunt_fdb_fd(*fdb))
			cr_assert_eq(dup2(pair[0], fd), fd);
	close(pair[0]);
	return pair[1];
}

/* Some in a VLAN, some in none: their messages have two lengths, of which no whole number fills a
 * call. */
static unsigned vid_of(unsigned i)
{
	return i % 11 < 4 ? 1 + i % 4094 : 0;
}

static void mac_of(unsigned i, uint8_t *mac)
{
	memcpy(mac, ((const uint8_t[]){2, 0, 0, 0, (uint8_t)(i >> 8), (uint8_t)i}), 6);
}

struct heard {
	uint8_t mac[6];
	unsigned vid;
};

static int hear(const struct nlattr *attr, void *arg)
{
	struct heard *heard = arg;

	if (mnl_attr_get_type(attr) == NDA_LLADDR)
		memcpy(heard->mac, mnl_attr_get_payload(attr), 6);
	if (mnl_attr_get_type(attr) == NDA_VLAN)
		heard->vid = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

static void expect_tell(const struct nlmsghdr *nlh, unsigned i)
{
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(nlh);
	struct heard heard = {.vid = 0};
	uint8_t mac[6];

	mac_of(i, mac);
	cr_assert_eq(nlh->nlmsg_type, RTM_NEWNEIGH);
	cr_assert(ndm->ndm_family == AF_BRIDGE && ndm->ndm_ifindex == (int)(7 + i % 3) &&
		  ndm->ndm_flags == (NTF_MASTER | NTF_USE));
	mnl_attr_parse(nlh, sizeof(*ndm), hear, &heard);
	cr_assert_eq(memcmp(heard.mac, mac, 6), 0, "tell %u", i);
	cr_assert_eq(heard.vid, vid_of(i), "tell %u: VLAN %u", i, heard.vid);
}

Test(bridge_vlan, tells_are_sent_in_whole_messages)
{
	static char call[1 << 18];
	struct shunt_fdb *fdb;
	const struct nlmsghdr *nlh;
	unsigned i, cnt = 0, calls = 0;
	uint8_t mac[6];
	ssize_t len;
	int left, fd = overhear(&fdb);

	for (i = 0; i < TELL_CNT; i++) {
		mac_of(i, mac);
		shunt_fdb_tell(fdb, 7 + i % 3, mac, vid_of(i));
	}
	cr_assert(shunt_fdb_has_tells(fdb));
	cr_assert(shunt_fdb_take_tells(fdb));
	cr_expect_not(shunt_fdb_has_tells(fdb));
	shunt_fdb_send_tells(fdb);
	for (; (len = recv(fd, call, sizeof(call), MSG_DONTWAIT)) > 0; calls++) {
		left = (int)len;
		for (nlh = (void *)call; shunt_netlink_ok(nlh, left);
		     nlh = mnl_nlmsg_next(nlh, &left))
			expect_tell(nlh, cnt++);
		cr_expect_eq(left, 0, "call %u: %d bytes of a message", calls, left);
	}
	cr_expect_eq(cnt, TELL_CNT);
	cr_expect_geq(calls, 2);
	close(fd);
	shunt_fdb_destroy(fdb);
}
