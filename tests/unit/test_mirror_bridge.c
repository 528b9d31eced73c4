// SPDX-License-Identifier: BSD-2-Clause
/* A bridge as the kernel tells of it, to devices above ports: its legs, the one that leads to a
 * neighbour, and what follows when stations move and ports change. The bridge filters no VLANs;
 * test_mirror_bridge_vlan.c has one that does. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <linux/if.h>
#include <linux/if_ether.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "bridge_rig.h"
#include "mirror/bridge.h"

#define STATION 9u

static void start(void)
{
	rig_bridge_start(false);
}

TestSuite(mirror_bridge, .init = start, .fini = rig_bridge_stop);

/* --- devices and legs ------------------------------------------------------------------------- */

static unsigned word_cnt(void)
{
	unsigned port, cnt = 0;

	for (port = 0; port < SHUNT_DEVICE_PORTS; port++)
		cnt += rig_devices->cnts[port];
	return cnt;
}

Test(mirror_bridge, a_leg_each_member)
{
	const struct shunt_device *device = rig_device(BRIDGE), *leg;
	unsigned i;

	cr_expect_str_eq(rig_members(BRIDGE), "01");
	cr_expect(device->policy == SHUNT_DEVICE_BY_STATION && !device->tag_cnt &&
		  device->ifindex == BRIDGE && device->mtu_max == 1500);
	cr_expect_eq(device->base, rig_number(BRIDGE));
	cr_expect_not(shunt_device_is_port(device));
	for (i = 0; i < 2; i++) {
		leg = rig_leg_at(BRIDGE, i);
		cr_expect(leg->member_cnt == 1 && leg->members[0] == i && !leg->members[1]);
		cr_expect_eq(leg->base, rig_number(BRIDGE));
		cr_expect(leg->policy == 0 && leg->tag_cnt == 0 && leg->flags == 0 &&
			  leg->ifindex == BRIDGE && leg->mac[5] == 0xb0);
		cr_expect_neq(rig_leg(BRIDGE, i), rig_number(BRIDGE));
	}
	cr_expect_neq(rig_leg(BRIDGE, 0), rig_leg(BRIDGE, 1));
	cr_expect_eq(word_cnt(), 0, "nothing comes in by a tag");
}

/* The tag is that of the VLAN device, whatever the port. */
Test(mirror_bridge, vlan_devices)
{
	struct shunt_mirror_link_info vlan = rig_vlan(VLAN_DEVICE, BRIDGE, ETH_P_8021Q, 100);
	unsigned i;

	vlan.vlan.pcps = 0x50;
	rig_put(&vlan);
	cr_expect_str_eq(rig_members(VLAN_DEVICE), "01");
	for (i = 0; i < 2; i++) {
		const struct shunt_device *leg = rig_leg_at(VLAN_DEVICE, i);

		cr_expect_eq(rig_found(i, 100), rig_number(VLAN_DEVICE));
		cr_expect_eq(rig_devices->cnts[i], 1, "a leg has no word");
		cr_expect(leg->tag_cnt == 1 && leg->tags[0].tci_be == htons(100) &&
			  leg->tags[0].type_be == htons(ETH_P_8021Q) && leg->pcps[0] == 0x50);
		cr_expect(leg->base == rig_number(VLAN_DEVICE) && leg->mac[5] == 0xb1);
	}
	cr_expect_eq(rig_found(2, 100), 0);
	rig_ports[2].master = BRIDGE;
	rig_put(&rig_ports[2]);
	cr_expect_eq(rig_found(2, 100), rig_number(VLAN_DEVICE));
	rig_ports[0].master = 0;
	rig_put(&rig_ports[0]);
	cr_expect_eq(rig_found(0, 100), 0);
	cr_expect_str_eq(rig_members(VLAN_DEVICE), "12");
	shunt_mirror_link_del(&rig_table, VLAN_DEVICE);
	cr_expect_eq(word_cnt(), 0);
	cr_expect_str_eq(rig_members(VLAN_DEVICE), "-");
}

