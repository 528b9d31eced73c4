// SPDX-License-Identifier: GPL-2.0-only
/* Routing by bpf_fib_lookup, as xdp-forward of xdp-tools does it (which Debian 12 does not have):
 * a baseline for lane xdp, not a forwarder: no checksum, no MTU of one's own, no options. */
#include <linux/bpf.h>
#include <linux/if_ether.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define AF_INET 2

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u32);
} shunt_fib_ports SEC(".maps");

struct ipv4 {
	__u8 version_ihl, tos;
	__be16 tot_len_be, id_be, frag_off_be;
	__u8 ttl, proto;
	__u16 csum_be;
	__be32 src_be, dst_be;
};

SEC("xdp")
int shunt_fibfwd(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct bpf_fib_lookup fib = {.family = AF_INET};
	struct ethhdr *eth = data;
	struct ipv4 *ip = (void *)(eth + 1);
	__u32 sum;

	if ((void *)(ip + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->ttl <= 1)
		return XDP_PASS;
	fib.tos = ip->tos;
	fib.l4_protocol = ip->proto;
	fib.tot_len = bpf_ntohs(ip->tot_len_be);
	fib.ipv4_src = ip->src_be;
	fib.ipv4_dst = ip->dst_be;
	fib.ifindex = ctx->ingress_ifindex;
	if (bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) != BPF_FIB_LKUP_RET_SUCCESS ||
	    !bpf_map_lookup_elem(&shunt_fib_ports, &fib.ifindex))
		return XDP_PASS;
	sum = ip->csum_be + (__u32)bpf_htons(0x0100);
	ip->csum_be = sum + (sum >= 0xffff);
	ip->ttl--;
	__builtin_memcpy(eth->h_dest, fib.dmac, ETH_ALEN);
	__builtin_memcpy(eth->h_source, fib.smac, ETH_ALEN);
	return bpf_redirect_map(&shunt_fib_ports, fib.ifindex, 0);
}

char _license[] SEC("license") = "GPL";
