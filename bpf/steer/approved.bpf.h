/* SPDX-License-Identifier: GPL-2.0-only */
/* Mode LAYER3_FLOWS: the host's rules judge what the port forwards, so only packets of approved
 * connections are forwarded here (flow.bpf.h). One that is not translated goes on as in mode
 * LAYER3. One that is gets its new addresses and ports here, whatever its lane: the worker routes
 * it as any other, and puts back what was there before it hands it to the kernel. Nothing is
 * written before the redirect is sure, so what the kernel gets is untranslated.
 *
 * In lane xdp, a translated packet that came with tags, or leaves by a device above ports, does so
 * in a function of its own: the stack has no room for both. Where the frame cannot be made longer
 * or shorter, that gives it to the worker. */
#ifndef SHUNT_STEER_APPROVED_BPF_H
#define SHUNT_STEER_APPROVED_BPF_H

#include "steer/ask.bpf.h"
#include "steer/lane_user.bpf.h"
#include "steer/route.bpf.h"

/* The answer of a packet that has left has the port by which it did, too. */
#define APPROVED_OUT_SHIFT  8

/* Beside enum shunt_lane: the lane user, whose gate was found open, and whose worker restores. */
#define LANE_USER_OPEN	    SHUNT_LANE_CNT

/* In the place of a reason: it leaves by leave_any(). */
#define APPROVED_APART	    0x7f

/* Above a lane: how many bytes of tags the packet has. */
#define APPROVED_TAGS_SHIFT 8

#ifndef SHUNT_FLOWS

static __always_inline int approved(struct xdp_md *ctx, __u32 live, int reason, __u32 lane,
				    const bool is_sg, const bool can_trim)
{
	return reason;
}

#else

/* As lane_user has it. */
static __always_inline int user_shut_reason(struct xdp_md *ctx)
{
	struct shunt_steer_slot *slot = slot_of(ctx->rx_queue_index);
	const __u32 shut = READ_ONCE(slot->gate.shut);

	return shut ? shut_reason(ctx, slot, shut) : SHUNT_STEER_OFF;
}

/* As lane_user has it, and lane_xdp. */
static __always_inline int give_translated(struct xdp_md *ctx, const struct shunt_flow_key *to,
					   __u32 tags_len, const bool is_ip6)
{
	const __u32 queue = ctx->rx_queue_index;

	if (!takes_worker(queue)) {
		slot_of(queue)->counters.unserved[SHUNT_STEER_TRANSLATED]++;
		return SHUNT_STEER_NO_SOCKET;
	}
	return change_packet(ctx, to, tags_len, SHUNT_LANE_USER, is_ip6) ? SHUNT_STEER_TRANSLATED
									 : SHUNT_STEER_TRUNCATED;
}

/* Why it does not leave by lane xdp; OFF: nothing stands against it. */
static __always_inline int xdp_shut_reason(struct xdp_md *ctx)
{
	__u32 queue = ctx->rx_queue_index;

	if (!bpf_map_lookup_elem(&shunt_xsks, &queue))
		return SHUNT_STEER_NO_SOCKET;
	return READ_ONCE(slot_of(queue)->gate.is_stale) ? SHUNT_STEER_STALE : SHUNT_STEER_OFF;
}

static __always_inline int left(int done, __u32 out)
{
	return done < SHUNT_STEER_XDP_FORWARD4
		       ? done
		       : SHUNT_STEER_XDP_TRANSLATED | (int)(out << APPROVED_OUT_SHIFT);
}

static __always_inline int leave_translated(struct xdp_md *ctx, const struct shunt_steer_half *half,
					    const struct shunt_flow_key *to, const bool is_ip6,
					    const bool is_sg)
{
	const int why = xdp_shut_reason(ctx);
	__u32 out = 0;
	int done;

	if (why != SHUNT_STEER_OFF)
		return why;
	done = route(ctx, half, &out, to, is_ip6, is_sg, false, EXITS_PORTS);
	return done == ROUTE_APART ? APPROVED_APART : left(done, out);
}

/* What the connection's packets leave with, as the kernel has just said. */
static __always_inline const struct shunt_flow_key *answer_to(const void *l3, const void *end,
							      bool was_asked_for, const bool is_ip6)
{
	struct shunt_flow_key flow = {};
	struct flow_memo *memo;

	if (!flow_has_device() || was_asked_for) {
		memo = memo_of(0);
		return memo ? &memo->answer.to : NULL;
	}
	if (read_flow(l3, end, &flow, is_ip6) != SHUNT_STEER_OFF)
		return NULL;
	memo = memo_of(flow_hash(&flow, is_ip6));
	return memo && memo_holds(memo, &flow, is_ip6) ? &memo->answer.to : NULL;
}

/* lane: the tags' length above it, as approved() has it. was_asked_for: the connection, and not the
 * flowtable. */
