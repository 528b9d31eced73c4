// SPDX-License-Identifier: GPL-2.0-only
/* The generator: run by BPF_PROG_TEST_RUN with live frames, it writes each frame
 * and redirects it to the device in `port`. One thread runs it at a time.
 *
 * With a rate it looks at the clock for every frame and drops those that are not
 * yet due, so that frames leave one at a time when they should. When it was held
 * up it makes up for it at a rate not much higher, not in one burst.
 *
 * Distances, flows and lengths that are not constant come from a schedule that
 * userspace drew beforehand. */
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

#include "tools/shunt_gen.h"

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} port SEC(".maps");

/* These two are given their size before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct shunt_gen_flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct shunt_gen_slot);
} slots SEC(".maps");

struct shunt_gen_frame frame;
struct shunt_gen_pace pace;
struct shunt_gen_state state;
__u64 limit;

/* Constant when the program is loaded: the verifier removes what is not asked for. */
const volatile bool paced;
const volatile bool stamped;
const volatile bool varied; /* the lengths differ */
const volatile __u32 slot_cnt;
const volatile __u32 flow_cnt;
const volatile __u32 full_len; /* of the frames that the kernel hands over */

static __always_inline bool is_due(__u64 gap, __u64 now)
{
	if (!state.start_ns)
		state.start_ns = now;
	return !paced || shunt_gen_is_due(&state, &pace, gap, now);
}

/* Says what the next frame is like, and whether it may leave. */
static __always_inline bool take_next(struct shunt_gen_vary *v)
{
	struct shunt_gen_slot *slot;
	const bool clocked = paced || stamped || !state.start_ns;
	const __u64 now = clocked ? bpf_ktime_get_ns() : 0;

	v->seq = state.seq;
	v->time_ns = stamped ? now : 0;
	if (!slot_cnt) {
		v->flow = state.flow;
		v->len = full_len;
		if (!is_due(pace.interval, now))
			return false;
		if (++state.flow >= flow_cnt)
			state.flow = 0;
		return true;
	}
	slot = bpf_map_lookup_elem(&slots, &state.slot);
	if (!slot || !is_due(slot->gap, now))
		return false;
	v->flow = slot->flow;
	v->len = slot->len;
	if (++state.slot >= slot_cnt)
		state.slot = 0;
	return true;
}

static __always_inline int emit(struct xdp_md *ctx, const bool v6, const bool tcp)
{
	struct shunt_gen_vary v = {};
	const struct shunt_gen_flow *flow;
	__u8 *data;

	if (state.done_ns || !take_next(&v))
		return XDP_DROP;
	if (varied && bpf_xdp_adjust_tail(ctx, (int)(v.len - full_len)))
		return XDP_DROP;
	data = (__u8 *)(long)ctx->data;
	flow = bpf_map_lookup_elem(&flows, &v.flow);
	if (!flow || data + SHUNT_GEN_HEAD_LEN(v6, tcp) > (__u8 *)(long)ctx->data_end)
		return XDP_DROP;
	shunt_gen_write(data, &frame, flow, &v, v6, tcp);
	state.bytes += v.len;
	if (++state.seq == limit)
		state.done_ns = bpf_ktime_get_ns();
	return bpf_redirect_map(&port, 0, XDP_DROP);
}

SEC("xdp")
int shunt_gen_udp4(struct xdp_md *ctx)
{
	return emit(ctx, false, false);
}

SEC("xdp")
int shunt_gen_udp6(struct xdp_md *ctx)
{
	return emit(ctx, true, false);
}

SEC("xdp")
int shunt_gen_tcp4(struct xdp_md *ctx)
{
	return emit(ctx, false, true);
}

SEC("xdp")
int shunt_gen_tcp6(struct xdp_md *ctx)
{
	return emit(ctx, true, true);
}

/* For --way xsk: drivers have AF_XDP's zero-copy rings only beside a program. */
SEC("xdp")
int shunt_gen_pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
