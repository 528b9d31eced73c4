// SPDX-License-Identifier: BSD-2-Clause
/* Two bridges of shunt's over two of the kernel's, with two ports each. Must hold: only ports have
 * bits, a station is behind the host or a port of its own bridge, the table counts what it has, and
 * nothing outlives a dump that does not tell of it.
 */
#include <string.h>

#include "bridge/fdb_take.h"
#include "bridge/follow.h"
#include "fuzz.h"
#include "netlink.h"

#define MACS_MAX 64
#define SEED	 0x66757a7aULL

static struct shunt_bridge bridge;
static struct shunt_steer_vlans vlans;
static struct shunt_port at[PORT_CNT];
static struct shunt_ports ports = {.at = at, .cnt = PORT_CNT};

void netlink_bridge_start(void)
{
	struct shunt_err err;
	unsigned i;

	memset(&bridge, 0, sizeof(bridge));
	memset(&vlans, 0, sizeof(vlans));
	bridge.vlans.told = &vlans;
	bridge.ports = &ports;
	bridge.epoll_fd = -1;
	bridge.bridge_cnt = BRIDGE_CNT;
	for (i = 0; i < PORT_CNT; i++) {
		at[i].index = i;
		at[i].netdev.ifindex = FIRST_PORT + i;
		at[i].xdp = (void *)&at[i]; /* a device's; not looked into */
		bridge.bridge_of[i] = (uint8_t)(i / BRIDGE_CNT);
		bridge.bridges[i / BRIDGE_CNT].members |= 1ULL << i;
	}
	for (i = 0; i < BRIDGE_CNT; i++) {
		bridge.bridges[i].ifindex = FIRST_BRIDGE + i;
		bridge.bridges[i].age_s = SHUNT_MAC_AGE_S_DEFAULT;
	}
	FUZZ_MUST(!shunt_mac_create(&bridge.macs, MACS_MAX, SEED, &err), "%s", err.msg);
}

void netlink_bridge_take(const struct nlmsghdr *nlh)
{
	shunt_fdb_take(nlh, &shunt_bridge_fdb_ops, &bridge);
}

static void check_masks(void)
{
	const uint64_t all = (1ULL << PORT_CNT) - 1;
	const struct shunt_bridge_masks *masks = &bridge.masks;

	FUZZ_MUST(
		!((masks->forwarding | masks->learning | masks->flooding | masks->kernels) & ~all),
		"a bit of no port is set");
	FUZZ_MUST(!(masks->untagged & ~masks->kernels), "tags are left to nobody");
	FUZZ_MUST(!(masks->foreign >> BRIDGE_CNT), "a bit of no bridge is set");
	FUZZ_MUST(bridge.foreign.cnt <= SHUNT_BRIDGE_DEVICES_MAX, "%u foreign ports",
		  bridge.foreign.cnt);
	FUZZ_MUST(bridge.age_s || !bridge.age_due_ns, "nothing ages");
}

static void check_vlans(void)
{
	unsigned i;

	FUZZ_MUST(!vlans.at[0].members && !vlans.at[SHUNT_BRVLAN_IDS].members,
		  "a port is a member of no VLAN's");
	for (i = 0; i < SHUNT_STEER_VLANS; i++)
		FUZZ_MUST(!((vlans.at[i].members | vlans.at[i].bare) >> PORT_CNT),
			  "VLAN %u: a bit of no port is set", i);
	for (i = 0; i < PORT_CNT; i++)
		FUZZ_MUST(vlans.pvids[i] < SHUNT_BRVLAN_IDS, "port %u has PVID %u", i,
			  vlans.pvids[i]);
}

static void check_stations(void)
{
	struct shunt_mac_counts counts;
	struct shunt_mac_entry entry;
	unsigned cnt = 0, of;
	uint64_t pos = 0;

	shunt_mac_counts(bridge.macs, &counts);
	while (shunt_mac_next(bridge.macs, &pos, &entry)) {
		of = shunt_mac_key_bridge(entry.key);
		FUZZ_MUST(of < BRIDGE_CNT, "a station of bridge %u", of);
		FUZZ_MUST(entry.port == SHUNT_MAC_HOST ||
				  (entry.port < PORT_CNT &&
				   bridge.bridges[of].members >> entry.port & 1),
			  "a station of bridge %u is behind port %u", of, entry.port);
		cnt++;
	}
	FUZZ_MUST(cnt == counts.entries && cnt <= MACS_MAX, "%u stations, %u counted", cnt,
		  counts.entries);
}

/* A dump that tells of nothing. */
static void check_sweep(void)
{
	struct shunt_mac_counts counts;

	shunt_bridge_fdb_ops.begin(&bridge);
	shunt_bridge_fdb_ops.end(&bridge);
	shunt_mac_counts(bridge.macs, &counts);
	FUZZ_MUST(!bridge.masks.forwarding && !bridge.masks.foreign && !counts.entries,
		  "what is no more is still known");
	FUZZ_MUST(bridge.masks.kernels == (1ULL << PORT_CNT) - 1, "a port of no bridge forwards");
}

void netlink_bridge_finish(void)
{
	check_masks();
	check_vlans();
	check_stations();
	check_sweep();
	shunt_mac_destroy(bridge.macs);
}
