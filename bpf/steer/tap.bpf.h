/* SPDX-License-Identifier: GPL-2.0-only */
/* A tap: what a capture sees of a port's frames. Only in programs that are made with SHUNT_TAPPED:
 * they take the plain ones' place for as long as somebody captures, by the same maps. So a port
 * that nobody captures pays nothing.
 *
 * A tap never holds a frame up, and never changes it. Where the ring has no room the record is
 * lost, and counted. */
#ifndef SHUNT_STEER_TAP_BPF_H
#define SHUNT_STEER_TAP_BPF_H

#include "shunt_tap.h"
#include "steer/maps.bpf.h"

#ifndef SHUNT_TAPPED

#define IS_TAPPED false

static __always_inline bool tap_in(struct xdp_md *ctx, const bool is_sg)
{
	return false;
}

static __always_inline void tap_out(struct xdp_md *ctx, struct shunt_steer_slot *slot, int reason,
				    __u32 lane, __u32 out)
{
}

#else

#define IS_TAPPED true

const volatile struct shunt_tap_opts shunt_tap_opts SEC(".rodata.shunt_tap") = {
	.snap_len = SHUNT_TAP_SNAP_MAX};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* lib/xdp/tap.c makes it larger */
} shunt_tap_ring SEC(".maps");

/* The filter: lib/xdp/tap.c puts a program made of pcap-filter(7) in the place of these
 * instructions, and the verifier takes out what is left of them. data, end: the packet's first
 * buffer. len: all of the packet. They stay where arguments are: r1, r2, r3. */
static __noinline int filter(const void *data, const void *end, __u32 len)
{
	int is_passed;

	asm volatile("%0 = %4\n\t.rept %5\n\t%0 = %0\n\t.endr"
		     : "=&r"(is_passed)
		     : "r"(data), "r"(end), "r"(len), "i"(SHUNT_TAP_FILTER_MARK),
		       "i"(SHUNT_TAP_FILTER_ROOM - 1));
	return is_passed;
}

/* Field by field: clang 14 loses most of a copy of the whole. */
static __always_inline void fill(struct shunt_tap_record *to, const struct shunt_tap_record *head)
{
	to->time_ns = head->time_ns;
	to->len = head->len;
	to->cap_len = head->cap_len;
	to->number = head->number;
	to->queue = head->queue;
	to->port = head->port;
	to->place = head->place;
	to->lane = head->lane;
	to->reason = head->reason;
	to->out = head->out;
	to->rule = head->rule;
	to->pad = 0;
}

static __always_inline bool put_head(const struct shunt_tap_record *head)
{
	struct shunt_tap_record *to = bpf_ringbuf_reserve(&shunt_tap_ring, sizeof(*to), 0);

	if (!to)
		return false;
	fill(to, head);
	bpf_ringbuf_submit(to, BPF_RB_NO_WAKEUP);
	return true;
}

/* One size of record: the verifier wants to know it. */
#define PUT(name, room)                                                                           \
	static __always_inline bool name(struct xdp_md *ctx, const struct shunt_tap_record *head) \
	{                                                                                         \
		struct {                                                                          \
			struct shunt_tap_record head;                                             \
			__u8 bytes[room];                                                         \
		} *to = bpf_ringbuf_reserve(&shunt_tap_ring, sizeof(*to), 0);                     \
		__u32 last = head->cap_len - 1;                                                   \
                                                                                                  \
		if (!to)                                                                          \
			return false;                                                             \
		fill(&to->head, head);                                                            \
		barrier_var(last);                                                                \
		if (last < room && bpf_xdp_load_bytes(ctx, 0, to->bytes, last + 1))               \
			to->head.cap_len = 0;                                                     \
		bpf_ringbuf_submit(to, BPF_RB_NO_WAKEUP);                                         \
		return true;                                                                      \
	}

PUT(put_128, 128)
PUT(put_512, 512)
PUT(put_2048, 2048)
PUT(put_max, SHUNT_TAP_SNAP_MAX)

