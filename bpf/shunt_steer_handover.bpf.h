/* SPDX-License-Identifier: GPL-2.0-only */
/* Between two daemons: one has handed over and closed his sockets, the next has none yet. What a
 * cross-connect or a bridge sends from port to port goes on doing so, inside the kernel, which
 * knows nothing of cross-connects, nor of a bridge that has none of its own beneath; everything
 * else is the kernel's, as when nobody serves. Not for longer than the first one allowed: where the
 * next never comes, the kernel has it all. Part of shunt_steer.bpf.c. */
#ifndef SHUNT_STEER_HANDOVER_BPF_H
#define SHUNT_STEER_HANDOVER_BPF_H

/* What a cross-connect or a bridge has to say of a frame; SHUNT_STEER_CLOSED where it is none, or
 * its time is over. A bridge knows the own address also where a rule brought the frame: of mode mix
 * that part is routed. */
static __always_inline int crossing_reason(struct xdp_md *ctx, const struct shunt_steer_half *half,
					   __u32 live)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	bool is_ruled;
	int reason;

	if (live < SHUNT_STEER_LIVE_HANDOVER(0) || half->lane == SHUNT_LANE_KERNEL ||
	    data + sizeof(struct eth) > end ||
	    bpf_ktime_get_ns() > *(volatile __u64 *)&shunt_ctl.handover_until_ns)
		return SHUNT_STEER_CLOSED;
	if (half->mode != SHUNT_STEER_MODE_XCONNECT && half->mode != SHUNT_STEER_MODE_TRANSPARENT &&
	    half->mode != SHUNT_STEER_MODE_MIX)
		return SHUNT_STEER_CLOSED;
	reason = half->rule_cnt ? by_rules(ctx, live) : RULE_NONE;
	is_ruled = reason == RULE_XDP || reason == SHUNT_STEER_RULE_USER;
	if (is_ruled && half->bridge)
		return xconnect_reason(half, data, end);
	if (is_ruled || (reason < 0 && half->mode == SHUNT_STEER_MODE_TRANSPARENT))
		return SHUNT_STEER_BRIDGED;
	return reason < 0 ? xconnect_reason(half, data, end) : reason;
}

/* The worker floods one frame after the other; here all at once. */
static __always_inline bool floods(const bool is_sg)
{
	if (is_sg)
		return bpf_redirect_map(&shunt_flood_sg, 0, BPF_F_BROADCAST) == XDP_REDIRECT;
	return bpf_redirect_map(&shunt_flood, 0, BPF_F_BROADCAST) == XDP_REDIRECT;
}

static __always_inline int switch_meanwhile(struct xdp_md *ctx, const struct shunt_steer_half *half,
					    const bool is_sg)
{
	__u32 to = switch_port_meanwhile(ctx, half->bridge, half->in_port);

	if (to == SWITCH_NONE)
		return SHUNT_STEER_CLOSED;
	return (to == SWITCH_ALL ? floods(is_sg) : redirects(to, is_sg)) ? SHUNT_STEER_XDP_BRIDGED
									 : SHUNT_STEER_NO_XDP_PORT;
}

static __always_inline int crosses_meanwhile(struct xdp_md *ctx, const bool is_sg)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	__u64 len = is_sg ? bpf_xdp_get_buff_len(ctx) : (__u64)(end - data);
	__u32 live = *(volatile __u32 *)&shunt_ctl.live;
	const struct shunt_steer_half *half = &shunt_ctl.half[(live - 1) & 1];
	struct shunt_steer_slot *slot = slot_of(ctx->rx_queue_index);
	int reason = crossing_reason(ctx, half, live);

	if (reason == SHUNT_STEER_RULE_DROP)
		return count(&slot->counters, reason, SHUNT_LANE_DROP, len, XDP_DROP);
	if (reason != SHUNT_STEER_BRIDGED)
		return lane_kernel(slot, reason, len);
	if (is_sg && len > half->len_max)
		return lane_kernel(slot, SHUNT_STEER_TOO_LONG, len);
	reason = half->bridge			    ? switch_meanwhile(ctx, half, is_sg)
		 : half->hop			    ? to_hop(ctx, half, reason, is_sg)
		 : redirects(half->out_port, is_sg) ? SHUNT_STEER_XDP_BRIDGED
						    : SHUNT_STEER_NO_XDP_PORT;
	if (reason < SHUNT_STEER_XDP_FORWARD4)
		return lane_kernel(slot, reason, len);
	return redirected(ctx, slot, reason, SHUNT_LANE_XDP, len);
}

/* Apart from the others' way. A devmap's programs must agree on frags, so there are two. */
static __noinline int handover(struct xdp_md *ctx)
{
	return crosses_meanwhile(ctx, false);
}

static __noinline int handover_sg(struct xdp_md *ctx)
{
	return crosses_meanwhile(ctx, true);
}

#endif
