// SPDX-License-Identifier: GPL-2.0-only
/* Which frames of the numbered stream (tools/shuntlab/stream.py) the kernel's stack sends by a
 * device: what AF_XDP and the steering program send does not pass this tracepoint. It looks on and
 * changes nothing, which a firewall or tc would. Of what the kernel forwards in a busy poll it
 * misses some, one in a thousand (seen on Linux 6.18; nftables counts them): a program that
 * must know exactly counts otherwise. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "shunt_netdev.bpf.h"

#define FRAMES_MAX 4000000
#define HEAD_AT	   42 /* behind Ethernet, IPv4 and UDP */
#define MAGIC	   0x52544853

struct sk_buff {
	unsigned char *data;
} __attribute__((preserve_access_index));

struct head {
	__u32 magic;
	__u64 number;
} __attribute__((packed));

/* The device, set by the program that loads this: its namespace's number and its name. */
struct {
	__u32 netns;
	char name[16];
} device SEC(".data.device");

__u8 is_sent[FRAMES_MAX]; /* by number */

SEC("raw_tp/net_dev_start_xmit")
int BPF_PROG(sent_by_stack, const struct sk_buff *skb, const struct net_device *dev)
{
	char name[16];
	struct head head;
	__u64 i;

	if (netns_of(dev) != device.netns ||
	    bpf_probe_read_kernel(&head, sizeof(head), BPF_CORE_READ(skb, data) + HEAD_AT) ||
	    head.magic != MAGIC || BPF_CORE_READ_INTO(&name, dev, name))
		return 0;
	for (i = 0; i < sizeof(name) && name[i] == device.name[i]; i++)
		if (!name[i]) {
			if (head.number < FRAMES_MAX)
				is_sent[head.number] = 1;
			return 0;
		}
	return 0;
}

char _license[] SEC("license") = "GPL";
