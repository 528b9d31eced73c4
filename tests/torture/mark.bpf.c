// SPDX-License-Identifier: GPL-2.0-only
/* On a port's egress: marks the frames of the stream that the kernel's stack sends. AF_XDP sends
 * past tc, so a frame without the mark was shunt's. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define MAGIC_AT 42 /* behind Ethernet, IPv4 and UDP */
#define MARK_AT	 62

SEC("tc")
int mark(struct __sk_buff *skb)
{
	const char kernel = 'k';
	__u32 magic = 0;

	if (!bpf_skb_load_bytes(skb, MAGIC_AT, &magic, sizeof(magic)) && magic == 0x52544853)
		bpf_skb_store_bytes(skb, MARK_AT, &kernel, 1, 0);
	return 0;
}

char _license[] SEC("license") = "GPL";
