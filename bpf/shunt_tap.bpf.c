// SPDX-License-Identifier: GPL-2.0-only
/* A tap's programs. They take the places of shunt_tap_in and shunt_tap_out in the steering program
 * of one port (steer/tap.bpf.h), and put what the filter lets through into a ring. Whoever opened
 * the tap loads them and reads the ring (lib/tap/tap.c); with its end they are gone.
 *
 * They never hold a frame up, and never change it. Where the ring has no room the record is lost,
 * and counted. */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "shunt_steer_reason.h"
#include "shunt_tap.h"

const volatile struct shunt_tap_opts shunt_tap_opts = {.snap_len = SHUNT_TAP_SNAP_MAX};

/* Records without room. Several CPUs write it. */
__u64 shunt_tap_lost;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* lib/tap/tap.c makes it larger */
} shunt_tap_ring SEC(".maps");

/* The packet that this CPU steers. */
struct passing {
	__u32 count; /* of packets that passed the filter */
	__u32 number; /* of this one's records; 0: the filter does not pass it as it arrived */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct passing);
} shunt_tap_passing SEC(".maps");

/* The filter: lib/tap/tap.c puts a program made of pcap-filter(7) in its place. The only function
 * that is called and not inlined, and so the last of its program. data, end: the packet's first
 * buffer. len: all of the packet. */
static __noinline int filter(const void *data, const void *end, __u32 len)
{
	int is_passed = 1;

	asm volatile("" : "+r"(is_passed) : "r"(data), "r"(end), "r"(len));
	return is_passed;
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
		to->head = *head;                                                                 \
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

	if (snap_len <= 128 || head->cap_len <= 128)
		return put_128(ctx, head);
	if (snap_len <= 512 || head->cap_len <= 512)
		return put_512(ctx, head);
	if (snap_len <= 2048 || head->cap_len <= 2048)
		return put_2048(ctx, head);
	return put_max(ctx, head);
}

static __always_inline void take(struct xdp_md *ctx, struct shunt_tap_record *head, bool has_bytes)
{
	const __u32 snap_len = shunt_tap_opts.snap_len;

	head->time_ns = bpf_ktime_get_ns();
	head->len = bpf_xdp_get_buff_len(ctx);
	head->cap_len = !has_bytes ? 0 : head->len < snap_len ? head->len : snap_len;
	head->queue = ctx->rx_queue_index;
	head->port = shunt_tap_opts.port;
	if (!put(ctx, head))
		__sync_fetch_and_add(&shunt_tap_lost, 1);
}

static __always_inline bool passes(struct xdp_md *ctx)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;

	return filter(data, end, end - data);
}

SEC("freplace/shunt_tap_in")
int tap_in(struct xdp_md *ctx)
{
	struct shunt_tap_record head = {.place = SHUNT_TAP_ARRIVED, .out = SHUNT_TAP_NO_PORT};
	bool is_passed = passes(ctx);
	struct passing *passing;
	__u32 zero = 0;

	if (!is_passed && !shunt_tap_opts.is_changed)
		return 0;
	passing = bpf_map_lookup_elem(&shunt_tap_passing, &zero);
	if (!passing)
		return 0;
	passing->number = 0;
	if (!is_passed)
		return 1;
	/* Packets of one queue on two CPUs differ, too. */
	head.number = passing->number = ++passing->count << 10 | bpf_get_smp_processor_id() << 1 | 1;
	take(ctx, &head, true);
	return 1;
}

SEC("freplace/shunt_tap_out")
int tap_out(struct xdp_md *ctx, __u32 reason, __u32 lane, __u32 out, __u32 rule)
{
	struct shunt_tap_record head = {
		.place = SHUNT_TAP_STEERED, .lane = lane, .reason = reason, .out = out, .rule = rule};
	bool has_bytes = lane == SHUNT_LANE_XDP;
	struct passing *passing;
	__u32 zero = 0;

	passing = bpf_map_lookup_elem(&shunt_tap_passing, &zero);
	if (!passing)
		return 0;
	head.number = passing->number;
	if (shunt_tap_opts.is_changed)
		has_bytes = has_bytes && passes(ctx);
	if (head.number || has_bytes)
		take(ctx, &head, has_bytes);
	return 0;
}

char _license[] SEC("license") = "GPL";
