/* SPDX-License-Identifier: GPL-2.0-only */
/* The short way, in both lanes: one word of the configuration (enum shunt_steer_quick) says all
 * that has to be known of a port whose frames need neither rules nor shares nor tables. What is
 * plainly good is on its way after a few dozen instructions. Whatever is in doubt takes the long
 * way (steer.bpf.h), which knows every case; both come to the same end.
 *
 * Nothing is done, and nothing counted, before the redirect is sure. So `false` always means that
 * the long way can begin. */
#ifndef SHUNT_STEER_QUICK_BPF_H
#define SHUNT_STEER_QUICK_BPF_H

#include "steer/lane_user.bpf.h"
#include "steer/mode.bpf.h"
#include "steer/ports.bpf.h"

/* Gate and count of every short way; a constant for lane and for reason. A frame that is to be
 * timed, or whose checksum is to be looked at, takes the long way. */
static __always_inline bool send_quickly(struct xdp_md *ctx, const enum shunt_lane lane,
					 const int reason, __u64 word)
{
	__u32 queue = ctx->rx_queue_index;
	struct shunt_steer_slot *slot = slot_of(queue);

	/* clang would keep its offset besides */
	barrier_var(slot);
	if (READ_ONCE(slot->sample.looks))
		return false;
	if (lane == SHUNT_LANE_USER) {
		if (READ_ONCE(slot->gate.shut) || !takes_worker(queue))
			return false;
	} else if (!bpf_map_lookup_elem(&shunt_xsks, &queue) ||
		   !redirects(word & SHUNT_STEER_QUICK_PORT, false)) {
		return false;
	}
	slot->counters.packets[reason]++;
	slot->counters.bytes[lane] += ctx->data_end - ctx->data;
	return true;
}

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

/* Mode LAYER3, of a frame to the port's own address. */
static __always_inline bool routes_quickly(struct xdp_md *ctx, __u64 word, const struct eth *eth,
					   const void *end)
{
	const struct shunt_steer_half *half = &shunt_ctl.half[!!(word & SHUNT_STEER_QUICK_HALF1)];

	if (eth->type_be == bpf_htons(ETH_P_IP))
		return is_plain4(half, (const void *)(eth + 1), end) &&
		       send_quickly(ctx, SHUNT_LANE_USER, SHUNT_STEER_FORWARD4, word);
	return eth->type_be == bpf_htons(ETH_P_IPV6) &&
	       is_plain6(half, (const void *)(eth + 1), end) &&
	       send_quickly(ctx, SHUNT_LANE_USER, SHUNT_STEER_FORWARD6, word);
}

/* Modes that look at the frame's addresses. Its first bytes are loaded before anything else: on a
 * NAPI of its own they lie in the sender's cache. */
static __always_inline bool looks_quickly(struct xdp_md *ctx, __u64 word,
					  const enum shunt_lane lane, const int reason)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const struct eth *eth = data;
	bool is_own;

	if ((const void *)(eth + 1) > end)
		return false;
	is_own = shunt_steer_quick_is_own(word, *(const __u64 *)eth);
	if (lane == SHUNT_LANE_USER && word & SHUNT_STEER_QUICK_LAYER3_USER)
		return is_own && routes_quickly(ctx, word, eth, end);
	return !is_own && !(eth->dst[0] & 1) && send_quickly(ctx, lane, reason, word);
}

/* true: the frame is on its way. */
static __always_inline bool goes_quickly(struct xdp_md *ctx)
{
	__u64 word = READ_ONCE(shunt_ctl.quick);

	if (word & (SHUNT_STEER_QUICK_XCONNECT_USER | SHUNT_STEER_QUICK_LAYER3_USER))
		return looks_quickly(ctx, word, SHUNT_LANE_USER, SHUNT_STEER_BRIDGED);
	if (word & SHUNT_STEER_QUICK_XCONNECT_XDP)
		return looks_quickly(ctx, word, SHUNT_LANE_XDP, SHUNT_STEER_XDP_BRIDGED);
	/* of the others no byte of the frame is loaded */
	if (word & SHUNT_STEER_QUICK_TRANSPARENT_USER)
		return send_quickly(ctx, SHUNT_LANE_USER, SHUNT_STEER_BRIDGED, word);
	return word && send_quickly(ctx, SHUNT_LANE_XDP, SHUNT_STEER_XDP_BRIDGED, word);
}

#endif
