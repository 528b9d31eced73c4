/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections that the host's rules have let through, in mode LAYER3_FLOWS: what the kernel itself
 * would forward without asking its rules again, since they have put it into a flowtable.
 *
 * Two of the kernel's functions say so, and the constant shunt_flow which of them is there:
 *
 *  - bpf_xdp_flow_lookup (Linux 6.11) looks into the flowtable itself: by the device that the frame
 *    came in by, and with the timer set anew.
 *  - bpf_xdp_ct_lookup (5.18) finds the connection, which has a bit as long as a flowtable has it.
 *    By which device it came in is not known there: the way back to its source must be this port.
 *    The timer is not set anew. So the flowtable gives the connection back to the rules every 30
 *    seconds, and gets it again.
 *
 * Only in programs that are made with SHUNT_FLOWS. They are loaded where a flowtable has the port:
 * elsewhere nothing is paid, and nothing of the kernel's BTF is asked for.
 *
 * The kernel's always: SYN, FIN, RST, since they open or end a connection; fragments; what is
 * neither TCP nor UDP. */
#ifndef SHUNT_STEER_FLOW_BPF_H
#define SHUNT_STEER_FLOW_BPF_H

#include "shunt_flow.h"
#include "steer/frame.bpf.h"

#ifndef SHUNT_FLOWS

#define ASKS_FLOWS false

static __always_inline bool flow_has_device(void)
{
	return false;
}

#else

#include <linux/in6.h>

#include <bpf/bpf_core_read.h>

#define ASKS_FLOWS	true

#define TCP_FIN_SYN_RST 7
#define TCP_SYN		2

const volatile struct shunt_flow_opts shunt_flow SEC(".rodata.shunt_flow");

/* ---- the kernel's types, as far as they are read -------------------------------------------- */

#define KERNELS		__attribute__((preserve_access_index))

struct flow_offload_tuple {
	struct in6_addr src_v6;
	struct in6_addr dst_v6;
	__be16 src_port;
	int iifidx;
	__u8 l3proto, l4proto;
	unsigned int dir : 2;
} KERNELS;

struct flow_offload_tuple_rhash {
	struct flow_offload_tuple tuple;
} KERNELS;

struct nf_conntrack_man {
	union {
		__u32 all[4];
	} u3;
	union {
		__be16 all;
	} u;
} KERNELS;

struct nf_conntrack_tuple {
	struct nf_conntrack_man src;
	struct {
		union {
			__u32 all[4];
		} u3;
		union {
			__be16 all;
		} u;
	} dst;
} KERNELS;

struct nf_conntrack_tuple_hash {
	struct nf_conntrack_tuple tuple;
} KERNELS;

struct nf_conn {
	struct nf_conntrack_tuple_hash tuplehash[2];
	unsigned long status;
} KERNELS;

struct flow_offload {
	struct flow_offload_tuple_rhash tuplehash[2];
	struct nf_conn *ct;
	unsigned long flags;
	__u32 timeout; /* as jiffies */
} KERNELS;

/* The running kernel's are found when the program is loaded. */
enum nf_flow_flags {
	NF_FLOW_SNAT = 0,
	NF_FLOW_DNAT = 1,
	NF_FLOW_TEARDOWN = 3,
};

struct timespec64 {
	long long tv_sec;
} KERNELS;

struct bpf_flowtable_opts___shunt {
	__s32 error;
};

struct bpf_ct_opts___shunt {
	__s32 netns_id, error;
	__u8 l4proto, dir, reserved[2];
};

struct flow_offload_tuple_rhash *bpf_xdp_flow_lookup(struct xdp_md *ctx,
						     struct bpf_fib_lookup *tuple,
						     struct bpf_flowtable_opts___shunt *opts,
						     __u32 opts_len) __ksym __weak;
struct nf_conn *bpf_xdp_ct_lookup(struct xdp_md *ctx, struct bpf_sock_tuple *tuple, __u32 tuple_len,
				  struct bpf_ct_opts___shunt *opts, __u32 opts_len) __ksym __weak;
void bpf_ct_release(struct nf_conn *ct) __ksym __weak;
void *bpf_rdonly_cast(const void *address, __u32 btf_id) __ksym __weak; /* Linux 6.2 */

/* linux/netfilter/nf_conntrack_common.h */
#define IPS_DYING	(1 << 9)
#define IPS_OFFLOAD	(1 << 14)

/* What the kernel says of a connection. The words that revoke it: each the address of 32 bits of
 * which the lowest are wanted. */
struct flow_answer {
	struct shunt_flow_key to; /* what its packets leave with, where that is translated */
	__u64 is_translated;
	__u64 flags_at;	 /* of the flowtable's entry */
	__u64 status_at; /* of the connection */
};

/* ---- the flowtable -------------------------------------------------------------------------- */

/* The kernel's memory at an address, as a type of the kernel's own BTF: that of modules has no
 * cast. */
