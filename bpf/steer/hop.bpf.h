/* SPDX-License-Identifier: GPL-2.0-only */
/* What a hop changes in a frame: Ethernet addresses, TTL or hop limit. And the lane xdp of modes
 * with one next hop (macrewrite, static3): no table, no route. */
#ifndef SHUNT_STEER_HOP_BPF_H
#define SHUNT_STEER_HOP_BPF_H

#include "steer/frame.bpf.h"
#include "steer/ports.bpf.h"

/* The first twelve bytes of the frame: both addresses, as they lie there. */
static __always_inline void write_eth(void *data, __u64 eth, __u32 rest)
{
	*(__u64 *)data = eth;
	*(__u32 *)(data + 8) = rest;
}

/* ip_decrease_ttl of the kernel (RFC 1624, equation 3, for this one change). */
static __always_inline void decrease_ttl(struct ipv4 *ip)
{
	__u32 sum = ip->csum_be + (__u32)bpf_htons(0x0100);

	ip->csum_be = sum + (sum >= 0xffff);
	ip->ttl--;
}

/* Returns the reason for which the frame left or did not; of what else the headers must be, the
 * mode was asked. */
static __always_inline int to_hop(struct xdp_md *ctx, const struct shunt_steer_half *half,
				  int reason, const bool is_sg)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *l3 = data + sizeof(struct eth);
	__u64 hop = half->hop;
	__u32 hop_rest = half->hop_rest;

	if (l3 > end)
		return SHUNT_STEER_TRUNCATED;
	if (reason != SHUNT_STEER_BRIDGED && end - l3 > half->hop_mtu)
		return SHUNT_STEER_TOO_BIG;
	if (!redirects(half->out_port, is_sg))
		return SHUNT_STEER_NO_XDP_PORT;
	/* Where the header is used: Linux 6.1's verifier does not tie a length to a reason. */
	if (reason == SHUNT_STEER_FORWARD4) {
		if (l3 + sizeof(struct ipv4) > end)
			return SHUNT_STEER_TRUNCATED;
		decrease_ttl(l3);
		reason = SHUNT_STEER_XDP_FORWARD4;
	} else if (reason == SHUNT_STEER_FORWARD6) {
		if (l3 + sizeof(struct ipv6) > end)
			return SHUNT_STEER_TRUNCATED;
		((struct ipv6 *)l3)->hop_limit--;
		reason = SHUNT_STEER_XDP_FORWARD6;
	} else {
		reason = SHUNT_STEER_XDP_BRIDGED;
	}
	write_eth(data, hop, hop_rest);
	return reason;
}

#endif
