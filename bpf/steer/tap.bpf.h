/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a tap is put on: two functions that do nothing, until programs of a capture's own take their
 * place (shunt_tap.bpf.c, by BPF_PROG_TYPE_EXT). They are called for ports that are tapped alone.
 *
 * Global and not static, since only such can be replaced; by volatile, since clang would else put
 * their answers where they are called. */
#ifndef SHUNT_STEER_TAP_BPF_H
#define SHUNT_STEER_TAP_BPF_H

#include "shunt_tap.h"
#include "steer/base.bpf.h"

/* Before the frame is looked at. Returns whether shunt_tap_out is to be asked. */
__noinline int shunt_tap_in(struct xdp_md *ctx)
{
	volatile int is_taken = 0;

	return ctx ? is_taken : 0;
}

/* When its lane is known, and it has been made what it leaves as. out: the port, of lane xdp. */
__noinline int shunt_tap_out(struct xdp_md *ctx, __u32 reason, __u32 lane, __u32 out, __u32 rule)
{
	volatile int is_taken = 0;

	return ctx && reason + lane + out + rule ? is_taken : 0;
}

#endif
