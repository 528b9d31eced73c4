// SPDX-License-Identifier: BSD-2-Clause
/* What the kernel tells of its bridges, as netlink messages, and what is forwarded by then: two
 * bridges of shunt's over two of the kernel's, with two ports each, and one alone. */
#include <criterion/criterion.h>
#include <libmnl/libmnl.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "bridge/fdb_take.h"
#include "bridge/follow.h"

enum { PORTS = 5, FIRST_PORT = 2, FIRST_BRIDGE = 20, OTHER_BRIDGE = 30, TAP = 40 };

/* Ports by their bits. */
enum { A = 1, B = 2, C = 4, D = 8, ALONE = 16 };

static struct shunt_bridge bridge;
static struct shunt_port at[PORTS];
static struct shunt_ports ports = {.at = at, .cnt = PORTS};
static struct shunt_err err;
static char buf[512];

/* Ports 0 and 1 are bridge 0, 2 and 3 bridge 1, 4 is bridge 2, which has none beneath. */
static void init(void)
{
	unsigned i;

	memset(&bridge, 0, sizeof(bridge));
	memset(at, 0, sizeof(at));
	bridge.ports = &ports;
	bridge.epoll_fd = -1;
	bridge.bridge_cnt = 3;
	for (i = 0; i < PORTS; i++) {
		at[i].index = i;
		at[i].netdev.ifindex = FIRST_PORT + i;
		at[i].xdp = (void *)&at[i]; /* a device's; not looked into */
		bridge.bridge_of[i] = (uint8_t)(i / 2);
		bridge.bridges[i / 2].members |= 1ULL << i;
	}
	for (i = 0; i < 2; i++) {
		bridge.bridges[i].ifindex = FIRST_BRIDGE + i;
		bridge.bridges[i].age_s = SHUNT_MAC_AGE_S_DEFAULT;
	}
	bridge.masks.forwarding = bridge.masks.learning = bridge.masks.flooding = ALONE;
	cr_assert_eq(shunt_mac_create(&bridge.macs, 64, 1, &err), 0);
}

static void fini(void)
{
	shunt_mac_destroy(bridge.macs);
}

/* --- messages --------------------------------------------------------------------------------- */

static struct nlmsghdr *link_message(uint16_t type, uint8_t family, uint32_t ifindex)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

	nlh->nlmsg_type = type;
	ifi->ifi_family = family;
	ifi->ifi_index = (int)ifindex;
	return nlh;
}

static void take(const struct nlmsghdr *nlh)
{
	shunt_fdb_take(nlh, &shunt_bridge_fdb_ops, &bridge);
}

/* A device is a port of a bridge, and may forward; extra: an attribute of it that is not 0. */
static void is_port_with(uint32_t ifindex, uint32_t of, uint16_t extra)
{
	struct nlmsghdr *nlh = link_message(RTM_NEWLINK, AF_BRIDGE, ifindex);
	struct nlattr *info;

	mnl_attr_put_u32(nlh, IFLA_MASTER, of);
	info = mnl_attr_nest_start(nlh, IFLA_PROTINFO);
	mnl_attr_put_u8(nlh, IFLA_BRPORT_STATE, BR_STATE_FORWARDING);
	mnl_attr_put_u8(nlh, IFLA_BRPORT_LEARNING, 1);
	mnl_attr_put_u8(nlh, IFLA_BRPORT_UNICAST_FLOOD, 1);
	if (extra)
		mnl_attr_put_u32(nlh, extra, 1);
	mnl_attr_nest_end(nlh, info);
	take(nlh);
}

static void is_port(uint32_t ifindex, uint32_t of)
{
	is_port_with(ifindex, of, 0);
}

static void is_no_port(uint32_t ifindex, uint32_t of)
{
	struct nlmsghdr *nlh = link_message(RTM_DELLINK, AF_BRIDGE, ifindex);

	mnl_attr_put_u32(nlh, IFLA_MASTER, of);
	take(nlh);
}

