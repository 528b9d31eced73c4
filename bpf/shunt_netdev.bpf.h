/* SPDX-License-Identifier: GPL-2.0-only */
/* A device and its network namespace, of the kernel's own structures what tracing programs read. */
#ifndef SHUNT_NETDEV_BPF_H
#define SHUNT_NETDEV_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h> /* wants the helpers */

struct ns_common {
	unsigned inum;
} __attribute__((preserve_access_index));

struct net {
	struct ns_common ns;
} __attribute__((preserve_access_index));

typedef struct {
	struct net *net;
} __attribute__((preserve_access_index)) possible_net_t;

struct net_device {
	char name[16];
	int ifindex;
	possible_net_t nd_net;
} __attribute__((preserve_access_index));

/* The number of its namespace, as /proc/self/ns/net has it. */
static __always_inline __u32 netns_of(const struct net_device *dev)
{
	return BPF_CORE_READ(dev, nd_net.net, ns.inum);
}

#endif
