/* SPDX-License-Identifier: GPL-2.0-only */
/* The rules: the fields of a frame that rules name are read into a key, and the first rule
 * that matches decides. Only frames of ports with rules come here.
 *
 * A field that the frame has and that cannot be read is unknown: the ports of a fragment, what is
 * behind too many IPv6 extension headers or VLAN tags, or behind the end of the frame. A rule that
 * asks for such a field, and matches in all others, cannot be decided: the frame is the kernel's.
 */
#ifndef SHUNT_STEER_RULES_BPF_H
#define SHUNT_STEER_RULES_BPF_H

#include "steer/count.bpf.h"
#include "steer/frame.bpf.h"

/* What is unknown, as bits of a key's head: with a field all that come behind it. */
#define UNKNOWN_PORTS (((struct shunt_steer_key){.has_ports = 1}).head)
#define UNKNOWN_PROTO \
	(((struct shunt_steer_key){.has_proto = 1, .proto = 0xff}).head | UNKNOWN_PORTS)
#define UNKNOWN_IP   (((struct shunt_steer_key){.is_ip = 1}).head | UNKNOWN_PROTO)
#define UNKNOWN_TYPE (((struct shunt_steer_key){.ethertype_be = 0xffff}).head | UNKNOWN_IP)

/* The layer 4 protocol, and its ports where they lie, if it has any. Returns what is unknown. A
 * fragment's ports are, also the first one's: all fragments of a packet go one way. */
static __always_inline __u64 key_l4(struct shunt_steer_key *key, __u32 *ports, __u8 proto,
				    bool is_fragment, const void *l4, const void *end)
{
	const __be16 *p = l4;

	key->has_proto = 1;
	key->proto = proto;
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP && proto != IPPROTO_SCTP)
		return 0;
	if (is_fragment || (const void *)(p + 2) > end)
		return UNKNOWN_PORTS;
	key->has_ports = 1;
	*ports = (__u32)bpf_ntohs(p[0]) << 16 | bpf_ntohs(p[1]);
	return 0;
}

static __always_inline __u64 key_ipv4(struct shunt_steer_key *key, __u32 *ports, const void *l3,
				      const void *end)
{
	const struct ipv4 *ip = l3;

	if ((const void *)(ip + 1) > end || ip->version_ihl >> 4 != 4 ||
	    (ip->version_ihl & 0xf) < 5)
		return UNKNOWN_IP;
	key->is_ip = 1;
	__builtin_memcpy(&key->src[0], &ip->src_be, 4);
	__builtin_memcpy(&key->dst[0], &ip->dst_be, 4);
	return key_l4(key, ports, ip->proto, ip->frag_off_be & bpf_htons(IP4_FRAGMENT),
		      l3 + (ip->version_ihl & 0xf) * 4, end);
}

static __always_inline bool is_extension(__u8 nexthdr)
{
	return nexthdr == NEXTHDR_HOP || nexthdr == NEXTHDR_ROUTING || nexthdr == NEXTHDR_FRAG ||
	       nexthdr == NEXTHDR_DEST;
}

static __always_inline __u64 key_ipv6(struct shunt_steer_key *key, __u32 *ports, const void *l3,
				      const void *end)
{
	const struct ipv6 *ip = l3;
	const struct ext_header *ext = (const void *)(ip + 1);
	__u8 nexthdr;

	if ((const void *)ext > end || ip->version_class >> 4 != 6)
		return UNKNOWN_IP;
	key->is_ip = 1;
	key->src[0] = ip->src[0];
	key->src[1] = ip->src[1];
	key->dst[0] = ip->dst[0];
	key->dst[1] = ip->dst[1];
	nexthdr = ip->nexthdr;
	for (int i = 0; i <= EXT_HEADERS_MAX; i++) {
		__u32 len = 8;

		if (!is_extension(nexthdr))
			return key_l4(key, ports, nexthdr, false, ext, end);
		if ((const void *)(ext + 1) > end)
			return UNKNOWN_PROTO;
		if (nexthdr != NEXTHDR_FRAG)
			len += ext->len * 8;
		else if (ext->frag_off_be & bpf_htons(IP6_FRAGMENT))
			/* The later ones have no more to tell by than this header. */
			return is_extension(ext->nexthdr)
				       ? UNKNOWN_PROTO
				       : key_l4(key, ports, ext->nexthdr, true, ext, end);
		nexthdr = ext->nexthdr;
		ext = (const void *)ext + len;
	}
	return UNKNOWN_PROTO;
}

/* Returns what is unknown. */
static __always_inline __u64 key_read(struct shunt_steer_key *key, __u32 *ports,
				      const struct eth *eth, const void *end)
{
	__be16 type_be;
	const void *l3 = behind_tags(eth, end, &type_be);

	key->ethertype_be = type_be;
	if (type_be == bpf_htons(ETH_P_IP))
		return key_ipv4(key, ports, l3, end);
	if (type_be == bpf_htons(ETH_P_IPV6))
		return key_ipv6(key, ports, l3, end);
	return type_be == bpf_htons(ETH_P_8021Q) || type_be == bpf_htons(ETH_P_8021AD)
		       ? UNKNOWN_TYPE
		       : 0;
}

/* What rules say beside a reason (enum shunt_steer_reason), which is not negative. */
enum rule_verdict {
	RULE_NONE = -1, /* no rule matches */
	RULE_XDP = -2,	/* as the mode says, but by lane xdp */
	RULE_AUTO = -3, /* one matches that says auto: as if none did */
};