static void is_bridge(uint32_t ifindex, bool filters, uint32_t age_s)
{
	struct nlmsghdr *nlh = link_message(RTM_NEWLINK, AF_UNSPEC, ifindex);
	struct nlattr *info = mnl_attr_nest_start(nlh, IFLA_LINKINFO), *data;

	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "bridge");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	mnl_attr_put_u32(nlh, IFLA_BR_AGEING_TIME, age_s * 100);
	mnl_attr_put_u8(nlh, IFLA_BR_VLAN_FILTERING, filters);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	take(nlh);
}

/* Station n, of 02:00:00:00:00:00 and above, is behind a port. */
static void is_station(uint8_t n, uint32_t port, uint32_t of, uint16_t state)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, n};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ndmsg *ndm = mnl_nlmsg_put_extra_header(nlh, sizeof(*ndm));

	nlh->nlmsg_type = RTM_NEWNEIGH;
	ndm->ndm_family = AF_BRIDGE;
	ndm->ndm_ifindex = (int)port;
	ndm->ndm_state = state;
	mnl_attr_put(nlh, NDA_LLADDR, sizeof(mac), mac);
	mnl_attr_put_u32(nlh, NDA_MASTER, of);
	take(nlh);
}

static unsigned port_of(uint8_t n, unsigned number)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, n};

	return shunt_mac_lookup(bridge.macs,
				shunt_mac_hash(bridge.macs, shunt_mac_key(mac, number)));
}

enum { HERE = 0, ELSEWHERE = IFLA_LINK_NETNSID, MOVING = IFLA_NEW_NETNSID };

/* A VLAN device: its lower one is elsewhere, or it is itself moving there. */
static void vlan(uint16_t type, uint32_t ifindex, uint32_t lower, uint16_t where)
{
	struct nlmsghdr *nlh = link_message(type, AF_UNSPEC, ifindex);
	struct nlattr *info;

	mnl_attr_put_u32(nlh, IFLA_LINK, lower);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "vlan");
	mnl_attr_nest_end(nlh, info);
	if (where)
		mnl_attr_put_u32(nlh, where, 1);
	take(nlh);
}

static void is_vlan(uint32_t ifindex, uint32_t lower)
{
	vlan(RTM_NEWLINK, ifindex, lower, HERE);
}

/* All ports are where they belong. */
static void start(void)
{
	unsigned i;

	for (i = 0; i < 4; i++)
		is_port(FIRST_PORT + i, FIRST_BRIDGE + i / 2);
	cr_assert_eq(bridge.masks.forwarding, A | B | C | D | ALONE);
	cr_assert_eq(bridge.masks.kernels, 0);
	cr_assert_eq(bridge.masks.foreign, 0);
}

/* --- ports ------------------------------------------------------------------------------------ */

Test(bridge_follow, a_port_that_leaves, .init = init, .fini = fini)
{
	start();
	is_no_port(FIRST_PORT, FIRST_BRIDGE);
	cr_expect_eq(shunt_bridge_leaves(&bridge, 0), SHUNT_LANE_REASON_not_member);
	cr_expect_eq(bridge.masks.kernels, A);
	cr_expect_eq(bridge.masks.forwarding, B | C | D | ALONE);
	is_port(FIRST_PORT, OTHER_BRIDGE);
	cr_expect_eq(shunt_bridge_leaves(&bridge, 0), SHUNT_LANE_REASON_not_member);
	cr_expect_eq(bridge.masks.foreign, 0, "a bridge that is not followed");
	is_port(FIRST_PORT, FIRST_BRIDGE);
	cr_expect_eq(shunt_bridge_leaves(&bridge, 0), SHUNT_LANE_REASON_none);
	cr_expect_eq(bridge.masks.kernels, 0);
	cr_expect_eq(bridge.masks.forwarding, A | B | C | D | ALONE);
}