/* In both orders: the VLAN device may be told of first. */
Test(mirror_bridge, vlan_device_above_a_vlan_device)
{
	struct shunt_mirror_link_info outer = rig_vlan(VLAN_DEVICE, BRIDGE, ETH_P_8021AD, 30);
	struct shunt_mirror_link_info inner =
		rig_vlan(VLAN_DEVICE + 1, VLAN_DEVICE, ETH_P_8021Q, 31);
	const struct shunt_device *leg;

	rig_put(&inner);
	cr_expect_str_eq(rig_members(VLAN_DEVICE + 1), "-");
	rig_put(&outer);
	cr_expect_str_eq(rig_members(VLAN_DEVICE + 1), "01");
	leg = rig_leg_at(VLAN_DEVICE + 1, 1);
	cr_expect(leg->tag_cnt == 2 && leg->tags[0].tci_be == htons(30) &&
		  leg->tags[1].tci_be == htons(31));
	cr_expect_eq(shunt_device_number(
			     shunt_devices_find(rig_devices, shunt_device_key(1, 0x1000 | 30, 31))),
		     rig_number(VLAN_DEVICE + 1));
	outer.flags = 0;
	rig_put(&outer);
	cr_expect_str_eq(rig_members(VLAN_DEVICE + 1), "-");
}

