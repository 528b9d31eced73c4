/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What shunt-gen's programs share with its userspace: the frame it sends, field
 * by field, and the counts its sink keeps. The same inline function writes the
 * frame in XDP and in userspace, so both ways of sending send the same bytes.
 *
 * A frame is Ethernet, IPv4 or IPv6, UDP, a tag of 18 bytes, zeros. 18 bytes is
 * what the shortest IPv4 frame (60 bytes) has room for. */
#ifndef SHUNT_GEN_H
#define SHUNT_GEN_H

#include <linux/types.h>

#define SHUNT_GEN_MAGIC 0x73686e74u /* "shnt" */

/* Follows the UDP header; network byte order. */
struct shunt_gen_tag {
	__u32 magic_be;
	__u16 run_be; /* which run of the generator: a sink may see several */
	__u32 flow_be;
	__u64 seq_be; /* counts all frames of the run from 0, whatever the flow */
} __attribute__((packed));

_Static_assert(sizeof(struct shunt_gen_tag) == 18, "the tag must fit a 60-byte IPv4 frame");

#define SHUNT_GEN_ETH_LEN      14
#define SHUNT_GEN_IP4_LEN      20
#define SHUNT_GEN_IP6_LEN      40
#define SHUNT_GEN_UDP_LEN      8
#define SHUNT_GEN_TAG_LEN      18
#define SHUNT_GEN_UDP_OFF(v6)  (SHUNT_GEN_ETH_LEN + ((v6) ? SHUNT_GEN_IP6_LEN : SHUNT_GEN_IP4_LEN))
#define SHUNT_GEN_TAG_OFF(v6)  (SHUNT_GEN_UDP_OFF(v6) + SHUNT_GEN_UDP_LEN)
/* Also the shortest frame: 60 for IPv4, 80 for IPv6. */
#define SHUNT_GEN_HEAD_LEN(v6) (SHUNT_GEN_TAG_OFF(v6) + SHUNT_GEN_TAG_LEN)
#define SHUNT_GEN_HEAD_MAX     SHUNT_GEN_HEAD_LEN(1)

/* A flow is a source port (16,384 of them) and, beyond that, a source address. */
#define SHUNT_GEN_PORT_BITS    14
#define SHUNT_GEN_FLOW_MAX     (1u << 20)

/* The frame with the fields that vary left zero, and one's complement sums (of
 * 16-bit words in host order, not folded) of what the two checksums cover. */
struct shunt_gen_frame {
	__u64 head[SHUNT_GEN_HEAD_MAX / 8];
	__u32 ip_sum; /* of the IPv4 header */
	__u32 udp_sum;
	__u32 src;   /* last 32 bits of the source address of flow 0, host order */
	__u16 sport; /* of flow 0, host order */
	__u16 unused;
};

_Static_assert(SHUNT_GEN_HEAD_MAX % 8 == 0, "head is copied in words of eight bytes");

/* How the XDP generator paces itself. Times are in 1/1024 ns from the first
 * frame, so that the interval of any rate is exact to a millionth. */
struct shunt_gen_pace {
	__u64 interval;
	__u64 catchup; /* shortest interval, when behind */
	__u64 burst;   /* how far behind its shortest interval it may fall */
};

#define SHUNT_GEN_PACE_SHIFT 10

/* Written by the program, read by userspace while it runs. */
struct shunt_gen_state {
	__u64 seq; /* frames sent */
	__u64 start_ns;
	__u64 done_ns; /* when the last of a limited number was sent, else 0 */
	__u64 due;     /* when the next frame is due by the rate */
	__u64 next;    /* and by the shortest interval */
	__u32 flow;
	__u32 unused;
};

/* The sink's count of one run on one CPU. */
struct shunt_gen_count {
	__u64 frames;
	__u64 bytes;
	__u64 seq_max;
	__u64 late; /* reordered or sent twice: not above the last of its flow */
	__u64 bad;  /* a checksum was wrong (only with verify) */
	__u64 first_ns;
	__u64 last_ns; /* only with gaps, as the next */
	__u64 gap_max_ns;
	__u32 run;
	__u8 ttl_min; /* TTL or hop limit */
	__u8 ttl_max;
	__u16 used;
};

/* A run's slot is run % SHUNT_GEN_RUNS: a sink tells that many runs apart. */
#define SHUNT_GEN_RUNS	      64
/* Flows above share the order check of flow % SHUNT_GEN_ORDER_FLOWS: it is off for them. */
#define SHUNT_GEN_ORDER_FLOWS 65536

/* Per CPU: frames at the sink that are not the generator's, and counts that had to
 * make room for another run in the same slot. */
struct shunt_gen_other {
	__u64 frames;
	__u64 bytes;
	__u64 replaced_frames;
	__u64 replaced_bytes;
};

static inline __attribute__((always_inline)) __u16 shunt_gen_fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)((sum & 0xffff) + (sum >> 16));
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

/* shunt_gen_write writes the first SHUNT_GEN_HEAD_LEN(v6) bytes of a frame: all
 * that a receiver may have changed, since its pages come back to be sent again.
 * p has no alignment; v6 is a constant at each call. Thread: any. Cost: packet. */
static inline __attribute__((always_inline)) void shunt_gen_write(__u8 *p,
								  const struct shunt_gen_frame *f,
								  __u32 flow, __u64 seq,
								  const _Bool v6)
{
	const __u32 sport = f->sport + (flow & ((1u << SHUNT_GEN_PORT_BITS) - 1));
	const __u32 src = f->src + (flow >> SHUNT_GEN_PORT_BITS);
	const __u32 src_sum = (src >> 16) + (src & 0xffff);
	__u8 *const udp = p + SHUNT_GEN_UDP_OFF(v6), *const tag = p + SHUNT_GEN_TAG_OFF(v6);
	__u32 sum = f->udp_sum + sport + src_sum + (flow >> 16) + (flow & 0xffff);
	__u16 csum;
	int i;

	for (i = 0; i < SHUNT_GEN_HEAD_LEN(v6) / 8; i++)
		SHUNT_GEN_PUT(p + 8 * i, __u64, f->head[i]);
	if (!v6) {
		SHUNT_GEN_PUT(p + 56, __u32, *(const __u32 *)&f->head[7]);
		csum = (__u16)~shunt_gen_fold(f->ip_sum + src_sum);
		SHUNT_GEN_PUT(p + 24, __u16, __builtin_bswap16(csum));
	}
	sum += (__u32)(seq >> 48) + (__u32)(seq >> 32 & 0xffff) + (__u32)(seq >> 16 & 0xffff) +
	       (__u32)(seq & 0xffff);
	csum = (__u16)~shunt_gen_fold(sum);
	if (!csum)
		csum = 0xffff; /* RFC 768: zero would say that there is none */
	SHUNT_GEN_PUT(p + (v6 ? 34 : 26), __u32, __builtin_bswap32(src));
	SHUNT_GEN_PUT(udp, __u16, __builtin_bswap16((__u16)sport));
	SHUNT_GEN_PUT(udp + 6, __u16, __builtin_bswap16(csum));
	SHUNT_GEN_PUT(tag + 6, __u32, __builtin_bswap32(flow));
	SHUNT_GEN_PUT(tag + 10, __u64, __builtin_bswap64(seq));
}

#endif
