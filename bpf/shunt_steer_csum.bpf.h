/* SPDX-License-Identifier: GPL-2.0-only */
/* Part of shunt_steer.bpf.c: whether a frame's TCP or UDP checksum is one that its sender left to a
 * device (skb's CHECKSUM_PARTIAL): then the field holds the sum of the pseudo header. XDP cannot
 * see it otherwise, and what leaves by AF_XDP or a redirect leaves as it is. One valid packet in
 * 65536 looks the same, so it takes several. Asked of timed frames only. */
#ifndef SHUNT_STEER_CSUM_BPF_H
#define SHUNT_STEER_CSUM_BPF_H

static __always_inline __u32 sum_of(const __u16 *words, const int cnt)
{
	__u32 sum = 0;
	int i;

	for (i = 0; i < cnt; i++)
		sum += words[i];
	return sum;
}

static __always_inline bool is_pseudo_sum(__u32 sum, __u8 proto, __u32 l4_len, __u16 field)
{
	sum += bpf_htons(proto) + bpf_htons(l4_len);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return field == (__u16)sum;
}

/* l4 begins a TCP or UDP header; sum is that of the addresses. */
static __always_inline void judge_checksum(struct shunt_steer_sample *sample, const __u8 *l4,
					   const void *end, __u32 sum, __u8 proto, __u32 l4_len)
{
	const __u8 *field = l4 + (proto == IPPROTO_TCP ? 16 : 6);

	if ((proto != IPPROTO_TCP && proto != IPPROTO_UDP) || field + 2 > (const __u8 *)end)
		return;
	sample->l4++;
	sample->unfinished += is_pseudo_sum(sum, proto, l4_len, *(const __u16 *)field);
}

static __always_inline void look_at_checksum(struct xdp_md *ctx, struct shunt_steer_sample *sample)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const struct eth *eth = data;
	const struct ipv4 *ip4 = (const void *)(eth + 1);
	const struct ipv6 *ip6 = (const void *)(eth + 1);

	if ((const void *)(ip4 + 1) > end)
		return;
	if (eth->type_be == bpf_htons(ETH_P_IP)) {
		if (ip4->version_ihl == 0x45 && !(ip4->frag_off_be & bpf_htons(0x3fff)))
			judge_checksum(sample, (const __u8 *)(ip4 + 1), end,
				       sum_of((const __u16 *)&ip4->src_be, 4), ip4->proto,
				       bpf_ntohs(ip4->tot_len_be) - sizeof(*ip4));
		return;
	}
	if (eth->type_be != bpf_htons(ETH_P_IPV6) || (const void *)(ip6 + 1) > end)
		return;
	judge_checksum(sample, (const __u8 *)(ip6 + 1), end, sum_of((const __u16 *)ip6->src, 16),
		       ip6->nexthdr, bpf_ntohs(ip6->payload_len_be));
}

#endif
