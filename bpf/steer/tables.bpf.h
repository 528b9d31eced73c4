/* SPDX-License-Identifier: GPL-2.0-only */
/* From an address to an adjacency, in the tables that userspace keeps (shunt_tables.h), and the
 * answers of late.
 *
 * A walk of the tables is four to ten dependent loads, each through two map lookups; so the
 * answer for a destination is remembered, header and all, and the next packet to it takes one
 * load. An answer is good for one generation of the tables, which userspace moves on whenever it
 * has changed anything. Queues on several CPUs share the memory without locks: the last word of
 * an entry is the sum of the others, so that an entry that two have written at once is good for no
 * destination. Where several paths lead to one, nothing is remembered: each flow has its own. */
#ifndef SHUNT_STEER_TABLES_BPF_H
#define SHUNT_STEER_TABLES_BPF_H

#include "steer/frame.bpf.h"
#include "steer/maps.bpf.h"

#define PHI	   0x9e3779b97f4a7c15ULL
#define STEPS6_MAX 22 /* 18 + 22 * 5 = 128 */

/* What a packet leaves with, as an answer keeps it (shunt_tables.h). */
struct way {
	__u64 eth;
	__u64 rest;
};

static __always_inline __u32 way_port(const struct way *way)
{
	return way->rest >> SHUNT_TABLES_REST_PORT_SHIFT & 0x7fff;
}

static __always_inline __u32 way_mtu(const struct way *way)
{
	return way->rest >> SHUNT_TABLES_REST_MTU_SHIFT & 0xffff;
}

static __always_inline const struct shunt_tables_line *line_at(enum shunt_table table, __u64 at)
{
	__u32 chunk = shunt_ctl.tables.base[table] + (__u32)(at >> SHUNT_TABLES_CHUNK_SHIFT);
	__u32 line = at >> SHUNT_TABLES_LINE_SHIFT & (SHUNT_TABLES_LINES - 1);
	void *lines = bpf_map_lookup_elem(&shunt_tables, &chunk);

	return lines ? bpf_map_lookup_elem(lines, &line) : NULL;
}

/* 0, which means no route, where there is no memory. */
static __always_inline __u64 word64(enum shunt_table table, __u64 idx)
{
	const struct shunt_tables_line *line = line_at(table, idx * 8);

	return line ? *(volatile __u64 *)&line->words[idx & 7] : 0;
}

static __always_inline __u32 word32(enum shunt_table table, __u64 idx)
{
	const struct shunt_tables_line *line = line_at(table, idx * 4);

	return line ? ((volatile __u32 *)line->words)[idx & 15] : 0;
}

/* The leaf of one of a word's 32 slots, by the lowest bits of slot. */
static __always_inline __u32 leaf_of4(__u64 word, __u32 slot)
{
	__u32 rank = __builtin_popcountll(word >> ((~slot | 32) & 63));

	return word >> 32 ? word32(SHUNT_TABLE_LEAVES4, (__u32)word + rank) : (__u32)word;
}

/* A next hop's slot. */
static __always_inline __u32 slot_of_hop(__u32 nh)
{
	return word32(SHUNT_TABLE_SLOTS, nh);
}

/* The index of an address's next hop. The address is in host order; flags say the space. */
__noinline __u32 hop4(__u32 addr, __u32 flags)
{
	const __u32 space = (flags & SHUNT_TABLES_SPACE4) >> SHUNT_TABLES_SPACE4_SHIFT;
	__u64 word = word64(SHUNT_TABLE_ROOT4,
			    space << SHUNT_TABLES_ROOT4_BITS | addr >> SHUNT_TABLES_ROOT4_SHIFT);
	__u32 leaf = leaf_of4(word, addr >> 8);

	if (leaf & SHUNT_TABLES_TAIL) {
		__u64 tail = (__u64)(leaf & SHUNT_TABLES_NH) * 8 + (addr >> 5 & 7);

		leaf = leaf_of4(word64(SHUNT_TABLE_TAILS4, tail), addr);
	}
	return leaf & SHUNT_TABLES_NH;
}

