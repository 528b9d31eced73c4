/* SPDX-License-Identifier: BSD-2-Clause */
/* The running kernel's version, and facts that follow from it. What the kernel can be asked for is
 * not among them (netdev_xdp.h, features.h). */
#ifndef SHUNT_DEVICE_KERNEL_H
#define SHUNT_DEVICE_KERNEL_H

#include <stdbool.h>

struct shunt_kernel {
	unsigned major, minor; /* 0.0: not told */
	char release[65];      /* as uname -r */
};

/* name, major, minor, what came with it, source */
#define SHUNT_KERNEL_FACTS(X)                                                              \
	X(load_bytes, 5, 18, "bpf_xdp_load_bytes, by which the steering program reads",    \
	  "net/core/filter.c")                                                             \
	X(live_frames, 5, 18, "BPF_PROG_TEST_RUN sends frames", "net/bpf/test_run.c")      \
	X(map_fds, 5, 19, "maps that are open need no capability", "kernel/bpf/syscall.c") \
	X(xdp_features, 6, 3, "drivers can be asked for their XDP features",               \
	  "Documentation/netlink/specs/netdev.yaml")                                       \
	X(xsk_sg, 6, 6, "AF_XDP packets over several frames",                              \
	  "Documentation/networking/af_xdp.rst, XDP_USE_SG")                               \
	X(tag_beside, 6, 8, "XDP can ask a veth for the VLAN tag beside a frame",          \
	  "Documentation/networking/xdp-rx-metadata.rst; drivers/net/veth.c")              \
	X(generic_pages, 6, 9, "a generic program's copy of a packet lies in kept pages",  \
	  "net/core/dev.c, netif_skb_check_for_xdp")

enum shunt_kernel_fact {
#define X(name, major, minor, what, source) SHUNT_KERNEL_##name,
	SHUNT_KERNEL_FACTS(X)
#undef X
};

/* shunt_kernel_query asks for the version. Thread: any. Cost: a syscall. */
void shunt_kernel_query(struct shunt_kernel *out);

/* shunt_kernel_is_before compares with major.minor. shunt_kernel_has says whether the kernel is of
 * the version that the fact came with, or later. shunt_kernel_since returns that version, as in
 * "Linux 6.9". Thread: any. */
bool shunt_kernel_is_before(const struct shunt_kernel *kernel, unsigned major, unsigned minor);
bool shunt_kernel_has(const struct shunt_kernel *kernel, enum shunt_kernel_fact fact);
const char *shunt_kernel_since(enum shunt_kernel_fact fact);

#endif
