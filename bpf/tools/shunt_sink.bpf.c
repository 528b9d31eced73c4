// SPDX-License-Identifier: GPL-2.0-only
/* The sink: counts the generator's frames by run and drops them; the rest goes on
 * to the kernel, so that ARP and neighbour discovery work, or is dropped too.
 *
 * What it looks at beside the count is constant when it is loaded. */
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "tools/shunt_gen.h"

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

/* Which sequence numbers were seen: by run's slot and the number's low bits, a word
 * of run (16 bits), the number's high bits (16) and a bit for each of 32 numbers.
 * Several queues write it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SHUNT_GEN_RUNS *SHUNT_GEN_SEEN_WORDS);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SHUNT_GEN_BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} latencies SEC(".maps"), gaps SEC(".maps");

/* By run: 0, or its number in the order they came, from 1. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << 16);
	__type(key, __u32);
	__type(value, __u32);
} numbers SEC(".maps");

__u32 run_cnt;

/* Several queues write them. */
struct {
	/* Run (16 bits) and time (48) of its last frame, with time_gaps. */
	__u64 last;
	__u64 run; /* the last that took the slot */
} __attribute__((aligned(64))) slots[SHUNT_GEN_RUNS];

#define TIME_BITS 48
#define TIME_MASK ((1ULL << TIME_BITS) - 1)

const volatile bool drop_others;
const volatile bool check_order;
const volatile bool time_latency;
const volatile bool time_gaps;
const volatile bool verify;

enum seen { SEEN_NEW, SEEN_BEFORE, SEEN_UNKNOWN };

/* What the tag says, in host order, and the run's slot. */
struct tag {
	__u64 seq;
	__u64 time;
	__u32 flow;
	__u32 slot;
	__u16 run;
};

static __always_inline __u32 sum_words(const __u8 *p, int words)
{
	__u32 sum = 0;
	int i;

#pragma clang loop unroll(full)
	for (i = 0; i < words; i++)
		sum += ((const __u16 *)p)[i];
	return sum;
}

/* The payload behind the tag was sent as zeros. */
static __always_inline bool is_zero(const __u8 *p, const __u8 *end)
{
	__u64 any = 0;
	int i;

	for (i = 0; i < 1514 / 8 && p + 8 <= end; i++, p += 8)
		any |= *(const __u64 *)p;
	for (i = 0; i < 7 && p + 1 <= end; i++, p++)
		any |= *p;
	return !any;
}

static __always_inline bool is_sound(const __u8 *p, const __u8 *end, const bool v6, const bool tcp)
{
	const __u8 *l4 = p + SHUNT_GEN_L4_OFF(v6);
	const __u16 ip_len = bpf_ntohs(*(const __u16 *)(p + (v6 ? 18 : 16)));
	const __u16 l4_len = v6 ? ip_len : ip_len - SHUNT_GEN_IP4_LEN;
	__u32 sum = sum_words(v6 ? p + 22 : p + 26, v6 ? 16 : 4) + bpf_htons(tcp ? 6 : 17) +
		    bpf_htons(l4_len) +
		    sum_words(l4, (SHUNT_GEN_L4_LEN(tcp) + SHUNT_GEN_TAG_LEN) / 2);

	if (shunt_gen_fold(sum) != 0xffff)
		return false;
	if (!v6 && shunt_gen_fold(sum_words(p + 14, 10)) != 0xffff)
		return false;
	/* Cut short; longer, it was padded. */
	if (end - p < (long)SHUNT_GEN_L4_OFF(v6) + l4_len)
		return false;
	return is_zero(p + SHUNT_GEN_HEAD_LEN(v6, tcp), end);
}

static __always_inline enum seen mark_seen(const struct tag *t)
{
	const __u64 window = (__u64)t->run << 48 | (t->seq / SHUNT_GEN_SEEN_FRAMES & 0xffff) << 32;
	const __u64 bit = 1ULL << (t->seq & 31);
	const __u32 key = t->slot * SHUNT_GEN_SEEN_WORDS + (t->seq >> 5) % SHUNT_GEN_SEEN_WORDS;
	__u64 *word = bpf_map_lookup_elem(&seen, &key), old, new;
	int i;

	if (!word)
		return SEEN_UNKNOWN;
	/* Another queue may be at the same word: it rarely is, and hardly twice. */
	for (i = 0; i < 8; i++) {
		old = *word;
		new = window | bit;
		if (old >> 32 == window >> 32) {
			if (old & bit)
				return SEEN_BEFORE;
			new = old | bit;
		} else if (old >> 48 == t->run &&
			   (__s16)((window >> 32 & 0xffff) - (old >> 32 & 0xffff)) < 0) {
			return SEEN_UNKNOWN;
		}
		if (__sync_val_compare_and_swap(word, old, new) == old)
			return SEEN_NEW;
	}
	return SEEN_UNKNOWN;
}