static __always_inline const struct in6_addr *at(__u64 address)
{
	return bpf_rdonly_cast((void *)address, bpf_core_type_id_kernel(struct in6_addr));
}

/* 32 bits of it, and 64. */
static __always_inline __u32 half_at(__u64 address)
{
	return at(address)->s6_addr32[0];
}

static __always_inline __u64 word_at(__u64 address)
{
	const struct timespec64 *word =
		bpf_rdonly_cast((void *)address, bpf_core_type_id_kernel(struct timespec64));

	return word->tv_sec;
}

static __always_inline void read_address(__u64 address, __u64 to[2], const bool is_ip6)
{
	const struct in6_addr *from = at(address);
	__u32 *words = (__u32 *)to;

	words[0] = from->s6_addr32[0];
	if (!is_ip6)
		return;
	words[1] = from->s6_addr32[1];
	words[2] = from->s6_addr32[2];
	words[3] = from->s6_addr32[3];
}

/* Where a field lies of the tuple in the half of an entry. */
#define FIELD_AT(half, field)                                                     \
	((half) + bpf_core_field_offset(struct flow_offload_tuple_rhash, tuple) + \
	 bpf_core_field_offset(struct flow_offload_tuple, field))

static __always_inline bool is_address(__u64 address, const __u64 key[2], const bool is_ip6)
{
	return is_ip6 ? word_at(address) == key[0] && word_at(address + 8) == key[1]
		      : half_at(address) == (__u32)key[0];
}

/* Whether the half of an entry is that of the key's packets, as they come in by the device. Both
 * ports and iifidx are read as one word, both protocols as another: where a kernel has them
 * elsewhere, no entry is. */
static __always_inline bool is_half(__u64 half, const struct shunt_flow_key *key, __u32 ifindex,
				    const bool is_ip6)
{
	const __u32 protos = (is_ip6 ? SHUNT_FLOW_INET6 : SHUNT_FLOW_INET) | key->proto << 8;

	return word_at(FIELD_AT(half, src_port)) == (key->ports | (__u64)ifindex << 32) &&
	       is_address(FIELD_AT(half, src_v6), key->src, is_ip6) &&
	       is_address(FIELD_AT(half, dst_v6), key->dst, is_ip6) &&
	       (half_at(FIELD_AT(half, l3proto)) & 0xffff) == protos;
}

/* Of an entry's two halves, it is the second. */
static __always_inline bool is_second(__u64 half)
{
	const struct flow_offload_tuple *none = NULL;
	const __u64 word =
		half_at(half + bpf_core_field_offset(struct flow_offload_tuple_rhash, tuple) +
			__CORE_RELO(none, dir, BYTE_OFFSET));

	return word << __CORE_RELO(none, dir, LSHIFT_U64) >> __CORE_RELO(none, dir, RSHIFT_U64);
}

/* As a packet leaves, the answer to it comes back: *out are the addresses and ports of the entry's
 * other half, turned. */
static __always_inline void read_other(__u64 other, struct shunt_flow_key *out, const bool is_ip6)
{
	read_address(FIELD_AT(other, dst_v6), out->src, is_ip6);
	read_address(FIELD_AT(other, src_v6), out->dst, is_ip6);
	/* both, as one word: source, then destination */
	out->ports = half_at(FIELD_AT(other, src_port));
	out->ports = out->ports << 16 | out->ports >> 16;
}

/* Until the entry's timer runs out, in jiffies. */
static __always_inline __u32 time_left(__u64 half, __u32 now)
{
	const __u64 step = bpf_core_type_size(struct flow_offload_tuple_rhash);
	const __u64 entry = is_second(half) ? half - step : half;
	const __u32 left =
		half_at(entry + bpf_core_field_offset(struct flow_offload, timeout)) - now;

	return (__s32)left > 0 ? left : 0;
}

/* The half of an entry that is the flow's; NULL. tuple: room, not on the stack. */
static __always_inline const struct flow_offload_tuple_rhash *ask_flowtable(
	struct xdp_md *ctx, const struct shunt_flow_key *flow, struct bpf_fib_lookup *tuple,
	const bool is_ip6)
{
	struct bpf_flowtable_opts___shunt opts = {};

	tuple->family = is_ip6 ? SHUNT_FLOW_INET6 : SHUNT_FLOW_INET;
	tuple->l4_protocol = flow->proto;
	tuple->sport = flow->sport_be;
	tuple->dport = flow->dport_be;
	tuple->ifindex = ctx->ingress_ifindex;
	if (is_ip6) {
		__builtin_memcpy(tuple->ipv6_src, flow->src, 16);
		__builtin_memcpy(tuple->ipv6_dst, flow->dst, 16);
	} else {
		tuple->ipv4_src = (__u32)flow->src[0];
		tuple->ipv4_dst = (__u32)flow->dst[0];
	}
	return bpf_xdp_flow_lookup(ctx, tuple, &opts, sizeof(opts));
}

