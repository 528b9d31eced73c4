/* SPDX-License-Identifier: GPL-2.0-only */
/* For a program that asks its driver (bpf_xdp_metadata_rx_hash and the like): the kernel wants it
 * bound to one device (BPF_F_XDP_DEV_BOUND_ONLY, Linux 6.3), see lib/xdp/bound.h. Such a program
 * begins with leave_room().
 *
 * The room is for the program to grow in while it is verified: instructions that the verifier never
 * sees and takes out first, so that they cost no frame anything. A program that outgrows its pages
 * is moved, and Linux (6.3 to 7.3) does not tell the list of what is bound to a device
 * (bpf_prog_realloc, offload->prog): when the device goes with the program on it, the kernel
 * follows the list to what has been freed.
 *
 * A bpf_loop that the verifier inlines grows the program before the room is taken out (Linux 6.18:
 * optimize_bpf_loop), by some twenty instructions each: these must fit into what its last page has
 * left. shunt_xdp_bound_load says -EXDEV where they do not; the room's length is how to mend it. */
#ifndef SHUNT_STEER_BOUND_BPF_H
#define SHUNT_STEER_BOUND_BPF_H

#include "steer/base.bpf.h"

/* 0, which only the verifier knows. */
const volatile __u32 shunt_never SEC(".rodata.shunt_room");

static __noinline void room(void)
{
	asm volatile(".rept 3780\n\tr0 = 0\n\t.endr" ::: "r0");
}

static __always_inline void leave_room(void)
{
	if (shunt_never)
		room();
}

#endif