/* hi, lo: the bits of the address that are yet to come, at the top. word: of the node reached. */
struct walk6 {
	__u64 hi, lo, word;
};

/* One node; 1 ends the walk, in a leaf. */
static long step6(__u32 i, struct walk6 *w)
{
	__u32 shift = (__u32)(~w->hi >> (64 - SHUNT_TABLES_STRIDE)) | 32;

	if (!(w->word >> 32))
		return 1;
	w->word = word64(SHUNT_TABLE_NODES6,
			 (__u32)w->word + (__u32)__builtin_popcountll(w->word >> (shift & 63)));
	w->hi = w->hi << SHUNT_TABLES_STRIDE | w->lo >> (64 - SHUNT_TABLES_STRIDE);
	w->lo <<= SHUNT_TABLES_STRIDE;
	return 0;
}

static __always_inline __u32 hop6(const __u64 dst[2], __u32 flags)
{
	const __u32 space = (flags & SHUNT_TABLES_SPACE6) >> SHUNT_TABLES_SPACE6_SHIFT;
	struct walk6 w = {bpf_be64_to_cpu(dst[0]), bpf_be64_to_cpu(dst[1]), 0};

	w.word = word64(SHUNT_TABLE_ROOT6,
			space << SHUNT_TABLES_ROOT6_BITS | w.hi >> (64 - SHUNT_TABLES_ROOT6_BITS));
	w.hi = w.hi << SHUNT_TABLES_ROOT6_BITS | w.lo >> (64 - SHUNT_TABLES_ROOT6_BITS);
	w.lo <<= SHUNT_TABLES_ROOT6_BITS;
	bpf_loop(STEPS6_MAX, step6, &w, 0);
	return w.word >> 32 ? 0 : w.word & SHUNT_TABLES_NH;
}

/* ---- next hops ------------------------------------------------------------------------------ */

/* lib/fib/flow.h, where products are of 128 bits. */
static __always_inline __u64 flow_mix(__u64 a, __u64 b)
{
	__u64 al = (__u32)a, ah = a >> 32, bl = (__u32)b, bh = b >> 32;
	__u64 ll = al * bl, lh = al * bh, hl = ah * bl, hh = ah * bh;
	__u64 mid = (ll >> 32) + (__u32)lh + (__u32)hl;

	return (mid << 32 | (__u32)ll) ^ (hh + (lh >> 32) + (hl >> 32) + (mid >> 32));
}

#define FLOW_K0 0xa0761d6478bd642fULL
#define FLOW_K1 0xe7037ed1a0b428dbULL
#define FLOW_K2 0x8ebc6af09c88c6e3ULL

static __always_inline __u32 flow4(const struct ipv4 *ip, const void *end)
{
	__u64 addrs = (__u64)ip->dst_be << 32 | ip->src_be, h;
	__u32 ports = 0;

	if (!(ip->frag_off_be & bpf_htons(IP4_FRAGMENT)))
		ports = ports_of(ip + 1, end, bpf_ntohs(ip->tot_len_be) - 20, ip->proto);
	h = flow_mix(addrs ^ FLOW_K0, shunt_ctl.tables.flow_seed ^ FLOW_K1);
	h = flow_mix(h ^ FLOW_K1, ((__u64)ports << 8 | ip->proto) ^ FLOW_K2);
	return (__u32)(h ^ h >> 32);
}

static __always_inline __u32 flow6(const struct ipv6 *ip, const void *end)
{
	__u32 ports = ports_of(ip + 1, end, bpf_ntohs(ip->payload_len_be), ip->nexthdr);
	__u64 h, g;

	h = flow_mix(ip->src[0] ^ FLOW_K0, ip->src[1] ^ shunt_ctl.tables.flow_seed ^ FLOW_K1);
	g = flow_mix(ip->dst[0] ^ FLOW_K1, ip->dst[1] ^ FLOW_K2);
	h = flow_mix(h ^ FLOW_K1, g ^ FLOW_K0);
	h = flow_mix(h ^ FLOW_K0, ((__u64)ports << 8 | ip->nexthdr) ^ FLOW_K2);
	return (__u32)(h ^ h >> 32);
}

