/* SPDX-License-Identifier: GPL-2.0-only */
/* The short way, in both lanes: one word of the configuration (enum shunt_steer_quick) says all
 * that has to be known of a port whose frames need neither rules nor shares. What is plainly good
 * is on its way after a few dozen instructions, or, in lane xdp, as soon as the tables have
 * answered. Whatever is in doubt takes the long way (steer.bpf.h), which knows every case; both
 * come to the same end.
 *
 * Nothing is counted before the frame's end is sure, and nothing written but that padding may be
 * gone. So LONG_WAY always means that the long way can begin. */
#ifndef SHUNT_STEER_QUICK_BPF_H
#define SHUNT_STEER_QUICK_BPF_H

#include "steer/approved.bpf.h"
#include "steer/lane_user.bpf.h"
#include "steer/lane_xdp.bpf.h"
#include "steer/mode.bpf.h"
#include "steer/ports.bpf.h"
#include "steer/switch.bpf.h"

/* Beside a verdict of XDP: the frame's end is not known yet. No program returns it. */
#define LONG_WAY XDP_ABORTED

#define QUICK_LAYER3 \
	(SHUNT_STEER_QUICK_LAYER3_USER | (ASKS_FLOWS ? SHUNT_STEER_QUICK_FLOWS_USER : 0))

static __always_inline int sent_quickly(struct shunt_steer_slot *slot, const enum shunt_lane lane,
					const int reason, __u64 len)
{
	slot->counters.packets[reason]++;
	slot->counters.bytes[lane] += len;
	return XDP_REDIRECT;
}

/* Gate and count of every short way; a constant for lane and for reason. A frame that is to be
 * timed, or whose checksum is to be looked at, takes the long way. */
static __always_inline int send_quickly(struct xdp_md *ctx, const enum shunt_lane lane,
					const int reason, __u64 word)
{
	__u32 queue = ctx->rx_queue_index;
	struct shunt_steer_slot *slot = slot_of(queue);

	/* clang would keep its offset besides */
	barrier_var(slot);
	if (READ_ONCE(slot->sample.looks))
		return LONG_WAY;
	if (lane == SHUNT_LANE_USER) {
		if (READ_ONCE(slot->gate.shut) || !takes_worker(queue))
			return LONG_WAY;
	} else if (!bpf_map_lookup_elem(&shunt_xsks, &queue) ||
		   !redirects(word & SHUNT_STEER_QUICK_PORT, false)) {
		return LONG_WAY;
	}
	return sent_quickly(slot, lane, reason, ctx->data_end - ctx->data);
}

/* Whatever its destination. */
static __always_inline bool is_plain_from4(const struct ipv4 *ip, const void *end)
{
	__u32 tot_len, src, dst;

	if ((const void *)(ip + 1) > end || ip->version_ihl != 0x45 || ip->ttl <= 1)
		return false;
	tot_len = bpf_ntohs(ip->tot_len_be);
	src = bpf_ntohl(ip->src_be);
	dst = bpf_ntohl(ip->dst_be);
	return tot_len >= 20 && tot_len <= end - (const void *)ip && !is_odd4(src) && !is_odd4(dst);
}

/* It may be for this host. */
static __always_inline bool may_be_local4(const struct shunt_steer_half *half,
					  const struct ipv4 *ip)
{
	return in_filter(half, shunt_steer_hash4(ip->dst_be));
}

static __always_inline bool is_plain_from6(const struct ipv6 *ip, const void *end)
{
	return (const void *)(ip + 1) <= end && ip->version_class >> 4 == 6 &&
	       bpf_ntohs(ip->payload_len_be) <= end - (const void *)(ip + 1) &&
	       ip->nexthdr != NEXTHDR_HOP && ip->hop_limit > 1 && !is_odd6(ip->src[0]) &&
	       !is_odd6(ip->dst[0]);
}

static __always_inline bool may_be_local6(const struct shunt_steer_half *half,
					  const struct ipv6 *ip)
{
	return in_filter(half, shunt_steer_hash6(ip->dst[0], ip->dst[1]));
}

/* Mode LAYER3_FLOWS. What may be for this host may also be of a connection that is translated. What
 * is not approved ends here, too: to ask twice would cost as much as all else. */
