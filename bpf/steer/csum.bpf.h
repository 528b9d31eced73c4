/* SPDX-License-Identifier: GPL-2.0-only */
/* TCP and UDP checksums that their sender left to a device (skb's CHECKSUM_PARTIAL), as the other
 * end of a veth, or a virtual machine's tap, hands them over: the field then holds the sum of the
 * pseudo header. A frame that leaves by AF_XDP or by a redirect leaves as bytes alone, so its
 * checksum must be finished here, as the kernel's skb_checksum_help() would.
 *
 * XDP cannot see what the sender meant, but one finished checksum in 65536 that looks the same is
 * computed again and comes to the same. The kernel knows of its own packets: they are not touched,
 * nor are those that a redirect in generic mode hands on as skbs. */
#ifndef SHUNT_STEER_CSUM_BPF_H
#define SHUNT_STEER_CSUM_BPF_H

#include "shunt_steer_queue.h"
#include "steer/frame.bpf.h"

/* What Linux before 6.14 sums at once. */
#define CSUM_CHUNK 512

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8[CSUM_CHUNK]);
} shunt_csum_chunk SEC(".maps");

struct csum_walk {
	struct xdp_md *ctx;
	__u32 offset, left; /* bytes of the frame */
	__u32 sum;
};

static __always_inline __u32 fold16(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

static __always_inline __u32 sum_of(const __u16 *words, const int cnt)
{
	__u32 sum = 0;
	int i;

	for (i = 0; i < cnt; i++)
		sum += words[i];
	return sum;
}

/* Of the frame's buffers, however many: what is summed is a copy. */
static long sum_chunk(__u32 i, struct csum_walk *walk)
{
	__u32 zero = 0, last = walk->left - 1;
	__u8 *chunk = bpf_map_lookup_elem(&shunt_csum_chunk, &zero);
	__s64 sum;

	if (!chunk || !walk->left)
		return 1;
	if (last > CSUM_CHUNK - 1)
		last = CSUM_CHUNK - 1;
	/* Linux 6.1 learns from bounds alone that no length is 0. */
	barrier_var(last);
	last &= CSUM_CHUNK - 1;
	*(__u32 *)(chunk + (last & ~3u)) = 0; /* behind an odd end */
	if (bpf_xdp_load_bytes(walk->ctx, walk->offset, chunk, last + 1))
		return 1;
	sum = bpf_csum_diff(NULL, 0, (__be32 *)chunk, (last | 3) + 1, walk->sum);
	if (sum < 0)
		return 1;
	walk->sum = sum;
	walk->offset += last + 1;
	walk->left -= last + 1;
	return 0;
}

/* A packet's layer 4, the sum of its addresses, and what pseudo header it has besides. */
struct l4 {
	__u8 *data;
	__u32 addresses, len;
	__u8 proto;
};

/* false: none that has a checksum, or not from its begin. */
static __always_inline bool find_l4(struct l4 *l4, const void *data, const void *end)
{
	const struct eth *eth = data;
	const struct ipv4 *ip4;
	const struct ipv6 *ip6;
	__be16 type_be;

	if ((const void *)(eth + 1) > end)
		return false;
	ip4 = behind_tags(eth, end, &type_be);
	ip6 = (const void *)ip4;
	if (type_be == bpf_htons(ETH_P_IP)) {
		if ((const void *)(ip4 + 1) > end || ip4->frag_off_be & bpf_htons(IP4_FRAGMENT))
			return false;
		l4->data = (__u8 *)ip4 + (ip4->version_ihl & 15) * 4;
		l4->len = bpf_ntohs(ip4->tot_len_be) - (ip4->version_ihl & 15) * 4;
		l4->proto = ip4->proto;
		l4->addresses = sum_of((const __u16 *)&ip4->src_be, 4);
	} else {
		if (type_be != bpf_htons(ETH_P_IPV6) || (const void *)(ip6 + 1) > end)
			return false;
		l4->data = (__u8 *)(ip6 + 1);
		l4->len = bpf_ntohs(ip6->payload_len_be);
		l4->proto = ip6->nexthdr;
		l4->addresses = sum_of((const __u16 *)ip6->src, 16);
	}
	return l4->proto == IPPROTO_TCP || l4->proto == IPPROTO_UDP;
}

/* Bits: what finish_checksum has finished; 0: nothing. */
enum { FINISHED = 1, SEGMENT = 2 };

__noinline int finish_checksum(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct csum_walk walk = {.ctx = ctx};
	__u16 *field;
	struct l4 l4;

	if (!find_l4(&l4, data, end))
		return 0;
	field = (__u16 *)(l4.data + (l4.proto == IPPROTO_TCP ? 16 : 6));
	if ((void *)(field + 1) > end ||
	    *field != fold16(l4.addresses + bpf_htons(l4.proto) + bpf_htons(l4.len)))
		return 0;
	walk.offset = (void *)l4.data - data;
	walk.left = l4.len;
	bpf_loop((l4.len + CSUM_CHUNK - 1) / CSUM_CHUNK, sum_chunk, &walk, 0);
	if (walk.left)
		return 0;
	*field = ~fold16(walk.sum);
	if (!*field)
		*field = 0xffff;
	return l4.proto == IPPROTO_TCP && l4.len >= SHUNT_STEER_SEGMENT_MIN ? FINISHED | SEGMENT
									    : FINISHED;
}

#endif
