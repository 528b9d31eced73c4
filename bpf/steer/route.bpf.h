/* SPDX-License-Identifier: GPL-2.0-only */
/* Routing in lane xdp, of packets that the mode found good: what the kernel's forwarding checks and
 * changes, by the tables that userspace keeps. */
#ifndef SHUNT_STEER_ROUTE_BPF_H
#define SHUNT_STEER_ROUTE_BPF_H

#include "steer/device.bpf.h"
#include "steer/exit.bpf.h"
#include "steer/hop.bpf.h"
#include "steer/local.bpf.h"
#include "steer/mode.bpf.h"
#include "steer/nat.bpf.h"
#include "steer/source.bpf.h"
#include "steer/tables.bpf.h"

/* What a function here returns beside a reason (enum shunt_steer_reason), which is not negative. */
enum route_verdict {
	ROUTE_WORKER = -1, /* not for this lane but for the worker */
	ROUTE_GOOD = -2,   /* nothing stands against it */
	ROUTE_APART = -3,  /* not by these exits: for a function that has all */
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

/* Where a packet came in. */
struct origin {
	__u32 own;	/* the port, or the device above it, as an answer has it */
	__u32 flags;	/* enum shunt_tables_flags: what is forwarded from there */
	__u32 tags_len; /* bytes of tags before the packet */
	__u32 pcp;	/* of the innermost of these */
};

/* Where a translated packet may come from, the connection says; its sum was looked at before that
 * was asked for. */
static __always_inline int check4(const struct shunt_steer_half *half, const struct ipv4 *ip,
				  const struct origin *from, const struct shunt_flow_key *to)
{
	const __u32 flags = from->flags;

	if (!(flags & SHUNT_TABLES_IP4))
		return SHUNT_STEER_NOT_ROUTER;
	if (!to && !sum_is_right(ip))
		return SHUNT_STEER_BAD_CHECKSUM;
	if (is_local4(half, ip->src_be))
		return SHUNT_STEER_OWN_SOURCE;
	if (!to && flags & (SHUNT_TABLES_RPF4 | SHUNT_TABLES_NO_LOCAL) &&
	    !source_is_plain(bpf_ntohl(ip->src_be), bpf_ntohl(ip->dst_be), flags, from->own))
		return SHUNT_STEER_OTHER_SOURCE;
	return ROUTE_GOOD;
}

/* A packet of l3_len bytes. The redirect is asked for here. */
static __always_inline int check_way(const struct origin *from, const struct way *way,
				     const struct exit *by, __u32 l3_len, const bool is_sg)
{
	if (l3_len > way_mtu(way))
		return SHUNT_STEER_TOO_BIG;
	if (exit_code(way, by) == from->own)
		return SHUNT_STEER_SAME_PORT;
	return redirects(by->port, is_sg) ? ROUTE_GOOD : SHUNT_STEER_NO_XDP_PORT;
}

/* Cuts what follows the packet, as the kernel does, but its flowtables. */
static __always_inline int trim(struct xdp_md *ctx, __u32 trailer, const bool can_trim)
{
	if (!can_trim)
		return ROUTE_WORKER;
	return bpf_xdp_adjust_tail(ctx, -(int)trailer) ? SHUNT_STEER_TRUNCATED : ROUTE_GOOD;
}

/* The priority of an IPv6 packet, which its tag gives it; that of an IPv4 packet is its TOS's. */
static __always_inline __u32 priority6(const struct origin *from)
{
	const struct shunt_device *device = NULL;

	if (from->own >= SHUNT_TABLES_TAGGED)
		device = device_at(from->own - SHUNT_TABLES_TAGGED);
	return device ? device->priorities >> from->pcp * 4 & 0xf : 0;
}

/* The tags of a device, for which there is room, and the type. Apart from the straight line. */
static __noinline bool write_tags(struct xdp_md *ctx, const struct shunt_device *device,
				  __u32 priority)
{
	const __u32 cnt = device ? device->tag_cnt : 0;
	__be16 *at = (void *)(long)ctx->data + offsetof(struct eth, type_be);

	if ((void *)(at + 6) > (void *)(long)ctx->data_end)
		return false;
	if (cnt) {
		*at++ = device->tags[0].type_be;
		*at++ = shunt_device_tci_be(device, 0, priority);
	}
	if (cnt > 1) {
		*at++ = device->tags[1].type_be;
		*at++ = shunt_device_tci_be(device, 1, priority);
	}
	*at = *(__u8 *)(at + 1) >> 4 == 4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
	return true;
}

/* The tags of a device before the packet, in the place of tags_len bytes of them, and the type.
 * Returns false where the frame cannot be made longer or shorter. A program under libxdp's
 * dispatcher must not even hold the call. */
static __always_inline bool change_tags(struct xdp_md *ctx, const struct exit *by, __u32 tags_len,
					__u32 priority, const bool can_trim)
{
	const int more = (int)by->tags_len - (int)tags_len;

	if (more && !can_trim)
		return false;
	if (can_trim && more && bpf_xdp_adjust_head(ctx, -more))
		return false;
	return write_tags(ctx, by->device, priority);
}

/* In the place of one tag another one. Nothing else of the frame changes, nor where it lies. */
static __always_inline bool swap_tag(struct xdp_md *ctx, const struct shunt_device *device,
				     __u32 priority)
{
	struct shunt_vlan_tag *tag = (void *)(long)ctx->data + offsetof(struct eth, type_be);

	if ((void *)(tag + 1) > (void *)(long)ctx->data_end)
		return false;
	tag->type_be = device->tags[0].type_be;
	tag->tci_be = shunt_device_tci_be(device, 0, priority);
	return true;
}

static __always_inline bool find_way(struct xdp_md *ctx, struct way *way, const void *l3,
				     __u32 flags, __u32 l3_at, const struct shunt_flow_key *to,
				     const bool is_ip6)
{
	if (to)
		l3_at = WAY_MUST_BE_ONE;
	if (is_ip6)
		return way_find6(ctx, way, to ? to->dst : ((struct ipv6 *)l3)->dst, l3_at, flags);
	return way_find4(ctx, way, to ? (__be32)to->dst[0] : ((struct ipv4 *)l3)->dst_be, l3_at,
			 flags);
}

/* What else of a packet was left to do, before it is translated: a checksum. */
static __always_inline bool change_packet(struct xdp_md *ctx, const struct shunt_flow_key *to,
					  __u32 tags_len, const enum shunt_lane lane,
					  const bool is_ip6)
{
	if (READ_ONCE(shunt_ctl.finishes) >> lane & 1)
		finish_checksum(ctx);
	return translate(ctx, to, tags_len, is_ip6);
}

/* Returns the reason for which the packet left, by port *out, or did not, or a verdict. to: what it
 * is translated to; NULL: it is not. A packet that came tagged needs EXITS_ALL. */
static __always_inline int route_from(struct xdp_md *ctx, const struct shunt_steer_half *half,
				      const struct origin *from, __u32 *out,
				      const struct shunt_flow_key *to, const bool is_ip6,
				      const bool is_sg, const bool can_trim,
				      const enum route_exits exits)
{
	const bool may_tag = exits == EXITS_ALL;
	const __u32 hdr_len = is_ip6 ? sizeof(struct ipv6) : sizeof(struct ipv4);
	__u32 l3_at = sizeof(struct eth) + from->tags_len, len, priority = 0;
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *l3 = data + l3_at;
	bool is_new = to;
	struct way way;
	struct exit by;
	int reason;

	if (l3 + hdr_len > end)
		return SHUNT_STEER_TRUNCATED;
	if (is_ip6)
		reason = from->flags & SHUNT_TABLES_IP6 ? ROUTE_GOOD : SHUNT_STEER_NOT_ROUTER;
	else
		reason = check4(half, l3, from, to);
	if (reason != ROUTE_GOOD)
		return reason;
	if (!find_way(ctx, &way, l3, from->flags, l3_at, to, is_ip6) ||
	    !find_exit(&way, &by, exits))
		return SHUNT_STEER_NO_WAY;
	if (!may_tag && (by.port >= SHUNT_TABLES_TAGGED || by.tags_len))
		return ROUTE_APART;
	if (may_tag && by.device)
		priority = is_ip6 ? priority6(from)
				  : shunt_device_tos_priority(((struct ipv4 *)l3)->tos);
	if (by.device && by.device->member_cnt > 1)
		by.port = to ? sender_of_flow(by.device, last_bytes(&way), to, is_ip6)
			     : sender_of(by.device, last_bytes(&way), l3, end, is_ip6);
	len = is_ip6 ? hdr_len + bpf_ntohs(((struct ipv6 *)l3)->payload_len_be)
		     : bpf_ntohs(((struct ipv4 *)l3)->tot_len_be);
	reason = check_way(from, &way, &by, to ? end - l3 : len, is_sg);
	if (reason != ROUTE_GOOD)
		return reason;
	if (!to && end - l3 != len) {
		reason = trim(ctx, end - l3 - len, can_trim);
		if (reason != ROUTE_GOOD)
			return reason;
		is_new = true;
		barrier_var(is_new); /* what clang would compute has no bounds for the verifier */
	}
	if (may_tag && from->tags_len == sizeof(struct shunt_vlan_tag) &&
	    by.tags_len == from->tags_len) {
		if (!by.device || !swap_tag(ctx, by.device, priority))
			return SHUNT_STEER_TRUNCATED;
	} else if (may_tag && (from->tags_len || by.tags_len)) {
		if (!change_tags(ctx, &by, from->tags_len, priority, can_trim))
			return to ? SHUNT_STEER_NO_WAY : ROUTE_WORKER;
		l3_at = sizeof(struct eth) + (by.tags_len & 12);
		is_new = true;
	}
	if (to && !change_packet(ctx, to, may_tag ? by.tags_len : 0, SHUNT_LANE_XDP, is_ip6))
		return SHUNT_STEER_TRUNCATED;
	if (is_new) { /* the verifier knows the packet no more */
		data = (void *)(long)ctx->data;
		end = (void *)(long)ctx->data_end;
		l3 = data + l3_at;
		if (l3 + hdr_len > end || data + sizeof(struct eth) > end)
			return SHUNT_STEER_TRUNCATED;
	} else if (may_tag && data + sizeof(struct eth) > end) {
		return SHUNT_STEER_TRUNCATED;
	}
	if (is_counted(&way))
		way_count(ctx);
	*out = by.port;
	write_eth(data, way.eth, (__u32)way.rest);
	if (is_ip6)
		((struct ipv6 *)l3)->hop_limit--;
	else
		decrease_ttl(l3);
	return is_ip6 ? SHUNT_STEER_XDP_FORWARD6 : SHUNT_STEER_XDP_FORWARD4;
}

static __always_inline struct origin origin_of_port(void)
{
	const __u32 flags = READ_ONCE(shunt_ctl.tables.flags);

	return (struct origin){.own = flags >> SHUNT_TABLES_OWN_SHIFT, .flags = flags};
}

/* Of a packet that came untagged, and leaves so. */
static __always_inline int route(struct xdp_md *ctx, const struct shunt_steer_half *half,
				 __u32 *out, const struct shunt_flow_key *to, const bool is_ip6,
				 const bool is_sg, const bool can_trim,
				 const enum route_exits exits)
{
	const struct origin from = origin_of_port();

	return route_from(ctx, half, &from, out, to, is_ip6, is_sg, can_trim, exits);
}

/* Beside the reason, the port that a packet has left by. */
#define ROUTE_OUT_SHIFT 8

static __always_inline int with_port(int done, __u32 out)
{
	return done < SHUNT_STEER_XDP_FORWARD4 ? done : done | (int)(out << ROUTE_OUT_SHIFT);
}

/* Of a packet that came untagged, and leaves so. reason: the mode's. */
static __always_inline int route_by_port(struct xdp_md *ctx, __u32 live, int reason,
					 const bool is_sg, const bool can_trim)
{
	const struct shunt_steer_half *half = &shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(live)];
	__u32 out = 0;