static __always_inline int ask_quickly(struct xdp_md *ctx, __u64 word, bool may_be_local,
				       const int reason)
{
	const __u32 live = SHUNT_STEER_LIVE_HALF(!!(word & SHUNT_STEER_QUICK_HALF1));
	struct shunt_steer_slot *slot = slot_of(ctx->rx_queue_index);
	const __u64 len = ctx->data_end - ctx->data;
	int done;

	barrier_var(slot);
	if (flow_is_counted() || READ_ONCE(slot->sample.looks) || READ_ONCE(slot->gate.shut) ||
	    !READ_ONCE(shunt_ctl.restores))
		return LONG_WAY;
	done = approved(ctx, live, may_be_local ? SHUNT_STEER_LOCAL_ADDRESS : reason,
			LANE_USER_OPEN, false, false);
	if (done == reason)
		return takes_worker(ctx->rx_queue_index)
			       ? sent_quickly(slot, SHUNT_LANE_USER, reason, len)
			       : LONG_WAY;
	if (done == SHUNT_STEER_TRANSLATED)
		return sent_quickly(slot, SHUNT_LANE_USER, SHUNT_STEER_TRANSLATED, len);
	if (done < SHUNT_STEER_USER_REASON_CNT || done >= SHUNT_STEER_XDP_FORWARD4)
		return LONG_WAY;
	slot->counters.packets[done]++;
	slot->counters.bytes[SHUNT_LANE_KERNEL] += len;
	return XDP_PASS;
}

/* Lane xdp of mode LAYER3. device: the word of that which the frame's one tag names; 0: no tag. */
static __always_inline int leave_quickly(struct xdp_md *ctx, __u64 word, int reason, __u64 device,
					 const bool can_trim)
{
	const __u32 live = SHUNT_STEER_LIVE_HALF(!!(word & SHUNT_STEER_QUICK_HALF1));
	__u32 queue = ctx->rx_queue_index, out = 0;
	struct shunt_steer_slot *slot = slot_of(queue);
	__u64 len = ctx->data_end - ctx->data;
	int done;

	barrier_var(slot);
	barrier_var(len); /* else clang keeps both ends of the frame */
	if (READ_ONCE(slot->sample.looks) || READ_ONCE(slot->gate.is_stale) ||
	    !bpf_map_lookup_elem(&shunt_xsks, &queue))
		return LONG_WAY;
	done = device ? leave_behind_tag(ctx, live, &out, reason, device, can_trim)
		      : leave_routed(ctx, live, &out, reason, false, false, can_trim);
	if (done == ROUTE_WORKER)
		return LONG_WAY;
	if (done < SHUNT_STEER_XDP_FORWARD4)
		return lane_kernel(ctx, slot, done, len);
	return sent_quickly(slot, SHUNT_LANE_XDP, done & (SHUNT_STEER_REASON_MAX - 1), len);
}

/* Mode LAYER3, of a frame to the port's own address with one tag of 802.1Q. */
static __always_inline int tagged_quickly(struct xdp_md *ctx, __u64 word, const struct eth *eth,
					  const void *end, const enum shunt_lane lane,
					  const bool can_trim)
{
	const struct shunt_steer_half *half = &shunt_ctl.half[!!(word & SHUNT_STEER_QUICK_HALF1)];
	const __be16 *at = &eth->type_be;
	const void *l3 = at + 3;
	struct tags tags = {.inner = SHUNT_DEVICE_NO_TAG};
	int reason = SHUNT_STEER_FORWARD4;
	__u64 device;

	if (!(READ_ONCE(shunt_ctl.tables.flags) & SHUNT_TABLES_ABOVE) || l3 > end)
		return LONG_WAY;
	tags.outer = bpf_ntohs(at[1]) & SHUNT_VLAN_VID;
	if (!tags.outer)
		return LONG_WAY;
	device = device_of(half->out_port, &tags);
	if (at[2] == bpf_htons(ETH_P_IP)) {
		if (!(shunt_device_flags(device) & SHUNT_TABLES_IP4) || !is_plain_from4(l3, end) ||
		    may_be_local4(half, l3))
			return LONG_WAY;
	} else {
		if (at[2] != bpf_htons(ETH_P_IPV6) ||
		    !(shunt_device_flags(device) & SHUNT_TABLES_IP6) || !is_plain_from6(l3, end) ||
		    may_be_local6(half, l3))
			return LONG_WAY;
		reason = SHUNT_STEER_FORWARD6;
	}
	if (lane == SHUNT_LANE_XDP)
		return leave_quickly(ctx, word, reason, device, can_trim);
	if (reason == SHUNT_STEER_FORWARD4)
		return send_quickly(ctx, SHUNT_LANE_USER, SHUNT_STEER_FORWARD4, word);
	return send_quickly(ctx, SHUNT_LANE_USER, SHUNT_STEER_FORWARD6, word);
}