static __always_inline int leave_apart(struct xdp_md *ctx, __u32 live, __u32 lane,
				       __u32 was_asked_for, const bool is_ip6, const bool is_sg)
{
	const struct shunt_steer_half *half = &shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(live)];
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const __u32 tags_len = lane >> APPROVED_TAGS_SHIFT & 12;
	const struct shunt_flow_key *to;
	const int why = xdp_shut_reason(ctx);
	struct origin from = origin_of_port();
	__u32 out = 0;

	if (why != SHUNT_STEER_OFF)
		return why;
	to = answer_to(data + sizeof(struct eth) + tags_len, end, was_asked_for, is_ip6);
	if (!to || data + sizeof(struct eth) > end)
		return SHUNT_STEER_NO_WAY;
	if (tags_len && !origin_of_tags(half, data, end, &from))
		return SHUNT_STEER_VLAN;
	return left(route_from(ctx, half, &from, &out, to, is_ip6, is_sg, true, EXITS_ALL), out);
}

__noinline int leave_apart4(struct xdp_md *ctx, __u32 live, __u32 lane, __u32 was_asked_for)
{
	return leave_apart(ctx, live, lane, was_asked_for, false, false);
}

__noinline int leave_apart6(struct xdp_md *ctx, __u32 live, __u32 lane, __u32 was_asked_for)
{
	return leave_apart(ctx, live, lane, was_asked_for, true, false);
}

__noinline int leave_apart4_sg(struct xdp_md *ctx, __u32 live, __u32 lane, __u32 was_asked_for)
{
	return leave_apart(ctx, live, lane, was_asked_for, false, true);
}

__noinline int leave_apart6_sg(struct xdp_md *ctx, __u32 live, __u32 lane, __u32 was_asked_for)
{
	return leave_apart(ctx, live, lane, was_asked_for, true, true);
}

/* A program under libxdp's dispatcher must not even hold the call that makes room for tags, so the
 * worker puts them in, or takes them out. lane, was_asked_for: as of leave_apart. */
static __always_inline int give_apart(struct xdp_md *ctx, __u32 lane, __u32 was_asked_for,
				      const bool is_ip6)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const __u32 tags_len = lane >> APPROVED_TAGS_SHIFT & 12;
	const int why = user_shut_reason(ctx);
	const struct shunt_flow_key *to;

	if (why != SHUNT_STEER_OFF)
		return why;
	to = READ_ONCE(shunt_ctl.restores)
		     ? answer_to(data + sizeof(struct eth) + tags_len, end, was_asked_for, is_ip6)
		     : NULL;
	return to ? give_translated(ctx, to, tags_len, is_ip6) : SHUNT_STEER_NO_WAY;
}

__noinline int give_apart4(struct xdp_md *ctx, __u32 lane, __u32 was_asked_for)
{
	return give_apart(ctx, lane, was_asked_for, false);
}

__noinline int give_apart6(struct xdp_md *ctx, __u32 lane, __u32 was_asked_for)
{
	return give_apart(ctx, lane, was_asked_for, true);
}

static __always_inline int translated(struct xdp_md *ctx, const struct shunt_steer_half *half,
				      const struct shunt_flow_key *to, __u32 lane, __u32 tags_len,
				      const bool is_ip6, const bool is_sg, const bool may_tag)
{
	int why;

	/* Not every port that takes frames from XDP takes those of several buffers (lane_of). */
	if (is_sg && bpf_xdp_get_buff_len(ctx) > ctx->data_end - ctx->data)
		return SHUNT_STEER_NO_XDP_PORT;
	if (lane == SHUNT_LANE_KERNEL)
		return SHUNT_STEER_LANE_KERNEL;
	if (lane == LANE_USER_OPEN)
		return give_translated(ctx, to, tags_len, is_ip6);
	if (lane == SHUNT_LANE_USER && READ_ONCE(shunt_ctl.restores)) {
		why = user_shut_reason(ctx);
		return why == SHUNT_STEER_OFF ? give_translated(ctx, to, tags_len, is_ip6) : why;
	}
	return may_tag ? APPROVED_APART : leave_translated(ctx, half, to, is_ip6, is_sg);
}

/* may_tag: the length of tags, perhaps 0, is above the lane; else there are none. */
static __always_inline int approve(struct xdp_md *ctx, __u32 live, int reason, __u32 lane,
				   const bool is_ip6, const bool is_sg, const bool may_tag)
{
	const struct shunt_steer_half *half = &shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(live)];
	const __u32 tags_len = may_tag ? lane >> APPROVED_TAGS_SHIFT : 0;
	const struct shunt_flow_key *to = NULL;
	int why = ask(ctx, &to, tags_len, is_ip6, may_tag);

	/* Linux 6.1 takes an answer that it has seen before for this one, and what follows out. */
	FORGET(why, live);
	if (why < 0 && !asks_flowtable(may_tag) &&
	    !comes_back(ctx, half->out_port, tags_len, is_ip6))
		why = SHUNT_STEER_OTHER_SOURCE;
	if (why == TRANSLATED && to)
		return translated(ctx, half, to,
				  may_tag ? lane & ((1 << APPROVED_TAGS_SHIFT) - 1) : lane,
				  tags_len, is_ip6, is_sg, may_tag);
	return why == SAME || reason == SHUNT_STEER_LOCAL_ADDRESS ? reason : why;
}