/* The other bridge's workers do not reach it: the kernel looks for stations there. */
Test(bridge_follow, a_port_that_is_moved_to_another_of_shunts, .init = init, .fini = fini)
{
	start();
	is_port(FIRST_PORT, FIRST_BRIDGE + 1);
	cr_expect_eq(shunt_bridge_leaves(&bridge, 0), SHUNT_LANE_REASON_not_member);
	cr_expect_eq(bridge.masks.foreign, 2);
	is_port(FIRST_PORT, FIRST_BRIDGE);
	cr_expect_eq(bridge.masks.foreign, 0);
	cr_expect_eq(bridge.masks.kernels, 0);
}

/* While it has no carrier, the kernel's bridge sends what is for its stations by the other one. */
Test(bridge_follow, a_port_with_a_backup, .init = init, .fini = fini)
{
	start();
	is_port_with(FIRST_PORT, FIRST_BRIDGE, IFLA_BRPORT_BACKUP_PORT);
	cr_expect_eq(shunt_bridge_leaves(&bridge, 0), SHUNT_LANE_REASON_backup_port);
	cr_expect_eq(shunt_bridge_leaves(&bridge, 1), SHUNT_LANE_REASON_backup_port);
	cr_expect_eq(bridge.masks.kernels, A | B, "whoever sends to it");
	is_port(FIRST_PORT, FIRST_BRIDGE);
	cr_expect_eq(bridge.masks.kernels, 0);
	is_port_with(FIRST_PORT, FIRST_BRIDGE, IFLA_BRPORT_BACKUP_PORT);
	is_no_port(FIRST_PORT, FIRST_BRIDGE);
	cr_expect_eq(bridge.masks.kernels, A);
}

/* What a port of its own sees to, and no other. */
Test(bridge_follow, what_only_the_kernels_bridge_minds, .init = init, .fini = fini)
{
	static const struct {
		uint16_t attr;
		enum shunt_lane_reason left;
	} rows[] = {
		{IFLA_BRPORT_ISOLATED, SHUNT_LANE_REASON_isolated},
		{IFLA_BRPORT_LOCKED, SHUNT_LANE_REASON_locked},
		{IFLA_BRPORT_MODE, SHUNT_LANE_REASON_hairpin},
	};
	unsigned i;

	start();
	for (i = 0; i < SHUNT_ARRAY_LEN(rows); i++) {
		is_port_with(FIRST_PORT + 1, FIRST_BRIDGE, rows[i].attr);
		cr_expect_eq(shunt_bridge_leaves(&bridge, 1), rows[i].left);
		cr_expect_eq(bridge.masks.kernels, B);
	}
	is_port(FIRST_PORT + 1, FIRST_BRIDGE);
	cr_expect_eq(bridge.masks.kernels, 0);
}

/* As ixgbe, i40e or mlx5 with a switch of their own speak of a port, behind its bridge's word. */
Test(bridge_follow, a_driver_that_speaks_of_its_own_switch, .init = init, .fini = fini)
{
	struct nlmsghdr *nlh;
	struct nlattr *info;

	start();
	nlh = link_message(RTM_NEWLINK, AF_BRIDGE, FIRST_PORT);
	mnl_attr_put_u32(nlh, IFLA_MASTER, FIRST_BRIDGE);
	info = mnl_attr_nest_start(nlh, IFLA_AF_SPEC);
	mnl_attr_put_u16(nlh, IFLA_BRIDGE_FLAGS, BRIDGE_FLAGS_SELF);
	mnl_attr_put_u16(nlh, IFLA_BRIDGE_MODE, BRIDGE_MODE_VEB);
	mnl_attr_nest_end(nlh, info);
	info = mnl_attr_nest_start(nlh, IFLA_PROTINFO);
	mnl_attr_put_u8(nlh, IFLA_BRPORT_LEARNING, 0);
	mnl_attr_nest_end(nlh, info);
	take(nlh);
	cr_expect_eq(bridge.masks.forwarding, A | B | C | D | ALONE);
	cr_expect_eq(bridge.masks.learning, A | B | C | D | ALONE);
}

