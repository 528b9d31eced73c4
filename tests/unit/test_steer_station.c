// SPDX-License-Identifier: BSD-2-Clause
/* Ports of mode route that belong to a bridge of the kernel's: a sender must be known to the bridge
 * behind that port. What is tagged is in test_steer_legs.c. */
#include <string.h>

#include <bpf/bpf.h>
#include <criterion/criterion.h>

#include "fib/mac.h"
#include "xdp/macs.h"
#include "steer/steer.h"
#include "steer_rig.h"

#define IN     2u /* the port's own number */
#define OUT    5u
#define BRIDGE 3u /* from 0 */

static struct steer_rig rig;
static struct steer_rig_macs macs;

static void start(uint32_t lane)
{
	steer_rig_start(&rig, SHUNT_STEER_MODE_LAYER3);
	rig.half->lane = lane;
	rig.half->out_port = rig.half->in_port = IN;
	rig.half->bridge = BRIDGE + 1;
}

static void stop(void)
{
	steer_rig_macs_close(&macs);
	steer_rig_fini(&rig);
}

static uint64_t sender(unsigned bridge, unsigned vid)
{
	return shunt_mac_key((const uint8_t *)FRAME_PEER_MAC, shunt_mac_group(bridge, vid));
}

#define EXPECT(f, reason) steer_expect(&rig, __FILE__, __LINE__, f, SHUNT_STEER_##reason)

Test(steer_station, a_station_must_be_known)
{
	struct frame f4, f6;

	start(SHUNT_LANE_USER);
	frame_good4(&f4);
	frame_good6(&f6);
	EXPECT(&f4, STATION); /* the program has no table yet */
	steer_rig_macs_open(&rig, &macs, IN);
	cr_expect(shunt_steer_quick_of(rig.half, 0) & SHUNT_STEER_QUICK_STATION,
		  "both ways are gone");
	EXPECT(&f4, STATION);
	EXPECT(&f6, STATION);
	shunt_mac_learn(macs.table, sender(BRIDGE, 0), IN);
	EXPECT(&f4, FORWARD4);
	EXPECT(&f6, FORWARD6);
	shunt_mac_learn(macs.table, sender(BRIDGE, 0), OUT); /* it has moved */
	EXPECT(&f4, STATION);
	shunt_mac_set(macs.table, sender(BRIDGE, 0), OUT, false); /* as others do */
	EXPECT(&f4, STATION);
	shunt_mac_set(macs.table, sender(BRIDGE, 0), OUT, true); /* it stays, whoever is heard */
	EXPECT(&f4, FORWARD4);
	shunt_mac_del(macs.table, sender(BRIDGE, 0));
	shunt_mac_learn(macs.table, sender(BRIDGE - 1, 0), IN); /* another bridge's */
	EXPECT(&f4, STATION);
	rig.half->bridge = 0;
	EXPECT(&f4, FORWARD4);
	cr_expect_neq(shunt_steer_quick_of(rig.half, 0), 0);
	stop();
}

Test(steer_station, the_port_may_forward)
{
	struct frame f;

	start(SHUNT_LANE_USER);
	steer_rig_macs_open(&rig, &macs, IN);
	frame_good4(&f);
	shunt_mac_learn(macs.table, sender(BRIDGE, 0), IN);
	macs.shared->bridge->forwarding = ~(1ULL << IN);
	steer_rig_forget(&rig);
	EXPECT(&f, STATION);
	macs.shared->bridge->forwarding = 1ULL << IN;
	steer_rig_forget(&rig);
	macs.shared->bridge->kernels = 1ULL << IN;
	steer_rig_forget(&rig);
	EXPECT(&f, STATION);
	macs.shared->bridge->kernels = ~(1ULL << IN);
	steer_rig_forget(&rig);
	EXPECT(&f, FORWARD4);
	macs.shared->bridge->learning = 0; /* there is nothing to hear */
	shunt_mac_learn(macs.table, sender(BRIDGE, 0), OUT);
	EXPECT(&f, FORWARD4);
	shunt_mac_del(macs.table, sender(BRIDGE, 0));
	EXPECT(&f, FORWARD4);
	macs.shared->bridge->kernels = 1ULL << IN;
	steer_rig_forget(&rig);
	EXPECT(&f, STATION);
	stop();
}

Test(steer_station, sources_that_are_no_stations)
{
	struct frame f;

	start(SHUNT_LANE_USER);
	steer_rig_macs_open(&rig, &macs, IN);
	macs.shared->bridge->learning = 0;
	steer_rig_forget(&rig);
	frame_good4(&f);
	EXPECT(&f, FORWARD4);
	f.data[6] |= 1; /* a group */
	EXPECT(&f, STATION);
	memset(f.data + 6, 0xff, 6);
	EXPECT(&f, STATION);
	memset(f.data + 6, 0, 6);
	EXPECT(&f, STATION);
	f.data[11] = 1;
	EXPECT(&f, FORWARD4);
	stop();
}

