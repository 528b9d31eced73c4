// SPDX-License-Identifier: BSD-2-Clause
#include "bridge/vlans.h"

#include <linux/if_bridge.h>

static uint64_t with_bit(uint64_t word, unsigned bit, bool on)
{
	return on ? word | 1ULL << bit : word & ~(1ULL << bit);
}

/* Readers never see a port that is to leave tagged as one that leaves bare, nor the other way. */
static void tell_vlan(struct shunt_bridge_vlans *vlans, unsigned port, unsigned vid, bool is_told)
{
	const struct shunt_steer_vlan *known = &vlans->known[vid];
	struct shunt_steer_vlan *told = &vlans->told->at[vid];
	const uint64_t others = with_bit(told->members, port, false);
	const uint64_t bare = with_bit(told->bare, port, known->bare >> port & 1);
	const bool is_member = is_told && known->members >> port & 1;

	if (bare != told->bare) {
		__atomic_store_n(&told->members, others, __ATOMIC_RELEASE);
		__atomic_store_n(&told->bare, bare, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&told->members, with_bit(others, port, is_member), __ATOMIC_RELEASE);
}

/* The kernel tells of the VLAN that is a port's PVID now, not of the one that was. */
static void set_pvid(struct shunt_bridge_vlans *vlans, unsigned port, unsigned vid, bool is_pvid)
{
	uint16_t *pvid = &vlans->told->pvids[port];

	if (is_pvid || *pvid == vid)
		__atomic_store_n(pvid, is_pvid ? (uint16_t)vid : 0, __ATOMIC_RELAXED);
}

void shunt_bridge_vlans_put(struct shunt_bridge_vlans *vlans, unsigned port,
			    const struct shunt_brvlan *first, unsigned last, bool are_gone,
			    bool is_told)
{
	const bool forwards = !are_gone && first->state == BR_STATE_FORWARDING;
	unsigned vid;

	for (vid = first->vid; vlans->told && vid <= last; vid++) {
		struct shunt_steer_vlan *known = &vlans->known[vid];

		known->members = with_bit(known->members, port, forwards);
		known->bare = with_bit(known->bare, port, first->is_bare);
		tell_vlan(vlans, port, vid, is_told);
		set_pvid(vlans, port, vid, !are_gone && first->is_pvid);
	}
}

void shunt_bridge_vlans_forget(struct shunt_bridge_vlans *vlans, unsigned port)
{
	const struct shunt_brvlan first = {.vid = 1};

	shunt_bridge_vlans_put(vlans, port, &first, SHUNT_BRVLAN_IDS - 1, true, false);
}

void shunt_bridge_vlans_tell(struct shunt_bridge_vlans *vlans, unsigned port, bool is_told)
{
	unsigned vid;

	for (vid = 1; vlans->told && vid < SHUNT_BRVLAN_IDS; vid++)
		tell_vlan(vlans, port, vid, is_told);
}
