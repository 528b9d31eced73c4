// SPDX-License-Identifier: BSD-2-Clause
/* A bridge that filters VLANs, as the kernel tells of it: by which VLAN packets of the bridge and
 * of VLAN devices above it come and leave, on which ports, and with which tags. At first the bridge
 * and its ports have VLAN 1, untagged. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <linux/if_ether.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "bridge_rig.h"
#include "mirror/bridge.h"
#include "shunt_tables.h"

#define STATION 9u
#define VID	100u
#define BARE	BRIDGE_VLAN_INFO_UNTAGGED
#define PVID	(BRIDGE_VLAN_INFO_PVID | BRIDGE_VLAN_INFO_UNTAGGED)

static void start(void)
{
	rig_bridge_start(true);
}

TestSuite(mirror_bridge_vlan, .init = start, .fini = rig_bridge_stop);

static void has_vlan(uint32_t ifindex, unsigned vid, uint16_t flags)
{
	rig_vlans(RTM_NEWVLAN, ifindex, vid, vid, flags);
}

static void has_no_vlan(uint32_t ifindex, unsigned vid)
{
	rig_vlans(RTM_DELVLAN, ifindex, vid, vid, 0);
}

static void put_vlan_device(void)
{
	const struct shunt_mirror_link_info vlan = rig_vlan(VLAN_DEVICE, BRIDGE, ETH_P_8021Q, VID);

	rig_put(&vlan);
}

/* The VLAN device, whose VLAN is tagged everywhere. */
static void start_tagged(void)
{
	put_vlan_device();
	has_vlan(BRIDGE, VID, 0);
	has_vlan(P0, VID, 0);
	has_vlan(P1, VID, 0);
	cr_assert_str_eq(rig_members(VLAN_DEVICE), "01");
}

static bool has_tag(const struct shunt_device *device, unsigned vid)
{
	return device->tag_cnt == 1 && device->tags[0].type_be == htons(ETH_P_8021Q) &&
	       device->tags[0].tci_be == htons((uint16_t)vid);
}

static bool is_bare(const struct shunt_device *leg)
{
	return !leg->tag_cnt && !leg->tags[0].type_be && !leg->tags[0].tci_be && !leg->pcps[0];
}

/* --- the bridge ------------------------------------------------------------------------------- */

Test(mirror_bridge_vlan, the_bridge_by_its_pvid)
{
	const struct shunt_adj *way;
	unsigned i;

	cr_expect_str_eq(rig_members(BRIDGE), "01");
	cr_expect(has_tag(rig_device(BRIDGE), 1));
	for (i = 0; i < 2; i++) {
		cr_expect(is_bare(rig_leg_at(BRIDGE, i)));
		cr_expect_eq(rig_leg_at(BRIDGE, i)->base, rig_number(BRIDGE));
		cr_expect_eq(rig_found(i, 1), rig_number(BRIDGE), "what comes tagged");
	}
	rig_neighbour(BRIDGE, 2, STATION);
	way = rig_adj_make(BRIDGE, 2);
	rig_station(RTM_NEWNEIGH, STATION, P0, 0); /* as for an address of the host */
	STAYS(way);
	rig_station(RTM_NEWNEIGH, STATION, P1, 2);
	STAYS(way);
	rig_station(RTM_NEWNEIGH, STATION, P0, 1);
	GOES(way, BRIDGE, 0);
	rig_station(RTM_NEWNEIGH, STATION, P1, 1);
	GOES(way, BRIDGE, 1);
	rig_station(RTM_NEWNEIGH, STATION, P0, 2); /* in another VLAN it is another */
	rig_station(RTM_DELNEIGH, STATION, P0, 2);
	GOES(way, BRIDGE, 1);
	rig_station(RTM_DELNEIGH, STATION, P1, 1);
	STAYS(way);
}

