/* SPDX-License-Identifier: GPL-2.0-only */
/* Mode LAYER3_FLOWS: the host's rules judge what the port forwards, so only packets of approved
 * connections are forwarded here (flow.bpf.h). One that is not translated goes on as in mode
 * LAYER3. One that is gets its new addresses and ports here, whatever its lane: the worker routes
 * it as any other, and puts back what was there before it hands it to the kernel. Nothing is
 * written before the redirect is sure, so what the kernel gets is untranslated. */
#ifndef SHUNT_STEER_APPROVED_BPF_H
#define SHUNT_STEER_APPROVED_BPF_H

#include "steer/flow_count.bpf.h"
#include "steer/flow_memo.bpf.h"
#include "steer/lane_user.bpf.h"
#include "steer/route.bpf.h"
#include "steer/source.bpf.h"

/* The answer of a packet that has left has the port by which it did, too. */
#define APPROVED_OUT_SHIFT 8

/* Beside enum shunt_lane: the lane user, whose gate was found open, and whose worker restores. */
#define LANE_USER_OPEN	   SHUNT_LANE_CNT

#ifndef SHUNT_FLOWS

static __always_inline int approved(struct xdp_md *ctx, __u32 live, int reason, __u32 lane,
				    const bool is_sg)
{
	return reason;
}

#else

#define TCP_LEN 20
#define UDP_LEN 8

/* ---- what is asked about -------------------------------------------------------------------- */

/* What ask() returns beside a reason for which the packet is the kernel's. */
enum { SAME = -1, TRANSLATED = -2 };

/* OFF: all is well. */
static __always_inline int read_l4(const void *l4, const void *end, __u32 len,
				   struct shunt_flow_key *out)
{
	const __u8 *tcp_flags = l4 + 13;

	if (out->proto == IPPROTO_TCP) {
		if (len < TCP_LEN || l4 + TCP_LEN > end)
			return SHUNT_STEER_NOT_FLOW;
		out->ports = *(const __u32 *)l4;
		if (*tcp_flags & TCP_SYN)
			flow_begin(out);
		if (*tcp_flags & TCP_FIN_SYN_RST)
			return SHUNT_STEER_FLOW_SIGNAL;
		return SHUNT_STEER_OFF;
	}
	if (out->proto != IPPROTO_UDP || len < UDP_LEN || l4 + UDP_LEN > end)
		return SHUNT_STEER_NOT_FLOW;
	out->ports = *(const __u32 *)l4;
	return SHUNT_STEER_OFF;
}

static __always_inline int read_flow(const void *l3, const void *end, struct shunt_flow_key *out,
				     const bool is_ip6)
{
	const struct ipv4 *ip4 = l3;
	const struct ipv6 *ip6 = l3;

	if (is_ip6) {
		if ((const void *)(ip6 + 1) > end)
			return SHUNT_STEER_TRUNCATED;
		out->src[0] = ip6->src[0];
		out->src[1] = ip6->src[1];
		out->dst[0] = ip6->dst[0];
		out->dst[1] = ip6->dst[1];
		out->proto = ip6->nexthdr;
		out->is_ip6 = true;
		return read_l4(ip6 + 1, end, bpf_ntohs(ip6->payload_len_be), out);
	}
	if ((const void *)(ip4 + 1) > end)
		return SHUNT_STEER_TRUNCATED;
	/* A flowtable forwards it, a worker would not. */
	if (!sum_is_right(ip4))
		return SHUNT_STEER_BAD_CHECKSUM;
	if (ip4->frag_off_be & bpf_htons(IP4_FRAGMENT))
		return SHUNT_STEER_NOT_FLOW;
	out->src[0] = ip4->src_be;
	out->dst[0] = ip4->dst_be;
	out->proto = ip4->proto;
	return read_l4(ip4 + 1, end, bpf_ntohs(ip4->tot_len_be) - (__u32)sizeof(*ip4), out);
}

/* The way back to the packet's source is this port, whose packets go by space 0: those of others
 * are left to the kernel. */