struct rule_walk {
	struct shunt_steer_key key;
	__u64 unknown;			/* bits of the key's head */
	__u64 addrs_known, ports_known; /* all ones, or 0 */
	__u64 sport, dport;
	__u32 live;
	int reason; /* of the first rule that matches, or enum rule_verdict */
};

/* 1 or 0: the borrow of a subtraction, kept from clang, which sees a comparison in
 * it and makes a branch of that. */
static __always_inline __u64 is_less(__u64 a, __u64 b)
{
	__u64 difference = a - b;

	barrier_var(difference);
	return difference >> 63;
}

/* Zero if the rule matches in all that is known. No branch in here: most rules do not match, and
 * not at the same field. */
static __always_inline __u64 rule_differs(const struct shunt_steer_rule *rule,
					  const struct rule_walk *walk)
{
	const struct shunt_steer_key *key = &walk->key;
	__u64 differs = (key->head ^ rule->value.head) & rule->mask.head & ~walk->unknown;
	__u64 addrs = (key->src[0] ^ rule->value.src[0]) & rule->mask.src[0], ports;

	addrs |= (key->src[1] ^ rule->value.src[1]) & rule->mask.src[1];
	addrs |= (key->dst[0] ^ rule->value.dst[0]) & rule->mask.dst[0];
	addrs |= (key->dst[1] ^ rule->value.dst[1]) & rule->mask.dst[1];
	ports = is_less(walk->sport, rule->sport_min) | is_less(rule->sport_max, walk->sport);
	ports |= is_less(walk->dport, rule->dport_min) | is_less(rule->dport_max, walk->dport);
	return differs | (addrs & walk->addrs_known) | (ports & walk->ports_known);
}

/* One rule; 1 ends the walk. */
static long rule_try(__u32 i, struct rule_walk *walk)
{
	const struct shunt_steer_half *half = &shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(walk->live)];
	const struct shunt_steer_rule *rule = &half->rules[i & (SHUNT_STEER_RULES_MAX - 1)];

	if (rule_differs(rule, walk))
		return 0;
	if (rule->mask.head & walk->unknown)
		walk->reason = SHUNT_STEER_RULE_UNDECIDED;
	else if (rule->lane == SHUNT_LANE_USER)
		walk->reason = SHUNT_STEER_RULE_USER;
	else if (rule->lane == SHUNT_LANE_DROP)
		walk->reason = SHUNT_STEER_RULE_DROP;
	else if (rule->lane == SHUNT_LANE_KERNEL)
		walk->reason = SHUNT_STEER_RULE_KERNEL;
	else
		walk->reason = rule->lane == SHUNT_LANE_XDP ? RULE_XDP : RULE_AUTO;
	return 1;
}

_Static_assert(!(SHUNT_STEER_RULES_MAX & (SHUNT_STEER_RULES_MAX - 1)), "rule_try masks with it");

/* With `live`: the frame has been counted. The bits that name a half are others. */
#define RULES_AGAIN 0x80000000u

/* A frame for which `tried` rules were tried. Apart from the straight line. */
static __noinline void rule_count(struct xdp_md *ctx, const struct rule_walk *walk, __u32 tried)
{
	const struct shunt_steer_half *half = &shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(walk->live)];
	const __u32 slot = slot_number(ctx->rx_queue_index);
	struct shunt_steer_rule_counts *counts = bpf_map_lookup_elem(&shunt_rule_cnt, &slot);
	__u32 count = half->rules[(tried - 1) & (SHUNT_STEER_RULES_MAX - 1)].count;
	struct shunt_count *to;

	if (!counts || walk->reason == RULE_NONE || walk->live & RULES_AGAIN)
		return;
	to = &counts->of[count & (SHUNT_STEER_RULE_COUNTS - 1)];
	to->packets++;
	to->bytes += bpf_xdp_get_buff_len(ctx);
}

/* What the rules of live's half say: a reason, or enum rule_verdict. By bpf_loop, whose body the
 * verifier looks at once: in a plain loop it would look at each rule on every way into it.
 *
 * Where matches are counted, so is this one, but with RULES_AGAIN. A tap finds in sample.rule which
 * rule it was. */
__noinline int by_rules(struct xdp_md *ctx, __u32 live)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	struct rule_walk walk = {.live = live, .reason = RULE_NONE};
	__u32 ports = 0, cnt = shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(live)].rule_cnt, tried;

	if (data + sizeof(struct eth) > end)
		return RULE_NONE;
	walk.unknown = key_read(&walk.key, &ports, data, end);
	walk.addrs_known = walk.key.is_ip || !walk.unknown ? ~0ULL : 0;
	walk.ports_known = walk.unknown ? 0 : ~0ULL;
	walk.sport = ports >> 16;
	walk.dport = ports & 0xffff;
	tried = bpf_loop(cnt & (SHUNT_STEER_RULES_COUNTED - 1), rule_try, &walk, 0);
	if (IS_TAPPED)
		slot_of(ctx->rx_queue_index)->sample.rule = walk.reason == RULE_NONE ? 0 : tried;
	if (cnt & SHUNT_STEER_RULES_COUNTED)
		rule_count(ctx, &walk, tried);
	return walk.reason;
}

#endif
