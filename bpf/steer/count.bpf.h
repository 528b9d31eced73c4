/* SPDX-License-Identifier: GPL-2.0-only */
/* Every frame ends here: it is counted by reason and lane, timed where that was asked for, and
 * shown to a tap if there is one. What leaves by a redirect has its checksum finished before. */
#ifndef SHUNT_STEER_COUNT_BPF_H
#define SHUNT_STEER_COUNT_BPF_H

#include "steer/csum.bpf.h"
#include "steer/maps.bpf.h"
#include "steer/tap.bpf.h"

/* Whether a tap wants to see the frame's end. */
static __always_inline bool tap_takes(struct xdp_md *ctx, const bool is_sg)
{
	return IS_TAPPED && tap_in(ctx, is_sg);
}

/* ---- time ----------------------------------------------------------------------------------- */

/* Apart from the straight line. */
static __noinline void sample_end(struct shunt_steer_sample *sample, __u32 lane)
{
	if (!sample || lane >= SHUNT_LANE_CNT)
		return;
	sample->cnt[lane]++;
	sample->ns[lane] += bpf_ktime_get_ns() - sample->start_ns;
	sample->start_ns = 0;
}

static __noinline void sample_start(struct shunt_steer_sample *sample)
{
	if (!sample || !sample->due)
		return;
	sample->due--;
	sample->start_ns = bpf_ktime_get_ns();
}

static __always_inline void sample_begin(struct shunt_steer_sample *sample)
{
	if (READ_ONCE(sample->looks))
		sample_start(sample);
}

/* ---- ends ----------------------------------------------------------------------------------- */

static __always_inline int count(struct xdp_md *ctx, struct shunt_steer_slot *slot, int reason,
				 enum shunt_lane lane, __u32 out, __u64 len, int verdict)
{
	slot->counters.packets[reason & (SHUNT_STEER_REASON_MAX - 1)]++;
	slot->counters.bytes[lane] += len;
	if (slot->sample.start_ns)
		sample_end(&slot->sample, lane);
	tap_out(ctx, slot, reason, lane, out);
	return verdict;
}

/* What leaves by a redirect: its bytes must be all that there is to it. Apart from the straight
 * line. */
static __noinline void finish(struct xdp_md *ctx, struct shunt_steer_slot *slot, __u32 lane)
{
	int finished;

	if (!slot)
		return;
	slot->sample.csum_due--;
	if (!(READ_ONCE(shunt_ctl.finishes) >> (lane & 7) & 1))
		return;
	finished = finish_checksum(ctx);
	if (!finished)
		return;
	slot->sample.csum_due = SHUNT_STEER_CSUM_LOOKS;
	slot->counters.csum_finished++;
	slot->counters.csum_segments += finished == (FINISHED | SEGMENT);
}

/* The end of a frame for which a redirect was asked. out: the port, of lane xdp. */
static __always_inline int redirected(struct xdp_md *ctx, struct shunt_steer_slot *slot, int reason,
				      const enum shunt_lane lane, __u32 out, __u64 len)
{
	if (READ_ONCE(slot->sample.csum_due))
		finish(ctx, slot, lane);
	return count(ctx, slot, reason, lane, out, len, XDP_REDIRECT);
}

/* The end of a frame that is the kernel's. */
static __always_inline int lane_kernel(struct xdp_md *ctx, struct shunt_steer_slot *slot,
				       int reason, __u64 len)
{
	return count(ctx, slot, reason, SHUNT_LANE_KERNEL, SHUNT_TAP_NO_PORT, len, XDP_PASS);
}

static __always_inline int lane_drop(struct xdp_md *ctx, struct shunt_steer_slot *slot, int reason,
				     __u64 len)
{
	return count(ctx, slot, reason, SHUNT_LANE_DROP, SHUNT_TAP_NO_PORT, len, XDP_DROP);
}

#endif