static __always_inline bool is_alias(__u32 slot)
{
	return (slot & SHUNT_TABLES_ALIAS) == SHUNT_TABLES_ALIAS;
}

/* The slot that an alias's slot names. */
static __always_inline __u32 target_of(__u32 slot)
{
	return word32(SHUNT_TABLE_SLOTS, slot & SHUNT_TABLES_INDEX);
}

/* The slot of the group's member for a flow. */
static __always_inline __u32 member_of(__u32 slot, __u32 hash)
{
	__u32 size = slot >> SHUNT_TABLES_SIZE_SHIFT & 7;
	__u64 at = (__u64)(slot & SHUNT_TABLES_INDEX) * SHUNT_TABLES_UNIT +
		   (hash >> ((27 - size) & 31));

	return word32(SHUNT_TABLE_SLOTS, word32(SHUNT_TABLE_BUCKETS, at));
}

/* The adjacency that a slot names, NULL without memory. */
static __always_inline const struct shunt_tables_adj *adj_of(__u32 slot)
{
	const struct shunt_tables_line *line = line_at(SHUNT_TABLE_ADJS, (__u64)slot * 32);

	return line ? (const void *)&line->words[(slot & 1) * 4] : NULL;
}

/* For way_count. */
static __noinline void way_number(__u32 neighbour, __u32 route)
{
	struct numbers *to;
	__u32 zero = 0;

	to = bpf_map_lookup_elem(&shunt_number, &zero);
	if (!to)
		return;
	to->neighbour = neighbour;
	to->route = route;
}

/* No answer is remembered for a packet that is counted: it would not say by what. */
static __always_inline bool is_counted(const struct way *way)
{
	return way->rest & SHUNT_TABLES_REST_COUNTED;
}

static __always_inline void count_number(struct xdp_md *ctx, __u32 number)
{
	const __u32 cnt = shunt_ctl.tables.writer_cnt, cpu = bpf_get_smp_processor_id();
	struct shunt_count_line *line;

	if (!number || cpu >= cnt)
		return;
	line = (void *)line_at(SHUNT_TABLE_COUNTS, ((__u64)number * cnt + cpu) * sizeof(*line));
	if (!line)
		return;
	line->count.packets++;
	line->count.bytes += bpf_xdp_get_buff_len(ctx);
}

/* A packet that leaves by the way that was walked for it. Apart from the straight line. */
static __noinline void way_count(struct xdp_md *ctx)
{
	const struct numbers *numbers;
	__u32 zero = 0;

	numbers = bpf_map_lookup_elem(&shunt_number, &zero);
	if (!numbers)
		return;
	count_number(ctx, numbers->neighbour);
	count_number(ctx, numbers->route);
}

/* As an answer has it: by a port, or by a device above one. */
static __always_inline __u32 port_of_adj(const struct shunt_tables_adj *adj)
{
	return adj->port == SHUNT_TABLES_TAGGED ? SHUNT_TABLES_TAGGED + adj->above : adj->port;
}

/* route: the number by which the route is counted; 0: it is not. */
static __always_inline bool way_take(struct way *way, __u32 slot, __u32 route)
{
	const struct shunt_tables_adj *adj = adj_of(slot);
	__u64 mtu;

	if (!adj || adj->kind != SHUNT_TABLES_REWRITE)
		return false;
	mtu = adj->mtu > 0xffff ? 0xffff : adj->mtu;
	way->eth = adj->eth[0];
	way->rest = (__u32)adj->eth[1] | (__u64)port_of_adj(adj) << SHUNT_TABLES_REST_PORT_SHIFT |
		    mtu << SHUNT_TABLES_REST_MTU_SHIFT;
	if (adj->number || route) {
		way_number(adj->number, route);
		way->rest |= SHUNT_TABLES_REST_COUNTED;
	}
	return true;
}

