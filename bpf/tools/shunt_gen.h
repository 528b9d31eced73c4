/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What shunt-gen's programs share with its userspace: the frame it sends, field
 * by field, and the counts its sink keeps. The same inline function writes the
 * frame in XDP and in userspace, so all ways of sending send the same bytes.
 *
 * A frame is Ethernet, IPv4 or IPv6, UDP or a TCP SYN, a tag of 18 bytes, zeros.
 * 18 bytes is what the shortest UDP frame over IPv4 (60 bytes) has room for. */
#ifndef SHUNT_GEN_H
#define SHUNT_GEN_H

#include <linux/types.h>

#define SHUNT_GEN_MAGIC 0x73686e74u /* "shnt" */

/* Follows the UDP or TCP header; network byte order. */
struct shunt_gen_tag {
	__u32 magic_be;
	__u16 run_be; /* which thread of which generator: a sink may see several */
	/* From the top: 40 bits of sequence number, which counts all frames of the run
	 * from 0, whatever the flow; 20 bits of flow; the highest 4 of the time. */
	__u64 word_be;
	__u32 time_be; /* CLOCK_MONOTONIC, ns, the lowest 36 bits with those above; 0: none */
} __attribute__((packed));

_Static_assert(sizeof(struct shunt_gen_tag) == 18, "the tag must fit a 60-byte IPv4 frame");

#define SHUNT_GEN_SEQ_BITS	    40
#define SHUNT_GEN_FLOW_BITS	    20
#define SHUNT_GEN_TIME_BITS	    36
/* Times are told apart up to half of what the bits hold: 34 s. */
#define SHUNT_GEN_TIME_MASK	    ((1ULL << SHUNT_GEN_TIME_BITS) - 1)

#define SHUNT_GEN_ETH_LEN	    14
#define SHUNT_GEN_IP4_LEN	    20
#define SHUNT_GEN_IP6_LEN	    40
#define SHUNT_GEN_UDP_LEN	    8
#define SHUNT_GEN_TCP_LEN	    20
#define SHUNT_GEN_TAG_LEN	    18
#define SHUNT_GEN_L4_OFF(v6)	    (SHUNT_GEN_ETH_LEN + ((v6) ? SHUNT_GEN_IP6_LEN : SHUNT_GEN_IP4_LEN))
#define SHUNT_GEN_L4_LEN(tcp)	    ((tcp) ? SHUNT_GEN_TCP_LEN : SHUNT_GEN_UDP_LEN)
#define SHUNT_GEN_TAG_OFF(v6, tcp)  (SHUNT_GEN_L4_OFF(v6) + SHUNT_GEN_L4_LEN(tcp))
/* Also the shortest frame: UDP 60 for IPv4 and 80 for IPv6, TCP 72 and 92. */
#define SHUNT_GEN_HEAD_LEN(v6, tcp) (SHUNT_GEN_TAG_OFF(v6, tcp) + SHUNT_GEN_TAG_LEN)
#define SHUNT_GEN_HEAD_MAX	    SHUNT_GEN_HEAD_LEN(1, 1)

#define SHUNT_GEN_FLOW_MAX	    (1u << SHUNT_GEN_FLOW_BITS)

/* The frame with the fields that vary left zero, and one's complement sums (of
 * 16-bit words in host order, not folded) of what the two checksums cover. */
struct shunt_gen_frame {
	__u64 head[(SHUNT_GEN_HEAD_MAX + 7) / 8];
	__u32 ip_sum; /* of the IPv4 header */
	__u32 l4_sum;
};

/* What a flow's frames have of their own, ready to be written: the last 32 bits of
 * the addresses, the ports, and folded sums, of the addresses and of both. */
struct shunt_gen_flow {
	__u32 src_be;
	__u32 dst_be;
	__u16 sport_be;
	__u16 dport_be;
	__u16 addr_sum;
	__u16 sum;
};

/* One frame of a schedule, which is gone through again and again. */
struct shunt_gen_slot {
	__u64 gap;  /* from it to the next, in 1/1024 ns */
	__u32 flow; /* or which frame of a capture */
	__u32 len;
};

/* How a generator paces itself. Times are in 1/1024 ns from the first frame, so
 * that the interval of any rate is exact to a millionth. */
struct shunt_gen_pace {
	__u64 interval; /* without a schedule */
	__u64 catchup;	/* shortest interval, when behind; 0: none */
	__u64 burst;	/* how far behind its shortest interval it may fall */
};

#define SHUNT_GEN_PACE_SHIFT 10
/* A frame that leaves so long after it was due is counted as delayed. */
#define SHUNT_GEN_DELAYED_NS 100000

