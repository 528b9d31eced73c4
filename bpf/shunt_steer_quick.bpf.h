/* SPDX-License-Identifier: GPL-2.0-only */
/* The short way of a cross-connect in lane xdp. Where all of a port's unicast leaves by one other
 * port, and neither rules nor shares ask about it, one word of the configuration says so, and a
 * frame is on its way after some forty instructions. Whatever is in doubt takes the long way, which
 * knows every case; both come to the same end. Part of shunt_steer.bpf.c.
 *
 * A frame's first bytes are loaded early: on a NAPI of its own they lie in the sender's cache. */
#ifndef SHUNT_STEER_QUICK_BPF_H
#define SHUNT_STEER_QUICK_BPF_H

static __always_inline bool crosses_quickly(struct xdp_md *ctx, __u64 word)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	__u64 first;
	__u32 queue = ctx->rx_queue_index;
	struct shunt_steer_slot *slot;

	if (data + sizeof(struct eth) > end)
		return false;
	first = *(const __u64 *)data;
	if (((const struct eth *)data)->dst[0] & 1 || shunt_steer_quick_is_own(word, first))
		return false;
	slot = slot_of(queue);
	if (!bpf_map_lookup_elem(&shunt_xsks, &queue))
		return false;
	sample_begin(&slot->sample);
	if (!redirects(shunt_steer_quick_port(word), false))
		return false;
	redirected(ctx, slot, SHUNT_STEER_XDP_BRIDGED, SHUNT_LANE_XDP, end - data);
	return true;
}

/* A transparent cross-connect's: no byte of the frame is loaded, in either lane. */
static __always_inline bool crosses_unseen(struct xdp_md *ctx, __u64 word)
{
	__u32 queue = ctx->rx_queue_index;
	struct shunt_steer_slot *slot;

	if (word & SHUNT_STEER_QUICK_ALL_USER)
		return plain_send(ctx, SHUNT_STEER_BRIDGED);
	slot = slot_of(queue);
	/* clang would keep its offset besides */
	barrier_var(slot);
	if (*(volatile __u64 *)&slot->sample.looks || !bpf_map_lookup_elem(&shunt_xsks, &queue) ||
	    !redirects(shunt_steer_quick_port(word) & (SHUNT_STEER_QUICK_ALL - 1), false))
		return false;
	count_untimed(ctx, &slot->counters, SHUNT_STEER_XDP_BRIDGED, SHUNT_LANE_XDP);
	return true;
}

#endif
