// SPDX-License-Identifier: GPL-2.0-only
/* The way back to the kernel: on egress of shunt's own veth device, each frame carries in its
 * mark the index of the port it came in on, and goes there as received. The mark is
 * cleared, so that routing rules see what they would see of a frame off the wire. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

SEC("tc")
int shunt_punt(struct __sk_buff *skb)
{
	__u32 ifindex = skb->mark;

	if (!ifindex) /* not ours: the kernel itself sends on every device that is up */
		return TC_ACT_SHOT;
	skb->mark = 0;
	return bpf_redirect(ifindex, BPF_F_INGRESS);
}

char _license[] SEC("license") = "GPL";