Test(mirror_bridge_vlan, tagged_on_a_port)
{
	has_vlan(P0, 1, 0);
	cr_expect(has_tag(rig_leg_at(BRIDGE, 0), 1));
	cr_expect(is_bare(rig_leg_at(BRIDGE, 1)));
	has_vlan(P0, 1, BARE);
	cr_expect(is_bare(rig_leg_at(BRIDGE, 0)));
}

/* What the bridge itself gets of a VLAN has a tag where it is not told to take it off. */
Test(mirror_bridge_vlan, the_bridge_without_a_plain_vlan)
{
	has_no_vlan(BRIDGE, 1);
	cr_expect_str_eq(rig_members(BRIDGE), "-");
	cr_expect_eq(rig_state_of(BRIDGE), SHUNT_ABOVE_filtering);
	has_vlan(BRIDGE, 1, BRIDGE_VLAN_INFO_PVID);
	cr_expect_eq(rig_state_of(BRIDGE), SHUNT_ABOVE_filtering);
	has_vlan(BRIDGE, 1, BARE);
	cr_expect_eq(rig_state_of(BRIDGE), SHUNT_ABOVE_filtering);
	has_vlan(BRIDGE, 1, PVID);
	cr_expect_str_eq(rig_members(BRIDGE), "01");
	rig_vlan_state(BRIDGE, 1, PVID, BR_STATE_BLOCKING);
	cr_expect_eq(rig_state_of(BRIDGE), SHUNT_ABOVE_filtering);
	cr_expect_str_eq(rig_members(BRIDGE), "-");
}

Test(mirror_bridge_vlan, filtering_goes_on_and_off)
{
	rig_bridge.bridge.filters_vlans = false;
	rig_put(&rig_bridge);
	cr_expect_str_eq(rig_members(BRIDGE), "01");
	cr_expect_eq(rig_device(BRIDGE)->tag_cnt, 0);
	cr_expect_eq(rig_found(0, 1), 0);
	rig_bridge.bridge.filters_vlans = true;
	rig_put(&rig_bridge);
	cr_expect(has_tag(rig_device(BRIDGE), 1));
	cr_expect_eq(rig_found(0, 1), rig_number(BRIDGE));
}

/* br_vlan_notify is called for the new one alone: the one before it is a plain VLAN now. */
Test(mirror_bridge_vlan, another_pvid)
{
	const struct shunt_adj *way;

	rig_neighbour(BRIDGE, 2, STATION);
	way = rig_adj_make(BRIDGE, 2);
	rig_station(RTM_NEWNEIGH, STATION, P0, 1);
	GOES(way, BRIDGE, 0);
	has_vlan(P0, VID, PVID);
	has_vlan(BRIDGE, VID, PVID);
	cr_expect_str_eq(rig_members(BRIDGE), "0");
	cr_expect(has_tag(rig_device(BRIDGE), VID));
	cr_expect_eq(rig_found(0, 1), 0);
	cr_expect_eq(rig_found(0, VID), rig_number(BRIDGE));
	STAYS(way);
	rig_station(RTM_NEWNEIGH, STATION, P0, VID);
	GOES(way, BRIDGE, 0);
	has_vlan(BRIDGE, 1, PVID);
	cr_expect_str_eq(rig_members(BRIDGE), "01");
	cr_expect(has_tag(rig_device(BRIDGE), 1));
	GOES(way, BRIDGE, 0);
}

/* --- VLAN devices ----------------------------------------------------------------------------- */

