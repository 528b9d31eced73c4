/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether an address is this host's. The configuration has a filter of one bit a hash value, which
 * says no at once for nearly all other addresses; the maps are asked where it does not. */
#ifndef SHUNT_STEER_LOCAL_BPF_H
#define SHUNT_STEER_LOCAL_BPF_H

#include "steer/maps.bpf.h"

/* false: the address of this hash is not this host's. */
static __always_inline bool in_filter(const struct shunt_steer_half *half, __u32 hash)
{
	return half->filter[hash >> 6] >> (hash & 63) & 1;
}

static __always_inline bool is_local4(const struct shunt_steer_half *half, __be32 addr_be)
{
	return in_filter(half, shunt_steer_hash4(addr_be)) &&
	       bpf_map_lookup_elem(&shunt_local4, &addr_be);
}

static __always_inline bool is_local6(const struct shunt_steer_half *half, __u64 hi, __u64 lo)
{
	__u64 key[2] = {hi, lo};

	return in_filter(half, shunt_steer_hash6(hi, lo)) &&
	       bpf_map_lookup_elem(&shunt_local6, key);
}

#endif