	if (reason == SHUNT_STEER_FORWARD4)
		reason = route(ctx, half, &out, NULL, false, is_sg, can_trim, EXITS_UNTAGGED);
	else
		reason = route(ctx, half, &out, NULL, true, is_sg, can_trim, EXITS_UNTAGGED);
	return with_port(reason, out);
}

/* By the device above the port that the frame's tags name; false where none forwards it. */
static __always_inline bool origin_of_tags(const struct shunt_steer_half *half,
					   const struct eth *eth, const void *end,
					   struct origin *out)
{
	struct tags tags;
	__u64 word;

	if (!read_tags(eth, end, &tags))
		return false;
	word = device_of(half->out_port, &tags);
	out->own = SHUNT_TABLES_TAGGED + shunt_device_number(word);
	out->flags = shunt_device_flags(word);
	out->tags_len = tags.len;
	out->pcp = bpf_ntohs(*(&eth->type_be + (tags.len > 4 ? 3 : 1))) >> SHUNT_VLAN_PCP_SHIFT;
	return out->flags;
}

/* Of a packet that came tagged, or leaves so. reason: of one that came untagged, the mode's. */
static __always_inline int route_by_device(struct xdp_md *ctx, __u32 live, int reason,
					   const bool is_sg, const bool can_trim)
{
	const struct shunt_steer_half *half = &shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(live)];
	const void *end = (const void *)(long)ctx->data_end;
	const struct eth *eth = (const void *)(long)ctx->data;
	struct origin from;
	__u32 out = 0;
	__s64 len;

	if ((const void *)(eth + 1) > end)
		return SHUNT_STEER_TRUNCATED;
	from = origin_of_port();
	if (is_tagged(eth)) {
		if (!origin_of_tags(half, eth, end, &from))
			return SHUNT_STEER_VLAN;
		len = end - (const void *)eth;
		barrier_var(len); /* which is a number from now on */
		reason = inner_reason(half, eth, end, from.tags_len, len);
		if (reason >= SHUNT_STEER_USER_REASON_CNT)
			return reason;
	}
	if (reason == SHUNT_STEER_FORWARD4)
		reason =
			route_from(ctx, half, &from, &out, NULL, false, is_sg, can_trim, EXITS_ALL);
	else
		reason = route_from(ctx, half, &from, &out, NULL, true, is_sg, can_trim, EXITS_ALL);
	return with_port(reason, out);
}

