/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the program that sees failed redirects and userspace share: whose, and why. */
#ifndef SHUNT_FAIL_H
#define SHUNT_FAIL_H

#include <linux/types.h>

#define SHUNT_FAIL_PORTS_MAX 64

/* Why a redirected frame never left: X(name, help). */
#define SHUNT_FAIL_REASONS(X)                                                                     \
	X(no_transmit, "the driver sends none, or a veth's peer has no NAPI (gro on) or is down") \
	X(down, "this port was down")                                                             \
	X(too_big, "longer than this port's MTU")                                                 \
	X(queue_full, "this port's driver took no more: its queue was full, or a veth's other "   \
		      "end has a smaller MTU")                                                    \
	X(other, "redirected to this port and refused for another reason")                        \
	X(tx_failed, "the driver took no more: sent back by this port, or redirected to it in "   \
		     "driver mode generic")                                                       \
	X(aborted, "the program on this port gave up, or its verdict was unknown")

#define SHUNT_FAIL_X(name, help) SHUNT_FAIL_##name,
enum shunt_fail_reason { SHUNT_FAIL_REASONS(SHUNT_FAIL_X) SHUNT_FAIL_CNT };
#undef SHUNT_FAIL_X

struct shunt_fail_port {
	__u32 ifindex;
	__u32 detour; /* takes its frames from XDP; 0: none */
	__u64 packets[SHUNT_FAIL_CNT];
};

/* Interface indices repeat in every network namespace, so it is named too. */
struct shunt_fail_ports {
	__u32 netns; /* inode number of /proc/self/ns/net */
	__u32 cnt;
	struct shunt_fail_port ports[SHUNT_FAIL_PORTS_MAX];
};

#endif
