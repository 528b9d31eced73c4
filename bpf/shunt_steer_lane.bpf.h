/* SPDX-License-Identifier: GPL-2.0-only */
/* The lane xdp: frames that leave by another port without leaving the kernel's receive path.
 * Part of shunt_steer.bpf.c, and of nothing else; it uses that file's headers, maps and
 * counting.
 *
 * Two things make it fail open. A frame goes this way only while a socket serves its queue: the
 * kernel takes the sockets out of their map when the daemon ends, however that ends, and from the
 * next frame on everything is the kernel's. And the redirect is asked for before a byte
 * is written: where the other port's slot is empty, the frame goes to the kernel as it came. */
#ifndef SHUNT_STEER_LANE_BPF_H
#define SHUNT_STEER_LANE_BPF_H

static __always_inline long redirect(__u32 port, const bool is_sg)
{
	if (is_sg)
		return bpf_redirect_map(&shunt_ports_sg, port, XDP_PASS);
	return bpf_redirect_map(&shunt_ports, port, XDP_PASS);
}

/* A bridge's: what lane xdp cannot finish, the worker floods, learns or drops. */
static __always_inline int switch_frame(const struct shunt_steer_half *half, const struct eth *eth,
					struct shunt_steer_slot *slot, __u32 queue, bool is_ruled,
					__u64 len, const bool is_sg)
{
	__u32 to = switch_port(half, eth);

	if (to == SWITCH_NONE || redirect(to, is_sg) != XDP_REDIRECT)
		return lane_user(slot, queue, SHUNT_STEER_BRIDGED, len);
	return count(&slot->counters, is_ruled ? SHUNT_STEER_XDP_RULE : SHUNT_STEER_XDP_BRIDGED,
		     SHUNT_LANE_XDP, len, XDP_REDIRECT);
}

static __always_inline int lane_xdp(const struct shunt_steer_half *half, const struct eth *eth,
				    struct shunt_steer_slot *slot, __u32 queue, int reason,
				    bool is_ruled, __u64 len, const bool is_sg)
{
	if (!bpf_map_lookup_elem(&shunt_xsks, &queue)) {
		slot->counters.unserved[reason & (SHUNT_STEER_USER_REASON_CNT - 1)]++;
		return lane_kernel(slot, SHUNT_STEER_NO_SOCKET, len);
	}
	if (half->bridge && reason == SHUNT_STEER_BRIDGED)
		return switch_frame(half, eth, slot, queue, is_ruled, len, is_sg);
	if (half->bridge)
		return lane_user(slot, queue, reason, len);
	if (redirect(half->out_port, is_sg) != XDP_REDIRECT)
		return lane_kernel(slot, SHUNT_STEER_NO_XDP_PORT, len);
	return count(&slot->counters, is_ruled ? SHUNT_STEER_XDP_RULE : SHUNT_STEER_XDP_BRIDGED,
		     SHUNT_LANE_XDP, len, XDP_REDIRECT);
}

#endif
