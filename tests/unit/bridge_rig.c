// SPDX-License-Identifier: BSD-2-Clause
#include "bridge_rig.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "mirror/take.h"

struct shunt_mirror_table rig_table;
struct shunt_mirror_fib rig_fib;
struct shunt_devices *rig_devices;
struct shunt_mirror_link_info rig_bridge, rig_ports[PORT_CNT], rig_stranger;

static struct shunt_mirror_opts opts;
static struct shunt_mirror_dump dump;
static struct shunt_mirror_taker taker;
static struct shunt_err err;
static char buf[512];

static int port_of(void *ctx, uint32_t ifindex)
{
	(void)ctx;
	return ifindex >= P0 && ifindex < P0 + PORT_CNT ? (int)(ifindex - P0) : -1;
}

static void put_member(struct shunt_mirror_link_info *info)
{
	info->master = BRIDGE;
	info->bridged.state = BR_STATE_FORWARDING;
	rig_put(info);
}

static void put_links(bool filters_vlans)
{
	const uint16_t flags = BRIDGE_VLAN_INFO_PVID | BRIDGE_VLAN_INFO_UNTAGGED;
	unsigned i;

	rig_bridge = rig_link(BRIDGE, "bridge");
	rig_bridge.mac[5] = 0xb0;
	rig_bridge.bridge.filters_vlans = filters_vlans;
	rig_bridge.bridge.vlan_type_be = htons(ETH_P_8021Q);
	rig_put(&rig_bridge);
	for (i = 0; i < PORT_CNT; i++) {
		rig_ports[i] = rig_link(P0 + i, "");
		rig_put(&rig_ports[i]);
	}
	rig_stranger = rig_link(STRANGER, "");
	put_member(&rig_ports[0]);
	put_member(&rig_ports[1]);
	put_member(&rig_stranger);
	for (i = 0; filters_vlans && i < 2; i++)
		rig_vlans(RTM_NEWVLAN, P0 + i, 1, 1, flags);
	if (filters_vlans)
		rig_vlans(RTM_NEWVLAN, BRIDGE, 1, 1, flags);
}

void rig_bridge_start(bool filters_vlans)
{
	shunt_mirror_table_init(&rig_table, 0);
	cr_assert_eq(shunt_fib4_create(&opts.fib4, 0, &err), 0);
	cr_assert_eq(shunt_fib6_create(&opts.fib6, 0, &err), 0);
	cr_assert_eq(shunt_nexthop_create(&opts.nexthops, 0, &err), 0);
	cr_assert_eq(shunt_devices_create_on(&rig_devices, NULL, &err), 0);
	opts.devices = rig_devices;
	opts.port_of = opts.base_of = port_of;
	taker.table = &rig_table;
	taker.dump = &dump;
	cr_assert_eq(shunt_mirror_fib_init(&rig_fib, &rig_table, &opts, &err), 0);
	put_links(filters_vlans);
}

void rig_bridge_stop(void)
{
	shunt_mirror_fib_fini(&rig_fib);
	cr_expect_eq(rig_devices->runs.live_cnt, 0, "devices are left");
	shunt_devices_destroy(rig_devices);
	shunt_nexthop_destroy(opts.nexthops);
	shunt_fib6_destroy(opts.fib6);
	shunt_fib4_destroy(opts.fib4);
	shunt_mirror_table_fini(&rig_table);
}

struct shunt_mirror_link_info rig_link(uint32_t ifindex, const char *kind)
{
	struct shunt_mirror_link_info info;

	memset(&info, 0, sizeof(info));
	info.ifindex = ifindex;
	info.mtu = 1500;
	info.flags = IFF_UP | IFF_LOWER_UP;
	info.type = ARPHRD_ETHER;
	info.mac_len = ETH_ALEN;
	info.mac[0] = 2;
	strcpy(info.kind, kind);
	return info;
}

struct shunt_mirror_link_info rig_vlan(uint32_t ifindex, uint32_t parent, uint16_t type,
				       uint16_t id)
{
	struct shunt_mirror_link_info info = rig_link(ifindex, "vlan");

	info.mac[5] = 0xb1;
	info.parent = parent;
	info.vlan.type_be = htons(type);
	info.vlan.id = id;
	return info;
}

void rig_put(const struct shunt_mirror_link_info *info)
{
	cr_assert_geq(shunt_mirror_link_put(&rig_table, info), 0);
}

/* --- messages --------------------------------------------------------------------------------- */

int rig_take(const struct nlmsghdr *nlh)
{
	return shunt_mirror_take(&taker, nlh, false);
}

void rig_station(uint16_t type, uint8_t n, uint32_t port, unsigned vid)
{
	const uint8_t mac[ETH_ALEN] = {2, 0, 0, 0, 0, n};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ndmsg *ndm = mnl_nlmsg_put_extra_header(nlh, sizeof(*ndm));

	nlh->nlmsg_type = type;
	ndm->ndm_family = AF_BRIDGE;
	ndm->ndm_ifindex = (int)port;
	ndm->ndm_state = NUD_REACHABLE;
	mnl_attr_put(nlh, NDA_LLADDR, sizeof(mac), mac);
	mnl_attr_put_u32(nlh, NDA_MASTER, BRIDGE);
	if (vid)
		mnl_attr_put_u16(nlh, NDA_VLAN, (uint16_t)vid);
	cr_assert_eq(rig_take(nlh), 1, "nothing new");
}

