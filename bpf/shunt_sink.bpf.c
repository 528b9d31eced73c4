// SPDX-License-Identifier: GPL-2.0-only
/* The sink: counts the generator's frames by run and drops them; the rest goes on
 * to the kernel, so that ARP and neighbour discovery work, or is dropped too. */
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "shunt_gen.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SHUNT_GEN_RUNS);
	__type(key, __u32);
	__type(value, struct shunt_gen_count);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct shunt_gen_other);
} others SEC(".maps");

/* Run (16 bits) and last sequence number (48 bits) of a flow. A flow keeps to one
 * queue, so it has one writer. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SHUNT_GEN_ORDER_FLOWS);
	__type(key, __u32);
	__type(value, __u64);
} order SEC(".maps");

const volatile bool drop_others;
const volatile bool time_gaps;
const volatile bool verify;

#define SEQ_MASK ((1ULL << 48) - 1)

static __always_inline __u32 sum_words(const __u8 *p, int words)
{
	__u32 sum = 0;
	int i;

#pragma clang loop unroll(full)
	for (i = 0; i < words; i++)
		sum += ((const __u16 *)p)[i];
	return sum;
}

/* Over the bytes that the generator writes: what follows them is zero. */
static __always_inline bool is_sound(const __u8 *p, const bool v6)
{
	const __u8 *udp = p + SHUNT_GEN_UDP_OFF(v6);
	__u32 sum = sum_words(v6 ? p + 22 : p + 26, v6 ? 16 : 4) + bpf_htons(17) +
		    *(const __u16 *)(udp + 4) +
		    sum_words(udp, (SHUNT_GEN_UDP_LEN + SHUNT_GEN_TAG_LEN) / 2);

	if (shunt_gen_fold(sum) != 0xffff)
		return false;
	return v6 || shunt_gen_fold(sum_words(p + 14, 10)) == 0xffff;
}

static __always_inline void count_order(struct shunt_gen_count *c, __u32 flow, __u64 seq, __u16 run)
{
	const __u64 mark = (__u64)run << 48 | (seq & SEQ_MASK);
	__u64 *last;

	if (flow >= SHUNT_GEN_ORDER_FLOWS)
		return;
	last = bpf_map_lookup_elem(&order, &flow);
	if (!last)
		return;
	/* Frame 0 of run 0 cannot be told from an entry never used: run starts at 1. */
	if (*last >> 48 == run && *last >= mark)
		c->late++;
	else
		*last = mark;
}

static __always_inline void count_gap(struct shunt_gen_count *c)
{
	const __u64 now = bpf_ktime_get_ns();

	if (c->last_ns && now - c->last_ns > c->gap_max_ns)
		c->gap_max_ns = now - c->last_ns;
	c->last_ns = now;
}

static __always_inline void start_run(struct shunt_gen_count *c, __u16 run)
{
	__u32 zero = 0;
	struct shunt_gen_other *o = bpf_map_lookup_elem(&others, &zero);

	if (o) {
		o->replaced_frames += c->frames;
		o->replaced_bytes += c->bytes;
	}
	*c = (struct shunt_gen_count){
		.run = run, .used = 1, .ttl_min = 255, .first_ns = bpf_ktime_get_ns()};
}

static __always_inline int count(const __u8 *p, __u64 len, const bool v6)
{
	const __u8 *tag = p + SHUNT_GEN_TAG_OFF(v6);
	const __u64 seq = bpf_be64_to_cpu(*(const __u64 *)(tag + 10));
	const __u16 run = bpf_ntohs(*(const __u16 *)(tag + 4));
	const __u8 ttl = p[v6 ? 21 : 22];
	__u32 slot = run % SHUNT_GEN_RUNS;
	struct shunt_gen_count *c = bpf_map_lookup_elem(&counts, &slot);

	if (!c)
		return XDP_ABORTED;
	if (c->run != run || !c->used)
		start_run(c, run);
	c->frames++;
	c->bytes += len;
	if (seq > c->seq_max)
		c->seq_max = seq;
	if (ttl < c->ttl_min)
		c->ttl_min = ttl;
	if (ttl > c->ttl_max)
		c->ttl_max = ttl;
	count_order(c, bpf_ntohl(*(const __u32 *)(tag + 6)), seq, run);
	if (time_gaps)
		count_gap(c);
	if (verify && !is_sound(p, v6))
		c->bad++;
	return XDP_DROP;
}

static __always_inline int count_other(__u64 len)
{
	__u32 zero = 0;
	struct shunt_gen_other *o = bpf_map_lookup_elem(&others, &zero);

	if (o) {
		o->frames++;
		o->bytes += len;
	}
	return drop_others ? XDP_DROP : XDP_PASS;
}

static __always_inline bool is_ours(const __u8 *p, const bool v6)
{
	return *(const __u32 *)(p + SHUNT_GEN_TAG_OFF(v6)) == bpf_htonl(SHUNT_GEN_MAGIC) &&
	       p[v6 ? 20 : 23] == 17;
}

SEC("xdp")
int shunt_sink(struct xdp_md *ctx)
{
	const __u8 *p = (__u8 *)(long)ctx->data, *end = (__u8 *)(long)ctx->data_end;
	const __u64 len = end - p;

	if (p + SHUNT_GEN_HEAD_LEN(0) > end)
		return count_other(len);
	if (*(const __u16 *)(p + 12) == bpf_htons(0x0800) && p[14] == 0x45 && is_ours(p, false))
		return count(p, len, false);
	if (p + SHUNT_GEN_HEAD_LEN(1) > end)
		return count_other(len);
	if (*(const __u16 *)(p + 12) == bpf_htons(0x86dd) && is_ours(p, true))
		return count(p, len, true);
	return count_other(len);
}

char _license[] SEC("license") = "GPL";
