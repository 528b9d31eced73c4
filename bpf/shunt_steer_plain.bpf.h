/* SPDX-License-Identifier: GPL-2.0-only */
/* The short way into the lane user, for a port without rules whose forwardable frames are all the
 * worker's: what is plainly good goes to his socket, nothing else is decided here. Its
 * configuration is one word, which takes as many instructions to load as a constant, and changes
 * while frames come. Part of shunt_steer.bpf.c. */
#ifndef SHUNT_STEER_PLAIN_BPF_H
#define SHUNT_STEER_PLAIN_BPF_H

static __always_inline bool is_plain4(const struct shunt_steer_half *half, const struct ipv4 *ip,
				      const void *end)
{
	__u32 tot_len, src, dst, hash;

	if ((const void *)(ip + 1) > end || ip->version_ihl != 0x45 || ip->ttl <= 1)
		return false;
	tot_len = bpf_ntohs(ip->tot_len_be);
	src = bpf_ntohl(ip->src_be);
	dst = bpf_ntohl(ip->dst_be);
	hash = shunt_steer_hash4(ip->dst_be);
	return tot_len >= 20 && tot_len <= end - (const void *)ip && !is_odd4(src) &&
	       !is_odd4(dst) && !in_filter(half, hash);
}

static __always_inline bool is_plain6(const struct shunt_steer_half *half, const struct ipv6 *ip,
				      const void *end)
{
	return (const void *)(ip + 1) <= end && ip->version_class >> 4 == 6 &&
	       bpf_ntohs(ip->payload_len_be) <= end - (const void *)(ip + 1) &&
	       ip->nexthdr != NEXTHDR_HOP && ip->hop_limit > 1 && !is_odd6(ip->src[0]) &&
	       !is_odd6(ip->dst[0]) && !in_filter(half, shunt_steer_hash6(ip->dst[0], ip->dst[1]));
}

/* As count(), of a frame that is not timed. */
static __always_inline void count_untimed(const struct xdp_md *ctx,
					  struct shunt_steer_counters *counters, const int reason,
					  const enum shunt_lane lane)
{
	counters->packets[reason]++;
	counters->bytes[lane] += ctx->data_end - ctx->data;
}

/* A frame that is to be looked at is steer()'s. */
static __always_inline bool plain_send(struct xdp_md *ctx, const int reason)
{
	__u32 queue = ctx->rx_queue_index;
	struct shunt_steer_slot *slot = slot_of(queue);

	/* clang would keep its offset besides */
	barrier_var(slot);
	if (*(volatile __u64 *)&slot->sample.looks ||
	    *(volatile __u32 *)&slot->gate.shut & SHUNT_STEER_SHUT_USER ||
	    bpf_redirect_map(&shunt_xsks, queue, XDP_PASS) != XDP_REDIRECT)
		return false;
	count_untimed(ctx, &slot->counters, reason, SHUNT_LANE_USER);
	return true;
}

/* false: nothing was done, and steer() decides. */
static __always_inline bool plain(struct xdp_md *ctx, __u64 word)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const struct shunt_steer_half *half;
	const struct eth *eth = data;
	bool is_own;

	if ((const void *)(eth + 1) > end)
		return false;
	is_own = shunt_steer_quick_is_own(word, *(const __u64 *)eth);
	if (word & SHUNT_STEER_QUICK_XCONNECT)
		return !is_own && !(eth->dst[0] & 1) && plain_send(ctx, SHUNT_STEER_BRIDGED);
	half = &shunt_ctl.half[!!(word & SHUNT_STEER_QUICK_HALF)];
	if (!is_own)
		return false;
	if (eth->type_be == bpf_htons(ETH_P_IP))
		return is_plain4(half, (const void *)(eth + 1), end) &&
		       plain_send(ctx, SHUNT_STEER_FORWARD4);
	return eth->type_be == bpf_htons(ETH_P_IPV6) &&
	       is_plain6(half, (const void *)(eth + 1), end) &&
	       plain_send(ctx, SHUNT_STEER_FORWARD6);
}

#endif
