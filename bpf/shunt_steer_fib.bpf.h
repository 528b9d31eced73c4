/* SPDX-License-Identifier: GPL-2.0-only */
/* From an address to an adjacency, in the tables that userspace keeps (shunt_tables.h), and the
 * answers of late. Part of shunt_steer.bpf.c.
 *
 * A walk of the tables is four to ten dependent loads, each through two map lookups; so the
 * answer for a destination is remembered, header and all, and the next packet to it takes one
 * load. An answer is good for one generation of the tables, which userspace moves on whenever it
 * has changed anything. Queues on several CPUs share the memory without locks: the last word of
 * an entry is the sum of the others, so that one that two have written at once belongs to nobody.
 * Where several paths lead, nothing is remembered: each flow has its own. */
#ifndef SHUNT_STEER_FIB_BPF_H
#define SHUNT_STEER_FIB_BPF_H

#define CACHE4_BITS 13 /* 256 KiB: with 4,096 destinations three in four hit */
#define CACHE6_BITS 11
#define PHI	    0x9e3779b97f4a7c15ULL
#define STEPS6_MAX  22 /* 18 + 22 * 5 = 128 */

struct chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SHUNT_TABLES_LINES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct shunt_tables_line));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SHUNT_TABLES_CHUNKS_MAX);
	__type(key, __u32);
	__array(values, struct chunk);
} shunt_tables SEC(".maps");

struct shunt_tables_answer4 shunt_cache4[1 << CACHE4_BITS];
struct shunt_tables_answer6 shunt_cache6[1 << CACHE6_BITS];

/* What a packet leaves with. `rest`: four bytes of the Ethernet addresses, port, MTU. */
struct way {
	__u64 eth;
	__u64 rest;
};

static __always_inline __u32 way_port(const struct way *way)
{
	return way->rest >> 32 & 0xffff;
}

