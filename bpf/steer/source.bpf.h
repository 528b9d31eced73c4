/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a packet may come from (fib_validate_source of the kernel): the way back to its source. */
#ifndef SHUNT_STEER_SOURCE_BPF_H
#define SHUNT_STEER_SOURCE_BPF_H

#include "steer/device.bpf.h"
#include "steer/tables.bpf.h"

/* The adjacency of a next hop, of a group's first member; NULL without memory. */
static __always_inline const struct shunt_tables_adj *adj_back(__u32 nh)
{
	__u32 slot = slot_of_hop(nh);

	if (is_alias(slot))
		slot = target_of(slot);
	if (slot & SHUNT_TABLES_GROUP)
		slot = member_of(slot, 0);
	return adj_of(slot);
}

/* Flags with the space of what a packet leaves by; 0 where that is not one thing, or not known. */
static __always_inline __u32 far_flags(__u32 dst, __u32 flags)
{
	const struct shunt_tables_adj *adj;
	__u32 slot = slot_of_hop(hop4(dst, flags));

	if (is_alias(slot))
		slot = target_of(slot);
	adj = slot & SHUNT_TABLES_GROUP ? NULL : adj_of(slot);
	if (!adj || adj->space >= SHUNT_TABLES_SPACES)
		return 0;
	return (flags & ~SHUNT_TABLES_SPACE4) | (__u32)adj->space << SHUNT_TABLES_SPACE4_SHIFT;
}

/* What leads there, as an answer has it: of a bridge's device whatever the leg. */
static __always_inline __u32 exit_of_adj(const struct shunt_tables_adj *adj)
{
	const struct shunt_device *device;

	if (adj->port != SHUNT_TABLES_TAGGED)
		return adj->port;
	device = device_at(adj->above);
	return device ? SHUNT_TABLES_TAGGED + device->base : 0;
}

/* own: the packet's port or device, as an answer has it. */
__noinline bool source_is_plain(__u32 src, __u32 dst, __u32 flags, __u32 own)
{
	const struct shunt_tables_adj *adj;

	if (flags & SHUNT_TABLES_FAR)
		flags = far_flags(dst, flags);
	adj = flags ? adj_back(hop4(src, flags)) : NULL;
	if (!adj)
		return false;
	if (flags & SHUNT_TABLES_RPF4)
		return adj->kind == SHUNT_TABLES_REWRITE && exit_of_adj(adj) == own;
	return adj->kind != SHUNT_TABLES_LOCAL;
}

#endif
