/* SPDX-License-Identifier: GPL-2.0-only */
/* Routing in lane xdp, of packets that the mode found good: what the kernel's forwarding checks and
 * changes, by the tables that userspace keeps. */
#ifndef SHUNT_STEER_ROUTE_BPF_H
#define SHUNT_STEER_ROUTE_BPF_H

#include "steer/hop.bpf.h"
#include "steer/local.bpf.h"
#include "steer/nat.bpf.h"
#include "steer/tables.bpf.h"

/* What a function here returns beside a reason (enum shunt_steer_reason), which is not negative. */
enum route_verdict {
	ROUTE_WORKER = -1, /* not for this lane but for the worker */
	ROUTE_GOOD = -2,   /* nothing stands against it */
};

/* The sum of the header's words is 0xffff, in whatever width it is taken (RFC 1071). */
static __always_inline bool sum_is_right(const struct ipv4 *ip)
{
	const __u32 *words = (const void *)ip;
	__u64 sum = (__u64)words[0] + words[1] + words[2] + words[3] + words[4];

	sum = (sum & 0xffff) + (sum >> 16);
	/* comes to 0xffff for a multiple of it alone, but 0 */
	return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

/* Where a translated packet may come from, the connection says; its sum was looked at before that
 * was asked for. */
static __always_inline int check4(const struct shunt_steer_half *half, const struct ipv4 *ip,
				  __u32 flags, const struct shunt_flow_key *to)
{
	if (!(flags & SHUNT_TABLES_IP4))
		return SHUNT_STEER_NOT_ROUTER;
	if (!to && !sum_is_right(ip))
		return SHUNT_STEER_BAD_CHECKSUM;
	if (is_local4(half, ip->src_be))
		return SHUNT_STEER_OWN_SOURCE;
	if (!to && flags & (SHUNT_TABLES_RPF4 | SHUNT_TABLES_NO_LOCAL) &&
	    !source_is_plain(bpf_ntohl(ip->src_be), flags, half->out_port))
		return SHUNT_STEER_OTHER_SOURCE;
	return ROUTE_GOOD;
}

/* A packet of l3_len bytes. The redirect is asked for here. */
static __always_inline int check_way(const struct shunt_steer_half *half, const struct way *way,
				     __u32 l3_len, const bool is_sg)
{
	if (l3_len > way_mtu(way))
		return SHUNT_STEER_TOO_BIG;
	if (way_port(way) == half->out_port)
		return SHUNT_STEER_SAME_PORT;
	return redirects(way_port(way), is_sg) ? ROUTE_GOOD : SHUNT_STEER_NO_XDP_PORT;
}

/* Cuts what follows the packet, as the kernel does, but its flowtables. */
static __always_inline int trim(struct xdp_md *ctx, __u32 trailer, const bool can_trim)
{
	if (!can_trim)
		return ROUTE_WORKER;
	return bpf_xdp_adjust_tail(ctx, -(int)trailer) ? SHUNT_STEER_TRUNCATED : ROUTE_GOOD;
}

static __always_inline bool find_way(struct xdp_md *ctx, struct way *way, const void *l3,
				     const struct shunt_flow_key *to, const bool is_ip6)
{
	if (is_ip6)
		return way_find6(ctx, way, to ? to->dst : ((struct ipv6 *)l3)->dst, to);
	return way_find4(ctx, way, to ? (__be32)to->dst[0] : ((struct ipv4 *)l3)->dst_be, to);
}

/* What else of a packet was left to do, before it is translated: a checksum. */
static __always_inline bool change_packet(struct xdp_md *ctx, const struct shunt_flow_key *to,
					  const enum shunt_lane lane, const bool is_ip6)
{
	if (READ_ONCE(shunt_ctl.finishes) >> lane & 1)
		finish_checksum(ctx);
	return translate(ctx, to, is_ip6);
}

/* Returns the reason for which the packet left, by port *out, or did not, or ROUTE_WORKER. to: what
 * it is translated to; NULL: it is not. */
static __always_inline int route(struct xdp_md *ctx, const struct shunt_steer_half *half,
				 __u32 *out, const struct shunt_flow_key *to, const bool is_ip6,
				 const bool is_sg, const bool can_trim)
{
	const __u32 hdr_len = is_ip6 ? sizeof(struct ipv6) : sizeof(struct ipv4);
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *l3 = data + sizeof(struct eth);
	__u32 flags = READ_ONCE(shunt_ctl.tables.flags), len;
	bool is_new = to;
	struct way way;
	int reason;

	if (l3 + hdr_len > end)
		return SHUNT_STEER_TRUNCATED;
	if (is_ip6)
		reason = flags & SHUNT_TABLES_IP6 ? ROUTE_GOOD : SHUNT_STEER_NOT_ROUTER;
	else
		reason = check4(half, l3, flags, to);
	if (reason != ROUTE_GOOD)
		return reason;
	if (!find_way(ctx, &way, l3, to, is_ip6))
		return SHUNT_STEER_NO_WAY;
	len = is_ip6 ? hdr_len + bpf_ntohs(((struct ipv6 *)l3)->payload_len_be)
		     : bpf_ntohs(((struct ipv4 *)l3)->tot_len_be);
	reason = check_way(half, &way, to ? end - l3 : len, is_sg);
	if (reason != ROUTE_GOOD)
		return reason;
	if (!to && end - l3 != len) {
		reason = trim(ctx, end - l3 - len, can_trim);
		if (reason != ROUTE_GOOD)
			return reason;
		is_new = true;
	}
	if (to && !change_packet(ctx, to, SHUNT_LANE_XDP, is_ip6))
		return SHUNT_STEER_TRUNCATED;
	if (is_new) { /* the verifier knows the packet no more */
		data = (void *)(long)ctx->data;
		end = (void *)(long)ctx->data_end;
		l3 = data + sizeof(struct eth);
		if (l3 + hdr_len > end)
			return SHUNT_STEER_TRUNCATED;
	}
	if (is_counted(&way))
		way_count(ctx);
	*out = way_port(&way);
	write_eth(data, way.eth, (__u32)way.rest);
	if (is_ip6)
		((struct ipv6 *)l3)->hop_limit--;
	else
		decrease_ttl(l3);
	return is_ip6 ? SHUNT_STEER_XDP_FORWARD6 : SHUNT_STEER_XDP_FORWARD4;
}

#endif