/* It is of no bridge of the kernel's for shunt, whatever bridge it is put into. */
Test(bridge_follow, a_port_of_a_bridge_alone, .init = init, .fini = fini)
{
	start();
	is_port(FIRST_PORT + 4, OTHER_BRIDGE);
	is_no_port(FIRST_PORT + 4, OTHER_BRIDGE);
	cr_expect(bridge.masks.forwarding & ALONE);
	cr_expect_eq(bridge.masks.kernels, 0);
	is_port(FIRST_PORT + 4, FIRST_BRIDGE);
	cr_expect_eq(bridge.masks.foreign, 1, "to that bridge it is the kernel's alone");
}

/* --- VLAN devices ----------------------------------------------------------------------------- */

static void expect_tagged(uint64_t ports_with, const char *what)
{
	unsigned i;

	cr_expect_eq(bridge.masks.untagged, ports_with, "%s", what);
	cr_expect_eq(bridge.masks.kernels, ports_with, "%s", what);
	for (i = 0; i < PORTS; i++)
		cr_expect_eq(shunt_bridge_leaves(&bridge, i), SHUNT_LANE_REASON_none, "%s", what);
}

Test(bridge_follow, vlan_devices_come_and_go, .init = init, .fini = fini)
{
	start();
	is_vlan(TAP, FIRST_PORT);
	expect_tagged(A, "one");
	is_vlan(TAP, FIRST_PORT);
	is_vlan(TAP + 1, FIRST_PORT);
	is_vlan(TAP + 2, FIRST_PORT + 3);
	expect_tagged(A | D, "several");
	vlan(RTM_DELLINK, TAP, FIRST_PORT, HERE);
	expect_tagged(A | D, "one of two is there");
	vlan(RTM_DELLINK, TAP + 1, FIRST_PORT, HERE);
	expect_tagged(D, "none is");
	vlan(RTM_DELLINK, TAP + 2, FIRST_PORT + 3, HERE);
	expect_tagged(0, "none at all");
}

Test(bridge_follow, vlan_devices_of_others, .init = init, .fini = fini)
{
	start();
	is_vlan(TAP, FIRST_BRIDGE);
	is_vlan(TAP, OTHER_BRIDGE);
	is_vlan(TAP, FIRST_PORT + 4);
	vlan(RTM_NEWLINK, TAP, FIRST_PORT, ELSEWHERE);
	expect_tagged(0, "a bridge's, a bridge's alone, another network namespace's");
}

Test(bridge_follow, a_vlan_device_in_another_network_namespace, .init = init, .fini = fini)
{
	start();
	is_vlan(TAP, FIRST_PORT);
	vlan(RTM_DELLINK, TAP, FIRST_PORT, MOVING);
	expect_tagged(A, "it has the frames still");
	is_vlan(TAP, FIRST_PORT);
	vlan(RTM_DELLINK, TAP, FIRST_PORT, HERE);
	expect_tagged(0, "it came back, and went");
}

/* Where all is left to the kernel, tags are none of it. */
Test(bridge_follow, vlan_devices_of_a_port_that_is_left, .init = init, .fini = fini)
{
	start();
	is_vlan(TAP, FIRST_PORT);
	is_port_with(FIRST_PORT, FIRST_BRIDGE, IFLA_BRPORT_ISOLATED);
	cr_expect_eq(bridge.masks.untagged, 0);
	cr_expect_eq(bridge.masks.kernels, A);
	is_port(FIRST_PORT, FIRST_BRIDGE);
	expect_tagged(A, "again");
}

Test(bridge_follow, a_dump_ends_vlan_devices, .init = init, .fini = fini)
{
	unsigned i;

	start();
	is_vlan(TAP, FIRST_PORT);
	is_vlan(TAP + 1, FIRST_PORT + 1);
	is_vlan(TAP + 2, FIRST_PORT + 2);
	vlan(RTM_DELLINK, TAP + 2, FIRST_PORT + 2, MOVING);
	shunt_bridge_fdb_ops.begin(&bridge);
	for (i = 0; i < 4; i++)
		is_port(FIRST_PORT + i, FIRST_BRIDGE + i / 2);
	is_vlan(TAP + 1, FIRST_PORT + 1);
	shunt_bridge_fdb_ops.end(&bridge);
	expect_tagged(B | C, "the one that is named, and the one elsewhere");
}