static __noinline bool comes_back(struct xdp_md *ctx, __u32 own_port, bool is_ip6)
{
	const void *l3 = (const void *)(long)ctx->data + sizeof(struct eth);
	const struct shunt_tables_adj *adj;
	const struct ipv4 *ip4 = l3;
	const struct ipv6 *ip6 = l3;

	if ((is_ip6 ? (const void *)(ip6 + 1) : (const void *)(ip4 + 1)) >
	    (const void *)(long)ctx->data_end)
		return false;
	adj = adj_back(is_ip6 ? hop6(ip6->src, 0) : hop4(bpf_ntohl(ip4->src_be), 0));
	return adj && adj->kind == SHUNT_TABLES_REWRITE && adj->port == own_port;
}

/* Of the IP packet, whose header is there. */
static __always_inline __u32 ip_len(struct xdp_md *ctx, const bool is_ip6)
{
	const void *l3 = (const void *)(long)ctx->data + sizeof(struct eth);
	const void *end = (const void *)(long)ctx->data_end;
	const struct ipv4 *ip4 = l3;
	const struct ipv6 *ip6 = l3;

	if (is_ip6)
		return (const void *)(ip6 + 1) > end
			       ? 0
			       : bpf_ntohs(ip6->payload_len_be) + sizeof(*ip6);
	return (const void *)(ip4 + 1) > end ? 0 : bpf_ntohs(ip4->tot_len_be);
}

/* SAME or TRANSLATED; NO_FLOW. *to: what the packet leaves with, in a memo: where nothing is
 * remembered, one is the room for it. */
static __always_inline int ask_kernel(struct xdp_md *ctx, const struct shunt_flow_key *flow,
				      const struct shunt_flow_key **to, const bool is_ip6)
{
	const bool remembers = flow_has_device();
	const __u64 hash = remembers ? flow_hash(flow, is_ip6) : 0;
	struct flow_memo *memo = memo_of(hash);

	if (!memo)
		return SHUNT_STEER_NO_FLOW;
	*to = &memo->answer.to;
	if (remembers) {
		if (!memo_holds(memo, flow, is_ip6) && !memo_ask(ctx, memo, flow, hash, is_ip6))
			return SHUNT_STEER_NO_FLOW;
		return memo->answer.is_translated ? TRANSLATED : SAME;
	}
	memo->answer.to = (struct shunt_flow_key){.proto = flow->proto};
	if (!shunt_flow.asks || !ask_connections(ctx, flow, &memo->answer.to, is_ip6))
		return SHUNT_STEER_NO_FLOW;
	return is_same_flow(flow, &memo->answer.to) ? SAME : TRANSLATED;
}

static __always_inline int ask(struct xdp_md *ctx, const struct shunt_flow_key **to,
			       const bool is_ip6)
{
	const void *l3 = (const void *)(long)ctx->data + sizeof(struct eth);
	struct shunt_flow_key flow = {};
	int why = read_flow(l3, (const void *)(long)ctx->data_end, &flow, is_ip6);

	if (why != SHUNT_STEER_OFF)
		return why;
	why = ask_kernel(ctx, &flow, to, is_ip6);
	if (why < 0 && flow_is_counted())
		flow_remember(&flow, ip_len(ctx, is_ip6));
	return why;
}

/* ---- what becomes of it --------------------------------------------------------------------- */

/* As lane_user has it. */
static __always_inline int user_shut_reason(struct xdp_md *ctx)
{
	struct shunt_steer_slot *slot = slot_of(ctx->rx_queue_index);
	const __u32 shut = READ_ONCE(slot->gate.shut);

	return shut ? shut_reason(ctx, slot, shut) : SHUNT_STEER_OFF;
}

/* As lane_user has it, and lane_xdp. */
static __always_inline int give_translated(struct xdp_md *ctx, const struct shunt_flow_key *to,
					   const bool is_ip6)
{
	const __u32 queue = ctx->rx_queue_index;

	if (!takes_worker(queue)) {
		slot_of(queue)->counters.unserved[SHUNT_STEER_TRANSLATED]++;
		return SHUNT_STEER_NO_SOCKET;
	}
	return change_packet(ctx, to, SHUNT_LANE_USER, is_ip6) ? SHUNT_STEER_TRANSLATED
							       : SHUNT_STEER_TRUNCATED;
}