/* Whether the frame came behind a later one of its flow. */
static __always_inline bool is_behind(const struct tag *t)
{
	const __u64 mark = (__u64)t->run << 48 | t->seq;
	const __u32 key = (t->flow + t->run * 16381) % SHUNT_GEN_ORDER_FLOWS;
	__u64 *last = bpf_map_lookup_elem(&order, &key);

	if (!last)
		return false;
	/* Frame 0 of run 0 cannot be told from an entry never used: run starts at 1. */
	if (*last >> 48 == t->run && *last >= mark)
		return true;
	*last = mark;
	return false;
}

static __always_inline void count_order(struct shunt_gen_count *c, const struct tag *t)
{
	const bool behind = is_behind(t);

	switch (mark_seen(t)) {
	case SEEN_BEFORE:
		c->duplicates++;
		break;
	case SEEN_NEW:
		c->reordered += behind;
		break;
	default:
		c->unjudged++;
	}
}

static __always_inline void add_bucket(void *map, __u64 value)
{
	const __u32 key = shunt_gen_bucket(value);
	__u64 *bucket = bpf_map_lookup_elem(map, &key);

	if (bucket)
		(*bucket)++;
}

/* From the run's last frame, whatever CPU that came on. */
static __always_inline void count_gap(struct shunt_gen_count *c, const struct tag *t, __u64 now)
{
	const __u64 mark = (__u64)t->run << TIME_BITS | (now & TIME_MASK);
	const __u64 last = __sync_lock_test_and_set(&slots[t->slot % SHUNT_GEN_RUNS].last, mark);
	__u64 gap = (mark - last) & TIME_MASK;

	c->last_ns = now;
	if (last >> TIME_BITS != t->run)
		return;
	/* Another CPU read the clock later and was here first. */
	if (gap >> (TIME_BITS - 1))
		gap = 0;
	add_bucket(&gaps, gap);
	c->gap_sum_ns += gap;
	if (gap > c->gap_max_ns)
		c->gap_max_ns = gap;
	if (gap < c->gap_min_ns)
		c->gap_min_ns = gap;
}

static __always_inline void count_latency(struct shunt_gen_count *c, __u64 time, __u64 now)
{
	const __u64 ns = (now - time) & SHUNT_GEN_TIME_MASK;

	if (!time)
		return;
	if (ns >> (SHUNT_GEN_TIME_BITS - 1)) {
		c->unclocked++;
		return;
	}
	add_bucket(&latencies, ns);
	c->latency_cnt++;
	c->latency_sum += ns;
	if (ns > c->latency_max)
		c->latency_max = ns;
	if (ns < c->latency_min)
		c->latency_min = ns;
}

static __always_inline __u32 slot_of(__u16 run)
{
	const __u32 key = run;
	__u32 *entry = bpf_map_lookup_elem(&numbers, &key), number, mine;

	if (!entry)
		return 0;
	number = *entry;
	if (!number) {
		mine = __sync_fetch_and_add(&run_cnt, 1) + 1;
		/* Another CPU may have met it as well. */
		number = __sync_val_compare_and_swap(entry, 0, mine);
		number = number ? number : mine;
	}
	return (number - 1) % SHUNT_GEN_RUNS;
}

static __always_inline void keep(struct shunt_gen_count *sum, const struct shunt_gen_count *c)
{
	if (!sum->used) {
		*sum = *c;
		return;
	}
	sum->frames += c->frames;
	sum->bytes += c->bytes;
	sum->reordered += c->reordered;
	sum->duplicates += c->duplicates;
	sum->unjudged += c->unjudged;
	sum->unclocked += c->unclocked;
	sum->latency_sum += c->latency_sum;
	sum->latency_cnt += c->latency_cnt;
	sum->gap_sum_ns += c->gap_sum_ns;
#define MOST(field)                \
	if (c->field > sum->field) \
	sum->field = c->field
#define LEAST(field)               \
	if (c->field < sum->field) \
	sum->field = c->field
	MOST(last_ns);
	MOST(latency_max);
	MOST(gap_max_ns);
	MOST(ttl_max);
	LEAST(first_ns);
	LEAST(latency_min);
	LEAST(gap_min_ns);
	LEAST(ttl_min);
#undef MOST
#undef LEAST
}

