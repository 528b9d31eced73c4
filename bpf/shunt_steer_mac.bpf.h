/* SPDX-License-Identifier: GPL-2.0-only */
/* Bridging in lane xdp: from a station that is known, to one that is known, between ports that may
 * forward. Everything else is the worker's: he learns, floods and drops with a reason, and the
 * table that he learns into is this one. Part of shunt_steer.bpf.c. */
#ifndef SHUNT_STEER_MAC_BPF_H
#define SHUNT_STEER_MAC_BPF_H

#include "shunt_steer_mac.h"

struct mac_table {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SHUNT_STEER_MAC_BUCKETS + 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct shunt_steer_mac_bucket));
};

/* One table for all ports of a daemon: put here when he configures the port. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct mac_table);
} shunt_macs SEC(".maps");

/* shunt_mac_hash */
static __always_inline __u64 mac_hash(__u64 key, __u64 factor)
{
	const __u64 mask = (1ULL << SHUNT_STEER_MAC_KEY_BITS) - 1;

	key ^= key >> 30;
	key = key * factor & mask;
	key ^= key >> 30;
	key = key * factor & mask;
	return key ^ key >> 30;
}

/* shunt_mac_key of bridge 0 */
static __always_inline __u64 mac_key(const __u8 *mac)
{
	return (__u64) * (const __u16 *)(mac + 4) << 32 | *(const __u32 *)mac;
}

struct mac_hit {
	struct shunt_steer_mac_bucket *bucket;
	__u64 word; /* 0: none */
	__u32 at;
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
		__u64 word = *(volatile __u64 *)&hit->bucket->slots[i];

		if (word >> 8 == want >> 8) {
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
	__u64 want = SHUNT_STEER_MAC_VALID | rest << 9;
	__u32 first = hash >> SHUNT_STEER_MAC_REST_BITS;

	mac_match(hit, macs, first, want);
	if (!hit->word)
		mac_match(hit, macs,
			  first ^ (rest * 0x9e3779b97f4a7c15ULL >> 4 >> SHUNT_STEER_MAC_REST_BITS),
			  want | SHUNT_STEER_MAC_SECOND);
}

/* shunt_mac_heard: false where the worker has something to learn. */
static __always_inline bool mac_heard(void *macs, const struct shunt_steer_bridge *bridge,
				      __u64 key, __u32 port)
{
	__u8 tick = *(volatile __u8 *)&bridge->tick;
	struct mac_hit hit;

	mac_find(&hit, macs, mac_hash(key, bridge->factor));
	if (!hit.word || !hit.bucket)
		return false;
	if ((hit.word & SHUNT_STEER_MAC_PORT) != port + 1)
		return hit.word & SHUNT_STEER_MAC_STATIC;
	if (hit.bucket->seen[hit.at & 7] != tick)
		*(volatile __u8 *)&hit.bucket->seen[hit.at & 7] = tick;
	return true;
}

/* The port by which a frame leaves, or one that is none. */
#define SWITCH_NONE 0xff
#define SWITCH_ALL  0xfe /* unknown, or a group: every other port of the bridge */

/* number: the bridge's, from 1; in: the port that the frame came in on. */
__noinline __u32 switch_port(struct xdp_md *ctx, __u32 number, __u32 in)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	__u32 zero = 0, last = SHUNT_STEER_MAC_BUCKETS, to;
	void *macs = bpf_map_lookup_elem(&shunt_macs, &zero);
	const struct shunt_steer_bridge *bridge;
	__u64 src, of_bridge = (__u64)(number - 1) << 48, forwarding, from;
	const struct eth *eth = data;
	struct mac_hit hit;

	if (!macs || (const void *)(eth + 1) > end)
		return SWITCH_NONE;
	bridge = bpf_map_lookup_elem(macs, &last);
	src = mac_key(eth->src);
	if (!bridge || !src || (eth->src[0] | eth->dst[0]) & 1)
		return SWITCH_NONE;
	forwarding = *(volatile __u64 *)&bridge->forwarding;
	from = forwarding & ~*(volatile __u64 *)&bridge->kernels;
	if (!(from >> (in & 63) & 1) || !mac_heard(macs, bridge, src | of_bridge, in))
		return SWITCH_NONE;
	mac_find(&hit, macs, mac_hash(mac_key(eth->dst) | of_bridge, bridge->factor));
	to = (hit.word & SHUNT_STEER_MAC_PORT) - 1; /* without an entry: none too */
	if (to >= SHUNT_STEER_PORTS_MAX || to == in || !(forwarding >> to & 1))
		return SWITCH_NONE;
	return to;
}

/* The same between two daemons, when nobody learns: who sent the frame does not matter. */
__noinline __u32 switch_port_meanwhile(struct xdp_md *ctx, __u32 number, __u32 in)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	__u32 zero = 0, last = SHUNT_STEER_MAC_BUCKETS, to;
	void *macs = bpf_map_lookup_elem(&shunt_macs, &zero);
	const struct shunt_steer_bridge *bridge;
	const struct eth *eth = data;
	struct mac_hit hit;

	if (!macs || (const void *)(eth + 1) > end)
		return SWITCH_NONE;
	bridge = bpf_map_lookup_elem(macs, &last);
	if (!bridge || !(bridge->forwarding >> (in & 63) & 1))
		return SWITCH_NONE;
	if (eth->dst[0] & 1)
		return SWITCH_ALL;
	mac_find(&hit, macs,
		 mac_hash(mac_key(eth->dst) | (__u64)(number - 1) << 48, bridge->factor));
	if (!hit.word)
		return SWITCH_ALL;
	to = (hit.word & SHUNT_STEER_MAC_PORT) - 1;
	return to < SHUNT_STEER_PORTS_MAX && to != in ? to : SWITCH_NONE;
}

#endif