/* As it is with that; and as before without. */
#define WITH(info, field, value, members)                            \
	do {                                                         \
		struct shunt_mirror_link_info changed = info;        \
		changed.field = value;                               \
		rig_put(&changed);                                   \
		cr_expect_str_eq(rig_members(BRIDGE), members);      \
		cr_expect_str_eq(rig_members(VLAN_DEVICE), members); \
		rig_put(&(info));                                    \
		cr_expect_str_eq(rig_members(BRIDGE), "01", #field); \
		cr_expect_str_eq(rig_members(VLAN_DEVICE), "01");    \
	} while (0)

Test(mirror_bridge, members)
{
	const struct shunt_mirror_link_info vlan = rig_vlan(VLAN_DEVICE, BRIDGE, ETH_P_8021Q, 100);

	rig_put(&vlan);
	WITH(rig_ports[0], master, 0, "1");
	WITH(rig_ports[1], master, 77, "0");
	WITH(rig_ports[0], flags, 0, "01"); /* adjacencies see to that */
	WITH(rig_ports[0], bridged.state, BR_STATE_BLOCKING, "01");
	WITH(rig_ports[5], master, BRIDGE, "015");
	WITH(rig_bridge, flags, 0, "-");
	WITH(rig_bridge, xdp, 1, "-");
	WITH(rig_bridge, kind[0], 'B', "-");
	shunt_mirror_link_del(&rig_table, P0);
	cr_expect_str_eq(rig_members(BRIDGE), "1");
	cr_expect_eq(rig_state_of(BRIDGE), SHUNT_ABOVE_followed);
	shunt_mirror_link_del(&rig_table, P1);
	cr_expect_str_eq(rig_members(BRIDGE), "-");
	cr_expect_str_eq(rig_members(VLAN_DEVICE), "-");
	cr_expect_eq(rig_state_of(BRIDGE), SHUNT_ABOVE_elsewhere, "a stranger alone");
	rig_put(&rig_ports[1]);
	cr_expect_str_eq(rig_members(BRIDGE), "1");
	shunt_mirror_link_del(&rig_table, BRIDGE);
	cr_expect_str_eq(rig_members(BRIDGE), "-");
	cr_expect_str_eq(rig_members(VLAN_DEVICE), "-");
}

Test(mirror_bridge, states)
{
	struct shunt_mirror_link_info bridge = rig_bridge;
	unsigned i;

	cr_expect_eq(rig_state_of(BRIDGE), SHUNT_ABOVE_followed);
	bridge.xdp = 1;
	rig_put(&bridge);
	cr_expect_eq(rig_state_of(BRIDGE), SHUNT_ABOVE_program);
	bridge.flags = 0;
	rig_put(&bridge);
	cr_expect_eq(rig_state_of(BRIDGE), SHUNT_ABOVE_down);
	rig_put(&rig_bridge);
	bridge = rig_bridge;
	bridge.master = 77;
	rig_put(&bridge);
	cr_expect_eq(rig_state_of(BRIDGE), SHUNT_ABOVE_member);
	rig_put(&rig_bridge);
	for (i = 0; i <= SHUNT_DEVICE_MEMBERS_MAX; i++) {
		rig_ports[i].master = BRIDGE;
		rig_put(&rig_ports[i]);
	}
	cr_expect_eq(rig_state_of(BRIDGE), SHUNT_ABOVE_no_room);
	cr_expect_str_eq(rig_members(BRIDGE), "-");
	rig_ports[3].master = 0;
	rig_put(&rig_ports[3]);
	cr_expect_eq(rig_state_of(BRIDGE), SHUNT_ABOVE_followed);
	cr_expect_str_eq(rig_members(BRIDGE), "012456789abcde");
}

Test(mirror_bridge, what_it_forwards_stays_while_it_changes)
{
	const uint32_t before = rig_number(BRIDGE);

	shunt_devices_set_flags(rig_devices, before, 3);
	rig_bridge.mac[5] = 7;
	rig_put(&rig_bridge);
	cr_expect_neq(rig_number(BRIDGE), before);
	cr_expect_eq(rig_device(BRIDGE)->flags, 3);
	cr_expect_eq(rig_leg_at(BRIDGE, 0)->flags, 0);
}

Test(mirror_bridge, mtu_of_a_leg)
{
	struct shunt_mirror_link_info outer = rig_vlan(VLAN_DEVICE, BRIDGE, ETH_P_8021AD, 30);
	struct shunt_mirror_link_info inner =
		rig_vlan(VLAN_DEVICE + 1, VLAN_DEVICE, ETH_P_8021Q, 31);

	rig_ports[1].mtu = 1400;
	rig_put(&rig_ports[1]);
	cr_expect_eq(rig_leg_at(BRIDGE, 0)->mtu_max, 1500);
	cr_expect_eq(rig_leg_at(BRIDGE, 1)->mtu_max, 1400);
	cr_expect_eq(rig_device(BRIDGE)->mtu_max, 1500);
	rig_put(&outer);
	rig_put(&inner);
	cr_expect_eq(rig_leg_at(VLAN_DEVICE, 0)->mtu_max, 1500, "a port takes one tag more");
	cr_expect_eq(rig_leg_at(VLAN_DEVICE, 1)->mtu_max, 1400);
	cr_expect_eq(rig_leg_at(VLAN_DEVICE + 1, 0)->mtu_max, 1496);
	cr_expect_eq(rig_leg_at(VLAN_DEVICE + 1, 1)->mtu_max, 1396);
	rig_bridge.mtu = 1300;
	rig_put(&rig_bridge);
	cr_expect_eq(rig_leg_at(BRIDGE, 0)->mtu_max, 1300);
	cr_expect_eq(rig_leg_at(BRIDGE, 1)->mtu_max, 1300);
}

/* --- neighbours ------------------------------------------------------------------------------- */

Test(mirror_bridge, neighbour_behind_a_port)
{
	const struct shunt_adj *way = rig_adj_make(BRIDGE, 2);

	cr_expect_eq(way->kind, SHUNT_ADJ_GLEAN, "the kernel looks for it");
	rig_neighbour(BRIDGE, 2, STATION);
	STAYS(way); /* the bridge floods */
	rig_station(RTM_NEWNEIGH, STATION + 1, P0, 0);
	STAYS(way);
	rig_station(RTM_NEWNEIGH, STATION, P0, 0);
	GOES(way, BRIDGE, 0);
	cr_expect(way->eth[5] == STATION && way->eth[11] == 0xb0 && way->mtu == 1500);
	rig_station(RTM_NEWNEIGH, STATION, P1, 0);
	GOES(way, BRIDGE, 1);
	rig_station(RTM_NEWNEIGH, STATION, STRANGER, 0);
	STAYS(way);
	rig_station(RTM_NEWNEIGH, STATION, BRIDGE, 0); /* the bridge's own */
	STAYS(way);
	rig_station(RTM_NEWNEIGH, STATION, P2, 0); /* no port of it, as it was a moment ago */
	STAYS(way);
	rig_station(RTM_NEWNEIGH, STATION, P0, 0);
	GOES(way, BRIDGE, 0);
	rig_station(RTM_DELNEIGH, STATION, P0, 0);
	STAYS(way);
}

Test(mirror_bridge, neighbour_that_is_known_before_it_is_asked_for)
{
	const struct shunt_adj *way, *other;

	rig_station(RTM_NEWNEIGH, STATION, P1, 0);
	rig_station(RTM_NEWNEIGH, STATION + 1, P0, 0);
	rig_neighbour(BRIDGE, 2, STATION);
	rig_neighbour(BRIDGE, 3, STATION + 1);
	way = rig_adj_make(BRIDGE, 2);
	other = rig_adj_make(BRIDGE, 3);
	GOES(way, BRIDGE, 1);
	GOES(other, BRIDGE, 0);
	rig_station(RTM_NEWNEIGH, STATION, P0, 0);
	GOES(way, BRIDGE, 0);
	rig_neighbour(BRIDGE, 3, STATION + 2); /* another address, which the bridge does not know */
	STAYS(other);
	rig_station(RTM_NEWNEIGH, STATION + 2, P1, 0);
	GOES(other, BRIDGE, 1);
}

Test(mirror_bridge, state_of_the_port)
{
	static const uint8_t others[] = {BR_STATE_DISABLED, BR_STATE_LISTENING, BR_STATE_LEARNING,
					 BR_STATE_BLOCKING};
	struct shunt_mirror_link_info port;
	const struct shunt_adj *way;
	unsigned i;

	rig_station(RTM_NEWNEIGH, STATION, P1, 0);
	rig_neighbour(BRIDGE, 2, STATION);
	way = rig_adj_make(BRIDGE, 2);
	for (i = 0; i < SHUNT_ARRAY_LEN(others); i++) {
		rig_state(P1, others[i]);
		STAYS(way);
		rig_state(P0, others[i]); /* another's does not matter */
		rig_state(P1, BR_STATE_FORWARDING);
		GOES(way, BRIDGE, 1);
		rig_state(P0, BR_STATE_FORWARDING);
	}
	cr_expect_str_eq(rig_members(BRIDGE), "01");
	port = rig_ports[1];
	port.flags = IFF_UP; /* no carrier: a backup port may have its frames */
	rig_put(&port);
	STAYS(way);
	port.flags = IFF_LOWER_UP;
	rig_put(&port);
	STAYS(way);
	rig_put(&rig_ports[1]);
	GOES(way, BRIDGE, 1);
	port = rig_ports[1];
	port.master = 0;
	rig_put(&port);
	STAYS(way);
	rig_put(&rig_ports[1]);
	GOES(way, BRIDGE, 1);
	port = rig_ports[0]; /* the legs have new numbers */
	port.master = 0;
	rig_put(&port);
	GOES(way, BRIDGE, 1);
	rig_bridge.mac[5] = 7;
	rig_put(&rig_bridge);
	GOES(way, BRIDGE, 1);
	cr_expect_eq(way->eth[11], 7);
}

Test(mirror_bridge, mtu_of_an_adjacency)
{
	const struct shunt_adj *way;

	rig_station(RTM_NEWNEIGH, STATION, P1, 0);
	rig_neighbour(BRIDGE, 2, STATION);
	way = rig_adj_make(BRIDGE, 2);
	rig_ports[1].mtu = 1400;
	rig_put(&rig_ports[1]);
	GOES(way, BRIDGE, 1);
	cr_expect_eq(way->mtu, 1400);
	rig_station(RTM_NEWNEIGH, STATION, P0, 0);
	GOES(way, BRIDGE, 0);
	cr_expect_eq(way->mtu, 1500);
}

Test(mirror_bridge, neighbour_of_a_vlan_device)
{
	struct shunt_mirror_link_info vlan = rig_vlan(VLAN_DEVICE, BRIDGE, ETH_P_8021Q, 100);
	const struct shunt_adj *way;

	rig_put(&vlan);
	rig_neighbour(VLAN_DEVICE, 2, STATION);
	way = rig_adj_make(VLAN_DEVICE, 2);
	STAYS(way);
	rig_station(RTM_NEWNEIGH, STATION, P0, 100); /* the bridge has no VLANs */
	STAYS(way);
	rig_station(RTM_NEWNEIGH, STATION, P0, 0);
	GOES(way, VLAN_DEVICE, 0);
	rig_station(RTM_NEWNEIGH, STATION, P1, 0);
	GOES(way, VLAN_DEVICE, 1);
	rig_state(P1, BR_STATE_BLOCKING);
	STAYS(way);
	rig_state(P1, BR_STATE_FORWARDING);
	GOES(way, VLAN_DEVICE, 1);
	rig_station(RTM_DELNEIGH, STATION, P1, 0);
	STAYS(way);
}

/* br_fdb_delete_by_port tells of each entry; a port that is unregistered takes them along. */
Test(mirror_bridge, a_port_that_is_gone)
{
	const struct shunt_adj *way;

	rig_station(RTM_NEWNEIGH, STATION, P1, 0);
	rig_neighbour(BRIDGE, 2, STATION);
	way = rig_adj_make(BRIDGE, 2);
	GOES(way, BRIDGE, 1);
	shunt_mirror_link_del(&rig_table, P1);
	STAYS(way);
	rig_put(&rig_ports[1]);
	STAYS(way);
	rig_station(RTM_NEWNEIGH, STATION, P1, 0);
	GOES(way, BRIDGE, 1);
	shunt_mirror_link_del(&rig_table, BRIDGE);
	STAYS(way);
}

/* The router looks at once whose the port's packets are (router/look.c). */
Test(mirror_bridge, a_port_that_comes_is_told_of)
{
	const uint32_t before = rig_fib.aboves.change_cnt;

	rig_ports[2].master = BRIDGE;
	rig_put(&rig_ports[2]);
	cr_expect_neq(rig_fib.aboves.change_cnt, before);
}

Test(mirror_bridge, bridge_of)
{
	struct shunt_mirror_link_info outer = rig_vlan(VLAN_DEVICE, BRIDGE, ETH_P_8021AD, 30);
	struct shunt_mirror_link_info inner =
		rig_vlan(VLAN_DEVICE + 1, VLAN_DEVICE, ETH_P_8021Q, 31);
	struct shunt_mirror_link_info third =
		rig_vlan(VLAN_DEVICE + 2, VLAN_DEVICE + 1, ETH_P_8021Q, 32);
	const struct shunt_mirror_link *bridge = shunt_mirror_link_get(&rig_table, BRIDGE);

	rig_put(&outer);
	rig_put(&inner);
	rig_put(&third);
	cr_expect_eq(shunt_mirror_bridge_of(&rig_table, BRIDGE), bridge);
	cr_expect_eq(shunt_mirror_bridge_of(&rig_table, VLAN_DEVICE), bridge);
	cr_expect_eq(shunt_mirror_bridge_of(&rig_table, VLAN_DEVICE + 1), bridge);
	cr_expect_null(shunt_mirror_bridge_of(&rig_table, VLAN_DEVICE + 2), "too deep");
	cr_expect_null(shunt_mirror_bridge_of(&rig_table, P0), "a port of it");
	cr_expect_null(shunt_mirror_bridge_of(&rig_table, 99), "nothing");
}

/* The kernel gives a frame to a VLAN device of the port itself before the bridge sees it. */
Test(mirror_bridge, a_tag_that_a_port_has_a_device_for)
{
	struct shunt_mirror_link_info above = rig_vlan(VLAN_DEVICE, BRIDGE, ETH_P_8021Q, 100);
	struct shunt_mirror_link_info own = rig_vlan(VLAN_DEVICE + 1, P1, ETH_P_8021Q, 100);

	rig_put(&above);
	cr_expect_eq(rig_found(1, 100), rig_number(VLAN_DEVICE));
	rig_put(&own);
	cr_expect_eq(rig_state_of(VLAN_DEVICE), SHUNT_ABOVE_shared);
	cr_expect_eq(rig_number(VLAN_DEVICE), 0);
	cr_expect(rig_number(VLAN_DEVICE + 1), "the tag is its own now");
	cr_expect_eq(rig_found(1, 100), rig_number(VLAN_DEVICE + 1));
	own.vlan.id = 101;
	rig_put(&own);
	cr_expect_eq(rig_found(1, 100), rig_number(VLAN_DEVICE), "given back");
	own.vlan.id = 100;
	own.flags = 0; /* the kernel drops what carries its tag */
	rig_put(&own);
	cr_expect_eq(rig_found(1, 100), 0);
	shunt_mirror_link_del(&rig_table, VLAN_DEVICE + 1);
	cr_expect_eq(rig_found(1, 100), rig_number(VLAN_DEVICE));
	own.flags = above.flags;
	rig_put(&own);
	cr_expect_eq(rig_found(1, 100), rig_number(VLAN_DEVICE + 1));
	shunt_mirror_link_del(&rig_table, VLAN_DEVICE + 1);
	cr_expect_eq(rig_found(1, 100), rig_number(VLAN_DEVICE));
}