/* What is not sent to the bridge is bridged, where the port says so and the sender is known. */
Test(steer_station, what_is_bridged)
{
	static const uint8_t port_mac[6] = {2, 0, 0, 0, 7, 7};
	struct frame f, group, own, tagged;
	uint64_t word = 0;

	start(SHUNT_LANE_USER);
	steer_rig_macs_open(&rig, &macs, IN);
	frame_good4(&f);
	memcpy(f.data, FRAME_THIRD_MAC, 6);
	group = own = tagged = f;
	group.data[0] |= 1;
	memcpy(own.data, port_mac, 6);
	tagged.data[12] = 0x81;
	tagged.data[13] = 0;
	EXPECT(&f, OTHER_MAC);
	rig.half->switches = SHUNT_STEER_SWITCHES_ALL;
	memcpy(&word, port_mac, 6);
	rig.half->mac2_word = shunt_steer_mac_word(word);
	EXPECT(&f, STATION);
	shunt_mac_learn(macs.table, sender(BRIDGE, 0), IN);
	EXPECT(&f, BRIDGED);
	EXPECT(&tagged, BRIDGED);
	EXPECT(&group, MULTICAST);
	EXPECT(&own, OWN_MAC);
	rig.half->switches = SHUNT_STEER_SWITCHES_UNTAGGED;
	rig.ctl->tables.flags |= SHUNT_TABLES_ABOVE;
	EXPECT(&f, BRIDGED);
	EXPECT(&tagged, OTHER_MAC); /* of a VLAN device, it is not routed */
	stop();
}

/* What is the kernel's for a reason of its own is so for that, and a rule asks nobody. */
Test(steer_station, other_reasons)
{
	static const char *const rules[] = {"lane user proto udp", "lane auto"};
	struct frame f;

	start(SHUNT_LANE_USER);
	steer_rig_macs_open(&rig, &macs, IN);
	frame_arp(&f, FRAME_OWN_MAC, "192.0.2.1");
	EXPECT(&f, ARP);
	frame_good4(&f);
	memcpy(f.data, FRAME_THIRD_MAC, 6);
	EXPECT(&f, OTHER_MAC);
	frame_good4(&f);
	f.data[22] = 1;
	EXPECT(&f, TTL);
	frame_good4(&f);
	steer_rig_rules(&rig, rules, 2, NULL);
	EXPECT(&f, RULE_USER);
	f.data[23] = 6;
	EXPECT(&f, STATION);
	stop();
}

Test(steer_station, who_is_heard_does_not_age)
{
	struct shunt_mac_entry entry;
	struct frame f;

	start(SHUNT_LANE_USER);
	steer_rig_macs_open(&rig, &macs, IN);
	frame_good4(&f);
	shunt_mac_learn(macs.table, sender(BRIDGE, 0), IN);
	for (unsigned i = 0; i < 2 * SHUNT_MAC_AGE_TICKS; i++) {
		shunt_mac_age(macs.table, NULL, NULL);
		macs.shared->bridge->tick = macs.table->tick;
		steer_rig_forget(&rig);
		cr_assert_eq(steer_rig_run(&rig, f.data, f.len), SHUNT_STEER_FORWARD4);
	}
	cr_expect_eq(shunt_mac_get(macs.table, sender(BRIDGE, 0), &entry), 0);
	cr_expect_eq(entry.age_ticks, 0);
	stop();
}

Test(steer_station, of_the_vlan_that_is_untagged_there)
{
	struct frame f;

	start(SHUNT_LANE_USER);
	steer_rig_macs_open(&rig, &macs, IN);
	frame_good4(&f);
	rig.ctl->tables.vlan = SHUNT_TABLES_VLANS | 100;
	shunt_mac_learn(macs.table, sender(BRIDGE, 0), IN);
	shunt_mac_learn(macs.table, sender(BRIDGE, 101), IN);
	shunt_mac_learn(macs.table, sender(BRIDGE + 1, 100), IN);
	EXPECT(&f, STATION);
	shunt_mac_learn(macs.table, sender(BRIDGE, 100), OUT);
	EXPECT(&f, STATION);
	shunt_mac_learn(macs.table, sender(BRIDGE, 100), IN);
	EXPECT(&f, FORWARD4);
	rig.ctl->tables.vlan = SHUNT_TABLES_VLANS; /* none is */
	EXPECT(&f, STATION);
	rig.ctl->tables.vlan = SHUNT_TABLES_VLANS | 4094;
	EXPECT(&f, STATION);
	shunt_mac_learn(macs.table, sender(BRIDGE, 4094), IN);
	EXPECT(&f, FORWARD4);
	rig.half->bridge = SHUNT_MAC_VLAN_BRIDGES; /* the last that has VLANs */
	EXPECT(&f, STATION);
	shunt_mac_learn(macs.table, sender(SHUNT_MAC_VLAN_BRIDGES - 1, 4094), IN);
	EXPECT(&f, FORWARD4);
	stop();
}
