// SPDX-License-Identifier: GPL-2.0-only
/* A bare redirect: every frame leaves by the other device. Nothing is looked at, so
 * this is the least that forwarding inside the kernel can cost; a baseline. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} shunt_other SEC(".maps");

SEC("xdp")
int shunt_devmap(struct xdp_md *ctx)
{
	return bpf_redirect_map(&shunt_other, 0, XDP_PASS);
}

/* The same, having looked at the destination address: what whoever forwards by a header pays, where
 * the header lies in another core's cache. No address is all zeros. */
SEC("xdp")
int shunt_devmap_look(struct xdp_md *ctx)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;

	if (data + 14 > end || !(*(const volatile __u64 *)data << 16))
		return XDP_PASS;
	return bpf_redirect_map(&shunt_other, 0, XDP_PASS);
}

char _license[] SEC("license") = "GPL";