Test(mirror_bridge_vlan, tagged_here_and_bare_there)
{
	const struct shunt_adj *way;

	start_tagged();
	has_vlan(P1, VID, PVID);
	cr_expect(has_tag(rig_device(VLAN_DEVICE), VID));
	cr_expect(has_tag(rig_leg_at(VLAN_DEVICE, 0), VID));
	cr_expect(is_bare(rig_leg_at(VLAN_DEVICE, 1)));
	cr_expect_eq(rig_found(0, VID), rig_number(VLAN_DEVICE));
	cr_expect_eq(rig_found(1, VID), rig_number(VLAN_DEVICE), "a tag is no harm");
	rig_neighbour(VLAN_DEVICE, 2, STATION);
	way = rig_adj_make(VLAN_DEVICE, 2);
	rig_station(RTM_NEWNEIGH, STATION, P0, 1);
	STAYS(way);
	rig_station(RTM_NEWNEIGH, STATION, P0, VID);
	GOES(way, VLAN_DEVICE, 0);
	rig_station(RTM_NEWNEIGH, STATION, P1, VID);
	GOES(way, VLAN_DEVICE, 1);
	has_vlan(P1, VID, 0);
	cr_expect(has_tag(rig_leg_at(VLAN_DEVICE, 1), VID));
	GOES(way, VLAN_DEVICE, 1);
}

Test(mirror_bridge_vlan, missing_on_a_port)
{
	const struct shunt_adj *way;

	start_tagged();
	rig_neighbour(VLAN_DEVICE, 2, STATION);
	way = rig_adj_make(VLAN_DEVICE, 2);
	rig_station(RTM_NEWNEIGH, STATION, P1, VID);
	GOES(way, VLAN_DEVICE, 1);
	has_no_vlan(P1, VID);
	cr_expect_str_eq(rig_members(VLAN_DEVICE), "0");
	cr_expect_eq(rig_found(1, VID), 0);
	STAYS(way);
	cr_expect_str_eq(rig_members(BRIDGE), "01", "another VLAN");
	has_vlan(P1, VID, 0);
	GOES(way, VLAN_DEVICE, 1);
	has_no_vlan(P1, VID);
	has_no_vlan(P0, VID);
	cr_expect_str_eq(rig_members(VLAN_DEVICE), "-");
	cr_expect_eq(rig_state_of(VLAN_DEVICE), SHUNT_ABOVE_filtering);
}

/* The VLAN has a state on each port: one that may not forward is no member (br_vlan_state_allowed).
 */
Test(mirror_bridge_vlan, state_of_a_vlan_on_a_port)
{
	static const uint8_t others[] = {BR_STATE_DISABLED, BR_STATE_LISTENING, BR_STATE_LEARNING,
					 BR_STATE_BLOCKING};
	const struct shunt_adj *way;
	unsigned i;

	start_tagged();
	rig_neighbour(VLAN_DEVICE, 2, STATION);
	way = rig_adj_make(VLAN_DEVICE, 2);
	rig_station(RTM_NEWNEIGH, STATION, P1, VID);
	for (i = 0; i < SHUNT_ARRAY_LEN(others); i++) {
		GOES(way, VLAN_DEVICE, 1);
		rig_vlan_state(P1, VID, 0, others[i]);
		cr_expect_str_eq(rig_members(VLAN_DEVICE), "0");
		cr_expect_str_eq(rig_members(BRIDGE), "01");
		STAYS(way);
		rig_vlan_state(P1, VID, 0, BR_STATE_FORWARDING);
	}
	rig_vlan_state(BRIDGE, VID, 0, BR_STATE_BLOCKING);
	cr_expect_eq(rig_state_of(VLAN_DEVICE), SHUNT_ABOVE_filtering);
}