/* Modes LAYER3 and LAYER3_FLOWS, of a frame to the port's own address. */
static __always_inline int route_quickly(struct xdp_md *ctx, __u64 word, const struct eth *eth,
					 const void *end)
{
	const struct shunt_steer_half *half = &shunt_ctl.half[!!(word & SHUNT_STEER_QUICK_HALF1)];
	const bool asks = ASKS_FLOWS && word & SHUNT_STEER_QUICK_FLOWS_USER;
	const void *l3 = eth + 1;

	if (eth->type_be == bpf_htons(ETH_P_IP)) {
		if (!is_plain_from4(l3, end))
			return LONG_WAY;
		if (asks)
			return ask_quickly(ctx, word, may_be_local4(half, l3),
					   SHUNT_STEER_FORWARD4);
		return may_be_local4(half, l3)
			       ? LONG_WAY
			       : send_quickly(ctx, SHUNT_LANE_USER, SHUNT_STEER_FORWARD4, word);
	}
	if (!asks && eth->type_be == bpf_htons(ETH_P_8021Q))
		return tagged_quickly(ctx, word, eth, end, SHUNT_LANE_USER, false);
	if (eth->type_be != bpf_htons(ETH_P_IPV6) || !is_plain_from6(l3, end))
		return LONG_WAY;
	if (asks)
		return ask_quickly(ctx, word, may_be_local6(half, l3), SHUNT_STEER_FORWARD6);
	return may_be_local6(half, l3)
		       ? LONG_WAY
		       : send_quickly(ctx, SHUNT_LANE_USER, SHUNT_STEER_FORWARD6, word);
}

/* Lane xdp of mode LAYER3, of a frame to the port's own address. */
static __always_inline int route_quickly_xdp(struct xdp_md *ctx, __u64 word, const struct eth *eth,
					     const void *end, const bool can_trim)
{
	const struct shunt_steer_half *half = &shunt_ctl.half[!!(word & SHUNT_STEER_QUICK_HALF1)];
	const void *l3 = eth + 1;

	if (eth->type_be == bpf_htons(ETH_P_IP)) {
		if (!is_plain_from4(l3, end) || may_be_local4(half, l3))
			return LONG_WAY;
		return leave_quickly(ctx, word, SHUNT_STEER_FORWARD4, 0, can_trim);
	}
	if (eth->type_be == bpf_htons(ETH_P_8021Q))
		return tagged_quickly(ctx, word, eth, end, SHUNT_LANE_XDP, can_trim);
	if (eth->type_be != bpf_htons(ETH_P_IPV6) || !is_plain_from6(l3, end) ||
	    may_be_local6(half, l3))
		return LONG_WAY;
	return leave_quickly(ctx, word, SHUNT_STEER_FORWARD6, 0, can_trim);
}

/* Modes that look at the frame's addresses. Its first bytes are loaded before anything else: on a
 * NAPI of its own they lie in the sender's cache. */
static __always_inline int look_quickly(struct xdp_md *ctx, __u64 word, const enum shunt_lane lane,
					const int reason, const bool can_trim)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const struct eth *eth = data;
	bool is_own;

	if ((const void *)(eth + 1) > end)
		return LONG_WAY;
	is_own = shunt_steer_quick_is_own(word, *(const __u64 *)eth);
	if (lane == SHUNT_LANE_USER && word & QUICK_LAYER3)
		return is_own ? route_quickly(ctx, word, eth, end) : LONG_WAY;
	if (lane == SHUNT_LANE_XDP && word & SHUNT_STEER_QUICK_LAYER3_XDP)
		return is_own ? route_quickly_xdp(ctx, word, eth, end, can_trim) : LONG_WAY;
	return is_own || eth->dst[0] & 1 ? LONG_WAY : send_quickly(ctx, lane, reason, word);
}

/* Of a bridge's port: sent to the bridge, by a station that is known there. */
static __always_inline bool is_heard(struct xdp_md *ctx, __u64 word)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const struct shunt_steer_half *half = &shunt_ctl.half[!!(word & SHUNT_STEER_QUICK_HALF1)];

	if (data + sizeof(struct eth) > end ||
	    !shunt_steer_quick_is_own(word, *(const __u64 *)data))
		return false;
	return station_is_known(ctx, half->bridge, half->in_port);
}

/* The frame's verdict, or LONG_WAY. can_trim: as of lane_xdp. */
static __always_inline int steer_quickly(struct xdp_md *ctx, const bool can_trim)
{
	__u64 word = READ_ONCE(shunt_ctl.quick);

	if (word & SHUNT_STEER_QUICK_STATION && !is_heard(ctx, word))
		return LONG_WAY;
	if (word & (SHUNT_STEER_QUICK_XCONNECT_USER | QUICK_LAYER3))
		return look_quickly(ctx, word, SHUNT_LANE_USER, SHUNT_STEER_BRIDGED, can_trim);
	if (word & (SHUNT_STEER_QUICK_XCONNECT_XDP | SHUNT_STEER_QUICK_LAYER3_XDP))
		return look_quickly(ctx, word, SHUNT_LANE_XDP, SHUNT_STEER_XDP_BRIDGED, can_trim);
	/* of the others no byte of the frame is loaded */
	if (word & SHUNT_STEER_QUICK_TRANSPARENT_USER)
		return send_quickly(ctx, SHUNT_LANE_USER, SHUNT_STEER_BRIDGED, word);
	return word ? send_quickly(ctx, SHUNT_LANE_XDP, SHUNT_STEER_XDP_BRIDGED, word) : LONG_WAY;
}

#endif
