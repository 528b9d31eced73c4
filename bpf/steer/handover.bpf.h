/* SPDX-License-Identifier: GPL-2.0-only */
/* Without a worker: what a cross-connect or a bridge sends from port to port goes on, inside the
 * kernel. The kernel's own stack could not do that: it knows nothing of cross-connects, nor of a
 * bridge that has none of its own beneath. Everything else is the kernel's, as when no daemon
 * serves.
 *
 *  - Between two daemons: one has handed over and closed its sockets, the next has none yet. That
 *    ends when the time is over that the first daemon allowed: where the next never comes, the
 *    kernel has it all.
 *  - The daemon has died, or the worker of this queue hangs, and the port is one that crosses then
 *    (`crosses`). That ends when somebody serves again, or takes the program off. */
#ifndef SHUNT_STEER_HANDOVER_BPF_H
#define SHUNT_STEER_HANDOVER_BPF_H

#include "steer/count.bpf.h"
#include "steer/hop.bpf.h"
#include "steer/mode.bpf.h"
#include "steer/rules.bpf.h"
#include "steer/switch.bpf.h"

static __always_inline bool may_cross(const struct shunt_steer_half *half, __u32 live)
{
	if (half->lane == SHUNT_LANE_KERNEL)
		return false;
	if (SHUNT_STEER_LIVE_IS_OPEN(live))
		return READ_ONCE(shunt_ctl.crosses);
	return live >= SHUNT_STEER_LIVE_HANDOVER0 &&
	       bpf_ktime_get_ns() <= READ_ONCE(shunt_ctl.handover_until_ns);
}

/* What a cross-connect or a bridge has to say of a frame; SHUNT_STEER_CLOSED where it is none, or
 * its time is over. A bridge checks the port's own address even if a rule chose the frame. In mode
 * mix those frames are routed. */
static __always_inline int crossing_reason(struct xdp_md *ctx, const struct shunt_steer_half *half,
					   __u32 live)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	bool is_ruled;
	int reason;

	if (!may_cross(half, live) || data + sizeof(struct eth) > end)
		return SHUNT_STEER_CLOSED;
	if (half->mode != SHUNT_STEER_MODE_XCONNECT && half->mode != SHUNT_STEER_MODE_TRANSPARENT &&
	    half->mode != SHUNT_STEER_MODE_MIX)
		return SHUNT_STEER_CLOSED;
	/* Where a half is open, the frame has met its rules before it came here. */
	if (half->rule_cnt)
		reason = by_rules(ctx, SHUNT_STEER_LIVE_IS_OPEN(live) ? live | RULES_AGAIN : live);
	else
		reason = RULE_NONE;
	is_ruled = reason == RULE_XDP || reason == SHUNT_STEER_RULE_USER;
	if (is_ruled && half->bridge)
		return xconnect_reason(half, data, end);
	if (is_ruled || (reason < 0 && half->mode == SHUNT_STEER_MODE_TRANSPARENT))
		return SHUNT_STEER_BRIDGED;
	if (reason >= 0)
		return reason;
	reason = xconnect_reason(half, data, end);
	return is_mix_tagged(half, data) ? mix_tagged_reason(ctx, live, reason, end - data)
					 : reason;
}

static __always_inline int switch_meanwhile(struct xdp_md *ctx, const struct shunt_steer_half *half,
					    __u32 *out, const bool is_sg)
{
	__u32 to = switch_port_meanwhile(ctx, half->bridge, half->in_port);

	*out = to;
	if (to == SWITCH_NONE)
		return SHUNT_STEER_CLOSED;
	return (to == SWITCH_ALL ? floods(is_sg) : redirects(to, is_sg)) ? SHUNT_STEER_XDP_BRIDGED
									 : SHUNT_STEER_NO_XDP_PORT;
}

static __always_inline int crosses_meanwhile(struct xdp_md *ctx, const bool is_sg)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	__u64 len = is_sg ? bpf_xdp_get_buff_len(ctx) : (__u64)(end - data);
	__u32 live = READ_ONCE(shunt_ctl.live);
	const struct shunt_steer_half *half = &shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(live)];
	struct shunt_steer_slot *slot = slot_of(ctx->rx_queue_index);
	int reason = crossing_reason(ctx, half, live);
	__u32 out = half->out_port;

	if (reason == SHUNT_STEER_RULE_DROP)
		return lane_drop(ctx, slot, reason, len);
	if (reason != SHUNT_STEER_BRIDGED)
		return lane_kernel(ctx, slot, reason, len);
	if (is_sg && len > half->len_max)
		return lane_kernel(ctx, slot, SHUNT_STEER_TOO_LONG, len);
	reason = half->bridge			    ? switch_meanwhile(ctx, half, &out, is_sg)
		 : half->hop			    ? to_hop(ctx, half, reason, is_sg)
		 : redirects(half->out_port, is_sg) ? SHUNT_STEER_XDP_BRIDGED
						    : SHUNT_STEER_NO_XDP_PORT;
	if (reason < SHUNT_STEER_XDP_FORWARD4)
		return lane_kernel(ctx, slot, reason, len);
	return redirected(ctx, slot, reason, SHUNT_LANE_XDP, out, len);
}

/* Apart from the others' way. Not static: verified once, and not for each of its calls. */
__noinline int handover(struct xdp_md *ctx)
{
	return crosses_meanwhile(ctx, false);
}

__noinline int handover_sg(struct xdp_md *ctx)
{
	return crosses_meanwhile(ctx, true);
}

#endif