static __always_inline void start_run(struct shunt_gen_count *c, const struct tag *t)
{
	__u32 zero = 0;
	struct shunt_gen_other *o = bpf_map_lookup_elem(&others, &zero);

	if (o && c->used)
		keep(&o->replaced, c);
	slots[t->slot % SHUNT_GEN_RUNS].run = t->run;
	*c = (struct shunt_gen_count){.run = t->run,
				      .used = 1,
				      .ttl_min = 255,
				      .latency_min = ~0ULL,
				      .gap_min_ns = ~0ULL,
				      .first_ns = bpf_ktime_get_ns()};
}

static __always_inline void count_sound(const struct tag *t, __u64 len, __u8 ttl)
{
	struct shunt_gen_count *c = bpf_map_lookup_elem(&counts, &t->slot);
	__u64 now = 0;

	if (!c)
		return;
	if (c->run != t->run || !c->used)
		start_run(c, t);
	c->frames++;
	c->bytes += len;
	if (t->seq > c->seq_max)
		c->seq_max = t->seq;
	if (ttl < c->ttl_min)
		c->ttl_min = ttl;
	if (ttl > c->ttl_max)
		c->ttl_max = ttl;
	if (time_latency || time_gaps)
		now = bpf_ktime_get_ns();
	if (time_latency)
		count_latency(c, t->time, now);
	if (time_gaps)
		count_gap(c, t, now);
	if (check_order)
		count_order(c, t);
}

static __always_inline int count_corrupt(void)
{
	__u32 zero = 0;
	struct shunt_gen_other *o = bpf_map_lookup_elem(&others, &zero);

	if (o)
		o->corrupt++;
	return XDP_DROP;
}

static __always_inline int count(const __u8 *p, const __u8 *end, const bool v6, const bool tcp)
{
	const __u8 *at = p + SHUNT_GEN_TAG_OFF(v6, tcp);
	const __u64 word = bpf_be64_to_cpu(*(const __u64 *)(at + 6));
	const __u16 run = bpf_ntohs(*(const __u16 *)(at + 4));
	struct tag t = {.run = run,
			.seq = word >> (64 - SHUNT_GEN_SEQ_BITS),
			.flow = word >> 4 & (SHUNT_GEN_FLOW_MAX - 1),
			.time = (word & 15) << 32 | bpf_ntohl(*(const __u32 *)(at + 14))};

	if (verify && !is_sound(p, end, v6, tcp))
		return count_corrupt();
	t.slot = slot_of(run); /* not before: of a damaged frame's run nothing is known */
	count_sound(&t, end - p, p[v6 ? 21 : 22]);
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

/* No generator's run is 0. */
static __always_inline bool is_ours(const __u8 *p, const __u8 *end, const bool v6, const bool tcp)
{
	const __u8 *tag = p + SHUNT_GEN_TAG_OFF(v6, tcp);

	return p + SHUNT_GEN_HEAD_LEN(v6, tcp) <= end && p[v6 ? 20 : 23] == (tcp ? 6 : 17) &&
	       *(const __u32 *)tag == bpf_htonl(SHUNT_GEN_MAGIC) && *(const __u16 *)(tag + 4);
}

SEC("xdp")
int shunt_sink(struct xdp_md *ctx)
{
	const __u8 *p = (__u8 *)(long)ctx->data, *end = (__u8 *)(long)ctx->data_end;

	if (p + SHUNT_GEN_HEAD_LEN(0, 0) > end)
		return count_other(end - p);
	if (*(const __u16 *)(p + 12) == bpf_htons(0x0800) && p[14] == 0x45) {
		if (is_ours(p, end, false, false))
			return count(p, end, false, false);
		if (is_ours(p, end, false, true))
			return count(p, end, false, true);
	} else if (*(const __u16 *)(p + 12) == bpf_htons(0x86dd) && p[14] >> 4 == 6) {
		if (is_ours(p, end, true, false))
			return count(p, end, true, false);
		if (is_ours(p, end, true, true))
			return count(p, end, true, true);
	}
	return count_other(end - p);
}

char _license[] SEC("license") = "GPL";
