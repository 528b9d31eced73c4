/* SPDX-License-Identifier: GPL-2.0-only */
/* The lane xdp: frames that leave by another port without leaving the kernel's receive path.
 *
 * Three things make it fail open:
 *
 *  - A frame goes this way only while a socket serves its queue. The kernel takes the sockets out
 * of their map when the daemon ends, however that ends, and from the next frame on everything is
 * the kernel's, but for a daemon that hands over (handover.bpf.h).
 *  - What is routed, or bridged as a bridge of the kernel's does, goes this way only while the
 *    thread that follows the kernel gives signs of life. (The lane user is shut then, too.) A wire
 *    whose worker gives none either is carried on as after the daemon's death.
 *  - The redirect is asked for before a byte is written. Where the other port's slot is empty, the
 *    frame goes to the kernel as it came. */
#ifndef SHUNT_STEER_LANE_XDP_BPF_H
#define SHUNT_STEER_LANE_XDP_BPF_H

#include "steer/lane_user.bpf.h"
#include "steer/route.bpf.h"
#include "steer/switch.bpf.h"

/* Whether the frame carries a tag: then this lane looks for the device that it came in by. */
static __always_inline bool came_tagged(struct xdp_md *ctx)
{
	const struct eth *eth = (const void *)(long)ctx->data;

	return (const void *)(eth + 1) <= (const void *)(long)ctx->data_end && is_tagged(eth);
}

static __always_inline int leave_untagged(struct xdp_md *ctx, __u32 live, int reason,
					  const bool is_sg, const bool can_trim)
{
	if (is_sg)
		return can_trim ? route_untagged_sg(ctx, live, reason)
				: route_untagged_sgd(ctx, live, reason);
	return can_trim ? route_untagged(ctx, live, reason) : route_untagged_dp(ctx, live, reason);
}

static __always_inline int leave_tagged(struct xdp_md *ctx, __u32 live, int reason,
					const bool is_sg, const bool can_trim)
{
	if (is_sg)
		return can_trim ? route_tagged_sg(ctx, live, reason)
				: route_tagged_sgd(ctx, live, reason);
	return can_trim ? route_tagged(ctx, live, reason) : route_tagged_dp(ctx, live, reason);
}

static __always_inline int without_port(int done, __u32 *out)
{
	if (done < 0)
		return done;
	*out = (__u32)done >> ROUTE_OUT_SHIFT;
	return done & ((1 << ROUTE_OUT_SHIFT) - 1);
}

/* Of a packet behind one tag, which names a device. Both this and the next one: *out as of leave.
 */
static __always_inline int leave_behind_tag(struct xdp_md *ctx, __u32 live, __u32 *out, int reason,
					    __u64 device, const bool can_trim)
{
	return without_port(can_trim ? route_behind_tag(ctx, live, reason, device)
				     : route_behind_tag_dp(ctx, live, reason, device),
			    out);
}

static __always_inline int leave_routed(struct xdp_md *ctx, __u32 live, __u32 *out, int reason,
					bool came_tagged, const bool is_sg, const bool can_trim)
{
	int done = came_tagged ? ROUTE_APART : leave_untagged(ctx, live, reason, is_sg, can_trim);

	if (done == ROUTE_APART)
		done = leave_tagged(ctx, live, reason, is_sg, can_trim);
	return without_port(done, out);
}

/* *out: the port that the frame leaves by, if it does. */
static __always_inline int leave(struct xdp_md *ctx, const struct shunt_steer_half *half,
				 __u32 live, __u32 *out, int reason, const bool is_sg,
				 const bool can_trim)
{
	*out = half->out_port;
	if (half->hop)
		return to_hop(ctx, half, reason, is_sg);
	if (reason == SHUNT_STEER_BRIDGED)
		return redirects(half->out_port, is_sg) ? SHUNT_STEER_XDP_BRIDGED
							: SHUNT_STEER_NO_XDP_PORT;
	return leave_routed(ctx, live, out, reason, came_tagged(ctx), is_sg, can_trim);
}

/* What the mode would have said of a frame that came tagged. */
static __always_inline int mode_reason_of(struct xdp_md *ctx, __u32 live, int reason, __u64 len)
{
	return reason == SHUNT_STEER_FORWARD4 && came_tagged(ctx) ? tagged_reason(ctx, live, len)
								  : reason;
}

/* A bridge's: what lane xdp cannot finish, the worker floods, learns or drops. */
static __always_inline int switch_frame(struct xdp_md *ctx, const struct shunt_steer_half *half,
					struct shunt_steer_slot *slot, __u32 queue, bool is_ruled,
					__u64 len, const bool is_sg)
{
	__u32 to = switch_port(ctx, half->bridge, half->in_port);

	if (to == SWITCH_NONE || !redirects(to, is_sg))
		return lane_user(ctx, slot, queue, SHUNT_STEER_BRIDGED, len, is_sg);
	return redirected(ctx, slot, is_ruled ? SHUNT_STEER_XDP_RULE : SHUNT_STEER_XDP_BRIDGED,
			  SHUNT_LANE_XDP, to, len);
}

/* live: as the caller has read it. reason: the mode's, one of the lane user. is_ruled: a rule gave
 * the frame to this lane. can_trim: the program may cut what follows a packet. */
static __always_inline int lane_xdp(struct xdp_md *ctx, const struct shunt_steer_half *half,
				    __u32 live, struct shunt_steer_slot *slot, int reason,
				    bool is_ruled, __u64 len, const bool is_sg, const bool can_trim)
{
	__u32 queue = ctx->rx_queue_index, out;
	int done;

	if (!bpf_map_lookup_elem(&shunt_xsks, &queue)) {
		reason = mode_reason_of(ctx, live, reason, len);
		return reason < SHUNT_STEER_USER_REASON_CNT
			       ? unserved(ctx, slot, reason, len, is_sg)
			       : lane_kernel(ctx, slot, reason, len);
	}
	if (READ_ONCE(slot->gate.is_stale)) {
		/* all of the daemon stands still, and a wire goes on: as in the lane user */
		if (READ_ONCE(slot->gate.is_hung) && crosses_alone(reason))
			return cross(ctx, is_sg);
		return lane_kernel(ctx, slot, SHUNT_STEER_STALE, len);
	}
	if (half->bridge && reason == SHUNT_STEER_BRIDGED)
		return switch_frame(ctx, half, slot, queue, is_ruled, len, is_sg);
	/* mix: routed here if there are tables for it */
	if (half->bridge && !generation())
		return lane_user(ctx, slot, queue, reason, len, is_sg);
	done = leave(ctx, half, live, &out, reason, is_sg, can_trim);
	if (done == ROUTE_WORKER)
		return lane_user(ctx, slot, queue, mode_reason_of(ctx, live, reason, len), len,
				 is_sg);
	if (done < SHUNT_STEER_XDP_FORWARD4)
		return lane_kernel(ctx, slot, done, len);
	return redirected(ctx, slot, is_ruled ? SHUNT_STEER_XDP_RULE : done, SHUNT_LANE_XDP, out,
			  len);
}

#endif