/* --- dumps ------------------------------------------------------------------------------------ */

/* Events were lost, and all is told again. What the dump does not tell of is no more. */
Test(bridge_follow, a_dump_ends_what_it_does_not_tell, .init = init, .fini = fini)
{
	const uint8_t alone[6] = {2, 0, 0, 0, 0, 9};

	start();
	is_port(TAP, FIRST_BRIDGE);
	is_port(TAP + 1, FIRST_BRIDGE + 1);
	is_bridge(FIRST_BRIDGE, false, 300);
	is_station(1, FIRST_PORT, FIRST_BRIDGE, NUD_NOARP);
	is_station(2, FIRST_PORT + 1, FIRST_BRIDGE, NUD_REACHABLE);
	is_station(3, FIRST_BRIDGE, FIRST_BRIDGE, NUD_PERMANENT);
	is_station(4, FIRST_PORT + 2, FIRST_BRIDGE + 1, NUD_NOARP);
	shunt_mac_learn(bridge.macs, shunt_mac_key(alone, 2), 4);
	cr_assert_eq(bridge.masks.foreign, 3);

	shunt_bridge_fdb_ops.begin(&bridge);
	is_bridge(FIRST_BRIDGE, true, 100);
	is_bridge(FIRST_BRIDGE + 1, false, 200);
	is_port(FIRST_PORT + 1, FIRST_BRIDGE);
	is_port(FIRST_PORT + 2, FIRST_BRIDGE + 1);
	is_port(FIRST_PORT + 3, FIRST_BRIDGE + 1);
	is_port(TAP, FIRST_BRIDGE);
	is_station(4, FIRST_PORT + 3, FIRST_BRIDGE + 1, NUD_NOARP);
	shunt_bridge_fdb_ops.end(&bridge);

	cr_expect_eq(bridge.masks.forwarding, B | C | D | ALONE);
	cr_expect_eq(bridge.masks.kernels, A | B);
	cr_expect_eq(bridge.masks.foreign, 1);
	cr_expect_eq(bridge.left[0], SHUNT_LANE_REASON_not_member);
	cr_expect_eq(shunt_bridge_leaves(&bridge, 1), SHUNT_LANE_REASON_vlan_filtering);
	cr_expect_eq(bridge.age_s, 100);
	cr_expect_eq(port_of(1, 0), SHUNT_MAC_NONE, "static");
	cr_expect_eq(port_of(2, 0), SHUNT_MAC_NONE, "dynamic");
	cr_expect_eq(port_of(3, 0), SHUNT_MAC_NONE, "local");
	cr_expect_eq(port_of(4, 1), 3);
	cr_expect_eq(port_of(9, 2), 4, "of a bridge alone");
}

/* More ports than there is room for: their bridges look for unknown stations there all the same. */
Test(bridge_follow, more_ports_than_room, .init = init, .fini = fini)
{
	unsigned i;

	start();
	for (i = 0; i < SHUNT_BRIDGE_DEVICES_MAX; i++)
		is_port(TAP + i, FIRST_BRIDGE);
	cr_expect_eq(bridge.masks.foreign, 1);
	is_port(TAP + i, FIRST_BRIDGE + 1);
	cr_expect_eq(bridge.masks.foreign, 3);
	is_no_port(TAP, FIRST_BRIDGE);
	cr_expect_eq(bridge.masks.foreign, 3);
	shunt_bridge_fdb_ops.begin(&bridge);
	is_port(TAP + i, FIRST_BRIDGE + 1);
	shunt_bridge_fdb_ops.end(&bridge);
	cr_expect_eq(bridge.masks.foreign, 2);
}