/* Each verified once. live: as the caller has read it. */
__noinline int approve4(struct xdp_md *ctx, __u32 live, int reason, __u32 lane)
{
	return approve(ctx, live, reason, lane, false, false, false);
}

__noinline int approve6(struct xdp_md *ctx, __u32 live, int reason, __u32 lane)
{
	return approve(ctx, live, reason, lane, true, false, false);
}

__noinline int approve4_sg(struct xdp_md *ctx, __u32 live, int reason, __u32 lane)
{
	return approve(ctx, live, reason, lane, false, true, false);
}

__noinline int approve6_sg(struct xdp_md *ctx, __u32 live, int reason, __u32 lane)
{
	return approve(ctx, live, reason, lane, true, true, false);
}

/* Whether the program takes packets of several buffers or not. */
__noinline int approve_tagged4(struct xdp_md *ctx, __u32 live, int reason, __u32 lane)
{
	return approve(ctx, live, reason, lane, false, true, true);
}

__noinline int approve_tagged6(struct xdp_md *ctx, __u32 live, int reason, __u32 lane)
{
	return approve(ctx, live, reason, lane, true, true, true);
}

static __always_inline int approve_any(struct xdp_md *ctx, __u32 live, int reason, __u32 lane,
				       bool was_asked_for, bool is_ip6, const bool is_sg)
{
	if (was_asked_for)
		return is_ip6 ? approve_tagged6(ctx, live, reason, lane)
			      : approve_tagged4(ctx, live, reason, lane);
	if (is_sg)
		return is_ip6 ? approve6_sg(ctx, live, reason, lane)
			      : approve4_sg(ctx, live, reason, lane);
	return is_ip6 ? approve6(ctx, live, reason, lane) : approve4(ctx, live, reason, lane);
}

static __always_inline int leave_any(struct xdp_md *ctx, __u32 live, __u32 lane, bool was_asked_for,
				     bool is_ip6, const bool is_sg, const bool can_trim)
{
	if (!can_trim)
		return is_ip6 ? give_apart6(ctx, lane, was_asked_for)
			      : give_apart4(ctx, lane, was_asked_for);
	if (is_sg)
		return is_ip6 ? leave_apart6_sg(ctx, live, lane, was_asked_for)
			      : leave_apart4_sg(ctx, live, lane, was_asked_for);
	return is_ip6 ? leave_apart6(ctx, live, lane, was_asked_for)
		      : leave_apart4(ctx, live, lane, was_asked_for);
}

/* reason: the mode's; lane: that of a packet that may go on, or LANE_USER_OPEN. Returns the reason
 * where the packet may be forwarded as it is; why the packet is the kernel's; or that it has left,
 * TRANSLATED to the worker, or XDP_TRANSLATED, with the port in the bits above APPROVED_OUT_SHIFT.
 */
static __always_inline int approved(struct xdp_md *ctx, __u32 live, int reason, __u32 lane,
				    const bool is_sg, const bool can_trim)
{
	const struct eth *eth = (const void *)(long)ctx->data;
	const void *end = (const void *)(long)ctx->data_end;
	bool is_ip6 = reason == SHUNT_STEER_FORWARD6, was_asked_for;
	__be16 type_be;

	if ((const void *)(eth + 1) > end)
		return SHUNT_STEER_TRUNCATED;
	if (reason != SHUNT_STEER_LOCAL_ADDRESS && /* or that of a connection that is translated */
	    reason != SHUNT_STEER_FORWARD4 && !is_ip6)
		return reason;
	type_be = eth->type_be;
	if (is_tagged(eth))
		lane |= (__u32)(behind_tags(eth, end, &type_be) - (const void *)(eth + 1))
			<< APPROVED_TAGS_SHIFT;
	was_asked_for = is_tagged(eth) || READ_ONCE(shunt_ctl.flow_above);
	is_ip6 = type_be == bpf_htons(ETH_P_IPV6);
	reason = approve_any(ctx, live, reason, lane, was_asked_for, is_ip6, is_sg);
	if (reason != APPROVED_APART)
		return reason;
	return leave_any(ctx, live, lane, was_asked_for || !flow_has_device(), is_ip6, is_sg,
			 can_trim);
}

#endif /* SHUNT_FLOWS */
#endif
