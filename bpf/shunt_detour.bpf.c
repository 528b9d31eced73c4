// SPDX-License-Identifier: GPL-2.0-only
/* The way to a device that takes no frames from XDP: what was redirected to shunt's own veth device
 * arrives at its other end as a packet of the kernel's, and leaves from there by the ordinary
 * transmit of the device that it is for. On ingress of that end; on egress of the first, where only
 * what the kernel itself sends on any device comes by, which goes nowhere. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256); /* ports, and those of the daemon before */
	__type(key, __u32);	  /* ifindex of the end where it arrives */
	__type(value, __u32);	  /* of the device that it is for */
} shunt_ways SEC(".maps");

SEC("tc")
int shunt_detour(struct __sk_buff *skb)
{
	__u32 arrived = skb->ifindex, *to = bpf_map_lookup_elem(&shunt_ways, &arrived);

	return to ? bpf_redirect(*to, 0) : TC_ACT_SHOT;
}

char _license[] SEC("license") = "GPL";
