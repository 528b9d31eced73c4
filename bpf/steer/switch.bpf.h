/* SPDX-License-Identifier: GPL-2.0-only */
/* Bridging in lane xdp: from a station that is known, to one that is known, between ports that may
 * forward. Everything else is the worker's: it learns, floods and drops with a reason, and the
 * table that it learns into is this one (shunt_steer_mac.h). And in either lane, what is routed for
 * a bridge: from a station that is known. */
#ifndef SHUNT_STEER_SWITCH_BPF_H
#define SHUNT_STEER_SWITCH_BPF_H

#include "steer/frame.bpf.h"
#include "steer/maps.bpf.h"

/* shunt_mac_hash */
static __always_inline __u64 mac_hash(__u64 key, __u64 factor)
{
	key ^= key >> 32;
	key *= factor;
	key ^= key >> 32;
	key *= factor;
	return key ^ key >> 32;
}

/* shunt_mac_key of bridge 0; that of another bridge has bridge_bits besides. */
static __always_inline __u64 mac_key(const __u8 *mac)
{
	return (__u64) * (const __u16 *)(mac + 4) << 32 | *(const __u32 *)mac;
}

/* number: the bridge's, from 1. */
static __always_inline __u64 bridge_bits(__u32 number)
{
	return (__u64)(number - 1) << SHUNT_STEER_MAC_BRIDGE_SHIFT;
}

/* The same of one that keeps its VLANs apart. */
static __always_inline __u64 vlan_bits(__u32 number, __u32 vid)
{
	return (__u64)(number << 12 | vid) << SHUNT_STEER_MAC_BRIDGE_SHIFT;
}

struct mac_hit {
	struct shunt_steer_mac_bucket *bucket;
	__u64 word; /* the slot's; 0: none */
	__u32 at;   /* the slot's number */
};

static __always_inline void mac_match(struct mac_hit *hit, void *macs, __u32 bucket, __u64 want)
{
	hit->bucket = bpf_map_lookup_elem(macs, &bucket);
	hit->word = 0;
	hit->at = 0;
	if (!hit->bucket)
		return;
#pragma clang loop unroll(full)
	for (int i = 0; i < SHUNT_STEER_MAC_SLOT_CNT; i++) {
		__u64 word = READ_ONCE(hit->bucket->slots[i]);

		if (word >> SHUNT_STEER_MAC_SAME_SHIFT == want >> SHUNT_STEER_MAC_SAME_SHIFT) {
			hit->word = word;
			hit->at = i;
			break;
		}
	}
	FORGET(hit->at, want);
}

/* shunt_mac_find */
static __always_inline void mac_find(struct mac_hit *hit, void *macs, __u64 hash)
{
	__u64 rest = hash & ((1ULL << SHUNT_STEER_MAC_REST_BITS) - 1);
	__u64 want = SHUNT_STEER_MAC_VALID | rest << SHUNT_STEER_MAC_REST_SHIFT;
	__u32 first = hash >> SHUNT_STEER_MAC_REST_BITS;

	mac_match(hit, macs, first, want);
	if (!hit->word)
		mac_match(hit, macs,
			  first ^ (rest * 0x9e3779b97f4a7c15ULL >> SHUNT_STEER_MAC_REST_BITS),
			  want | SHUNT_STEER_MAC_SECOND);
}

/* shunt_mac_heard: false where the worker has something to learn. */
static __always_inline bool mac_heard(void *macs, const struct shunt_steer_bridge *bridge,
				      __u64 key, __u32 port)
{
	__u8 tick = READ_ONCE(bridge->tick);
	struct mac_hit hit;

	mac_find(&hit, macs, mac_hash(key, bridge->factor));
	if (!hit.word || !hit.bucket)
		return false;
	if ((hit.word & SHUNT_STEER_MAC_PORT) != port + 1)
		return hit.word & SHUNT_STEER_MAC_STATIC;
	if (hit.bucket->seen[hit.at & 7] != tick)
		WRITE_ONCE(hit.bucket->seen[hit.at & 7], tick);
	return true;
}

/* Where a queue remembers a station, and what stands there if it does. */
struct memory {
	__u64 *last, word;
};

