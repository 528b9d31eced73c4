/* SPDX-License-Identifier: BSD-2-Clause */
/* What a driver says of its XDP, asked of the netdev generic netlink family (Linux 6.3; zc_max_segs
 * 6.6, metadata 6.8). No right is needed to ask. The answer says what the driver was written for: a
 * queue may refuse all the same. */
#ifndef SHUNT_DEVICE_NETDEV_XDP_H
#define SHUNT_DEVICE_NETDEV_XDP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Bits of the kernel's enum netdev_xdp_act, enum netdev_xdp_rx_metadata and enum
 * netdev_xsk_flags (linux/netdev.h, not in the headers of Linux 6.1). */
#define SHUNT_NETDEV_XDP_FEATURES(X)                                      \
	X(basic, 0, "runs XDP in the driver")                             \
	X(redirect, 1, "frames can be redirected out of it")              \
	X(ndo_xmit, 2, "redirected frames can be sent on it")             \
	X(xsk_zerocopy, 3, "AF_XDP without a copy")                       \
	X(hw_offload, 4, "runs XDP on the card")                          \
	X(rx_sg, 5, "receives packets of several buffers (jumbo frames)") \
	X(ndo_xmit_sg, 6, "sends redirected packets of several buffers")

#define SHUNT_NETDEV_XDP_RX_METADATA(X) \
	X(rx_timestamp, 0)              \
	X(rx_hash, 1)                   \
	X(rx_vlan_tag, 2)

#define SHUNT_NETDEV_XSK_FEATURES(X) \
	X(tx_timestamp, 0)           \
	X(tx_checksum, 1)            \
	X(tx_launch_time, 2)

enum {
#define X(name, bit, help) SHUNT_NETDEV_XDP_##name = 1u << (bit),
	SHUNT_NETDEV_XDP_FEATURES(X)
#undef X
};

enum {
#define X(name, bit) SHUNT_NETDEV_XDP_MD_##name = 1u << (bit),
	SHUNT_NETDEV_XDP_RX_METADATA(X)
#undef X
};

enum {
#define X(name, bit) SHUNT_NETDEV_XSK_##name = 1u << (bit),
	SHUNT_NETDEV_XSK_FEATURES(X)
#undef X
};

struct shunt_netdev_xdp {
	bool is_known; /* false: this kernel cannot be asked */
	uint64_t features;
	uint64_t rx_metadata, xsk_features;
	uint32_t zc_max_segs; /* buffers of a packet with zero-copy; 0: not told */
};

/* shunt_netdev_xdp_query asks about a device of the caller's network namespace.
 * Returns 0 (is_known false where the kernel has no such family) or -errno with
 * err set. Thread: control. Cost: two netlink exchanges. */
int shunt_netdev_xdp_query(unsigned ifindex, struct shunt_netdev_xdp *out, struct shunt_err *err);

/* shunt_netdev_xdp_print writes the names of the bits to buf, separated by blanks,
 * "none" without any: features, then what it has of metadata. Thread: any. */
void shunt_netdev_xdp_print(const struct shunt_netdev_xdp *xdp, char *buf, unsigned len);

#endif
