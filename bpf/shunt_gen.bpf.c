// SPDX-License-Identifier: GPL-2.0-only
/* The generator: run by BPF_PROG_TEST_RUN with live frames, it writes each frame
 * and redirects it to the device in `port`. One thread runs it at a time.
 *
 * With a rate it looks at the clock for every frame and drops those that are not
 * yet due, so that frames leave one at a time at even distances. When it was held
 * up it makes up for it at a rate not much higher, not in one burst. */
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

#include "shunt_gen.h"

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} port SEC(".maps");

struct shunt_gen_frame frame;
struct shunt_gen_pace pace;
struct shunt_gen_state state;
__u32 flows;
__u64 limit;

const volatile bool paced;

/* `paced` is constant when the program is loaded: the verifier removes the other half. */
static __always_inline bool is_due(void)
{
	__u64 now;

	if (!paced) {
		if (!state.start_ns)
			state.start_ns = bpf_ktime_get_ns();
		return true;
	}
	now = bpf_ktime_get_ns();
	if (!state.start_ns)
		state.start_ns = now;
	now = (now - state.start_ns) << SHUNT_GEN_PACE_SHIFT;
	if (now < state.due || now < state.next)
		return false;
	state.due += pace.interval;
	if (state.next + pace.burst < now)
		state.next = now - pace.burst;
	state.next += pace.catchup;
	return true;
}

static __always_inline int emit(struct xdp_md *ctx, const bool v6)
{
	__u8 *data = (__u8 *)(long)ctx->data, *end = (__u8 *)(long)ctx->data_end;

	if (data + SHUNT_GEN_HEAD_LEN(v6) > end || state.done_ns || !is_due())
		return XDP_DROP;
	shunt_gen_write(data, &frame, state.flow, state.seq, v6);
	if (++state.flow >= flows)
		state.flow = 0;
	if (++state.seq == limit)
		state.done_ns = bpf_ktime_get_ns();
	return bpf_redirect_map(&port, 0, XDP_DROP);
}

SEC("xdp")
int shunt_gen4(struct xdp_md *ctx)
{
	return emit(ctx, false);
}

SEC("xdp")
int shunt_gen6(struct xdp_md *ctx)
{
	return emit(ctx, true);
}

char _license[] SEC("license") = "GPL";
