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

char _license[] SEC("license") = "GPL";
