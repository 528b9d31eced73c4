/* SPDX-License-Identifier: GPL-2.0-only */
/* The long way, which knows every case, and the functions that programs call for it. */
#ifndef SHUNT_STEER_STEER_BPF_H
#define SHUNT_STEER_STEER_BPF_H

#include "steer/approved.bpf.h"
#include "steer/flow_count.bpf.h"
#include "steer/handover.bpf.h"
#include "steer/lane_user.bpf.h"
#include "steer/lane_xdp.bpf.h"
#include "steer/mode.bpf.h"
#include "steer/rules.bpf.h"
#include "steer/share.bpf.h"
#include "steer/switch.bpf.h"

/* The lane of a frame that forwarding can finish. A packet of several buffers is the worker's: not
 * every port that takes frames from XDP takes those. */
static __always_inline __u32 lane_of(struct xdp_md *ctx, const struct shunt_steer_half *half,
				     __u32 live, bool is_ruled, __s64 beyond)
{
	__u32 lane = is_ruled ? SHUNT_LANE_XDP : half->lane;

	if (lane == SHUNT_STEER_LANE_SHARED)
		lane = share_lane(ctx, live);
	return beyond && lane == SHUNT_LANE_XDP ? SHUNT_LANE_USER : lane;
}

static __always_inline bool is_layer3(const struct shunt_steer_half *half)
{
	return half->mode == SHUNT_STEER_MODE_LAYER3 ||
	       (ASKS_FLOWS && half->mode == SHUNT_STEER_MODE_LAYER3_FLOWS);
}

/* A packet for an address of this host may be one of a connection that is translated. */
static __always_inline bool may_go_on(int reason)
{
	return (reason < SHUNT_STEER_USER_REASON_CNT && reason != SHUNT_STEER_RULE_USER) ||
	       (ASKS_FLOWS && reason == SHUNT_STEER_LOCAL_ADDRESS);
}

/* beyond: bytes of the frame that are in other buffers than the first. */
static __always_inline int to_lane(struct xdp_md *ctx, const bool is_sg, const bool can_trim)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	__u32 queue = ctx->rx_queue_index, live = READ_ONCE(shunt_ctl.live), lane;
	const struct shunt_steer_half *half = &shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(live)];
	struct shunt_steer_slot *slot = slot_of(queue);
	__u64 len = is_sg ? bpf_xdp_get_buff_len(ctx) : (__u64)(end - data);
	__s64 beyond = is_sg ? (__s64)len - (end - data) : 0;
	int reason = RULE_NONE;
	bool is_ruled;

	sample_begin(&slot->sample);
	if (!SHUNT_STEER_LIVE_IS_OPEN(live)) {
		if (live > SHUNT_STEER_LIVE_CLOSED)
			return is_sg ? handover_sg(ctx) : handover(ctx);
		return lane_kernel(ctx, slot, live ? SHUNT_STEER_CLOSED : SHUNT_STEER_OFF, len);
	}
	if (data + sizeof(struct eth) > end)
		return lane_kernel(ctx, slot, SHUNT_STEER_TRUNCATED, len);
	if (is_sg && len > half->len_max)
		return lane_kernel(ctx, slot, SHUNT_STEER_TOO_LONG, len);
	if (half->rule_cnt)
		reason = by_rules(ctx, live);
	else if (half->lane == SHUNT_LANE_KERNEL) /* whatever it is: not looked at */
		return lane_kernel(ctx, slot, SHUNT_STEER_LANE_KERNEL, len);
	is_ruled = reason == RULE_XDP;
	if (reason < 0)
		reason = mode_reason(half, data, end, beyond);
	if (reason == SHUNT_STEER_VLAN && is_layer3(half) &&
	    READ_ONCE(shunt_ctl.tables.flags) & SHUNT_TABLES_ABOVE)
		/* lane xdp looks for itself what is behind the tags */
		reason = half->mode == SHUNT_STEER_MODE_LAYER3 && lane_of(ctx, half, live, is_ruled,
									  beyond) == SHUNT_LANE_XDP
				 ? SHUNT_STEER_FORWARD4
				 : tagged_reason(ctx, live, len);
	else if (is_mix_tagged(half, data))
		reason = mix_tagged_reason(ctx, live, reason, len);
	if (half->bridge && is_layer3(half) && may_go_on(reason) &&
	    !station_is_known(ctx, half->bridge, half->in_port))
		reason = SHUNT_STEER_STATION;
	if (ASKS_FLOWS && half->mode == SHUNT_STEER_MODE_LAYER3_FLOWS) {
		reason = approved(ctx, live, reason, lane_of(ctx, half, live, is_ruled, beyond),
				  is_sg, can_trim);
		if (reason == SHUNT_STEER_TRANSLATED)
			return redirected(ctx, slot, reason, SHUNT_LANE_USER, SHUNT_TAP_NO_PORT,
					  len);
		if (reason >> APPROVED_OUT_SHIFT || reason == SHUNT_STEER_XDP_TRANSLATED)
			return redirected(ctx, slot, SHUNT_STEER_XDP_TRANSLATED, SHUNT_LANE_XDP,
					  (__u32)reason >> APPROVED_OUT_SHIFT, len);
	}
	FORGET(reason, len);
	if (reason == SHUNT_STEER_RULE_DROP)
		return lane_drop(ctx, slot, reason, len);
	if (reason >= SHUNT_STEER_USER_REASON_CNT)
		return lane_kernel(ctx, slot, reason, len);
	if (reason == SHUNT_STEER_RULE_USER)
		return lane_user(ctx, slot, queue, reason, len, is_sg);
	lane = lane_of(ctx, half, live, is_ruled, beyond);
	if (lane == SHUNT_LANE_XDP)
		return lane_xdp(ctx, half, live, slot, reason, is_ruled, len, is_sg, can_trim);
	if (lane == SHUNT_LANE_USER)
		return lane_user(ctx, slot, queue, reason, len, is_sg);
	return lane_kernel(ctx, slot, SHUNT_STEER_LANE_KERNEL, len);
}

/* The long way. */
static __always_inline int steer(struct xdp_md *ctx, const bool is_sg, const bool can_trim)
{
	int verdict = to_lane(ctx, is_sg, can_trim);

	if (flow_is_counted())
		flow_count(verdict);
	return verdict;
}

/* A function of its own, so that the short way saves no registers for it. Not static: verified
 * once, and not for each of its calls. */
__noinline int steer_any(struct xdp_md *ctx)
{
	return steer(ctx, false, true);
}

#endif