/* Of a packet behind one tag, of a device that forwards packets of its family. reason: the mode's,
 * were it untagged. */
static __always_inline int route_by_tag(struct xdp_md *ctx, __u32 live, int reason, __u64 device,
					const bool can_trim)
{
	const struct shunt_steer_half *half = &shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(live)];
	const struct shunt_vlan_tag *tag =
		(const void *)(long)ctx->data + offsetof(struct eth, type_be);
	struct origin from = {.own = SHUNT_TABLES_TAGGED + shunt_device_number(device),
			      .flags = shunt_device_flags(device),
			      .tags_len = sizeof(*tag)};
	__u32 out = 0;

	if ((const void *)(tag + 1) > (const void *)(long)ctx->data_end)
		return SHUNT_STEER_TRUNCATED;
	from.pcp = bpf_ntohs(tag->tci_be) >> SHUNT_VLAN_PCP_SHIFT;
	if (reason == SHUNT_STEER_FORWARD4)
		reason =
			route_from(ctx, half, &from, &out, NULL, false, false, can_trim, EXITS_ALL);
	else
		reason = route_from(ctx, half, &from, &out, NULL, true, false, can_trim, EXITS_ALL);
	return with_port(reason, out);
}

/* Each verified once. live: as the caller has read it; the others: see route_by_port,
 * route_by_device and route_by_tag. */
