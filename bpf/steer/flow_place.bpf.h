/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the kernel's flowtable has a connection. Its function, bpf_xdp_flow_lookup, hashes and
 * compares for some 550 instructions, and comes to the same entry each time. So the entry's address
 * is remembered, and the entry itself says whether it still is that connection's: its addresses,
 * ports and device are compared, and the two words that revoke it are read.
 *
 * An entry that was given back is told by these: another connection has other addresses, and the
 * memory of what was torn down says so until it is used again. Any memory may be read
 * (bpf_rdonly_cast).
 *
 * The function also sets the connection's timer anew. So it is asked again when an eighth of the
 * time that is left has gone by: a connection that rests goes so much earlier than at the kernel's
 * hands. And it is asked again of all connections when the flowtables are others: an entry does not
 * know that its device has left the table. */
#ifndef SHUNT_STEER_FLOW_PLACE_BPF_H
#define SHUNT_STEER_FLOW_PLACE_BPF_H

#include "steer/flow.bpf.h"
#include "steer/maps.bpf.h"

#ifdef SHUNT_FLOWS

#define PLACE_WAYS 4

struct flow_place {
	__u64 half;  /* address of the entry's half that is the connection's; 0: none */
	__u32 until; /* jiffies: then the kernel is asked again */
	__u32 sign;  /* of the connection, and of the flowtables when it was asked */
};

/* A cache line. Any CPU writes it: half and sign may be of two connections, so what the kernel's
 * memory says is all that counts. */
struct flow_places {
	struct flow_place way[PLACE_WAYS];
};

/* 1 << shunt_flow.place_bits, as userspace makes it (lib/xdp/program.c). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flow_places);
} shunt_flow_place SEC(".maps");

/* Where a connection's place will be: an empty one, or that of another. */
static __always_inline struct flow_place *place_for(struct flow_places *places, __u32 sign)
{
	int i;

	for (i = 0; i < PLACE_WAYS; i++)
		if (!READ_ONCE(places->way[i].half))
			return &places->way[i];
	return &places->way[sign & (PLACE_WAYS - 1)];
}

static __always_inline struct flow_place *place_of(struct flow_places *places, __u32 sign)
{
	int i;

	for (i = 0; i < PLACE_WAYS; i++)
		if (READ_ONCE(places->way[i].sign) == sign)
			return &places->way[i];
	return NULL;
}

static __always_inline bool place_answers(__u64 half, const struct shunt_flow_key *key,
					  __u32 ifindex, struct flow_answer *answer,
					  const bool is_ip6)
{
	return is_half(half, key, ifindex, is_ip6) && read_answer(half, answer, is_ip6);
}

/* hash: flow_hash() of the key. tuple: room. */
static __always_inline bool place_ask(struct xdp_md *ctx, const struct shunt_flow_key *key,
				      __u64 hash, struct bpf_fib_lookup *tuple,
				      struct flow_answer *answer, const bool is_ip6)
{
	const __u32 at = hash >> (63 - shunt_flow.place_bits) >> 1, ifindex = ctx->ingress_ifindex;
	const __u32 sign = (__u32)hash ^ (__u32)READ_ONCE(shunt_ctl.flow_epoch);
	const __u32 now = bpf_jiffies64();
	struct flow_places *places = bpf_map_lookup_elem(&shunt_flow_place, &at);
	const struct flow_offload_tuple_rhash *found;
	struct flow_place *place;
	__u64 half;

	if (!places)
		return false;
	place = place_of(places, sign);
	if (place && (__s32)(READ_ONCE(place->until) - now) > 0 &&
	    place_answers(READ_ONCE(place->half), key, ifindex, answer, is_ip6))
		return true;
	found = ask_flowtable(ctx, key, tuple, is_ip6);
	if (!found)
		return false;
	if (!place)
		place = place_for(places, sign);
	WRITE_ONCE(place->half, (__u64)found);
	half = READ_ONCE(place->half); /* a number, and perhaps another CPU's */
	if (!place_answers(half, key, ifindex, answer, is_ip6))
		return false;
	WRITE_ONCE(place->until, now + time_left(half, now) / 8);
	WRITE_ONCE(place->sign, sign);
	return true;
}

#endif /* SHUNT_FLOWS */
#endif
