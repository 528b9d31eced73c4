/* SPDX-License-Identifier: GPL-2.0-only */
/* The modes: which frames forwarding can finish, and why not the others. Each function returns a
 * reason: of the lane user where forwarding can finish the frame, whatever its lane will be, else
 * of the lane kernel. */
#ifndef SHUNT_STEER_MODE_BPF_H
#define SHUNT_STEER_MODE_BPF_H

#include "steer/device.bpf.h"
#include "steer/flow.bpf.h"
#include "steer/frame.bpf.h"
#include "steer/local.bpf.h"

/* ---- layer 3 -------------------------------------------------------------------------------- */

/* Addresses that forwarding never sees in its good case: 0/8, 127/8, 169.254/16,
 * 224/4 and above. The rest is one comparison each. */
static __always_inline bool is_odd4(__u32 addr)
{
	return addr - 0x01000000 >= 0xdf000000 || addr >> 24 == 127 || addr >> 16 == 0xa9fe;
}

static __always_inline int odd4_reason(__u32 src, __u32 dst)
{
	if (dst >> 28 == 0xe || dst == 0xffffffff)
		return SHUNT_STEER_MULTICAST;
	if (dst >> 16 == 0xa9fe || src >> 16 == 0xa9fe)
		return SHUNT_STEER_LINK_LOCAL;
	return SHUNT_STEER_MARTIAN;
}

/* l3_len: bytes from the header on, those of later buffers, behind end, included. */
static __always_inline int ipv4_reason(const struct shunt_steer_half *half, const struct ipv4 *ip,
				       const void *end, __s64 l3_len)
{
	__u32 tot_len, src, dst;

	if ((const void *)(ip + 1) > end)
		return SHUNT_STEER_TRUNCATED;
	tot_len = bpf_ntohs(ip->tot_len_be);
	if (ip->version_ihl != 0x45) {
		__u32 ihl_bytes = (ip->version_ihl & 0xf) * 4;

		if (ip->version_ihl >> 4 != 4 || ihl_bytes < 20 || tot_len < ihl_bytes ||
		    tot_len > l3_len)
			return SHUNT_STEER_BAD_HEADER;
		return SHUNT_STEER_IP_OPTIONS;
	}
	if (tot_len < 20 || tot_len > l3_len)
		return SHUNT_STEER_BAD_HEADER;
	if (ip->ttl <= 1)
		return SHUNT_STEER_TTL;
	src = bpf_ntohl(ip->src_be);
	dst = bpf_ntohl(ip->dst_be);
	if (is_odd4(src) || is_odd4(dst))
		return odd4_reason(src, dst);
	if (is_local4(half, ip->dst_be))
		return SHUNT_STEER_LOCAL_ADDRESS;
	return SHUNT_STEER_FORWARD4;
}

/* First bytes 00, fe and ff hold all that is special: ::/64 (unspecified, loopback,
 * mapped IPv4), fe80::/10, ff00::/8. What else is there is ordinary unicast. */
static __always_inline bool is_odd6(__u64 hi)
{
	__u64 addr = bpf_be64_to_cpu(hi);

	return addr - (1ULL << 56) >= 0xfdULL << 56;
}

/* -1 if all is well after all. */
static __always_inline int odd6_reason(__u64 src_hi, __u64 dst_hi)
{
	__u64 src = bpf_be64_to_cpu(src_hi), dst = bpf_be64_to_cpu(dst_hi);

	if (dst >> 56 == 0xff)
		return SHUNT_STEER_MULTICAST;
	if (dst >> 54 == 0xfe80 >> 6 || src >> 54 == 0xfe80 >> 6)
		return SHUNT_STEER_LINK_LOCAL;
	if (dst == 0 || src == 0 || src >> 56 == 0xff)
		return SHUNT_STEER_MARTIAN;
	return -1;
}

static __always_inline int ipv6_reason(const struct shunt_steer_half *half, const struct ipv6 *ip,
				       const void *end, __s64 l3_len)
{
	if ((const void *)(ip + 1) > end)
		return SHUNT_STEER_TRUNCATED;
	if (ip->version_class >> 4 != 6 ||
	    bpf_ntohs(ip->payload_len_be) > l3_len - (__s64)sizeof(*ip))
		return SHUNT_STEER_BAD_HEADER;
	if (ip->nexthdr == NEXTHDR_HOP)
		return SHUNT_STEER_HOPBYHOP;
	if (ip->hop_limit <= 1)
		return SHUNT_STEER_HOP_LIMIT;
	if (is_odd6(ip->src[0]) || is_odd6(ip->dst[0])) {
		int reason = odd6_reason(ip->src[0], ip->dst[0]);

		if (reason >= 0)
			return reason;
	}
	if (is_local6(half, ip->dst[0], ip->dst[1]))
		return SHUNT_STEER_LOCAL_ADDRESS;
	return SHUNT_STEER_FORWARD6;
}