static __always_inline __u32 way_mtu(const struct way *way)
{
	return way->rest >> 48;
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

static __always_inline __u32 leaf_of4(__u64 word, __u32 slot)
{
	__u32 rank = __builtin_popcountll(word >> ((~slot | 32) & 63));

	return word >> 32 ? word32(SHUNT_TABLE_LEAVES4, (__u32)word + rank) : (__u32)word;
}

/* The slot of the next hop of an address in host order. */
__noinline __u32 slot4(__u32 addr)
{
	__u64 word = word64(SHUNT_TABLE_ROOT4, addr >> SHUNT_TABLES_ROOT4_SHIFT);
	__u32 leaf = leaf_of4(word, addr >> 8);

	if (leaf & SHUNT_TABLES_TAIL) {
		__u64 tail = (__u64)(leaf & SHUNT_TABLES_NH) * 8 + (addr >> 5 & 7);

		leaf = leaf_of4(word64(SHUNT_TABLE_TAILS4, tail), addr);
	}
	return word32(SHUNT_TABLE_SLOTS, leaf & SHUNT_TABLES_NH);
}

struct walk6 {
	__u64 hi, lo, word;
};

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

static __always_inline __u32 slot6(const __u64 dst[2])
{
	struct walk6 w = {bpf_be64_to_cpu(dst[0]), bpf_be64_to_cpu(dst[1]), 0};

	w.word = word64(SHUNT_TABLE_ROOT6, w.hi >> (64 - SHUNT_TABLES_ROOT6_BITS));
	w.hi = w.hi << SHUNT_TABLES_ROOT6_BITS | w.lo >> (64 - SHUNT_TABLES_ROOT6_BITS);
	w.lo <<= SHUNT_TABLES_ROOT6_BITS;
	bpf_loop(STEPS6_MAX, step6, &w, 0);
	return word32(SHUNT_TABLE_SLOTS, w.word >> 32 ? 0 : w.word & SHUNT_TABLES_NH);
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

/* l4_len: what the packet has behind its header, whatever the frame has. */
static __always_inline __u32 flow_ports(const void *l4, const void *end, __u32 l4_len, __u32 proto)
{
	if (proto != 6 && proto != 17 && proto != 33 && proto != 132 && proto != 136)
		return 0;
	return l4_len < 4 || l4 + 4 > end ? 0 : *(const __u32 *)l4;
}

static __always_inline __u32 flow4(const struct ipv4 *ip, const void *end)
{
	__u64 addrs = (__u64)ip->dst_be << 32 | ip->src_be, h;
	__u32 ports = 0;

	if (!(ip->frag_off_be & bpf_htons(0x3fff)))
		ports = flow_ports(ip + 1, end, bpf_ntohs(ip->tot_len_be) - 20, ip->proto);
	h = flow_mix(addrs ^ FLOW_K0, shunt_ctl.tables.flow_seed ^ FLOW_K1);
	h = flow_mix(h ^ FLOW_K1, ((__u64)ports << 8 | ip->proto) ^ FLOW_K2);
	return (__u32)(h ^ h >> 32);
}

static __always_inline __u32 flow6(const struct ipv6 *ip, const void *end)
{
	__u32 ports = flow_ports(ip + 1, end, bpf_ntohs(ip->payload_len_be), ip->nexthdr);
	__u64 h, g;

	h = flow_mix(ip->src[0] ^ FLOW_K0, ip->src[1] ^ shunt_ctl.tables.flow_seed ^ FLOW_K1);
	g = flow_mix(ip->dst[0] ^ FLOW_K1, ip->dst[1] ^ FLOW_K2);
	h = flow_mix(h ^ FLOW_K1, g ^ FLOW_K0);
	h = flow_mix(h ^ FLOW_K0, ((__u64)ports << 8 | ip->nexthdr) ^ FLOW_K2);
	return (__u32)(h ^ h >> 32);
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

static __always_inline bool way_take(struct way *way, __u32 slot)
{
	const struct shunt_tables_adj *adj = adj_of(slot);
	__u64 mtu;

	if (!adj || adj->kind != SHUNT_TABLES_REWRITE)
		return false;
	mtu = adj->mtu > 0xffff ? 0xffff : adj->mtu;
	way->eth = adj->eth[0];
	way->rest = (__u32)adj->eth[1] | (__u64)adj->port << 32 | mtu << 48;
	return true;
}

/* ---- answers of late ------------------------------------------------------------------------ */

static __always_inline __u32 generation(void)
{
	return *(volatile __u32 *)&shunt_ctl.tables.generation;
}

#define LOAD(word)	   (*(volatile __u64 *)&(word))
#define STORE(word, value) (*(volatile __u64 *)&(word) = (value))

/* True if dst is a destination with one way, which is then remembered. */
__noinline bool way_walk4(struct xdp_md *ctx, struct way *way, __u64 key,
			  struct shunt_tables_answer4 *answer)
{
	const void *end = (const void *)(long)ctx->data_end;
	const struct ipv4 *ip = (const void *)(long)ctx->data + sizeof(struct eth);
	__u32 slot;

	if (!way || !answer || (const void *)(ip + 1) > end)
		return false;
	slot = slot4(bpf_ntohl(ip->dst_be));
	if (slot & SHUNT_TABLES_GROUP)
		return way_take(way, member_of(slot, flow4(ip, end)));
	if (!way_take(way, slot))
		return false;
	STORE(answer->key, key);
	STORE(answer->eth, way->eth);
	STORE(answer->rest, way->rest);
	STORE(answer->sum, (key ^ way->eth) + way->rest + PHI);
	return true;
}

static __always_inline bool way_find4(struct xdp_md *ctx, struct way *way, const struct ipv4 *ip)
{
	__u64 key = (__u64)ip->dst_be << 32 | generation();
	struct shunt_tables_answer4 *answer = &shunt_cache4[ip->dst_be * PHI >> (64 - CACHE4_BITS)];

	way->eth = LOAD(answer->eth);
	way->rest = LOAD(answer->rest);
	if (LOAD(answer->key) == key && LOAD(answer->sum) == (key ^ way->eth) + way->rest + PHI)
		return true;
	return way_walk4(ctx, way, key, answer);
}

__noinline bool way_walk6(struct xdp_md *ctx, struct way *way, __u64 gen,
			  struct shunt_tables_answer6 *answer)
{
	const void *end = (const void *)(long)ctx->data_end;
	const struct ipv6 *ip = (const void *)(long)ctx->data + sizeof(struct eth);
	__u64 dst[2];
	__u32 slot;

	if (!way || !answer || (const void *)(ip + 1) > end)
		return false;
	dst[0] = ip->dst[0];
	dst[1] = ip->dst[1];
	slot = slot6(dst);
	if (slot & SHUNT_TABLES_GROUP)
		return way_take(way, member_of(slot, flow6(ip, end)));
	if (!way_take(way, slot))
		return false;
	STORE(answer->dst[0], dst[0]);
	STORE(answer->dst[1], dst[1]);
	STORE(answer->generation, gen);
	STORE(answer->eth, way->eth);
	STORE(answer->rest, way->rest);
	STORE(answer->sum, (dst[0] ^ way->eth) + (dst[1] ^ way->rest) * 3 + gen + PHI);
	return true;
}

static __always_inline bool way_find6(struct xdp_md *ctx, struct way *way, const struct ipv6 *ip)
{
	__u64 hi = ip->dst[0], lo = ip->dst[1], gen = generation();
	struct shunt_tables_answer6 *answer =
		&shunt_cache6[(hi * 3 ^ lo) * PHI >> (64 - CACHE6_BITS)];

	way->eth = LOAD(answer->eth);
	way->rest = LOAD(answer->rest);
	if (LOAD(answer->dst[0]) == hi && LOAD(answer->dst[1]) == lo &&
	    LOAD(answer->generation) == gen &&
	    LOAD(answer->sum) == (hi ^ way->eth) + (lo ^ way->rest) * 3 + gen + PHI)
		return true;
	return way_walk6(ctx, way, gen, answer);
}

/* ---- where a packet may come from (fib_validate_source of the kernel) ----------------------- */

__noinline bool source_is_plain(__u32 src, __u32 flags, __u32 own_port)
{
	__u32 slot = slot4(src);
	const struct shunt_tables_adj *adj;

	if (slot & SHUNT_TABLES_GROUP)
		slot = member_of(slot, 0);
	adj = adj_of(slot);
	if (!adj)
		return false;
	if (flags & SHUNT_TABLES_RPF4)
		return adj->kind == SHUNT_TABLES_REWRITE && adj->port == own_port;
	return adj->kind != SHUNT_TABLES_LOCAL;
}

#endif
