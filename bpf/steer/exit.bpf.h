/* SPDX-License-Identifier: GPL-2.0-only */
/* What a packet that is routed leaves by: a port, or a device above ports, and of a bond which
 * member. */
#ifndef SHUNT_STEER_EXIT_BPF_H
#define SHUNT_STEER_EXIT_BPF_H

#include "shunt_bond.h"
#include "shunt_flow.h"
#include "steer/device.bpf.h"
#include "steer/tables.bpf.h"

/* What a packet leaves by: the port, and the tags that it gets. */
struct exit {
	__u32 port;
	const struct shunt_device *device; /* NULL: the port itself */
	__u32 tags_len;			   /* bytes of tags */
};

/* What a function here can send packets out of. */
enum route_exits {
	EXITS_PORTS,	/* ports that are no device's */
	EXITS_UNTAGGED, /* those, and bonds and bridges, untagged */
	EXITS_ALL,
};

static __always_inline bool find_exit(const struct way *way, struct exit *out,
				      const enum route_exits exits)
{
	out->port = way_port(way);
	out->device = NULL;
	out->tags_len = 0;
	if (exits == EXITS_PORTS || out->port < SHUNT_TABLES_TAGGED)
		return true;
	out->device = device_at(out->port - SHUNT_TABLES_TAGGED);
	if (!out->device)
		return false;
	out->port = out->device->members[0];
	out->tags_len = out->device->tag_cnt * sizeof(struct shunt_vlan_tag) & 12;
	return true;
}

/* The member of a bond that the kernel would choose, of a frame as it is to leave; to: what it is
 * translated to, NULL: it is not. It has the outer tag beside the frame meanwhile; a second one is
 * part of that, and hides the packet. */
static __always_inline __u32 choose_member(const struct shunt_device *device, __u64 macs,
					   const __u8 *ip, const __u8 *end,
					   const struct shunt_flow_key *to, const bool is_ip6)
{
	const __u32 cnt = device->member_cnt;
	__u32 at, hash_eth, policy = device->policy, type = is_ip6 ? ETH_P_IPV6 : ETH_P_IP;

	if (device->tag_cnt > 1) {
		type = bpf_ntohs(device->tags[1].type_be);
		policy = SHUNT_BOND_LAYER2;
	}
	hash_eth = shunt_bond_hash_eth(macs >> 40, macs, type);
	at = to ? shunt_bond_hash_flow(policy, hash_eth, to->src, to->dst, to->ports, is_ip6)
		: shunt_bond_hash(policy, hash_eth, ip, end, is_ip6);
	at %= cnt;
	return at < SHUNT_DEVICE_MEMBERS_MAX ? device->members[at] : 0;
}

/* Both apart from the straight line. */
static __noinline __u32 sender_of(const struct shunt_device *device, __u64 macs, const __u8 *ip,
				  const __u8 *end, const bool is_ip6)
{
	return device ? choose_member(device, macs, ip, end, NULL, is_ip6) : 0;
}

static __noinline __u32 sender_of_flow(const struct shunt_device *device, __u64 macs,
				       const struct shunt_flow_key *to, const bool is_ip6)
{
	return device && to ? choose_member(device, macs, NULL, NULL, to, is_ip6) : 0;
}

/* The last byte of each address, destination before source, as sender_of has it. */
static __always_inline __u64 last_bytes(const struct way *way)
{
	return (way->eth & 0xff0000000000ULL) | (way->rest >> 24 & 0xff);
}

/* What a packet leaves by, as an answer has it: of a bridge's device whatever the leg. */
static __always_inline __u32 exit_code(const struct way *way, const struct exit *by)
{
	return by->device ? SHUNT_TABLES_TAGGED + by->device->base : way_port(way);
}

#endif