static __always_inline int other_mac_reason(const struct eth *eth)
{
	if (is_link_local_control(eth))
		return SHUNT_STEER_LINK_LOCAL_CONTROL;
	if (eth->type_be == bpf_htons(ETH_P_ARP))
		return SHUNT_STEER_ARP;
	return eth->dst[0] & 1 ? SHUNT_STEER_MULTICAST : SHUNT_STEER_OTHER_MAC;
}

/* Of the packet behind tags_len bytes of tags, as of an untagged one. len: of the whole frame. */
static __always_inline int inner_reason(const struct shunt_steer_half *half, const struct eth *eth,
					const void *end, __u32 tags_len, __s64 len)
{
	const __be16 *type_be;
	const void *l3;

	/* What clang would make of it has no bounds for the verifier. */
	barrier_var(tags_len);
	type_be = (const void *)&eth->type_be + (tags_len & 12);
	l3 = type_be + 1;
	len -= (__s64)sizeof(*eth) + (tags_len & 12);
	if (l3 > end)
		return SHUNT_STEER_TRUNCATED;
	if (*type_be == bpf_htons(ETH_P_IP))
		return ipv4_reason(half, l3, end, len);
	if (*type_be == bpf_htons(ETH_P_IPV6))
		return ipv6_reason(half, l3, end, len);
	return *type_be == bpf_htons(ETH_P_ARP) ? SHUNT_STEER_ARP : SHUNT_STEER_ETHERTYPE;
}

/* A frame to the port's address by a device above it: as an untagged one of the port. (The kernel
 * takes it for its own whatever address the device has, vlan_do_receive.) Where no device forwards
 * it, the kernel's. Apart from the straight line. live: as the caller has read it; len: of the
 * whole frame. */
__noinline int tagged_reason(struct xdp_md *ctx, __u32 live, __u64 len)
{
	const struct shunt_steer_half *half = &shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(live)];
	const struct eth *eth = (const void *)(long)ctx->data;
	const void *end = (const void *)(long)ctx->data_end;
	struct tags tags;

	if ((const void *)(eth + 1) > end || !read_tags(eth, end, &tags))
		return SHUNT_STEER_VLAN;
	if (!shunt_device_flags(device_of(half->out_port, &tags)))
		return SHUNT_STEER_VLAN;
	return inner_reason(half, eth, end, tags.len, len);
}

/* ---- bridge --------------------------------------------------------------------------------- */

/* The kernel's bridge floods groups, and delivers them to the host as well: both need every
 * one of them. Were userspace to flood, the host would miss them or the others get them twice. */
static __always_inline int bridge_reason(const struct shunt_steer_half *half, const struct eth *eth)
{
	__u64 dst = shunt_steer_mac_word(*(const __u64 *)eth);

	if (dst == half->mac_word || dst == half->mac2_word)
		return SHUNT_STEER_OWN_MAC;
	if (eth->dst[0] & 1)
		return is_link_local_control(eth) ? SHUNT_STEER_LINK_LOCAL_CONTROL
						  : SHUNT_STEER_MULTICAST;
	return SHUNT_STEER_BRIDGED;
}

/* The kernel's VLAN devices come before its bridge. */
static __always_inline int untagged_reason(const struct shunt_steer_half *half,
					   const struct eth *eth)
{
	return is_tagged(eth) ? SHUNT_STEER_VLAN : bridge_reason(half, eth);
}

/* Of a port that routes for its bridge: what is not sent to the bridge. */
static __always_inline int switched_reason(const struct shunt_steer_half *half,
					   const struct eth *eth)
{
	if (half->switches == SHUNT_STEER_SWITCHES_UNTAGGED && is_tagged(eth))
		return SHUNT_STEER_OTHER_MAC;
	return bridge_reason(half, eth);
}

static __always_inline int layer3_reason(const struct shunt_steer_half *half, const struct eth *eth,
					 const void *end, __s64 beyond)
{
	const __s64 l3_len = end - (const void *)(eth + 1) + beyond;

	if (shunt_steer_mac_word(*(const __u64 *)eth) != half->mac_word)
		return half->switches ? switched_reason(half, eth) : other_mac_reason(eth);
	switch (eth->type_be) {
	case bpf_htons(ETH_P_IP):
		return ipv4_reason(half, (const void *)(eth + 1), end, l3_len);
	case bpf_htons(ETH_P_IPV6):
		return ipv6_reason(half, (const void *)(eth + 1), end, l3_len);
	case bpf_htons(ETH_P_ARP):
		return SHUNT_STEER_ARP;
	case bpf_htons(ETH_P_8021Q):
	case bpf_htons(ETH_P_8021AD):
		return SHUNT_STEER_VLAN;
	default:
		return SHUNT_STEER_ETHERTYPE;
	}
}

/* ---- cross-connect -------------------------------------------------------------------------- */

