/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a steering program that asks for approved connections (steer/flow.bpf.h) does so, and counts
 * what they carry (steer/flow_count.bpf.h). */
#ifndef SHUNT_FLOW_H
#define SHUNT_FLOW_H

#include <linux/types.h>

/* Which of the kernel's functions there is. */
enum shunt_flow_asks {
	SHUNT_FLOW_ASKS_NOTHING = 0,
	SHUNT_FLOW_ASKS_CONNECTION, /* bpf_xdp_ct_lookup, Linux 5.18 */
	SHUNT_FLOW_ASKS_FLOWTABLE,  /* bpf_xdp_flow_lookup, Linux 6.11 */
};

/* The constant shunt_flow. */
struct shunt_flow_opts {
	__u32 asks;	  /* enum shunt_flow_asks */
	__u32 counts;	  /* packets and bytes of each connection are counted */
	__u32 place_bits; /* 1 << of these are in shunt_flow_place (steer/flow_place.bpf.h) */
};

/* A connection's packet, and the key of what is counted of its direction: addresses in network
 * order, IPv4 in the first four bytes, zeros behind; both ports as they lie in the frame. */
struct shunt_flow_key {
	__u64 src[2], dst[2];
	union {
		struct {
			__be16 sport_be, dport_be;
		};
		__u32 ports;
	};
	__u8 proto, is_ip6, zero[2];
};

/* Of shunt_flow_place, at most: 64 MiB a port. */
#define SHUNT_FLOW_PLACES_MAX (1u << 20)

/* AF_INET and AF_INET6 of both sides. */
#define SHUNT_FLOW_INET	      2
#define SHUNT_FLOW_INET6      10

_Static_assert(sizeof(struct shunt_flow_key) == 40, "shared layout, without holes");

#endif