/* br_ifinfo_notify */
void rig_state(uint32_t port, uint8_t state)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	struct nlattr *nest;

	nlh->nlmsg_type = RTM_NEWLINK;
	ifi->ifi_family = AF_BRIDGE;
	ifi->ifi_index = (int)port;
	mnl_attr_put_u32(nlh, IFLA_MASTER, BRIDGE);
	nest = mnl_attr_nest_start(nlh, IFLA_PROTINFO);
	mnl_attr_put_u8(nlh, IFLA_BRPORT_STATE, state);
	mnl_attr_nest_end(nlh, nest);
	cr_assert_eq(rig_take(nlh), 1, "nothing new");
}

/* br_vlan_notify */
static void take_vlans(uint16_t type, uint32_t ifindex, unsigned first, unsigned last,
		       uint16_t flags, uint8_t state)
{
	const struct bridge_vlan_info info = {.flags = flags, .vid = (uint16_t)first};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct br_vlan_msg *msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));
	struct nlattr *nest;

	nlh->nlmsg_type = type;
	msg->family = AF_BRIDGE;
	msg->ifindex = ifindex;
	nest = mnl_attr_nest_start(nlh, BRIDGE_VLANDB_ENTRY);
	mnl_attr_put(nlh, BRIDGE_VLANDB_ENTRY_INFO, sizeof(info), &info);
	if (last > first)
		mnl_attr_put_u16(nlh, BRIDGE_VLANDB_ENTRY_RANGE, (uint16_t)last);
	if (type == RTM_NEWVLAN)
		mnl_attr_put_u8(nlh, BRIDGE_VLANDB_ENTRY_STATE, state);
	mnl_attr_nest_end(nlh, nest);
	cr_assert_eq(rig_take(nlh), 1, "nothing new");
}

void rig_vlans(uint16_t type, uint32_t ifindex, unsigned first, unsigned last, uint16_t flags)
{
	take_vlans(type, ifindex, first, last, flags, BR_STATE_FORWARDING);
}

void rig_vlan_state(uint32_t ifindex, unsigned vid, uint16_t flags, uint8_t state)
{
	take_vlans(RTM_NEWVLAN, ifindex, vid, vid, flags, state);
}

/* --- neighbours ------------------------------------------------------------------------------- */

void rig_neighbour(uint32_t ifindex, uint8_t n, uint8_t station)
{
	const struct shunt_mirror_neigh_info neigh = {.ifindex = ifindex,
						      .family = AF_INET,
						      .lladdr_len = ETH_ALEN,
						      .addr = {10, 0, 0, n},
						      .state = NUD_REACHABLE,
						      .lladdr = {2, 0, 0, 0, 0, station}};

	cr_assert_geq(shunt_mirror_neigh_put(&rig_table, &neigh), 0);
}

const struct shunt_adj *rig_adj_make(uint32_t ifindex, uint8_t n)
{
	const struct shunt_mirror_adj_key key = {
		.ifindex = ifindex, .gw_family = AF_INET, .gw = {10, 0, 0, n}};
	const uint32_t idx = shunt_mirror_adj_get(&rig_fib.targets.adjs, &key, 0);

	cr_assert(idx);
	return &shunt_mirror_adj_at(&rig_fib.targets.adjs, idx)->now;
}

void rig_expect_leg(const struct shunt_adj *way, uint32_t ifindex, unsigned port, int line)
{
	cr_expect_eq(way->kind, SHUNT_ADJ_REWRITE, "line %d: kind %u", line, way->kind);
	cr_expect_eq(way->port, SHUNT_ADJ_TAGGED, "line %d", line);
	cr_expect_eq(way->above, rig_leg(ifindex, port), "line %d: device %u", line, way->above);
	cr_expect(way->above, "line %d", line);
}

/* --- devices ---------------------------------------------------------------------------------- */

uint32_t rig_number(uint32_t ifindex)
{
	return shunt_mirror_above_number(&rig_fib.aboves, ifindex);
}

const struct shunt_device *rig_device(uint32_t ifindex)
{
	cr_assert(rig_number(ifindex), "device %u is not there", ifindex);
	return shunt_devices_at(rig_devices, rig_number(ifindex));
}

uint32_t rig_leg(uint32_t ifindex, unsigned port)
{
	return shunt_mirror_above_leg(&rig_fib.aboves, ifindex, port);
}

const struct shunt_device *rig_leg_at(uint32_t ifindex, unsigned port)
{
	cr_assert(rig_leg(ifindex, port), "device %u has no leg on port %u", ifindex, port);
	return shunt_devices_at(rig_devices, rig_leg(ifindex, port));
}

uint32_t rig_found(unsigned port, unsigned vid)
{
	return shunt_device_number(
		shunt_devices_find(rig_devices, shunt_device_key(port, vid, SHUNT_DEVICE_NO_TAG)));
}

const char *rig_members(uint32_t ifindex)
{
	static char text[SHUNT_DEVICE_MEMBERS_MAX + 1];
	const struct shunt_device *device;
	unsigned port, cnt = 0;

	if (!rig_number(ifindex)) {
		for (port = 0; port < PORT_CNT; port++)
			cr_expect_eq(rig_leg(ifindex, port), 0, "a leg of nothing");
		return "-";
	}
	device = rig_device(ifindex);
	for (port = 0; port < PORT_CNT; port++)
		if (rig_leg(ifindex, port))
			text[cnt++] = "0123456789abcdef"[port];
	text[cnt] = '\0';
	cr_expect_eq(cnt, device->member_cnt, "%u legs of %u members", cnt, device->member_cnt);
	return text;
}

enum shunt_above_state rig_state_of(uint32_t ifindex)
{
	struct shunt_device device;

	return shunt_mirror_above_look(&rig_fib.aboves, ifindex, &device);
}