/* Of a group's frame: whether it asks for this host. */
static __always_inline int asked_reason(const struct shunt_steer_half *half, __be16 type_be,
					const void *l3, const void *end)
{
	const struct ipv6 *ip6 = l3;
	const __u8 *icmp6 = (const void *)(ip6 + 1);

	if (type_be == bpf_htons(ETH_P_ARP) && l3 + 28 <= end) {
		__be32 target_be;

		__builtin_memcpy(&target_be, l3 + 24, sizeof(target_be));
		if (is_local4(half, target_be))
			return SHUNT_STEER_ARP;
	} else if (type_be == bpf_htons(ETH_P_IPV6) && (const void *)(icmp6 + 24) <= end &&
		   ip6->nexthdr == NEXTHDR_ICMP6 && icmp6[0] == ICMP6_SOLICIT) {
		const __u64 *target = (const void *)(icmp6 + 8);

		if (is_local6(half, target[0], target[1]))
			return SHUNT_STEER_ND;
	}
	return SHUNT_STEER_BRIDGED;
}

/* Broadcast and multicast crosses, unless it asks for this host. A tagged one asks for another
 * network's. */
static __always_inline int group_reason(const struct shunt_steer_half *half, const struct eth *eth,
					const void *end)
{
	if (is_link_local_control(eth))
		return SHUNT_STEER_LINK_LOCAL_CONTROL;
	return asked_reason(half, eth->type_be, eth + 1, end);
}

static __always_inline int xconnect_reason(const struct shunt_steer_half *half,
					   const struct eth *eth, const void *end)
{
	if (shunt_steer_mac_word(*(const __u64 *)eth) == half->mac_word)
		return SHUNT_STEER_OWN_MAC;
	if (eth->dst[0] & 1)
		return group_reason(half, eth, end);
	return SHUNT_STEER_BRIDGED;
}

static __always_inline int mix_reason(const struct shunt_steer_half *half, const struct eth *eth,
				      const void *end, __s64 beyond)
{
	if (shunt_steer_mac_word(*(const __u64 *)eth) == half->mac_word)
		return layer3_reason(half, eth, end, beyond);
	return xconnect_reason(half, eth, end);
}

/* Mode mix: of a tagged frame for which that is reason, by the device above the port that has its
 * tags. What is sent to the port's address is routed; a group's frame may ask for an address of
 * that device. Apart from the straight line. live, len: as of tagged_reason. */
__noinline int mix_tagged_reason(struct xdp_md *ctx, __u32 live, int reason, __u64 len)
{
	const struct shunt_steer_half *half = &shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(live)];
	const struct eth *eth = (const void *)(long)ctx->data;
	const void *end = (const void *)(long)ctx->data_end;
	struct tags tags;
	__u32 tags_len;
	const __be16 *type_be;

	if (reason == SHUNT_STEER_VLAN)
		return tagged_reason(ctx, live, len);
	if (reason != SHUNT_STEER_BRIDGED || (const void *)(eth + 1) > end || !(eth->dst[0] & 1) ||
	    !read_tags(eth, end, &tags) || !device_of(half->out_port, &tags))
		return reason;
	tags_len = tags.len;
	barrier_var(tags_len); /* see inner_reason */
	type_be = (const void *)&eth->type_be + (tags_len & 12);
	if ((const void *)(type_be + 1) > end)
		return reason;
	return asked_reason(half, *type_be, type_be + 1, end);
}

/* Whether mix_tagged_reason has to be asked. */
static __always_inline bool is_mix_tagged(const struct shunt_steer_half *half,
					  const struct eth *eth)
{
	return half->mode == SHUNT_STEER_MODE_MIX && is_tagged(eth) &&
	       READ_ONCE(shunt_ctl.tables.flags) & SHUNT_TABLES_ABOVE;
}

static __always_inline int mode_reason(const struct shunt_steer_half *half, const struct eth *eth,
				       const void *end, __s64 beyond)
{
	if (half->mode == SHUNT_STEER_MODE_LAYER3)
		return layer3_reason(half, eth, end, beyond);
	if (ASKS_FLOWS && half->mode == SHUNT_STEER_MODE_LAYER3_FLOWS)
		return layer3_reason(half, eth, end, beyond);
	if (half->mode == SHUNT_STEER_MODE_XCONNECT)
		return xconnect_reason(half, eth, end);
	if (half->mode == SHUNT_STEER_MODE_BRIDGE)
		return bridge_reason(half, eth);
	if (half->mode == SHUNT_STEER_MODE_MIX)
		return mix_reason(half, eth, end, beyond);
	if (half->mode == SHUNT_STEER_MODE_TRANSPARENT)
		return SHUNT_STEER_BRIDGED;
	if (half->mode == SHUNT_STEER_MODE_BRIDGE_UNTAGGED)
		return untagged_reason(half, eth);
	return SHUNT_STEER_OFF;
}

#endif
