/* SPDX-License-Identifier: GPL-2.0-only */
/* The lane user: to the AF_XDP socket of the frame's queue, while its gate is open. Where nobody
 * serves the queue, a wire goes on being a wire (handover.bpf.h), and all else is the kernel's. */
#ifndef SHUNT_STEER_LANE_USER_BPF_H
#define SHUNT_STEER_LANE_USER_BPF_H

#include "steer/count.bpf.h"
#include "steer/handover.bpf.h"

/* One entry of the pair. Returns whether the frame is the kernel's. */
static __always_inline bool pass_holds(struct shunt_steer_pass *pass, __u32 tag, __u32 now_ms)
{
	if (READ_ONCE(pass->tag) != tag)
		return false;
	if ((__s32)(READ_ONCE(pass->until_ms) - now_ms) > 0)
		return true;
	if (pass->probes >= SHUNT_STEER_PROBES) {
		WRITE_ONCE(pass->tag, 0);
		return false;
	}
	/* This frame asks the worker, the next ones do not wait for its answer. */
	pass->probes++;
	WRITE_ONCE(pass->until_ms, now_ms + SHUNT_STEER_PROBE_MS);
	return false;
}

/* Whether the worker would only hand the frame back. Apart from the straight line. */
__noinline int passes(struct xdp_md *ctx)
{
	struct shunt_steer_slot *slot = slot_of(ctx->rx_queue_index);
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	__u32 tag, now_ms, at;

	if (data + sizeof(struct eth) > end)
		return false;
	if (READ_ONCE(slot->gate.passing) == SHUNT_STEER_PASSES_ALL)
		return true;
	tag = shunt_steer_pass_tag(data, end);
	now_ms = bpf_ktime_get_ns() / 1000000;
	at = shunt_steer_pass_at(tag);
	return pass_holds(&slot->passes[at & (SHUNT_STEER_PASSES - 1)], tag, now_ms) ||
	       pass_holds(&slot->passes[(at + 1) & (SHUNT_STEER_PASSES - 1)], tag, now_ms);
}

/* Why the frame cannot be the worker's, though its gate may be open for others; OFF: it can. */
static __always_inline int shut_reason(struct xdp_md *ctx, struct shunt_steer_slot *slot,
				       __u32 shut)
{
	if (shut & SHUNT_STEER_SHUT_HUNG)
		return SHUNT_STEER_HUNG;
	if (shut & SHUNT_STEER_SHUT_STALE)
		return SHUNT_STEER_STALE;
	if (shut & SHUNT_STEER_SHUT_DRY)
		return SHUNT_STEER_DRY;
	return passes(ctx) ? SHUNT_STEER_PUNTED : SHUNT_STEER_OFF;
}

/* XDP_PASS comes back where the slot is empty: no socket, no harm. */
static __always_inline bool takes_worker(__u32 queue)
{
	return bpf_redirect_map(&shunt_xsks, queue, XDP_PASS) == XDP_REDIRECT;
}

/* Whether the frame is one of a wire's, and the port goes on without a worker. */
static __always_inline bool crosses_alone(int reason)
{
	return (reason == SHUNT_STEER_BRIDGED || reason == SHUNT_STEER_RULE_USER) &&
	       READ_ONCE(shunt_ctl.crosses);
}

static __always_inline int cross(struct xdp_md *ctx, const bool is_sg)
{
	return is_sg ? handover_sg(ctx) : handover(ctx);
}

/* No socket serves the queue of a frame that was meant for user, or for xdp, which ends with it. */
static __always_inline int unserved(struct xdp_md *ctx, struct shunt_steer_slot *slot, int reason,
				    __u64 len, const bool is_sg)
{
	if (crosses_alone(reason))
		return cross(ctx, is_sg);
	slot->counters.unserved[reason & (SHUNT_STEER_USER_REASON_MAX - 1)]++;
	return lane_kernel(ctx, slot, SHUNT_STEER_NO_SOCKET, len);
}

/* The kernel cannot forward a wire's frames. They stay with a live worker, unless rules judge them
 * and are not followed now. */
static __always_inline int lane_user(struct xdp_md *ctx, struct shunt_steer_slot *slot, __u32 queue,
				     int reason, __u64 len, const bool is_sg)
{
	__u32 shut = READ_ONCE(slot->gate.shut);

	if (shut) {
		int why = shut_reason(ctx, slot, shut);

		if (why == SHUNT_STEER_HUNG && crosses_alone(reason))
			return cross(ctx, is_sg);
		if (why == SHUNT_STEER_STALE && bpf_map_lookup_elem(&shunt_xsks, &queue))
			return lane_kernel(ctx, slot, why, len);
		if (why != SHUNT_STEER_OFF && !crosses_alone(reason))
			return lane_kernel(ctx, slot, why, len);
	}
	if (takes_worker(queue))
		return redirected(ctx, slot, reason, SHUNT_LANE_USER, SHUNT_TAP_NO_PORT, len);
	return unserved(ctx, slot, reason, len, is_sg);
}

#endif
