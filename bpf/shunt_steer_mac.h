/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The MAC table as the steering program sees it: the one that the workers use (lib/fib/mac.h,
 * where its layout is explained), in the memory of a BPF map. An array of buckets, and behind the
 * last one what a lookup needs to know. The control thread writes it all, but for the bytes that
 * say when a station was last heard: those are written by whoever hears it. */
#ifndef SHUNT_STEER_MAC_H
#define SHUNT_STEER_MAC_H

#include <linux/types.h>

#define SHUNT_STEER_MAC_BUCKET_BITS 14
#define SHUNT_STEER_MAC_BUCKETS	    (1 << SHUNT_STEER_MAC_BUCKET_BITS)
#define SHUNT_STEER_MAC_KEY_BITS    60
#define SHUNT_STEER_MAC_REST_BITS   (SHUNT_STEER_MAC_KEY_BITS - SHUNT_STEER_MAC_BUCKET_BITS)
#define SHUNT_STEER_MAC_SLOT_CNT    7

/* A slot: valid << 63 | rest of the hash << 9 | second bucket << 8 | stays << 7 | port + 1 */
#define SHUNT_STEER_MAC_VALID	    (1ULL << 63)
#define SHUNT_STEER_MAC_SECOND	    (1ULL << 8)
#define SHUNT_STEER_MAC_STATIC	    (1ULL << 7)
#define SHUNT_STEER_MAC_PORT	    0x7fULL

struct shunt_steer_mac_bucket {
	__u64 slots[SHUNT_STEER_MAC_SLOT_CNT];
	__u8 seen[8]; /* tick; the last is of no slot */
};

/* The element behind the last bucket. */
struct shunt_steer_bridge {
	__u64 factor;	  /* of the hash */
	__u64 forwarding; /* ports that may forward, a bit each */
	__u64 kernels;	  /* what comes in on these ports is for the kernel's bridge */
	__u8 tick;	  /* now */
	__u8 zero[39];
};

_Static_assert(sizeof(struct shunt_steer_mac_bucket) == 64, "a cache line");
_Static_assert(sizeof(struct shunt_steer_bridge) == 64, "an element of the same array");

#endif
