/* SPDX-License-Identifier: GPL-2.0-only */
/* The lane xdp: frames that leave by another port without leaving the kernel's receive path.
 * Part of shunt_steer.bpf.c, and of nothing else; it uses that file's headers, maps and
 * counting.
 *
 * Three things make it fail open. A frame goes this way only while a socket serves its queue: the
 * kernel takes the sockets out of their map when the daemon ends, however that ends, and from the
 * next frame on everything is the kernel's (but for one who hands over,
 * shunt_steer_handover.bpf.h). What is routed goes this way only while whoever keeps the tables
 * gives signs of life. And the redirect is asked for before a byte is written: where the other
 * port's slot is empty, the frame goes to the kernel as it came. */
#ifndef SHUNT_STEER_LANE_BPF_H
#define SHUNT_STEER_LANE_BPF_H

#include "shunt_steer_fib.bpf.h"

static __always_inline bool redirects(__u32 port, const bool is_sg)
{
	if (is_sg)
		return bpf_redirect_map(&shunt_ports_sg, port, XDP_PASS) == XDP_REDIRECT;
	return bpf_redirect_map(&shunt_ports, port, XDP_PASS) == XDP_REDIRECT;
}

/* ---- routing -------------------------------------------------------------------------------- */

/* The sum of the header's words is 0xffff, in whatever width it is taken (RFC 1071). */
static __always_inline bool sum_is_right(const struct ipv4 *ip)
{
	const __u32 *words = (const void *)ip;
	__u64 sum = (__u64)words[0] + words[1] + words[2] + words[3] + words[4];

	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

static __always_inline void write_eth(void *data, __u64 eth, __u32 rest)
{
	*(__u64 *)data = eth;
	*(__u32 *)(data + 8) = rest;
}

/* ip_decrease_ttl of the kernel (RFC 1624, equation 3, for this one change). */
static __always_inline void decrease_ttl(struct ipv4 *ip)
{
	__u32 sum = ip->csum_be + (__u32)bpf_htons(0x0100);

	ip->csum_be = sum + (sum >= 0xffff);
	ip->ttl--;
}

/* What is not for this lane but for the worker. */
#define LANE_WORKER -1

/* Cuts what follows the packet, as the kernel does. */
static __always_inline int trim(struct xdp_md *ctx, __u32 trailer, const bool can_trim)
{
	if (!can_trim)
		return LANE_WORKER;
	return bpf_xdp_adjust_tail(ctx, -(int)trailer) ? SHUNT_STEER_TRUNCATED : 0;
}

static __always_inline int check4(const struct shunt_steer_half *half, const struct ipv4 *ip,
				  __u32 flags)
{
	if (!(flags & SHUNT_TABLES_IP4))
		return SHUNT_STEER_NOT_ROUTER;
	if (!sum_is_right(ip))
		return SHUNT_STEER_BAD_CHECKSUM;
	if (is_local4(half, ip->src_be))
		return SHUNT_STEER_OWN_SOURCE;
	if (flags & (SHUNT_TABLES_RPF4 | SHUNT_TABLES_NO_LOCAL) &&
	    !source_is_plain(bpf_ntohl(ip->src_be), flags, half->out_port))
		return SHUNT_STEER_OTHER_SOURCE;
	return -1;
}

/* What keeps a packet of l3_len bytes from its way; -1 if nothing. */
static __always_inline int check_way(const struct shunt_steer_half *half, const struct way *way,
				     __u32 l3_len, const bool is_sg)
{
	if (l3_len > way_mtu(way))
		return SHUNT_STEER_TOO_BIG;
	if (way_port(way) == half->out_port)
		return SHUNT_STEER_SAME_PORT;
	return redirects(way_port(way), is_sg) ? -1 : SHUNT_STEER_NO_XDP_PORT;
}

/* Both return the reason for which the packet left or did not. */
static __always_inline int route4(struct xdp_md *ctx, const struct shunt_steer_half *half,
				  const bool is_sg, const bool can_trim)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 flags = *(volatile __u32 *)&shunt_ctl.tables.flags, len;
	struct ipv4 *ip = data + sizeof(struct eth);
	struct way way;
	int reason;

	if ((void *)(ip + 1) > end)
		return SHUNT_STEER_TRUNCATED;
	reason = check4(half, ip, flags);
	if (reason >= 0)
		return reason;
	if (!way_find4(ctx, &way, ip))
		return SHUNT_STEER_NO_WAY;
	len = bpf_ntohs(ip->tot_len_be);
	reason = check_way(half, &way, len, is_sg);
	if (reason >= 0)
		return reason;
	if (end - (void *)ip != len) {
		reason = trim(ctx, end - (void *)ip - len, can_trim);
		if (reason)
			return reason;
		data = (void *)(long)ctx->data;
		end = (void *)(long)ctx->data_end;
		ip = data + sizeof(struct eth);
		if ((void *)(ip + 1) > end)
			return SHUNT_STEER_TRUNCATED;
	}
	write_eth(data, way.eth, (__u32)way.rest);
	decrease_ttl(ip);
	return SHUNT_STEER_XDP_FORWARD4;
}