Test(mirror_bridge_vlan, devices_that_only_the_bridge_knows)
{
	struct shunt_mirror_link_info other = rig_vlan(VLAN_DEVICE + 1, BRIDGE, ETH_P_8021AD, VID);
	struct shunt_mirror_link_info inner =
		rig_vlan(VLAN_DEVICE + 2, VLAN_DEVICE, ETH_P_8021Q, 31);

	put_vlan_device();
	cr_expect_eq(rig_state_of(VLAN_DEVICE), SHUNT_ABOVE_filtering, "nobody has it");
	has_vlan(P0, VID, 0);
	cr_expect_eq(rig_state_of(VLAN_DEVICE), SHUNT_ABOVE_filtering, "the bridge has not");
	has_vlan(BRIDGE, VID, BARE);
	cr_expect_eq(rig_state_of(VLAN_DEVICE), SHUNT_ABOVE_filtering, "it comes untagged");
	has_vlan(BRIDGE, VID, 0);
	cr_expect_str_eq(rig_members(VLAN_DEVICE), "0");
	rig_put(&other);
	cr_expect_eq(rig_state_of(VLAN_DEVICE + 1), SHUNT_ABOVE_filtering, "another tag");
	rig_put(&inner);
	cr_expect_eq(rig_state_of(VLAN_DEVICE + 2), SHUNT_ABOVE_filtering, "two tags");
	rig_bridge.bridge.vlan_type_be = htons(ETH_P_8021AD);
	rig_put(&rig_bridge);
	cr_expect_eq(rig_state_of(VLAN_DEVICE), SHUNT_ABOVE_filtering);
	cr_expect_str_eq(rig_members(VLAN_DEVICE + 1), "0");
	cr_expect_eq(rig_device(VLAN_DEVICE + 1)->tags[0].type_be, htons(ETH_P_8021AD));
	cr_expect_eq(rig_device(BRIDGE)->tags[0].type_be, htons(ETH_P_8021AD));
}

Test(mirror_bridge_vlan, runs_of_vlans)
{
	put_vlan_device();
	rig_vlans(RTM_NEWVLAN, BRIDGE, 2, 4094, 0);
	rig_vlans(RTM_NEWVLAN, P0, VID, VID + 1, 0);
	rig_vlans(RTM_NEWVLAN, P1, VID - 5, VID, BARE);
	cr_expect_str_eq(rig_members(VLAN_DEVICE), "01");
	cr_expect(is_bare(rig_leg_at(VLAN_DEVICE, 1)));
	cr_expect_not_null(shunt_mirror_bridge_vlan_get(&rig_table, P1, VID - 5));
	cr_expect_null(shunt_mirror_bridge_vlan_get(&rig_table, P1, VID - 6));
	cr_expect_null(shunt_mirror_bridge_vlan_get(&rig_table, P1, VID + 1));
	rig_vlans(RTM_DELVLAN, P1, VID, VID + 9, 0);
	cr_expect_str_eq(rig_members(VLAN_DEVICE), "0");
	cr_expect_not_null(shunt_mirror_bridge_vlan_get(&rig_table, P1, VID - 1));
	rig_vlans(RTM_DELVLAN, BRIDGE, 2, 4094, 0);
	cr_expect_eq(rig_state_of(VLAN_DEVICE), SHUNT_ABOVE_filtering);
}

/* nbp_vlan_flush: what a port had in one bridge it does not have in another. */
Test(mirror_bridge_vlan, a_port_that_leaves_and_comes_back)
{
	struct shunt_mirror_link_info port = rig_ports[1];

	start_tagged();
	port.master = 0;
	rig_put(&port);
	cr_expect_str_eq(rig_members(VLAN_DEVICE), "0");
	cr_expect_str_eq(rig_members(BRIDGE), "0");
	cr_expect_null(shunt_mirror_bridge_pvid(&rig_table, P1));
	rig_put(&rig_ports[1]);
	cr_expect_str_eq(rig_members(VLAN_DEVICE), "0", "it has no VLAN yet");
	cr_expect_str_eq(rig_members(BRIDGE), "0");
	has_vlan(P1, 1, PVID);
	cr_expect_str_eq(rig_members(BRIDGE), "01");
	shunt_mirror_link_del(&rig_table, P0);
	rig_put(&rig_ports[0]);
	cr_expect_null(shunt_mirror_bridge_vlan_get(&rig_table, P0, VID));
	cr_expect_str_eq(rig_members(VLAN_DEVICE), "-");
	cr_expect_str_eq(rig_members(BRIDGE), "1");
}

