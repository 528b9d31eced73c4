/* SPDX-License-Identifier: GPL-2.0-only */
/* What approved connections carry, packets and bytes of each direction, where the configuration
 * says `flow_counts`: connection tracking does not see what leaves here. Packets are those that
 * went on by the lanes user and xdp. Bytes are those of IP, as connection tracking counts.
 *
 * A packet is remembered when its connection is known to be approved, and counted when it is known
 * to leave. A SYN begins a direction's numbers anew. */
#ifndef SHUNT_STEER_FLOW_COUNT_BPF_H
#define SHUNT_STEER_FLOW_COUNT_BPF_H

#include "shunt_count.h"
#include "steer/flow.bpf.h"

#ifndef SHUNT_FLOWS

static __always_inline bool flow_is_counted(void)
{
	return false;
}

static __always_inline void flow_count(int verdict)
{
}

#else

/* One of all ports of the daemon, which makes it; of one entry where nothing is counted. When it is
 * full, the direction that has rested longest goes. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, struct shunt_flow_key);
	__type(value, struct shunt_count);
} shunt_flow_cnt SEC(".maps");

/* The packet under way: a CPU has one at a time. */
struct flow_now {
	struct shunt_flow_key key;
	__u32 len; /* of IP; 0: no packet of an approved connection */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flow_now);
} shunt_flow_now SEC(".maps");

/* Known when the program is loaded: elsewhere the verifier takes out what follows. */
static __always_inline bool flow_is_counted(void)
{
	return shunt_flow.counts;
}

static __always_inline struct flow_now *flow_now(void)
{
	const __u32 only = 0;

	return bpf_map_lookup_elem(&shunt_flow_now, &only);
}

static __always_inline void flow_remember(const struct shunt_flow_key *key, __u32 len)
{
	struct flow_now *now = flow_now();

	if (!now)
		return;
	now->key = *key;
	now->len = len;
}

static __always_inline void flow_begin(const struct shunt_flow_key *key)
{
	if (flow_is_counted()) {
		/* A copy: what the caller has may stay in registers. */
		const struct shunt_flow_key copy = *key;

		bpf_map_delete_elem(&shunt_flow_cnt, &copy);
	}
}

/* The end of the packet under way. */
static __noinline void flow_count(int verdict)
{
	struct flow_now *now = flow_now();
	struct shunt_count *count, first = {.packets = 1};

	if (!now || !now->len)
		return;
	first.bytes = now->len;
	now->len = 0;
	if (verdict != XDP_REDIRECT)
		return;
	count = bpf_map_lookup_elem(&shunt_flow_cnt, &now->key);
	if (count) {
		count->packets++;
		count->bytes += first.bytes;
	} else {
		bpf_map_update_elem(&shunt_flow_cnt, &now->key, &first, BPF_ANY);
	}
}

#endif /* SHUNT_FLOWS */
#endif