/* Written by the program, read by userspace while it runs. */
struct shunt_gen_state {
	__u64 seq; /* frames sent */
	__u64 bytes;
	__u64 start_ns; /* of the first frame, unless it was set before */
	__u64 done_ns;	/* when the last of a limited number was sent, else 0 */
	__u64 due;	/* when the next frame is due by the rate or the schedule */
	__u64 next;	/* and by the shortest interval */
	__u64 late_max; /* how long after it was due a frame left at most, 1/1024 ns */
	__u64 delayed;	/* frames later than SHUNT_GEN_DELAYED_NS */
	__u32 flow;
	__u32 slot;
};

/* The sink's count of one run on one CPU. Gaps are counted on the later frame's. */
struct shunt_gen_count {
	__u64 frames; /* whole ones */
	__u64 bytes;
	__u64 seq_max;
	__u64 reordered;  /* below the last sequence number of its flow, and not seen before */
	__u64 duplicates; /* seen before */
	__u64 unjudged;	  /* too old to tell (SHUNT_GEN_SEEN_FRAMES behind) */
	__u64 first_ns;
	__u64 last_ns;	   /* with gaps */
	__u64 gap_max_ns;  /* with gaps */
	__u64 latency_max; /* with latency, as the next four; ns */
	__u64 latency_min;
	__u64 latency_sum;
	__u64 latency_cnt;
	__u64 unclocked; /* stamped in the future: not by this machine's clock */
	__u64 gap_min_ns;
	__u64 gap_sum_ns;
	__u32 run;
	__u8 ttl_min; /* TTL or hop limit */
	__u8 ttl_max;
	__u16 used;
};

/* Of runs, in the order they come: a sink tells that many apart, then the first make room. */
#define SHUNT_GEN_RUNS	      64
/* Entries of the order check: flows of several runs may share one, which resets it. */
#define SHUNT_GEN_ORDER_FLOWS SHUNT_GEN_FLOW_MAX
/* How far back a sequence number is remembered, for each run. */
#define SHUNT_GEN_SEEN_WORDS  4096
#define SHUNT_GEN_SEEN_FRAMES (SHUNT_GEN_SEEN_WORDS * 32)

/* Per CPU: frames at the sink that are not the generator's, frames of it that came
 * damaged, and counts that had to make room for another run in the same slot. */
struct shunt_gen_other {
	__u64 frames;
	__u64 bytes;
	__u64 corrupt;
	struct shunt_gen_count replaced;
};

/* The buckets of lib/measure/hist.h, which a unit test compares with these. */
#define SHUNT_GEN_SUB_BITS 4
#define SHUNT_GEN_LINEAR   (2u << SHUNT_GEN_SUB_BITS)
#define SHUNT_GEN_BUCKETS \
	(SHUNT_GEN_LINEAR + (64 - SHUNT_GEN_SUB_BITS - 1) * (1u << SHUNT_GEN_SUB_BITS))

/* shunt_gen_bucket returns the bucket of value. BPF has no instruction to count
 * leading zeros. */
static inline __attribute__((always_inline)) __u32 shunt_gen_bucket(__u64 value)
{
	__u64 v = value;
	__u32 log = 0;

	if (value < SHUNT_GEN_LINEAR)
		return (__u32)value;
	if (v >> 32) {
		log += 32;
		v >>= 32;
	}
	if (v >> 16) {
		log += 16;
		v >>= 16;
	}
	if (v >> 8) {
		log += 8;
		v >>= 8;
	}
	if (v >> 4) {
		log += 4;
		v >>= 4;
	}
	if (v >> 2) {
		log += 2;
		v >>= 2;
	}
	log += (__u32)(v >> 1) - SHUNT_GEN_SUB_BITS;
	return (log << SHUNT_GEN_SUB_BITS) + (__u32)(value >> log);
}

static inline __attribute__((always_inline)) __u16 shunt_gen_fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)((sum & 0xffff) + (sum >> 16));
}

static inline __attribute__((always_inline)) __u32 shunt_gen_halves(__u64 v)
{
	return (__u32)(v >> 48) + (__u32)(v >> 32 & 0xffff) + (__u32)(v >> 16 & 0xffff) +
	       (__u32)(v & 0xffff);
}

/* Clang splits unaligned stores into bytes for BPF, where the verifier lets whole
 * ones pass on every machine that has them. */
#ifdef __bpf__
#define SHUNT_GEN_PUT(p, type, v) (*(type *)(p) = (v))
#else
#define SHUNT_GEN_PUT(p, type, v)                               \
	do {                                                    \
		const type put_v_ = (v);                        \
		__builtin_memcpy((p), &put_v_, sizeof(put_v_)); \
	} while (0)
#endif

/* shunt_gen_is_due says whether a frame may leave at now_ns, and moves the time on
 * to the next one, `gap` later. Before start_ns none may. Behind its time, a generator with a
 * catchup keeps that interval, but for what `burst` holds. Thread: owner of state. */
