/* SPDX-License-Identifier: GPL-2.0-only */
/* Address translation of one packet: a flow's addresses and ports put in place of its own, as
 * nf_flow_snat and nf_flow_dnat of the kernel do it, with the checksums of IPv4, TCP and UDP
 * brought along (RFC 1624, equation 3). A UDP checksum of zero, which says that there is none,
 * stays zero. The packet is a whole one, without options: approved.bpf.h has looked. */
#ifndef SHUNT_STEER_NAT_BPF_H
#define SHUNT_STEER_NAT_BPF_H

#include "steer/csum.bpf.h"
#include "steer/flow.bpf.h"

static __always_inline __u64 words_of(const __u64 addr[2])
{
	return (addr[0] & 0xffffffff) + (addr[0] >> 32) + (addr[1] & 0xffffffff) + (addr[1] >> 32);
}

/* The checksum of words that have changed. change: the sum of what each grew by, in ones'
 * complement, not folded. */
static __always_inline __u16 changed(__u16 csum, __u64 change)
{
	change += (__u16)~csum;
	change = (change & 0xffff) + (change >> 16); /* of less than 1 << 37: less than 1 << 22 */
	change = (change & 0xffff) + (change >> 16);
	return ~(change + (change >> 16));
}

/* false: the header is not there. The verifier alone does not know that it is. */
static __always_inline bool translate_l4(void *l4, const void *end, const struct shunt_flow_key *to,
					 __u64 change)
{
	__u16 *csum = l4 + (to->proto == IPPROTO_TCP ? 16 : 6);
	__u32 *ports = l4;

	if ((void *)(ports + 1) > end || (void *)(csum + 1) > end)
		return false;
	change += to->ports + (0xffffffffULL - *ports);
	*ports = to->ports;
	if (to->proto == IPPROTO_TCP)
		*csum = changed(*csum, change);
	else if (*csum)
		*csum = changed(*csum, change) ?: 0xffff;
	return true;
}

static __always_inline bool translate4(struct ipv4 *ip, const void *end,
				       const struct shunt_flow_key *to)
{
	const __u32 src = *(const __u32 *)to->src, dst = *(const __u32 *)to->dst;
	const __u64 change = (__u64)src + dst + (2 * 0xffffffffULL - ip->src_be - ip->dst_be);

	if (!translate_l4(ip + 1, end, to, change))
		return false;
	ip->src_be = src;
	ip->dst_be = dst;
	ip->csum_be = changed(ip->csum_be, change);
	return true;
}

static __always_inline bool translate6(struct ipv6 *ip, const void *end,
				       const struct shunt_flow_key *to)
{
	const __u64 change = words_of(to->src) + words_of(to->dst) +
			     (8 * 0xffffffffULL - words_of(ip->src) - words_of(ip->dst));

	if (!translate_l4(ip + 1, end, to, change))
		return false;
	ip->src[0] = to->src[0];
	ip->src[1] = to->src[1];
	ip->dst[0] = to->dst[0];
	ip->dst[1] = to->dst[1];
	return true;
}

/* false, as before. to: of the packet's own protocol. tags_len: bytes of tags before the packet. */
static __always_inline bool translate(struct xdp_md *ctx, const struct shunt_flow_key *to,
				      __u32 tags_len, const bool is_ip6)
{
	void *l3 = (void *)(long)ctx->data + sizeof(struct eth), *end = (void *)(long)ctx->data_end;

	barrier_var(tags_len);
	l3 += tags_len & 12;

	if (l3 + (is_ip6 ? sizeof(struct ipv6) : sizeof(struct ipv4)) > end)
		return false;
	return is_ip6 ? translate6(l3, end, to) : translate4(l3, end, to);
}

#endif
