// SPDX-License-Identifier: GPL-2.0-only
/* The steering program as one that asks its driver, for tests/vm/bound.c. */
#include "shunt_steer.bpf.c"
#include "steer/bound.bpf.h"

enum xdp_rss_hash_type { RSS_NONE };

extern int bpf_xdp_metadata_rx_hash(const struct xdp_md *ctx, __u32 *hash,
				    enum xdp_rss_hash_type *type) __ksym;

/* Frames of which the driver said a hash. */
__u64 said SEC(".data.bound");

SEC("xdp")
int shunt_steer_bnd(struct xdp_md *ctx)
{
	enum xdp_rss_hash_type type;
	__u32 hash;

	leave_room();
	if (!bpf_xdp_metadata_rx_hash(ctx, &hash, &type))
		said++;
	return steer(ctx, false, true);
}