__noinline int route_untagged(struct xdp_md *ctx, __u32 live, int reason)
{
	return route_by_port(ctx, live, reason, false, true);
}

__noinline int route_untagged_dp(struct xdp_md *ctx, __u32 live, int reason)
{
	return route_by_port(ctx, live, reason, false, false);
}

__noinline int route_untagged_sg(struct xdp_md *ctx, __u32 live, int reason)
{
	return route_by_port(ctx, live, reason, true, true);
}

__noinline int route_untagged_sgd(struct xdp_md *ctx, __u32 live, int reason)
{
	return route_by_port(ctx, live, reason, true, false);
}

__noinline int route_tagged(struct xdp_md *ctx, __u32 live, int reason)
{
	return route_by_device(ctx, live, reason, false, true);
}

__noinline int route_tagged_dp(struct xdp_md *ctx, __u32 live, int reason)
{
	return route_by_device(ctx, live, reason, false, false);
}

__noinline int route_tagged_sg(struct xdp_md *ctx, __u32 live, int reason)
{
	return route_by_device(ctx, live, reason, true, true);
}

__noinline int route_tagged_sgd(struct xdp_md *ctx, __u32 live, int reason)
{
	return route_by_device(ctx, live, reason, true, false);
}

__noinline int route_behind_tag(struct xdp_md *ctx, __u32 live, int reason, __u64 device)
{
	return route_by_tag(ctx, live, reason, device, true);
}

__noinline int route_behind_tag_dp(struct xdp_md *ctx, __u32 live, int reason, __u64 device)
{
	return route_by_tag(ctx, live, reason, device, false);
}

#endif