static __always_inline bool put(struct xdp_md *ctx, const struct shunt_tap_record *head)
{
	const __u32 snap_len = shunt_tap_opts.snap_len;

	if (!head->cap_len)
		return put_head(head);
	if (snap_len <= 128 || head->cap_len <= 128)
		return put_128(ctx, head);
	if (snap_len <= 512 || head->cap_len <= 512)
		return put_512(ctx, head);
	if (snap_len <= 2048 || head->cap_len <= 2048)
		return put_2048(ctx, head);
	return put_max(ctx, head);
}

/* false: there was no room. */
static __always_inline bool take(struct xdp_md *ctx, struct shunt_tap_record *head, bool has_bytes)
{
	const __u32 snap_len = shunt_tap_opts.snap_len;

	head->time_ns = bpf_ktime_get_ns();
	head->len = bpf_xdp_get_buff_len(ctx);
	head->cap_len = !has_bytes ? 0 : head->len < snap_len ? head->len : snap_len;
	head->queue = ctx->rx_queue_index;
	head->port = shunt_tap_opts.port;
	return put(ctx, head);
}

static __always_inline bool tap_passes(struct xdp_md *ctx, const bool is_sg)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;

	return filter(data, end, is_sg ? bpf_xdp_get_buff_len(ctx) : (__u32)(end - data));
}

static __always_inline bool is_shown(__u32 port)
{
	return port == SHUNT_TAP_ALL_PORT || (port < 64 && shunt_tap_opts.ports >> port & 1);
}

/* What the filter passes of frames that arrive. Apart from the others' way. */
static __noinline void take_arrived(struct xdp_md *ctx, struct shunt_steer_slot *slot)
{
	struct shunt_tap_record head = {.place = SHUNT_TAP_ARRIVED, .out = SHUNT_TAP_NO_PORT};

	/* Packets of one queue on two CPUs differ, too. */
	head.number =
		++slot->sample.tap_count << 10 | (bpf_get_smp_processor_id() & 0x1ff) << 1 | 1;
	if (take(ctx, &head, true))
		slot->sample.tap_number = head.number;
	else
		slot->sample.tap_lost++;
}

static __noinline bool take_in(struct xdp_md *ctx, bool is_passed)
{
	struct shunt_steer_slot *slot = slot_of(ctx->rx_queue_index);

	slot->sample.tap_number = 0;
	slot->sample.rule = 0;
	slot->sample.is_taken = 1;
	if (shunt_tap_opts.is_own && is_passed)
		take_arrived(ctx, slot);
	return true;
}

/* Before the frame is looked at. Returns whether its end is to be shown: tap_out does that once. A
 * frame of which nothing is shown costs the filter, and next to nothing else. */
static __always_inline bool tap_in(struct xdp_md *ctx, const bool is_sg)
{
	if (shunt_tap_opts.is_asked && tap_passes(ctx, is_sg))
		return take_in(ctx, true);
	return shunt_tap_opts.is_changed && take_in(ctx, false);
}

/* When its lane is known, and it has been made what it leaves as. */
static __noinline void take_steered(struct xdp_md *ctx, struct shunt_steer_slot *slot, int reason,
				    __u32 lane, __u32 out)
{
	struct shunt_tap_record head = {.place = SHUNT_TAP_STEERED,
					.lane = lane,
					.reason = reason,
					.out = out,
					.rule = slot->sample.rule};
	bool leaves = lane == SHUNT_LANE_XDP && is_shown(out);

	slot->sample.is_taken = 0;
	head.number = slot->sample.tap_number;
	if (leaves && shunt_tap_opts.is_changed)
		leaves = shunt_tap_opts.is_sg ? tap_passes(ctx, true) : tap_passes(ctx, false);
	/* Without its end a frame is shown all the same, as it arrived. */
	if (!(head.number || leaves) || take(ctx, &head, leaves) || !leaves)
		return;
	/* one for all ports of a bridge: at the port that it came by */
	if (out == SHUNT_TAP_ALL_PORT)
		out = shunt_tap_opts.port;
	__sync_fetch_and_add(&slot_of(out)->sample.tap_lost_out, 1);
}

static __always_inline void tap_out(struct xdp_md *ctx, struct shunt_steer_slot *slot, int reason,
				    __u32 lane, __u32 out)
{
	if (slot->sample.is_taken)
		take_steered(ctx, slot, reason, lane, out);
}

#endif /* SHUNT_TAPPED */
#endif
