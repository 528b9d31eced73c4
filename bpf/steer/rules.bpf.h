/* SPDX-License-Identifier: GPL-2.0-only */
/* The rules: the fields of a frame that rules name are read into a key, and the first rule
 * that matches decides. Only frames of ports with rules come here. */
#ifndef SHUNT_STEER_RULES_BPF_H
#define SHUNT_STEER_RULES_BPF_H

#include "steer/frame.bpf.h"
#include "steer/maps.bpf.h"

/* Reads the ports where they lie, if the protocol has any. */
static __always_inline void key_ports(struct shunt_steer_key *key, __u32 *ports, const void *l4,
				      const void *end)
{
	const __be16 *p = l4;

	if (key->proto != IPPROTO_TCP && key->proto != IPPROTO_UDP && key->proto != IPPROTO_SCTP)
		return;
	if ((const void *)(p + 2) > end)
		return;
	key->has_ports = 1;
	*ports = (__u32)bpf_ntohs(p[0]) << 16 | bpf_ntohs(p[1]);
}

static __always_inline void key_ipv4(struct shunt_steer_key *key, __u32 *ports, const void *l3,
				     const void *end)
{
	const struct ipv4 *ip = l3;

	if ((const void *)(ip + 1) > end || ip->version_ihl >> 4 != 4 ||
	    (ip->version_ihl & 0xf) < 5)
		return;
	key->is_ip = 1;
	key->has_proto = 1;
	key->proto = ip->proto;
	__builtin_memcpy(&key->src[0], &ip->src_be, 4);
	__builtin_memcpy(&key->dst[0], &ip->dst_be, 4);
	if (ip->frag_off_be & bpf_htons(IP4_OFFSET))
		return;
	key_ports(key, ports, l3 + (ip->version_ihl & 0xf) * 4, end);
}

static __always_inline void key_ipv6(struct shunt_steer_key *key, __u32 *ports, const void *l3,
				     const void *end)
{
	const struct ipv6 *ip = l3;
	const struct ext_header *ext = (const void *)(ip + 1);
	__u8 nexthdr;

	if ((const void *)ext > end || ip->version_class >> 4 != 6)
		return;
	key->is_ip = 1;
	key->src[0] = ip->src[0];
	key->src[1] = ip->src[1];
	key->dst[0] = ip->dst[0];
	key->dst[1] = ip->dst[1];
	nexthdr = ip->nexthdr;
	for (int i = 0; i <= EXT_HEADERS_MAX; i++) {
		bool is_later_fragment = false;
		__u32 len = 8;

		if (nexthdr != NEXTHDR_HOP && nexthdr != NEXTHDR_ROUTING &&
		    nexthdr != NEXTHDR_FRAG && nexthdr != NEXTHDR_DEST) {
			key->has_proto = 1;
			key->proto = nexthdr;
			key_ports(key, ports, ext, end);
			return;
		}
		if ((const void *)(ext + 1) > end)
			return;
		if (nexthdr == NEXTHDR_FRAG)
			is_later_fragment = ext->frag_off_be & bpf_htons(0xfff8);
		else
			len += ext->len * 8;
		nexthdr = ext->nexthdr;
		if (is_later_fragment) {
			/* What follows is payload; the header says whose. */
			key->has_proto = 1;
			key->proto = nexthdr;
			return;
		}
		ext = (const void *)ext + len;
	}
}

static __always_inline void key_read(struct shunt_steer_key *key, __u32 *ports,
				     const struct eth *eth, const void *end)
{
	__be16 type_be;
	const void *l3 = behind_tags(eth, end, &type_be);

	key->ethertype_be = type_be;
	if (type_be == bpf_htons(ETH_P_IP))
		key_ipv4(key, ports, l3, end);
	else if (type_be == bpf_htons(ETH_P_IPV6))
		key_ipv6(key, ports, l3, end);
}

/* 1 or 0: the borrow of a subtraction, kept from clang, which sees a comparison in
 * it and makes a branch of that. */
static __always_inline __u64 is_less(__u64 a, __u64 b)
{
	__u64 difference = a - b;

	barrier_var(difference);
	return difference >> 63;
}

/* Zero if the rule matches. No branch in here: most rules do not match, and not at
 * the same field. */
static __always_inline __u64 rule_differs(const struct shunt_steer_rule *rule,
					  const struct shunt_steer_key *key, __u64 sport,
					  __u64 dport)
{
	__u64 differs = (key->head ^ rule->value.head) & rule->mask.head;

	differs |= (key->src[0] ^ rule->value.src[0]) & rule->mask.src[0];
	differs |= (key->src[1] ^ rule->value.src[1]) & rule->mask.src[1];
	differs |= (key->dst[0] ^ rule->value.dst[0]) & rule->mask.dst[0];
	differs |= (key->dst[1] ^ rule->value.dst[1]) & rule->mask.dst[1];
	differs |= is_less(sport, rule->sport_min) | is_less(rule->sport_max, sport);
	differs |= is_less(dport, rule->dport_min) | is_less(rule->dport_max, dport);
	return differs;
}

/* What rules say beside a reason (enum shunt_steer_reason), which is not negative. */
enum rule_verdict {
	RULE_NONE = -1, /* no rule matches, or the one that does says auto */
	RULE_XDP = -2,	/* as the mode says, but by lane xdp */
};

struct rule_walk {
	struct shunt_steer_key key;
	__u64 sport, dport;
	__u32 live;
	int reason; /* of the first rule that matches, or enum rule_verdict */
};

/* One rule; 1 ends the walk. */
static long rule_try(__u32 i, struct rule_walk *walk)
{
	const struct shunt_steer_half *half = &shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(walk->live)];
	const struct shunt_steer_rule *rule = &half->rules[i & (SHUNT_STEER_RULES_MAX - 1)];

	if (rule_differs(rule, &walk->key, walk->sport, walk->dport))
		return 0;
	if (rule->lane == SHUNT_LANE_USER)
		walk->reason = SHUNT_STEER_RULE_USER;
	else if (rule->lane == SHUNT_LANE_DROP)
		walk->reason = SHUNT_STEER_RULE_DROP;
	else if (rule->lane == SHUNT_LANE_KERNEL)
		walk->reason = SHUNT_STEER_RULE_KERNEL;
	else
		walk->reason = rule->lane == SHUNT_LANE_XDP ? RULE_XDP : RULE_NONE;
	return 1;
}

_Static_assert(!(SHUNT_STEER_RULES_MAX & (SHUNT_STEER_RULES_MAX - 1)), "rule_try masks with it");

/* What the rules of live's half say: a reason, or enum rule_verdict. By bpf_loop, whose body the
 * verifier looks at once: in a plain loop it would look at each rule on every way into it. */
__noinline int by_rules(struct xdp_md *ctx, __u32 live)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	struct rule_walk walk = {.live = live, .reason = RULE_NONE};
	__u32 ports = 0, cnt = shunt_ctl.half[SHUNT_STEER_LIVE_HALF_OF(live)].rule_cnt;

	if (data + sizeof(struct eth) > end)
		return RULE_NONE;
	key_read(&walk.key, &ports, data, end);
	walk.sport = ports >> 16;
	walk.dport = ports & 0xffff;
	if (cnt > SHUNT_STEER_RULES_MAX)
		cnt = SHUNT_STEER_RULES_MAX;
	bpf_loop(cnt, rule_try, &walk, 0);
	return walk.reason;
}

#endif
