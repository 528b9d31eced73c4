/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The MAC table as the steering program sees it: the one that the workers use (lib/fib/mac.h,
 * where its layout is explained), in the memory of a BPF map. An array of buckets, and behind the
 * last one what a lookup needs to know. The control thread writes it all, but for the bytes that
 * say when a station was last heard: whoever hears it writes those. */
#ifndef SHUNT_STEER_MAC_H
#define SHUNT_STEER_MAC_H

#include <linux/types.h>

#include "shunt_steer_config.h"

#define SHUNT_STEER_MAC_BUCKET_BITS  14
#define SHUNT_STEER_MAC_BUCKETS	     (1 << SHUNT_STEER_MAC_BUCKET_BITS)
#define SHUNT_STEER_MAC_KEY_BITS     64
#define SHUNT_STEER_MAC_REST_BITS    (SHUNT_STEER_MAC_KEY_BITS - SHUNT_STEER_MAC_BUCKET_BITS)
#define SHUNT_STEER_MAC_SLOT_CNT     7
#define SHUNT_STEER_VLANS	     4096

/* A slot, one word; an empty one is 0 and matches nothing. What a station's slot must equal is all
 * above STATIC. */
#define SHUNT_STEER_MAC_VALID	     (1ULL << 63)
#define SHUNT_STEER_MAC_REST_SHIFT   9		 /* to here, the rest of the hash */
#define SHUNT_STEER_MAC_SECOND	     (1ULL << 8) /* it is the second bucket of the two */
#define SHUNT_STEER_MAC_SAME_SHIFT   8
#define SHUNT_STEER_MAC_STATIC	     (1ULL << 7) /* it stays, whoever is heard */
#define SHUNT_STEER_MAC_PORT	     0x7fULL	 /* a mask: the port's number + 1 */

/* A station's key: the address as it lies in memory, and above it the bridge's number, from 0, or
 * its group (shunt_mac_group of lib/fib/mac.h). */
#define SHUNT_STEER_MAC_BRIDGE_SHIFT 48

struct shunt_steer_mac_bucket {
	__u64 slots[SHUNT_STEER_MAC_SLOT_CNT];
	__u8 seen[8]; /* tick; the last is of no slot */
};

/* The element behind the last bucket. Behind it, VLANs. */
struct shunt_steer_bridge {
	__u64 factor;	  /* of the hash */
	__u64 forwarding; /* ports that may forward, a bit each */
	__u64 kernels;	  /* what comes in on these ports is the kernel's */
	__u64 untagged;	  /* on these, whatever kernels says, what carries a VLAN tag */
	__u64 learning;	  /* on these it is learned who sends */
	__u64 filters;	  /* the bridges of these keep VLANs apart (struct shunt_steer_vlans) */
	__u8 tick;	  /* now */
	__u8 pad[15];
};

/* A VLAN, in all bridges that keep VLANs apart: a port belongs to one bridge. */
struct shunt_steer_vlan {
	__u64 members; /* ports that may forward in it, a bit each */
	__u64 bare;    /* what leaves there by these has no tag */
};

/* The VLANs, in elements of the same array. The control thread writes it. */
struct shunt_steer_vlans {
	__u16 pvids[SHUNT_STEER_PORTS_MAX]; /* by port: of what comes untagged; 0: of none */
	struct shunt_steer_vlan at[SHUNT_STEER_VLANS]; /* by ID */
};

/* How many VLANs, and PVIDs, an element of the array has, and the numbers of their first ones. */
#define SHUNT_STEER_VLANS_EACH	  4
#define SHUNT_STEER_PVIDS_EACH	  32
#define SHUNT_STEER_PVIDS_ELEMENT (SHUNT_STEER_MAC_BUCKETS + 1)
#define SHUNT_STEER_VLANS_ELEMENT \
	(SHUNT_STEER_PVIDS_ELEMENT + SHUNT_STEER_PORTS_MAX / SHUNT_STEER_PVIDS_EACH)
#define SHUNT_STEER_MAC_ELEMENTS \
	(SHUNT_STEER_VLANS_ELEMENT + SHUNT_STEER_VLANS / SHUNT_STEER_VLANS_EACH)

_Static_assert(sizeof(struct shunt_steer_mac_bucket) == 64, "a cache line");
_Static_assert(sizeof(struct shunt_steer_bridge) == 64, "an element of the same array");
_Static_assert(sizeof(struct shunt_steer_vlans) ==
		       64 * (SHUNT_STEER_MAC_ELEMENTS - SHUNT_STEER_PVIDS_ELEMENT),
	       "elements of the same array");

#endif