/* A shift by what is known only at load is dearer; the verifier takes the other one out. */
#define FLOW_BIT(flag) bpf_core_enum_value(enum nf_flow_flags, flag)
#define FLOW_HAS(flags, flag) \
	(!!((flags) & (FLOW_BIT(flag) == (flag) ? 1u << (flag) : 1u << FLOW_BIT(flag))))

/* What bpf_xdp_flow_lookup asks of a connection that it has found. */
static __always_inline bool are_alive(__u32 flags, __u32 status)
{
	return (status & (IPS_OFFLOAD | IPS_DYING)) == IPS_OFFLOAD &&
	       !FLOW_HAS(flags, NF_FLOW_TEARDOWN);
}

static __always_inline bool still_vouches(const struct flow_answer *answer)
{
	return are_alive(half_at(answer->flags_at), half_at(answer->status_at));
}

/* Returns whether the entry is alive. half: the one of it that packets come in by. */
static __always_inline bool read_answer(__u64 half, struct flow_answer *answer, const bool is_ip6)
{
	const __u64 step = bpf_core_type_size(struct flow_offload_tuple_rhash);
	const bool comes_second = is_second(half);
	const __u64 entry = comes_second ? half - step : half;
	__u32 flags;

	answer->flags_at = entry + bpf_core_field_offset(struct flow_offload, flags);
	answer->status_at = word_at(entry + bpf_core_field_offset(struct flow_offload, ct)) +
			    bpf_core_field_offset(struct nf_conn, status);
	flags = half_at(answer->flags_at);
	answer->is_translated = FLOW_HAS(flags, NF_FLOW_SNAT) || FLOW_HAS(flags, NF_FLOW_DNAT);
	if (answer->is_translated)
		read_other(comes_second ? entry : entry + step, &answer->to, is_ip6);
	return are_alive(flags, half_at(answer->status_at));
}

/* ---- the connection ------------------------------------------------------------------------- */

static __always_inline void read_tuple(const struct nf_conntrack_tuple *other,
				       struct shunt_flow_key *out, const bool is_ip6)
{
	const int cnt = is_ip6 ? 4 : 1;
	__u32 *src = (__u32 *)out->src, *dst = (__u32 *)out->dst;
	int i;

	for (i = 0; i < cnt; i++) {
		src[i] = other->dst.u3.all[i];
		dst[i] = other->src.u3.all[i];
	}
	out->sport_be = other->dst.u.all;
	out->dport_be = other->src.u.all;
}

static __always_inline bool ask_connections(struct xdp_md *ctx, const struct shunt_flow_key *flow,
					    struct shunt_flow_key *out, const bool is_ip6)
{
	struct bpf_ct_opts___shunt opts = {.netns_id = -1, .l4proto = flow->proto};
	struct bpf_sock_tuple tuple;
	bool is_approved;
	struct nf_conn *ct;

	if (is_ip6) {
		__builtin_memcpy(tuple.ipv6.saddr, flow->src, 16);
		__builtin_memcpy(tuple.ipv6.daddr, flow->dst, 16);
		tuple.ipv6.sport = flow->sport_be;
		tuple.ipv6.dport = flow->dport_be;
		ct = bpf_xdp_ct_lookup(ctx, &tuple, sizeof(tuple.ipv6), &opts, sizeof(opts));
	} else {
		tuple.ipv4.saddr = (__u32)flow->src[0];
		tuple.ipv4.daddr = (__u32)flow->dst[0];
		tuple.ipv4.sport = flow->sport_be;
		tuple.ipv4.dport = flow->dport_be;
		ct = bpf_xdp_ct_lookup(ctx, &tuple, sizeof(tuple.ipv4), &opts, sizeof(opts));
	}
	if (!ct)
		return false;
	is_approved = ct->status & IPS_OFFLOAD;
	if (is_approved && opts.dir)
		read_tuple(&ct->tuplehash[0].tuple, out, is_ip6);
	else if (is_approved)
		read_tuple(&ct->tuplehash[1].tuple, out, is_ip6);
	bpf_ct_release(ct);
	return is_approved;
}

/* ---- both ----------------------------------------------------------------------------------- */

static __always_inline bool is_same_flow(const struct shunt_flow_key *a,
					 const struct shunt_flow_key *b)
{
	return a->src[0] == b->src[0] && a->src[1] == b->src[1] && a->dst[0] == b->dst[0] &&
	       a->dst[1] == b->dst[1] && a->ports == b->ports;
}

/* Whether the answer is about the device that the packet came in by, too. */
static __always_inline bool flow_has_device(void)
{
	return shunt_flow.asks == SHUNT_FLOW_ASKS_FLOWTABLE;
}

#endif /* SHUNT_FLOWS */
#endif
