/* SPDX-License-Identifier: GPL-2.0-only */
/* A live share of the lanes: a flow's hash says which lane it takes. */
#ifndef SHUNT_STEER_SHARE_BPF_H
#define SHUNT_STEER_SHARE_BPF_H

#include "steer/frame.bpf.h"
#include "steer/maps.bpf.h"

/* Sixteen bits, the same for all frames of a flow: addresses, protocol and ports of an IP packet,
 * else the two MAC addresses. Other constants than next hops are chosen by, so that a
 * share of the flows is no choice of next hops. A fragment's ports are not looked for, so that all
 * fragments of a packet go one way. */
static __always_inline __u32 share_hash(const struct eth *eth, const void *end)
{
	const struct ipv4 *ip = (const void *)(eth + 1);
	const struct ipv6 *ip6 = (const void *)(eth + 1);
	__u64 a, b;

	if (eth->type_be == bpf_htons(ETH_P_IP) && (const void *)(ip + 1) <= end) {
		bool is_part = ip->frag_off_be & bpf_htons(IP4_FRAGMENT) || ip->version_ihl != 0x45;

		a = (__u64)ip->src_be << 32 | ip->dst_be;
		b = is_part ? 0 : ports_of(ip + 1, end, sizeof(__u32), ip->proto);
		b |= (__u64)ip->proto << 32;
	} else if (eth->type_be == bpf_htons(ETH_P_IPV6) && (const void *)(ip6 + 1) <= end) {
		a = (ip6->src[0] * 3 ^ ip6->src[1]) * 5 ^ ip6->dst[0];
		a = a * 0xd6e8feb86659fd93ULL ^ ip6->dst[1];
		b = ports_of(ip6 + 1, end, sizeof(__u32), ip6->nexthdr);
		b |= (__u64)ip6->nexthdr << 32;
	} else {
		a = shunt_steer_mac_word(*(const __u64 *)eth->dst);
		b = shunt_steer_mac_word(*(const __u64 *)eth->src);
	}
	a = (a ^ a >> 32) * 0xd6e8feb86659fd93ULL ^ b;
	a = (a ^ a >> 29) * 0xa5cb3ccb0ba8a4c5ULL;
	a = (a ^ a >> 32) * 0xd6e8feb86659fd93ULL;
	return a >> 48;
}

__noinline __u32 share_lane(struct xdp_md *ctx, __u32 live)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const struct shunt_steer_half *half = &shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(live)];
	__u32 hash;

	if (data + sizeof(struct eth) > end)
		return SHUNT_LANE_KERNEL;
	hash = share_hash(data, end);
	if (hash < half->user_below)
		return SHUNT_LANE_USER;
	return hash < half->xdp_below ? SHUNT_LANE_XDP : SHUNT_LANE_KERNEL;
}

#endif
