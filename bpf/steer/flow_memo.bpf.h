/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel said of a connection, remembered for one tick of its clock (bpf_jiffies64; 4 ms
 * where it ticks 250 times a second): the kernel's function takes some 600 instructions, and the
 * packets of a fast connection come many to a tick.
 *
 * What is remembered beside the answer is where two words of the kernel lie that revoke it: the
 * flags of the flowtable's entry, and the status of the connection. Both are read for each packet,
 * as the function reads them. So `conntrack -D`, or a flow that is torn down, ends it at once. The
 * entry may have been given back since. The kernel does so a grace period after it was torn down,
 * its last words stay, and its memory may be read by a program at any time (bpf_rdonly_cast): what
 * does not say plainly that the connection is alive and offloaded is asked again.
 *
 * A device that leaves a flowtable is seen at the next tick. The timer of the flow is set anew at
 * each tick that has a packet of it. */
#ifndef SHUNT_STEER_FLOW_MEMO_BPF_H
#define SHUNT_STEER_FLOW_MEMO_BPF_H

#include "steer/flow.bpf.h"
#include "steer/maps.bpf.h"

#ifdef SHUNT_FLOWS

#define MEMO_BITS   10
#define MEMO_FACTOR 0x9e3779b97f4a7c15ULL

struct flow_memo {
	struct shunt_flow_key key;
	struct shunt_flow_key to; /* what its packets leave with */
	struct flow_vouch vouch;
	__u64 tick; /* bpf_jiffies64; 0: not approved when last asked */
	__u64 is_translated;
};

/* A CPU has one packet at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << MEMO_BITS);
	__type(key, __u32);
	__type(value, struct flow_memo);
} shunt_flow_memo SEC(".maps");

/* Where the connection's answer is, or will be. */
static __always_inline struct flow_memo *memo_of(const struct shunt_flow_key *key,
						 const bool is_ip6)
{
	const __u64 src = key->src[0] + (is_ip6 ? key->src[1] : 0);
	const __u64 dst = key->dst[0] + (is_ip6 ? key->dst[1] : 0);
	const __u64 sum = src ^ (dst << 32 | dst >> 32) ^ (__u64)key->ports << 16;
	const __u32 at = sum * MEMO_FACTOR >> (64 - MEMO_BITS);

	return bpf_map_lookup_elem(&shunt_flow_memo, &at);
}

static __always_inline bool memo_holds(const struct flow_memo *memo,
				       const struct shunt_flow_key *key, const bool is_ip6)
{
	const __u64 *a = (const __u64 *)&memo->key, *b = (const __u64 *)key;
	__u64 differs = (a[0] ^ b[0]) | (a[2] ^ b[2]) | (a[4] ^ b[4]);

	if (is_ip6)
		differs |= (a[1] ^ b[1]) | (a[3] ^ b[3]);
	return memo->tick == bpf_jiffies64() && !differs && still_vouches(&memo->vouch);
}

/* Apart: its stack is free again before the packet is routed. */
static __noinline bool memo_ask(struct xdp_md *ctx, struct flow_memo *memo,
				const struct shunt_flow_key *key, const bool is_ip6)
{
	memo->tick = 0;
	if (!ask_flowtable(ctx, key, &memo->to, &memo->vouch, is_ip6))
		return false;
	memo->to.proto = key->proto;
	memo->key = *key;
	memo->is_translated = !is_same_flow(key, &memo->to);
	memo->tick = bpf_jiffies64();
	return true;
}

#endif /* SHUNT_FLOWS */
#endif
