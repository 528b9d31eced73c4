// SPDX-License-Identifier: GPL-2.0-only
/* The steering program for devices that hand a VLAN tag over beside its frame (veth). It asks the
 * driver for the tag, so it is bound to its device (steer/bound.bpf.h, Linux 6.8), where it stands
 * alone. An object of its own: the other one is loaded by whatever loads XDP programs. */
#include "steer/bound.bpf.h"
#include "steer/quick.bpf.h"
#include "steer/steer.bpf.h"
#include "steer/tag.bpf.h"

/* Documentation/networking/xdp-rx-metadata.rst. The type in network order, the TCI in the host's;
 * -ENODATA: no tag lies beside the frame. */
extern int bpf_xdp_metadata_rx_vlan_tag(const struct xdp_md *ctx, __be16 *type_be,
					__u16 *tci) __ksym;

static __always_inline bool has_tag(const struct xdp_md *ctx, struct vlan_tag *tag)
{
	__u16 tci;

	if (bpf_xdp_metadata_rx_vlan_tag(ctx, &tag->type_be, &tci))
		return false;
	tag->tci_be = bpf_htons(tci);
	return true;
}

__noinline int steer_any_sg(struct xdp_md *ctx)
{
	return steer(ctx, true, true);
}

static __always_inline int steer_tagged(struct xdp_md *ctx, struct vlan_tag tag, const bool is_sg)
{
	int verdict;

	if (!tag_push(ctx, tag))
		return lane_kernel(ctx, slot_of(ctx->rx_queue_index), SHUNT_STEER_TRUNCATED,
				   ctx->data_end - ctx->data);
	tap_takes(ctx, is_sg);
	verdict = is_sg ? steer_any_sg(ctx) : steer_any(ctx);
	if (verdict == XDP_PASS)
		tag_pop(ctx);
	return verdict;
}

SEC("xdp")
int shunt_steer_tag(struct xdp_md *ctx)
{
	struct vlan_tag tag;
	int verdict;

	leave_room();
	if (has_tag(ctx, &tag))
		return steer_tagged(ctx, tag, false);
	verdict = tap_takes(ctx, false) ? LONG_WAY : steer_quickly(ctx, true);
	return verdict == LONG_WAY ? steer_any(ctx) : verdict;
}

SEC("xdp.frags")
int shunt_steer_sgt(struct xdp_md *ctx)
{
	struct vlan_tag tag;

	leave_room();
	if (has_tag(ctx, &tag))
		return steer_tagged(ctx, tag, true);
	tap_takes(ctx, true);
	return steer_any_sg(ctx);
}

char _license[] SEC("license") = "GPL";
