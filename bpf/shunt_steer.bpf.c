// SPDX-License-Identifier: GPL-2.0-only
/* The steering program: chooses the lane of every frame of a port, first thing in the driver.
 * README.md draws a frame's way through it, steer/steer.bpf.h has the long one.
 *
 * The good frame takes a straight line: no loop, no atomic, and, by the short way, no map but the
 * one that it leaves by. Whatever is not plainly good leaves it for the functions that find out
 * why.
 *
 * Verifying it is most of a port's start. So a large function that is not static is verified once,
 * for any arguments, and not on every way to its calls: it reads the frame again from ctx, and its
 * answer is one number, of which the verifier knows nothing. */
#include <xdp/xdp_helpers.h>

#include "steer/quick.bpf.h"
#include "steer/steer.bpf.h"

/* ---- programs ------------------------------------------------------------------------------- */

/* Under libxdp's dispatcher: filters (its default priority is 50) see a frame first, and what this
 * program gives to the kernel goes on to the programs behind it. */
#define CHAINS(prog)                  \
	struct {                      \
		__uint(priority, 60); \
		__uint(XDP_PASS, 1);  \
	} XDP_RUN_CONFIG(prog)

CHAINS(shunt_steer);
CHAINS(shunt_steer_sg);
CHAINS(shunt_steer_dp);
CHAINS(shunt_steer_sgd);

__noinline int steer_any_dp(struct xdp_md *ctx)
{
	return steer(ctx, false, false);
}

SEC("xdp")
int shunt_steer(struct xdp_md *ctx)
{
	int verdict = tap_takes(ctx, false) ? LONG_WAY : steer_quickly(ctx, true);

	return verdict == LONG_WAY ? steer_any(ctx) : verdict;
}

/* For ports whose packets take several buffers: headers are read in the first, lengths are
 * those of the whole. What is longer than a packet of this port can be was merged, by the
 * device or by its sender's end, and is the kernel's, which can cut it again. */
SEC("xdp.frags")
int shunt_steer_sg(struct xdp_md *ctx)
{
	tap_takes(ctx, true);
	return steer(ctx, true, true);
}

/* For libxdp's dispatcher since Linux 6.14 (and 6.12.117): there a program that may change a
 * frame's length cannot be loaded ("Extension program changes packet data, while original does
 * not"). What lane xdp would have to cut is the worker's. */
SEC("xdp")
int shunt_steer_dp(struct xdp_md *ctx)
{
	int verdict = tap_takes(ctx, false) ? LONG_WAY : steer_quickly(ctx, false);

	return verdict == LONG_WAY ? steer_any_dp(ctx) : verdict;
}

SEC("xdp.frags")
int shunt_steer_sgd(struct xdp_md *ctx)
{
	tap_takes(ctx, true);
	return steer(ctx, true, false);
}

char _license[] SEC("license") = "GPL";