/* ---- answers of late ------------------------------------------------------------------------ */

static __always_inline __u32 generation(void)
{
	return READ_ONCE(shunt_ctl.tables.generation);
}

/* True if the answer is that of the key, in the space. */
static __always_inline bool recall(const struct shunt_tables_answer4 *answer, __u64 key,
				   __u32 space, struct way *way)
{
	way->eth = READ_ONCE(answer->eth);
	way->rest = READ_ONCE(answer->rest);
	return READ_ONCE(answer->key) == key &&
	       READ_ONCE(answer->sum) == (key ^ way->eth) + way->rest + PHI + space;
}

static __always_inline void remember(struct shunt_tables_answer4 *answer, __u64 key, __u32 space,
				     const struct way *way)
{
	WRITE_ONCE(answer->key, key);
	WRITE_ONCE(answer->eth, way->eth);
	WRITE_ONCE(answer->rest, way->rest);
	WRITE_ONCE(answer->sum, (key ^ way->eth) + way->rest + PHI + space);
}

/* What a next hop is for a packet. */
enum hop_kind {
	HOP_NONE,    /* no way leads on by it */
	HOP_ONE,     /* the same way for each packet */
	HOP_COUNTED, /* the same, and counted: nothing may remember it */
	HOP_GROUP,   /* each flow has its own way: of the group in hop->slot */
};

struct hop {
	__u32 nh, slot, route; /* route: see way_take */
};

/* Packets to many destinations take few next hops: what these are is remembered, too. */
static __always_inline enum hop_kind way_of_hop(struct way *way, struct hop *hop, __u32 gen)
{
	const __u64 key = (__u64)hop->nh << 32 | gen;
	struct shunt_tables_answer4 *answer =
		&shunt_cache_hop[hop->nh & ((1 << CACHE_HOP_BITS) - 1)];

	if (recall(answer, key, 0, way)) /* a next hop is the same in all spaces */
		return HOP_ONE;
	hop->slot = slot_of_hop(hop->nh);
	hop->route = 0;
	if (is_alias(hop->slot)) {
		hop->route = hop->nh;
		hop->slot = target_of(hop->slot);
	}
	if (hop->slot & SHUNT_TABLES_GROUP)
		return HOP_GROUP;
	if (!way_take(way, hop->slot, hop->route))
		return HOP_NONE;
	if (is_counted(way))
		return HOP_COUNTED;
	remember(answer, key, 0, way);
	return HOP_ONE;
}

/* What a walk must know beside the address: where the packet's header starts in the frame, below
 * 32, and the space, as in enum shunt_tables_flags. In the place of the first: the packet must have
 * one way alone, since it is translated. */
#define WAY_MUST_BE_ONE 0
#define WAY_L3_AT	31

/* 0 without a header there. */
static __always_inline __u32 flow4_at(struct xdp_md *ctx, __u32 where)
{
	const void *end = (const void *)(long)ctx->data_end;
	const struct ipv4 *ip = (const void *)(long)ctx->data + (where & WAY_L3_AT);

	return (const void *)(ip + 1) > end ? 0 : flow4(ip, end);
}

/* True if there is a way to the key's destination; one that is the only one is then remembered. */
__noinline bool way_walk4(struct xdp_md *ctx, struct way *way, __u64 key,
			  struct shunt_tables_answer4 *answer, __u32 where)
{
	struct hop hop;
	enum hop_kind kind;

