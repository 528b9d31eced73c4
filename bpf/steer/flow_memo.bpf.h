/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel said of a connection, remembered for one tick of its clock (bpf_jiffies64; 4 ms
 * where it ticks 250 times a second): the packets of a fast connection come many to a tick.
 *
 * What is remembered beside the answer is where two words of the kernel lie that revoke it: the
 * flags of the flowtable's entry, and the status of the connection. Both are read for each packet,
 * as the kernel's function reads them. So `conntrack -D`, or a flow that is torn down, ends it at
 * once. The entry may have been given back since. The kernel does so a grace period after it was
 * torn down, which is longer than a tick; its last words stay, and its memory may be read by a
 * program at any time (bpf_rdonly_cast). What does not say plainly that the connection is alive and
 * offloaded is looked for again (flow_place.bpf.h). */
#ifndef SHUNT_STEER_FLOW_MEMO_BPF_H
#define SHUNT_STEER_FLOW_MEMO_BPF_H

#include "steer/flow_place.bpf.h"

#ifdef SHUNT_FLOWS

#define MEMO_BITS   10
#define HASH_FACTOR 0x9e3779b97f4a7c15ULL

struct flow_memo {
	struct shunt_flow_key key;
	struct flow_answer answer;
	__u64 tick;			/* bpf_jiffies64; 0: not approved when last asked */
	struct bpf_fib_lookup question; /* to the kernel: the stack has no room */
};

/* A CPU has one packet at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << MEMO_BITS);
	__type(key, __u32);
	__type(value, struct flow_memo);
} shunt_flow_memo SEC(".maps");

/* The upper bits of the word depend on all of both. */
static __always_inline __u64 hash_add(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * HASH_FACTOR;
	return hash ^ hash >> 32;
}

static __always_inline __u64 flow_hash(const struct shunt_flow_key *key, const bool is_ip6)
{
	__u64 hash = hash_add(0, is_ip6 ? key->src[0] : key->src[0] | key->dst[0] << 32);

	if (is_ip6) {
		hash = hash_add(hash, key->src[1]);
		hash = hash_add(hash, key->dst[0]);
		hash = hash_add(hash, key->dst[1]);
	}
	return (hash ^ key->ports) * HASH_FACTOR;
}

/* Where the connection's answer is, or will be. */
static __always_inline struct flow_memo *memo_of(__u64 hash)
{
	const __u32 at = hash >> (64 - MEMO_BITS);

	return bpf_map_lookup_elem(&shunt_flow_memo, &at);
}

static __always_inline bool memo_holds(const struct flow_memo *memo,
				       const struct shunt_flow_key *key, const bool is_ip6)
{
	const __u64 *a = (const __u64 *)&memo->key, *b = (const __u64 *)key;
	const __u64 now = bpf_jiffies64(); /* first: a call, for which loads would be put by */
	__u64 differs;

	barrier();
	differs = (memo->tick ^ now) | (a[0] ^ b[0]) | (a[2] ^ b[2]) | (a[4] ^ b[4]);
	if (is_ip6)
		differs |= (a[1] ^ b[1]) | (a[3] ^ b[3]);
	return !differs && still_vouches(&memo->answer);
}

/* Apart: its stack is free again before the packet is routed. */
static __noinline bool memo_ask(struct xdp_md *ctx, struct flow_memo *memo,
				const struct shunt_flow_key *key, __u64 hash, const bool is_ip6)
{
	memo->tick = 0;
	if (!place_ask(ctx, key, hash, &memo->question, &memo->answer, is_ip6))
		return false;
	memo->answer.to.proto = key->proto;
	memo->key = *key;
	memo->tick = bpf_jiffies64();
	return true;
}

#endif /* SHUNT_FLOWS */
#endif