static __always_inline int route6(struct xdp_md *ctx, const struct shunt_steer_half *half,
				  const bool is_sg, const bool can_trim)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 flags = *(volatile __u32 *)&shunt_ctl.tables.flags, len;
	struct ipv6 *ip = data + sizeof(struct eth);
	struct way way;
	int reason;

	if ((void *)(ip + 1) > end)
		return SHUNT_STEER_TRUNCATED;
	if (!(flags & SHUNT_TABLES_IP6))
		return SHUNT_STEER_NOT_ROUTER;
	if (!way_find6(ctx, &way, ip))
		return SHUNT_STEER_NO_WAY;
	len = sizeof(*ip) + bpf_ntohs(ip->payload_len_be);
	reason = check_way(half, &way, len, is_sg);
	if (reason >= 0)
		return reason;
	if (end - (void *)ip != len) {
		reason = trim(ctx, end - (void *)ip - len, can_trim);
		if (reason)
			return reason;
		data = (void *)(long)ctx->data;
		end = (void *)(long)ctx->data_end;
		ip = data + sizeof(struct eth);
		if ((void *)(ip + 1) > end)
			return SHUNT_STEER_TRUNCATED;
	}
	write_eth(data, way.eth, (__u32)way.rest);
	ip->hop_limit--;
	return SHUNT_STEER_XDP_FORWARD6;
}

/* ---- one next hop ---------------------------------------------------------------------------- */

/* macrewrite and static3: no table, no route; what the headers must be, the steering has seen. */
static __always_inline int to_hop(struct xdp_md *ctx, const struct shunt_steer_half *half,
				  int reason, const bool is_sg)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *l3 = data + sizeof(struct eth);
	__u64 hop = half->hop;
	__u32 hop_rest = half->hop_rest;

	if (l3 > end)
		return SHUNT_STEER_TRUNCATED;
	if (reason != SHUNT_STEER_BRIDGED && end - l3 > half->hop_mtu)
		return SHUNT_STEER_TOO_BIG;
	if (!redirects(half->out_port, is_sg))
		return SHUNT_STEER_NO_XDP_PORT;
	/* Where the header is used: Linux 6.1's verifier does not tie a length to a reason. */
	if (reason == SHUNT_STEER_FORWARD4) {
		if (l3 + sizeof(struct ipv4) > end)
			return SHUNT_STEER_TRUNCATED;
		decrease_ttl(l3);
		reason = SHUNT_STEER_XDP_FORWARD4;
	} else if (reason == SHUNT_STEER_FORWARD6) {
		if (l3 + sizeof(struct ipv6) > end)
			return SHUNT_STEER_TRUNCATED;
		((struct ipv6 *)l3)->hop_limit--;
		reason = SHUNT_STEER_XDP_FORWARD6;
	} else {
		reason = SHUNT_STEER_XDP_BRIDGED;
	}
	write_eth(data, hop, hop_rest);
	return reason;
}

/* ---- the lane ------------------------------------------------------------------------------- */

static __always_inline int leave(struct xdp_md *ctx, const struct shunt_steer_half *half,
				 struct shunt_steer_slot *slot, int reason, const bool is_sg,
				 const bool can_trim)
{
	if (half->hop)
		return to_hop(ctx, half, reason, is_sg);
	if (reason == SHUNT_STEER_BRIDGED)
		return redirects(half->out_port, is_sg) ? SHUNT_STEER_XDP_BRIDGED
							: SHUNT_STEER_NO_XDP_PORT;
	if (*(volatile __u8 *)&slot->gate.is_stale)
		return SHUNT_STEER_STALE;
	if (reason == SHUNT_STEER_FORWARD4)
		return route4(ctx, half, is_sg, can_trim);
	return route6(ctx, half, is_sg, can_trim);
}

/* A bridge's: what lane xdp cannot finish, the worker floods, learns or drops. */
static __always_inline int switch_frame(struct xdp_md *ctx, const struct shunt_steer_half *half,
					struct shunt_steer_slot *slot, __u32 queue, bool is_ruled,
					__u64 len, const bool is_sg)
{
	__u32 to = switch_port(ctx, half->bridge, half->in_port);

	if (to == SWITCH_NONE || !redirects(to, is_sg))
		return lane_user(ctx, slot, queue, SHUNT_STEER_BRIDGED, len);
	return redirected(ctx, slot, is_ruled ? SHUNT_STEER_XDP_RULE : SHUNT_STEER_XDP_BRIDGED,
			  SHUNT_LANE_XDP, len);
}

static __always_inline int lane_xdp(struct xdp_md *ctx, const struct shunt_steer_half *half,
				    struct shunt_steer_slot *slot, int reason, bool is_ruled,
				    __u64 len, const bool is_sg, const bool can_trim)
{
	__u32 queue = ctx->rx_queue_index;
	int done;

	if (!bpf_map_lookup_elem(&shunt_xsks, &queue)) {
		slot->counters.unserved[reason & (SHUNT_STEER_USER_REASON_CNT - 1)]++;
		return lane_kernel(slot, SHUNT_STEER_NO_SOCKET, len);
	}
	if (half->bridge && reason == SHUNT_STEER_BRIDGED)
		return switch_frame(ctx, half, slot, queue, is_ruled, len, is_sg);
	/* mix: routed here if there are tables for it */
	if (half->bridge && !generation())
		return lane_user(ctx, slot, queue, reason, len);
	done = leave(ctx, half, slot, reason, is_sg, can_trim);
	if (done == LANE_WORKER)
		return lane_user(ctx, slot, queue, reason, len);
	if (done < SHUNT_STEER_XDP_FORWARD4)
		return lane_kernel(slot, done, len);
	return redirected(ctx, slot, is_ruled ? SHUNT_STEER_XDP_RULE : done, SHUNT_LANE_XDP, len);
}

#endif
