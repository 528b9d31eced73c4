/* SPDX-License-Identifier: GPL-2.0-only */
/* A VLAN tag that comes beside its frame, as a veth hands over what a VLAN device sent into its
 * other end. It is put into the frame before anything looks at that, as it would come by a wire.
 * What goes to the kernel goes as it came, since the kernel has kept the tag. */
#ifndef SHUNT_STEER_TAG_BPF_H
#define SHUNT_STEER_TAG_BPF_H

#include "steer/frame.bpf.h"

/* Both addresses of an Ethernet header, before the tag. */
struct macs {
	__u32 words[3];
};

/* IEEE 802.1Q, 9.3. */
struct vlan_tag {
	__be16 type_be;
	__be16 tci_be;
};

/* false: there is no frame to put it into. */
static __always_inline bool tag_push(struct xdp_md *ctx, struct vlan_tag tag)
{
	struct macs *macs = (void *)(long)ctx->data, copy;

	if ((void *)macs + sizeof(struct eth) > (void *)(long)ctx->data_end)
		return false;
	copy = *macs;
	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(tag)))
		return false;
	macs = (void *)(long)ctx->data;
	if ((void *)(macs + 1) + sizeof(tag) > (void *)(long)ctx->data_end)
		return false;
	*macs = copy;
	*(struct vlan_tag *)(macs + 1) = tag;
	return true;
}

static __always_inline void tag_pop(struct xdp_md *ctx)
{
	struct macs *macs = (void *)(long)ctx->data, copy;
	void *moved = (void *)macs + sizeof(struct vlan_tag);

	if (moved + sizeof(copy) > (void *)(long)ctx->data_end)
		return;
	copy = *macs;
	*(struct macs *)moved = copy;
	bpf_xdp_adjust_head(ctx, sizeof(struct vlan_tag));
}

#endif