static __always_inline void memory_of(struct memory *memory, struct xdp_md *ctx, __u64 key)
{
	struct shunt_steer_slot *slot = slot_of(ctx->rx_queue_index);

	memory->last = &slot->heard[key >> 40 & (SHUNT_STEER_HEARD - 1)];
	memory->word = shunt_steer_heard_word(key, READ_ONCE(shunt_ctl.station_epoch));
}

/* mac_heard of a station that is mostly one that the queue heard before. */
static __always_inline bool heard_lately(struct xdp_md *ctx, void *macs,
					 const struct shunt_steer_bridge *bridge, __u64 key,
					 __u32 port)
{
	struct memory memory;

	memory_of(&memory, ctx, key);
	if (READ_ONCE(*memory.last) == memory.word)
		return true;
	if (!mac_heard(macs, bridge, key, port))
		return false;
	WRITE_ONCE(*memory.last, memory.word);
	return true;
}

/* A port's number, or: */
#define SWITCH_NONE 0xff /* none */
#define SWITCH_ALL  0xfe /* unknown, or a group: every other port of the bridge */

/* The bridges' state, and in *macs the table; NULL without either. */
static __always_inline const struct shunt_steer_bridge *bridges_of(void **macs)
{
	__u32 zero = 0, last = SHUNT_STEER_MAC_BUCKETS;

	*macs = bpf_map_lookup_elem(&shunt_macs, &zero);
	return *macs ? bpf_map_lookup_elem(*macs, &last) : NULL;
}

/* Whether a frame that came in on port `in` may be forwarded. What has a tag on a port with VLAN
 * devices may not: the kernel has them before its bridge. */
static __always_inline bool may_leave(const struct shunt_steer_bridge *bridge,
				      const struct eth *eth, __u64 forwarding, __u32 in)
{
	if (!(forwarding >> (in & 63) & 1))
		return false;
	if (READ_ONCE(bridge->untagged) >> (in & 63) & 1)
		return !is_tagged(eth);
	return !(READ_ONCE(bridge->kernels) >> (in & 63) & 1);
}

static __always_inline const struct shunt_steer_vlan *vlan_at(void *macs, __u32 vid)
{
	__u32 element = SHUNT_STEER_VLANS_ELEMENT + vid / SHUNT_STEER_VLANS_EACH;
	const struct shunt_steer_vlan *vlans = bpf_map_lookup_elem(macs, &element);

	return vlans ? &vlans[vid % SHUNT_STEER_VLANS_EACH] : NULL;
}

/* The VLAN of what comes untagged on a port; 0: none. */
static __always_inline __u32 pvid_of(void *macs, __u32 port)
{
	__u32 element = SHUNT_STEER_PVIDS_ELEMENT + (port & 63) / SHUNT_STEER_PVIDS_EACH;
	const __u16 *pvids = bpf_map_lookup_elem(macs, &element);

	return pvids ? READ_ONCE(pvids[port % SHUNT_STEER_PVIDS_EACH]) & 0xfff : 0;
}

/* Of a bridge that keeps VLANs apart: the VLAN that a frame is of, in *bits as vlan_bits has it,
 * and the ports by which it leaves in this VLAN as it came, tagged or not; 0: none. */
static __always_inline __u64 leave_alike(void *macs, const struct eth *eth, const void *end,
					 __u32 number, __u32 in, __u64 *bits)
{
	const __be16 *tci_be = &eth->type_be + 1;
	const struct shunt_steer_vlan *vlan;
	bool has_tag = eth->type_be == bpf_htons(ETH_P_8021Q);
	__u64 members;
	__u32 vid;

	if ((const void *)(tci_be + 1) > end)
		return 0;
	/* a priority alone gets a VLAN where it leaves, so of VLAN 0 nobody is a member */
	vid = has_tag ? bpf_ntohs(*tci_be) & 0xfff : pvid_of(macs, in);
	vlan = vlan_at(macs, vid);
	if (!vlan)
		return 0;
	members = READ_ONCE(vlan->members);
	if (!(members >> (in & 63) & 1))
		return 0;
	*bits = vlan_bits(number, vid);
	return members & (has_tag ? ~READ_ONCE(vlan->bare) : READ_ONCE(vlan->bare));
}

