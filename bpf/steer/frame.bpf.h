/* SPDX-License-Identifier: GPL-2.0-only */
/* A frame's headers, as they lie in it, and where they end. All fields in network order. */
#ifndef SHUNT_STEER_FRAME_BPF_H
#define SHUNT_STEER_FRAME_BPF_H

#include "steer/base.bpf.h"

#define VLAN_TAGS_MAX	2
#define EXT_HEADERS_MAX 6 /* IPv6 extension headers that the rules see through */

#define NEXTHDR_HOP	0
#define NEXTHDR_ROUTING 43
#define NEXTHDR_FRAG	44
#define NEXTHDR_ICMP6	58
#define NEXTHDR_DEST	60
#define ICMP6_SOLICIT	135

/* Of an IPv4 header's fragment field: an offset; an offset, or more fragments behind. */
#define IP4_FRAGMENT	0x3fff
/* The same of an IPv6 fragment header. With neither it is a whole packet (RFC 6946). */
#define IP6_FRAGMENT	0xfff9

/* Not the kernel's packed struct ethhdr: clang would load it byte by byte. */
struct eth {
	__u8 dst[6];
	__u8 src[6];
	__be16 type_be;
};

struct ipv4 {
	__u8 version_ihl;
	__u8 tos;
	__be16 tot_len_be;
	__be16 id_be;
	__be16 frag_off_be;
	__u8 ttl;
	__u8 proto;
	__be16 csum_be;
	__be32 src_be;
	__be32 dst_be;
};

struct ipv6 {
	__u8 version_class;
	__u8 flow[3];
	__be16 payload_len_be;
	__u8 nexthdr;
	__u8 hop_limit;
	__u64 src[2];
	__u64 dst[2];
};

/* The fragment header, and the first eight bytes of every other. */
struct ext_header {
	__u8 nexthdr;
	__u8 len;
	__be16 frag_off_be;
	__u32 rest;
};

/* 01:80:c2:00:00:00 to 0f: never leaves the link (IEEE 802.1Q, 8.6.3). */
static __always_inline bool is_link_local_control(const struct eth *eth)
{
	const __u8 *mac = eth->dst;

	return mac[0] == 0x01 && mac[1] == 0x80 && mac[2] == 0xc2 && mac[3] == 0 && mac[4] == 0 &&
	       (mac[5] & 0xf0) == 0;
}

static __always_inline bool is_tagged(const struct eth *eth)
{
	return eth->type_be == bpf_htons(ETH_P_8021Q) || eth->type_be == bpf_htons(ETH_P_8021AD);
}

/* What follows up to two VLAN tags, and its type. */
static __always_inline const void *behind_tags(const struct eth *eth, const void *end,
					       __be16 *type_be)
{
	const void *l3 = eth + 1;

	*type_be = eth->type_be;
	for (int i = 0; i < VLAN_TAGS_MAX; i++) {
		if (*type_be != bpf_htons(ETH_P_8021Q) && *type_be != bpf_htons(ETH_P_8021AD))
			break;
		if (l3 + 4 > end)
			break;
		*type_be = *(const __be16 *)(l3 + 2);
		l3 += 4;
	}
	return l3;
}

/* Both layer 4 ports as one word, for a hash; 0 where there are none. l4_len: what the packet has
 * behind its header, whatever the frame has. */
static __always_inline __u32 ports_of(const void *l4, const void *end, __u32 l4_len, __u32 proto)
{
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP && proto != IPPROTO_DCCP &&
	    proto != IPPROTO_SCTP && proto != IPPROTO_UDPLITE)
		return 0;
	return l4_len < 4 || l4 + 4 > end ? 0 : *(const __u32 *)l4;
}

#endif
