/* SPDX-License-Identifier: GPL-2.0-only */
/* The lane user: to the AF_XDP socket of the frame's queue, while its gate is open. */
#ifndef SHUNT_STEER_LANE_USER_BPF_H
#define SHUNT_STEER_LANE_USER_BPF_H

#include "steer/count.bpf.h"

/* What closes the lane user, as bits of the gate's `shut`; 0: nothing. */
static __always_inline __u32 shut_of(const struct shunt_steer_slot *slot)
{
	return READ_ONCE(slot->gate.shut) & SHUNT_STEER_SHUT_USER;
}

/* XDP_PASS comes back where the slot is empty: no socket, no harm. */
static __always_inline bool takes_worker(__u32 queue)
{
	return bpf_redirect_map(&shunt_xsks, queue, XDP_PASS) == XDP_REDIRECT;
}

static __always_inline int lane_user(struct xdp_md *ctx, struct shunt_steer_slot *slot, __u32 queue,
				     int reason, __u64 len)
{
	__u32 shut = shut_of(slot);

	if (shut)
		return lane_kernel(
			slot, shut & SHUNT_STEER_SHUT_HUNG ? SHUNT_STEER_HUNG : SHUNT_STEER_DRY,
			len);
	if (takes_worker(queue))
		return redirected(ctx, slot, reason, SHUNT_LANE_USER, len);
	return unserved(slot, reason, len);
}

#endif