/* What a dump does not tell of is no more. */
Test(mirror_bridge_vlan, sweep)
{
	start_tagged();
	shunt_mirror_table_mark(&rig_table);
	has_no_vlan(P0, 1);
	has_vlan(P0, 1, PVID);
	cr_expect_eq(shunt_mirror_table_sweep(&rig_table, &rig_table.bridge_vlans, 0), 5);
	cr_expect_str_eq(rig_members(VLAN_DEVICE), "-");
	cr_expect_str_eq(rig_members(BRIDGE), "-", "it has no VLAN itself");
	has_vlan(BRIDGE, 1, PVID);
	cr_expect_str_eq(rig_members(BRIDGE), "0");
}

/* --- what comes untagged ---------------------------------------------------------------------- */

static void expect_untagged(uint32_t ifindex, uint32_t vlan, int line)
{
	uint32_t got_vlan = 77;
	const uint32_t got =
		shunt_mirror_bridge_untagged(&rig_table, shunt_mirror_link_get(&rig_table, P0),
					     shunt_mirror_link_get(&rig_table, BRIDGE), &got_vlan);

	cr_expect_eq(got, ifindex, "line %d: device %u", line, got);
	cr_expect_eq(got_vlan, vlan, "line %d: %#x", line, got_vlan);
}

#define UNTAGGED(ifindex, vlan) expect_untagged(ifindex, vlan, __LINE__)
#define VLANS			SHUNT_TABLES_VLANS

Test(mirror_bridge_vlan, untagged)
{
	UNTAGGED(BRIDGE, VLANS | 1);
	has_vlan(P0, 1, BRIDGE_VLAN_INFO_PVID); /* how it leaves does not matter */
	UNTAGGED(BRIDGE, VLANS | 1);
	has_vlan(P0, 1, BARE);
	UNTAGGED(0, VLANS);
	has_no_vlan(P0, 1);
	UNTAGGED(0, VLANS);
	rig_vlan_state(P0, 1, PVID, BR_STATE_LEARNING);
	UNTAGGED(0, VLANS);
	has_vlan(P0, 1, PVID);
	UNTAGGED(BRIDGE, VLANS | 1);
	has_no_vlan(BRIDGE, 1);
	UNTAGGED(0, VLANS | 1);
	rig_vlan_state(BRIDGE, 1, PVID, BR_STATE_BLOCKING);
	UNTAGGED(0, VLANS | 1);
	has_vlan(BRIDGE, 1, BARE); /* the bridge gets it, whatever leaves it untagged */
	UNTAGGED(BRIDGE, VLANS | 1);
	rig_bridge.bridge.filters_vlans = false;
	rig_put(&rig_bridge);
	UNTAGGED(BRIDGE, 0);
}

Test(mirror_bridge_vlan, untagged_by_a_vlan_device)
{
	struct shunt_mirror_link_info vlan;

	has_vlan(P0, VID, PVID);
	UNTAGGED(0, VLANS | VID);
	has_vlan(BRIDGE, VID, 0);
	UNTAGGED(0, VLANS | VID);
	put_vlan_device();
	UNTAGGED(VLAN_DEVICE, VLANS | VID);
	vlan = rig_vlan(VLAN_DEVICE, BRIDGE, ETH_P_8021AD, VID);
	rig_put(&vlan);
	UNTAGGED(0, VLANS | VID);
	vlan = rig_vlan(VLAN_DEVICE, P1, ETH_P_8021Q, VID);
	rig_put(&vlan);
	UNTAGGED(0, VLANS | VID);
	vlan = rig_vlan(VLAN_DEVICE, BRIDGE, ETH_P_8021Q, VID + 1);
	rig_put(&vlan);
	UNTAGGED(0, VLANS | VID);
	put_vlan_device();
	has_no_vlan(P0, VID);
	UNTAGGED(0, VLANS);
	has_vlan(P0, 1, PVID);
	UNTAGGED(BRIDGE, VLANS | 1);
}