static inline __attribute__((always_inline)) _Bool shunt_gen_is_due(
	struct shunt_gen_state *st, const struct shunt_gen_pace *pace, __u64 gap, __u64 now_ns)
{
	const __u64 t = (now_ns - st->start_ns) << SHUNT_GEN_PACE_SHIFT;

	if (now_ns < st->start_ns || t < st->due || t < st->next)
		return 0;
	if (t - st->due > st->late_max)
		st->late_max = t - st->due;
	if (t - st->due > (__u64)SHUNT_GEN_DELAYED_NS << SHUNT_GEN_PACE_SHIFT)
		st->delayed++;
	st->due += gap;
	if (st->next + pace->burst < t)
		st->next = t - pace->burst;
	st->next += pace->catchup;
	return 1;
}

/* shunt_gen_flow_make returns the flow of these, in host order. Thread: any. */
static inline __attribute__((always_inline)) struct shunt_gen_flow shunt_gen_flow_make(__u32 src,
										       __u32 dst,
										       __u16 sport,
										       __u16 dport)
{
	const __u32 addr_sum = shunt_gen_halves((__u64)src << 32 | dst);

	return (struct shunt_gen_flow){.src_be = __builtin_bswap32(src),
				       .dst_be = __builtin_bswap32(dst),
				       .sport_be = __builtin_bswap16(sport),
				       .dport_be = __builtin_bswap16(dport),
				       .addr_sum = shunt_gen_fold(addr_sum),
				       .sum = shunt_gen_fold(addr_sum + sport + dport)};
}

/* What a frame has of its own. */
struct shunt_gen_vary {
	__u64 seq;
	__u64 time_ns; /* 0: no stamp */
	__u32 flow;
	__u32 len; /* of the frame */
};

/* shunt_gen_write writes the first SHUNT_GEN_HEAD_LEN(v6, tcp) bytes of a frame: all
 * that a receiver may have changed, since its pages come back to be sent again.
 * p has no alignment; v6 and tcp are constants at each call. Thread: any.
 * Cost: packet. */
static inline __attribute__((always_inline)) void shunt_gen_write(__u8 *p,
								  const struct shunt_gen_frame *f,
								  const struct shunt_gen_flow *fl,
								  const struct shunt_gen_vary *v,
								  const _Bool v6, const _Bool tcp)
{
	__u8 *const l4 = p + SHUNT_GEN_L4_OFF(v6), *const tag = p + SHUNT_GEN_TAG_OFF(v6, tcp);
	const __u32 l4_len = v->len - SHUNT_GEN_L4_OFF(v6), ip_len = v->len - SHUNT_GEN_ETH_LEN;
	const __u64 time = v->time_ns & SHUNT_GEN_TIME_MASK;
	const __u64 word = v->seq << 24 | (__u64)v->flow << 4 | time >> 32;
	__u32 sum = f->l4_sum + fl->sum + l4_len * (tcp ? 1 : 2) + shunt_gen_halves(word) +
		    shunt_gen_halves(time & 0xffffffff);
	__u16 csum;
	int i;

	for (i = 0; i < SHUNT_GEN_HEAD_LEN(v6, tcp) / 8; i++)
		SHUNT_GEN_PUT(p + 8 * i, __u64, f->head[i]);
	if (SHUNT_GEN_HEAD_LEN(v6, tcp) % 8)
		SHUNT_GEN_PUT(p + 8 * i, __u32, *(const __u32 *)&f->head[i]);
	if (v6) {
		SHUNT_GEN_PUT(p + 18, __u16, __builtin_bswap16((__u16)l4_len));
	} else {
		SHUNT_GEN_PUT(p + 16, __u16, __builtin_bswap16((__u16)ip_len));
		csum = (__u16)~shunt_gen_fold(f->ip_sum + fl->addr_sum + ip_len);
		SHUNT_GEN_PUT(p + 24, __u16, __builtin_bswap16(csum));
	}
	csum = (__u16)~shunt_gen_fold(sum);
	if (!csum && !tcp)
		csum = 0xffff; /* RFC 768: zero would say that there is none */
	SHUNT_GEN_PUT(p + (v6 ? 34 : 26), __u32, fl->src_be);
	SHUNT_GEN_PUT(p + (v6 ? 50 : 30), __u32, fl->dst_be);
	SHUNT_GEN_PUT(l4, __u32, *(const __u32 *)&fl->sport_be);
	if (!tcp)
		SHUNT_GEN_PUT(l4 + 4, __u16, __builtin_bswap16((__u16)l4_len));
	SHUNT_GEN_PUT(l4 + (tcp ? 16 : 6), __u16, __builtin_bswap16(csum));
	SHUNT_GEN_PUT(tag + 6, __u64, __builtin_bswap64(word));
	SHUNT_GEN_PUT(tag + 14, __u32, __builtin_bswap32((__u32)time));
}

#endif
