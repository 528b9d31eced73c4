/* SPDX-License-Identifier: GPL-2.0-only */
/* Of a packet that rules judge: which connection it is of, and what the kernel says of that
 * (flow.bpf.h). What becomes of it approved.bpf.h has. */
#ifndef SHUNT_STEER_ASK_BPF_H
#define SHUNT_STEER_ASK_BPF_H

#include "steer/flow_count.bpf.h"
#include "steer/flow_memo.bpf.h"
#include "steer/route.bpf.h"
#include "steer/source.bpf.h"

#ifdef SHUNT_FLOWS

#define TCP_LEN 20
#define UDP_LEN 8

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

/* The device that the packet came in by, as an answer has it; with its tags, where it has some. */
static __always_inline __u32 own_of(const void *data, const void *end, __u32 own_port)
{
	const __u32 flags = READ_ONCE(shunt_ctl.tables.flags);
	struct tags tags;

	if (data + sizeof(struct eth) > end)
		return own_port;
	if (!is_tagged(data) || !read_tags(data, end, &tags))
		return flags ? flags >> SHUNT_TABLES_OWN_SHIFT : own_port;
	return SHUNT_TABLES_TAGGED + shunt_device_number(device_of(own_port, &tags));
}

/* The way back to the packet's source is the device that it came in by, whose packets go by space
 * 0: those of others are left to the kernel. */
static __noinline bool comes_back(struct xdp_md *ctx, __u32 own_port, __u32 tags_len, bool is_ip6)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const void *l3 = data + sizeof(struct eth) + (tags_len & 12);
	const struct shunt_tables_adj *adj;
	const struct ipv4 *ip4 = l3;
	const struct ipv6 *ip6 = l3;

	if ((is_ip6 ? (const void *)(ip6 + 1) : (const void *)(ip4 + 1)) > end)
		return false;
	adj = adj_back(is_ip6 ? hop6(ip6->src, 0) : hop4(bpf_ntohl(ip4->src_be), 0));
	return adj && adj->kind == SHUNT_TABLES_REWRITE &&
	       exit_of_adj(adj) == own_of(data, end, own_port);
}

/* Of the IP packet, whose header is there. */
static __always_inline __u32 ip_len(struct xdp_md *ctx, __u32 tags_len, const bool is_ip6)
{
	const void *l3 = (const void *)(long)ctx->data + sizeof(struct eth) + (tags_len & 12);
	const void *end = (const void *)(long)ctx->data_end;
	const struct ipv4 *ip4 = l3;
	const struct ipv6 *ip6 = l3;

	if (is_ip6)
		return (const void *)(ip6 + 1) > end
			       ? 0
			       : bpf_ntohs(ip6->payload_len_be) + sizeof(*ip6);
	return (const void *)(ip4 + 1) > end ? 0 : bpf_ntohs(ip4->tot_len_be);
}

/* Whether the flowtable itself answers, which knows its own devices, but no tags. */
static __always_inline bool asks_flowtable(const bool may_tag)
{
	return flow_has_device() && !may_tag;
}

/* SAME or TRANSLATED; NO_FLOW. *to: what the packet leaves with, in a memo: where nothing is
 * remembered, one is the room for it. */
static __always_inline int ask_kernel(struct xdp_md *ctx, const struct shunt_flow_key *flow,
				      const struct shunt_flow_key **to, const bool is_ip6,
				      const bool may_tag)
{
	const bool remembers = asks_flowtable(may_tag);
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
	memo->tick = 0;
	memo->answer.to = (struct shunt_flow_key){.proto = flow->proto};
	if (!shunt_flow.asks || !ask_connections(ctx, flow, &memo->answer.to, is_ip6))
		return SHUNT_STEER_NO_FLOW;
	return is_same_flow(flow, &memo->answer.to) ? SAME : TRANSLATED;
}

static __always_inline int ask(struct xdp_md *ctx, const struct shunt_flow_key **to, __u32 tags_len,
			       const bool is_ip6, const bool may_tag)
{
	const void *l3 = (const void *)(long)ctx->data + sizeof(struct eth) + (tags_len & 12);
	struct shunt_flow_key flow = {};
	int why = read_flow(l3, (const void *)(long)ctx->data_end, &flow, is_ip6);

	if (why != SHUNT_STEER_OFF)
		return why;
	why = ask_kernel(ctx, &flow, to, is_ip6, may_tag);
	if (why < 0 && flow_is_counted())
		flow_remember(&flow, ip_len(ctx, tags_len, is_ip6));
	return why;
}

#endif /* SHUNT_FLOWS */
#endif