	if (!way || !answer)
		return false;
	hop.nh = hop4(bpf_ntohl(key >> 32), where);
	kind = way_of_hop(way, &hop, key);
	if (kind == HOP_GROUP)
		return (where & WAY_L3_AT) != WAY_MUST_BE_ONE &&
		       way_take(way, member_of(hop.slot, flow4_at(ctx, where)), hop.route);
	if (kind == HOP_ONE)
		remember(answer, key, where & SHUNT_TABLES_SPACE4, way);
	return kind != HOP_NONE;
}

/* To the address dst_be, which is the packet's but where it is translated. l3_at: see
 * WAY_MUST_BE_ONE; flags: the space is among them. */
static __always_inline bool way_find4(struct xdp_md *ctx, struct way *way, __be32 dst_be,
				      __u32 l3_at, __u32 flags)
{
	const __u32 space = flags & SHUNT_TABLES_SPACE4;
	__u64 key = (__u64)dst_be << 32 | generation();
	struct shunt_tables_answer4 *answer = &shunt_cache4[dst_be * PHI >> (64 - CACHE4_BITS)];

	return recall(answer, key, space, way) || way_walk4(ctx, way, key, answer, l3_at | space);
}

/* What a walk is for. */
struct goal6 {
	__u64 dst[2];
	__u32 generation, where;
};

/* 0 without a header there. */
static __always_inline __u32 flow6_at(struct xdp_md *ctx, __u32 where)
{
	const void *end = (const void *)(long)ctx->data_end;
	const struct ipv6 *ip = (const void *)(long)ctx->data + (where & WAY_L3_AT);

	return (const void *)(ip + 1) > end ? 0 : flow6(ip, end);
}

__noinline bool way_walk6(struct xdp_md *ctx, struct way *way, const struct goal6 *goal,
			  struct shunt_tables_answer6 *answer)
{
	enum hop_kind kind;
	struct hop hop;
	__u64 hi, lo, gen;

	if (!way || !answer || !goal)
		return false;
	hop.nh = hop6(goal->dst, goal->where);
	kind = way_of_hop(way, &hop, goal->generation);
	if (kind == HOP_GROUP)
		return (goal->where & WAY_L3_AT) != WAY_MUST_BE_ONE &&
		       way_take(way, member_of(hop.slot, flow6_at(ctx, goal->where)), hop.route);
	if (kind != HOP_ONE)
		return kind != HOP_NONE;
	hi = goal->dst[0]; /* read again: all callers together have 512 bytes of stack */
	lo = goal->dst[1];
	gen = goal->generation;
	WRITE_ONCE(answer->dst[0], hi);
	WRITE_ONCE(answer->dst[1], lo);
	WRITE_ONCE(answer->generation, gen);
	WRITE_ONCE(answer->eth, way->eth);
	WRITE_ONCE(answer->rest, way->rest);
	WRITE_ONCE(answer->sum, (hi ^ way->eth) + (lo ^ way->rest) * 3 + gen + PHI +
					(goal->where & SHUNT_TABLES_SPACE6));
	return true;
}

static __always_inline bool way_find6(struct xdp_md *ctx, struct way *way, const __u64 *dst,
				      __u32 l3_at, __u32 flags)
{
	const __u32 space = flags & SHUNT_TABLES_SPACE6;
	struct goal6 goal = {{dst[0], dst[1]}, generation(), l3_at | space};
	__u64 hi = goal.dst[0], lo = goal.dst[1], gen = goal.generation;
	struct shunt_tables_answer6 *answer =
		&shunt_cache6[(hi * 3 ^ lo) * PHI >> (64 - CACHE6_BITS)];

	way->eth = READ_ONCE(answer->eth);
	way->rest = READ_ONCE(answer->rest);
	if (READ_ONCE(answer->dst[0]) == hi && READ_ONCE(answer->dst[1]) == lo &&
	    READ_ONCE(answer->generation) == gen &&
	    READ_ONCE(answer->sum) == (hi ^ way->eth) + (lo ^ way->rest) * 3 + gen + PHI + space)
		return true;
	return way_walk6(ctx, way, &goal, answer);
}

#endif
