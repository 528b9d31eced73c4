/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the steering program writes before a frame that it gives to a worker, where metadata was
 * asked for: it ends where the frame begins. Newly written for every frame, so nothing in it is
 * older. */
#ifndef SHUNT_STEER_META_H
#define SHUNT_STEER_META_H

#include <linux/types.h>

/* The program's names in shunt_steer_meta.bpf.o. */
#define SHUNT_STEER_PROG_MD   "shunt_steer_md"
#define SHUNT_STEER_PROG_MDSG "shunt_steer_sgm" /* for packets of several buffers */

#define SHUNT_STEER_META_MARK 0x53aa0000u /* of mark, the upper half */
#define SHUNT_STEER_META_HASH 1u	  /* hash is the driver's, over layer 4 ports too */
#define SHUNT_STEER_META_TIME 2u	  /* device_ns is the driver's */

struct shunt_packet_meta {
	__u64 device_ns; /* when the device received it, by its own clock */
	__u64 ns;	 /* when the program saw it, CLOCK_MONOTONIC */
	__u32 hash;
	__u32 mark; /* SHUNT_STEER_META_MARK and the bits above; anything else: nothing is here */
};

/* What the driver is asked for; constants of the loaded program. */
struct shunt_steer_want {
	__u32 hash;
	__u32 time;
	__u32 never; /* 0, which only the verifier knows */
};

_Static_assert(sizeof(struct shunt_packet_meta) == 24, "shared layout");

#endif
