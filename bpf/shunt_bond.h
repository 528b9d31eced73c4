/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which member of a bond a packet leaves by: the kernel's own choice in the modes balance-xor and
 * 802.3ad (bond_xmit_hash, Documentation/networking/bonding.rst, "xmit_hash_policy"), in the same
 * lines for workers and programs.
 *
 * Words are taken from packets as they lie there: a hash is another on hosts of another byte order,
 * as the kernel's is. */
#ifndef SHUNT_BOND_H
#define SHUNT_BOND_H

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/types.h>

#define SHUNT_BOND_INLINE static inline __attribute__((always_inline))

/* Their names are the kernel's, their numbers BOND_XMIT_POLICY_*. */
enum shunt_bond_policy {
	SHUNT_BOND_LAYER2,
	SHUNT_BOND_LAYER34,
	SHUNT_BOND_LAYER23,
	SHUNT_BOND_POLICY_CNT
};

/* What the hash is made of beside the Ethernet header; a word is 0 where there is none. */
struct shunt_bond_flow {
	__u32 addrs; /* source and destination */
	__u32 ports; /* both, as one word */
	__u32 icmp;  /* of a type with an identifier: type, code, and that, which is not 0 */
};

/* What of a packet is not looked at yet. Behind it there may be padding, up to end. */
struct shunt_bond_bytes {
	const __u8 *at, *end;
	__u32 left;
};

SHUNT_BOND_INLINE __u32 shunt_bond_word(const __u8 *at)
{
	__u32 word;

	__builtin_memcpy(&word, at, sizeof(word));
	return word;
}

/* Whether there are so many bytes. */
SHUNT_BOND_INLINE int shunt_bond_has(const struct shunt_bond_bytes *packet, __u32 len)
{
	return packet->at + len <= packet->end && packet->left >= len;
}

SHUNT_BOND_INLINE __u32 shunt_bond_fold6(const __u8 *ip)
{
	__u32 sum = 0;
	int i;

	for (i = 8; i < 40; i += 4)
		sum ^= shunt_bond_word(ip + i);
	return sum;
}

/* Offset of the ports (proto_ports_offset), or -1. */
SHUNT_BOND_INLINE int shunt_bond_ports_at(__u8 protocol)
{
	switch (protocol) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
	case IPPROTO_DCCP:
	case IPPROTO_ESP:
	case IPPROTO_SCTP:
	case IPPROTO_UDPLITE:
		return 0;
	case IPPROTO_AH:
		return 4;
	}
	return -1;
}

/* Takes a header off the packet; *protocol 0 where what follows has no ports. false: it is cut off.
 */
SHUNT_BOND_INLINE int shunt_bond_take_ip(struct shunt_bond_bytes *packet,
					 struct shunt_bond_flow *flow, int is_ip6, __u8 *protocol)
{
	const __u8 *ip = packet->at;
	__u32 len = 40;
	int ports;

	*protocol = 0;
	if (!shunt_bond_has(packet, is_ip6 ? 40 : 20))
		return 0;
	if (is_ip6) {
		flow->addrs = shunt_bond_fold6(ip);
		*protocol = ip[6];
	} else {
		flow->addrs = shunt_bond_word(ip + 12) ^ shunt_bond_word(ip + 16);
		len = (ip[0] & 15) * 4;
		if (!((ip[6] & 0x3f) | ip[7])) /* no fragment: ip_is_fragment */
			*protocol = ip[9];
	}
	packet->at = ip + len;
	packet->left -= len;
	ports = shunt_bond_ports_at(*protocol);
	flow->ports = 0;
	if (ports == 0 && shunt_bond_has(packet, 4))
		flow->ports = shunt_bond_word(packet->at);
	if (ports == 4 && shunt_bond_has(packet, 8))
		flow->ports = shunt_bond_word(packet->at + 4);
	return 1;
}

/* ICMP of IPv4 and of IPv6: their types do not meet (icmp_has_id). */
SHUNT_BOND_INLINE int shunt_bond_icmp_has_id(__u8 type)
{
	return type == 0 || type == 8 || type == 13 || type == 14 || type == 128 || type == 129;
}

