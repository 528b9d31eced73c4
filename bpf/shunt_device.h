/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The devices above ports: VLAN devices, bonds, and bridges. They lie in two of the tables that
 * workers and programs share (shunt_tables.h), which lib/fib/device.h keeps: lines of tags, that
 * say by which device a frame comes in, and the devices, by their numbers. A bond and a bridge have
 * no tags: what comes in by their members is told by these ports.
 *
 * Which member a packet leaves by is a bond's hash (shunt_bond.h), but behind which port of a
 * bridge a neighbour is, its adjacency says: there a device has legs, one a member. A leg is a
 * device that only adjacencies name, with that one member, and the tags that packets get there.
 *
 * Byte order: what ends in _be is in network order, everything else is the host's. */
#ifndef SHUNT_DEVICE_H
#define SHUNT_DEVICE_H

#include <linux/types.h>

#define SHUNT_DEVICES_MAX	 (1 << 14) /* their numbers, from 1, are below */
#define SHUNT_DEVICE_TAGS_MAX	 2
#define SHUNT_DEVICE_MEMBERS_MAX 14
#define SHUNT_DEVICE_PORTS	 64 /* their numbers are below */
#define SHUNT_DEVICE_LINE_BITS	 11 /* of tags: with 1,000 devices one line in two has one */
#define SHUNT_DEVICE_LINES	 (1 << SHUNT_DEVICE_LINE_BITS)
#define SHUNT_DEVICE_LINE_WORDS	 8
#define SHUNT_DEVICE_INLINE	 static inline __attribute__((always_inline))

/* IEEE 802.1Q, 9.3, as it lies in a frame. */
struct shunt_vlan_tag {
	__be16 type_be;
	__be16 tci_be;
};

#define SHUNT_VLAN_VID	     0x0fff
#define SHUNT_VLAN_PCP_SHIFT 13

/* While a device is in the table nothing of it changes but flags. */
struct shunt_device {
	__u32 ifindex;
	__u32 flags; /* enum shunt_tables_flags: what it forwards; 0: its frames are the kernel's */
	__u8 tag_cnt;
	__u8 member_cnt; /* 1, or how many members of a bond can send */
	__u8 policy;	 /* enum shunt_bond_policy, or BY_STATION: which one a packet leaves by */
	__u8 pad;
	struct shunt_vlan_tag tags[SHUNT_DEVICE_TAGS_MAX]; /* outermost first; TCI: the VLAN ID */
	/* Four bits each: a packet's priority, by the PCP of the innermost tag that it came with;
	 * and for each tag the PCP that it leaves with, by the priority. */
	__u32 priorities;
	__u64 pcps[SHUNT_DEVICE_TAGS_MAX];
	__u16 mtu_max; /* bytes of a packet whose frame the port takes: one tag more than its MTU */
	__u16 base;    /* the number that packets come in by: of a leg its device's, else its own */
	__u8 mac[6];
	__u8 members[SHUNT_DEVICE_MEMBERS_MAX]; /* the ports beneath, in the kernel's order */
};

/* In the place of a policy: a bridge's port, behind which the neighbour is. */
#define SHUNT_DEVICE_BY_STATION 0xff

/* A bond of which one member sends: what leaves by it leaves by that port, as it is. */
SHUNT_DEVICE_INLINE int shunt_device_is_port(const struct shunt_device *device)
{
	return !device->tag_cnt && device->member_cnt == 1 &&
	       device->policy != SHUNT_DEVICE_BY_STATION;
}

/* The words of a line, of which one may be a frame's:
 *
 *     bits 63..32  its key (shunt_device_key)
 *     bits 31..16  the device's flags
 *     bits 15..0   its number; 0: the word is empty */
#define SHUNT_DEVICE_WORD_KEY_SHIFT   32
#define SHUNT_DEVICE_WORD_FLAGS_SHIFT 16
#define SHUNT_DEVICE_WORD_NUMBER      0xffff

SHUNT_DEVICE_INLINE __u32 shunt_device_number(__u64 word)
{
	return word & SHUNT_DEVICE_WORD_NUMBER;
}

SHUNT_DEVICE_INLINE __u32 shunt_device_flags(__u64 word)
{
	return (__u32)word >> SHUNT_DEVICE_WORD_FLAGS_SHIFT;
}

/* In a key, in the place of a second tag: there is none. No VLAN has that ID; a frame that has it
 * is looked for by nobody. */
#define SHUNT_DEVICE_NO_TAG 0x0fffu

/* shunt_device_tag_bits returns thirteen bits for a key; is_ad: the tag is 802.1ad's. */
SHUNT_DEVICE_INLINE __u32 shunt_device_tag_bits(int is_ad, __u16 tci)
{
	return (is_ad ? 0x1000u : 0) | (tci & SHUNT_VLAN_VID);
}

/* shunt_device_key returns what a frame's device is found by: its port, and its tags' bits. */
SHUNT_DEVICE_INLINE __u32 shunt_device_key(__u32 port, __u32 outer, __u32 inner)
{
	return port << 26 | outer << 13 | inner;
}

SHUNT_DEVICE_INLINE __u32 shunt_device_line(__u32 key)
{
	return key * 0x9e3779b1u >> (32 - SHUNT_DEVICE_LINE_BITS);
}

/* A forwarded IPv4 packet has a priority by its TOS (ip_forward: rt_tos2priority, ip_tos2prio),
 * four bits each. */
#define SHUNT_DEVICE_TOS_PRIORITIES 0x4444666622220000ULL

SHUNT_DEVICE_INLINE __u32 shunt_device_tos_priority(__u8 tos)
{
	return SHUNT_DEVICE_TOS_PRIORITIES >> (tos >> 1 & 0xf) * 4 & 0xf;
}

/* shunt_device_tci_be returns the tag's TCI of a packet of this priority, below 16. */
SHUNT_DEVICE_INLINE __be16 shunt_device_tci_be(const struct shunt_device *device, unsigned tag,
					       __u32 priority)
{
	const __u16 pcp = device->pcps[tag] >> priority * 4 & 7;
	const __u16 bits = pcp << SHUNT_VLAN_PCP_SHIFT;

	return device->tags[tag].tci_be |
	       (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? (__u16)(bits >> 8) : bits);
}

_Static_assert(sizeof(struct shunt_device) == 64, "a cache line");

#endif