static __always_inline int leave_translated(struct xdp_md *ctx, const struct shunt_steer_half *half,
					    const struct shunt_flow_key *to, const bool is_ip6,
					    const bool is_sg)
{
	__u32 queue = ctx->rx_queue_index, out = 0;
	int done;

	if (!bpf_map_lookup_elem(&shunt_xsks, &queue))
		return SHUNT_STEER_NO_SOCKET;
	if (READ_ONCE(slot_of(queue)->gate.is_stale))
		return SHUNT_STEER_STALE;
	done = route(ctx, half, &out, to, is_ip6, is_sg, false);
	return done < SHUNT_STEER_XDP_FORWARD4
		       ? done
		       : SHUNT_STEER_XDP_TRANSLATED | (int)(out << APPROVED_OUT_SHIFT);
}

static __always_inline int translated(struct xdp_md *ctx, const struct shunt_steer_half *half,
				      const struct shunt_flow_key *to, __u32 lane,
				      const bool is_ip6, const bool is_sg)
{
	int why = SHUNT_STEER_OFF;

	/* Not every port that takes frames from XDP takes those of several buffers (lane_of). */
	if (is_sg && bpf_xdp_get_buff_len(ctx) > ctx->data_end - ctx->data)
		return SHUNT_STEER_NO_XDP_PORT;
	if (lane == SHUNT_LANE_KERNEL)
		return SHUNT_STEER_LANE_KERNEL;
	if (lane != LANE_USER_OPEN) {
		if (lane != SHUNT_LANE_USER || !READ_ONCE(shunt_ctl.restores))
			return leave_translated(ctx, half, to, is_ip6, is_sg);
		why = user_shut_reason(ctx);
	}
	return why == SHUNT_STEER_OFF ? give_translated(ctx, to, is_ip6) : why;
}

static __always_inline int approve(struct xdp_md *ctx, __u32 live, int reason, __u32 lane,
				   const bool is_ip6, const bool is_sg)
{
	const struct shunt_steer_half *half = &shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(live)];
	const struct shunt_flow_key *to = NULL;
	int why = ask(ctx, &to, is_ip6);

	/* Linux 6.1 takes an answer that it has seen before for this one, and what follows out. */
	FORGET(why, live);
	if (why < 0 && !flow_has_device() && !comes_back(ctx, half->out_port, is_ip6))
		why = SHUNT_STEER_OTHER_SOURCE;
	if (why == TRANSLATED && to)
		return translated(ctx, half, to, lane, is_ip6, is_sg);
	return why == SAME || reason == SHUNT_STEER_LOCAL_ADDRESS ? reason : why;
}

/* Each verified once. live: as the caller has read it. */
__noinline int approve4(struct xdp_md *ctx, __u32 live, int reason, __u32 lane)
{
	return approve(ctx, live, reason, lane, false, false);
}

__noinline int approve6(struct xdp_md *ctx, __u32 live, int reason, __u32 lane)
{
	return approve(ctx, live, reason, lane, true, false);
}

__noinline int approve4_sg(struct xdp_md *ctx, __u32 live, int reason, __u32 lane)
{
	return approve(ctx, live, reason, lane, false, true);
}

__noinline int approve6_sg(struct xdp_md *ctx, __u32 live, int reason, __u32 lane)
{
	return approve(ctx, live, reason, lane, true, true);
}

/* reason: the mode's; lane: that of a packet that may go on, or LANE_USER_OPEN. Returns the reason
 * where the packet may be forwarded as it is; why the packet is the kernel's; or that it has left,
 * TRANSLATED to the worker, or XDP_TRANSLATED, with the port in the bits above APPROVED_OUT_SHIFT.
 */
static __always_inline int approved(struct xdp_md *ctx, __u32 live, int reason, __u32 lane,
				    const bool is_sg)
{
	const struct eth *eth = (const void *)(long)ctx->data;
	bool is_ip6 = reason == SHUNT_STEER_FORWARD6;

	if ((const void *)(eth + 1) > (const void *)(long)ctx->data_end)
		return SHUNT_STEER_TRUNCATED;
	if (reason == SHUNT_STEER_LOCAL_ADDRESS) /* or that of a connection that is translated */
		is_ip6 = eth->type_be == bpf_htons(ETH_P_IPV6);
	else if (reason != SHUNT_STEER_FORWARD4 && !is_ip6)
		return reason;
	if (is_sg)
		return is_ip6 ? approve6_sg(ctx, live, reason, lane)
			      : approve4_sg(ctx, live, reason, lane);
	return is_ip6 ? approve6(ctx, live, reason, lane) : approve4(ctx, live, reason, lane);
}

#endif /* SHUNT_FLOWS */
#endif