/* As in struct flow_dissector_key_icmp, whose identifier is a number of the host. */
SHUNT_BOND_INLINE __u32 shunt_bond_icmp_word(const __u8 *icmp)
{
	const __u16 id = icmp[4] << 8 | icmp[5];
	const struct {
		__u8 type, code;
		__u16 id;
	} key = {icmp[0], icmp[1], id ? id : 1};

	return shunt_bond_word((const __u8 *)&key);
}

SHUNT_BOND_INLINE int shunt_bond_is_error(__u8 protocol, __u8 type)
{
	if (protocol == IPPROTO_ICMP)
		return (type >= 3 && type <= 5) || type == 11 || type == 12;
	return type >= 1 && type <= 4;
}

/* An error goes the way of the packet that it is about. */
SHUNT_BOND_INLINE int shunt_bond_take_flow(struct shunt_bond_bytes packet,
					   struct shunt_bond_flow *flow, int is_ip6)
{
	const __u8 *icmp;
	__u8 protocol;

	flow->icmp = 0;
	if (!shunt_bond_take_ip(&packet, flow, is_ip6, &protocol))
		return 0;
	if (protocol != IPPROTO_ICMP && protocol != IPPROTO_ICMPV6)
		return 1;
	icmp = packet.at;
	if (!shunt_bond_has(&packet, 8))
		return 1;
	if (shunt_bond_icmp_has_id(icmp[0]))
		flow->icmp = shunt_bond_icmp_word(icmp);
	if (!shunt_bond_is_error(protocol, icmp[0]))
		return 1;
	packet.at = icmp + 8;
	packet.left -= 8;
	return shunt_bond_take_ip(&packet, flow, is_ip6, &protocol);
}

/* shunt_bond_hash_eth returns what the Ethernet header gives; the last byte of each address, and
 * the type behind them as a number. */
SHUNT_BOND_INLINE __u32 shunt_bond_hash_eth(__u8 dst, __u8 src, __u16 type)
{
	return dst ^ src ^ type;
}

SHUNT_BOND_INLINE __u32 shunt_bond_mix(enum shunt_bond_policy policy, __u32 hash, __u32 addrs)
{
	hash ^= addrs;
	hash ^= hash >> 16;
	hash ^= hash >> 8;
	return policy == SHUNT_BOND_LAYER34 ? hash >> 1 : hash;
}

/* shunt_bond_hash returns the hash of a packet from ip on, by whose remainder the kernel chooses
 * among the members that can send. hash_eth: see above. */
SHUNT_BOND_INLINE __u32 shunt_bond_hash(enum shunt_bond_policy policy, __u32 hash_eth,
					const __u8 *ip, const __u8 *end, int is_ip6)
{
	struct shunt_bond_bytes packet = {ip, end, 40};
	struct shunt_bond_flow flow;

	if (policy == SHUNT_BOND_LAYER2 || ip + 20 > end)
		return hash_eth;
	/* total length; payload length */
	packet.left = is_ip6 ? 40 + (ip[4] << 8 | ip[5]) : ip[2] << 8 | ip[3];
	if (!shunt_bond_take_flow(packet, &flow, is_ip6))
		return hash_eth;
	if (policy == SHUNT_BOND_LAYER34)
		return shunt_bond_mix(policy, flow.icmp ? flow.icmp : flow.ports, flow.addrs);
	return shunt_bond_mix(policy, hash_eth, flow.addrs);
}

/* shunt_bond_hash_flow returns the hash of a whole packet of TCP or UDP, without options, by what
 * it is translated to: both addresses, of IPv4 the first four bytes, and both ports as they lie
 * there. */
SHUNT_BOND_INLINE __u32 shunt_bond_hash_flow(enum shunt_bond_policy policy, __u32 hash_eth,
					     const __u64 src[2], const __u64 dst[2], __u32 ports,
					     int is_ip6)
{
	const __u64 all = src[0] ^ src[1] ^ dst[0] ^ dst[1];
	const __u32 addrs =
		is_ip6 ? (__u32)(all ^ all >> 32)
		       : shunt_bond_word((const __u8 *)src) ^ shunt_bond_word((const __u8 *)dst);

	if (policy == SHUNT_BOND_LAYER2)
		return hash_eth;
	return shunt_bond_mix(policy, policy == SHUNT_BOND_LAYER34 ? ports : hash_eth, addrs);
}

#endif