/* The port by which a frame leaves that came in on port `in`. number: the bridge's, from 1. */
__noinline __u32 switch_port(struct xdp_md *ctx, __u32 number, __u32 in)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const struct shunt_steer_bridge *bridge;
	const struct eth *eth = data;
	void *macs;
	__u64 src, forwarding, bits = bridge_bits(number);
	struct mac_hit hit;
	__u32 to;

	bridge = bridges_of(&macs);
	if (!bridge || (const void *)(eth + 1) > end)
		return SWITCH_NONE;
	src = mac_key(eth->src);
	if (!src || (eth->src[0] | eth->dst[0]) & 1)
		return SWITCH_NONE;
	forwarding = READ_ONCE(bridge->forwarding);
	if (!may_leave(bridge, eth, forwarding, in))
		return SWITCH_NONE;
	if (READ_ONCE(bridge->filters) >> (in & 63) & 1)
		forwarding &= leave_alike(macs, eth, end, number, in, &bits);
	if (!heard_lately(ctx, macs, bridge, src | bits, in))
		return SWITCH_NONE;
	mac_find(&hit, macs, mac_hash(mac_key(eth->dst) | bits, bridge->factor));
	to = (hit.word & SHUNT_STEER_MAC_PORT) - 1; /* without an entry: none too */
	if (to >= SHUNT_STEER_PORTS_MAX || to == in || !(forwarding >> to & 1))
		return SWITCH_NONE;
	return to;
}

/* The VLAN that a bridge takes a frame for, of those it keeps apart, as vlan_bits has it; else
 * bridge_bits. */
static __always_inline __u64 group_bits(const struct eth *eth, const void *end, __u32 number)
{
	const __u32 vlan = READ_ONCE(shunt_ctl.tables.vlan);
	const __be16 *tci_be = &eth->type_be + 1;

	if (!(vlan & SHUNT_TABLES_VLANS))
		return bridge_bits(number);
	if (is_tagged(eth) && (const void *)(tci_be + 1) <= end)
		return vlan_bits(number, bpf_ntohs(*tci_be) & 0xfff);
	return vlan_bits(number, vlan & 0xfff);
}

/* The port may forward, and the station is known behind it, or need not be. */
__noinline bool look_for_station(__u64 key, __u32 in)
{
	const struct shunt_steer_bridge *bridge;
	void *macs;

	bridge = bridges_of(&macs);
	if (!bridge ||
	    !((READ_ONCE(bridge->forwarding) & ~READ_ONCE(bridge->kernels)) >> (in & 63) & 1))
		return false;
	return !(READ_ONCE(bridge->learning) >> (in & 63) & 1) || mac_heard(macs, bridge, key, in);
}

/* Whether the kernel's bridge, of that number, need not hear of a frame that came in on port `in`
 * and is sent to the bridge's own address: the port may forward, and the sender is known behind it.
 */
static __always_inline bool station_is_known(struct xdp_md *ctx, __u32 number, __u32 in)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const struct eth *eth = data;
	struct memory memory;
	__u64 key;

	if ((const void *)(eth + 1) > end)
		return false;
	key = mac_key(eth->src);
	if (!key || eth->src[0] & 1)
		return false;
	key |= group_bits(eth, end, number);
	memory_of(&memory, ctx, key);
	if (READ_ONCE(*memory.last) == memory.word)
		return true;
	if (!look_for_station(key, in))
		return false;
	WRITE_ONCE(*memory.last, memory.word);
	return true;
}

/* switch_port between two daemons, when no worker learns: what station sent the frame does not
 * matter.
 */
__noinline __u32 switch_port_meanwhile(struct xdp_md *ctx, __u32 number, __u32 in)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const struct shunt_steer_bridge *bridge;
	const struct eth *eth = data;
	void *macs;
	struct mac_hit hit;
	__u32 to;

	bridge = bridges_of(&macs);
	if (!bridge || (const void *)(eth + 1) > end)
		return SWITCH_NONE;
	if (!(bridge->forwarding >> (in & 63) & 1))
		return SWITCH_NONE;
	if (eth->dst[0] & 1)
		return SWITCH_ALL;
	mac_find(&hit, macs, mac_hash(mac_key(eth->dst) | bridge_bits(number), bridge->factor));
	if (!hit.word)
		return SWITCH_ALL;
	to = (hit.word & SHUNT_STEER_MAC_PORT) - 1;
	return to < SHUNT_STEER_PORTS_MAX && to != in ? to : SWITCH_NONE;
}

#endif
