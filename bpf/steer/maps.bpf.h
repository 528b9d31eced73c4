/* SPDX-License-Identifier: GPL-2.0-only */
/* The steering program's memory: maps and globals, each port's own. Configuration and counters are
 * globals, not map lookups and not .rodata: the program reaches them by address, they change while
 * it runs, and the one object serves the daemon, `ip link set dev X xdpdrv obj` and bpftool alike.
 * Attached by hand it has the all-zero configuration: every frame passes.
 *
 * Userspace finds them by these names (lib/xdp/maps.c). */
#ifndef SHUNT_STEER_MAPS_BPF_H
#define SHUNT_STEER_MAPS_BPF_H

#include "shunt_count.h"
#include "shunt_steer.h"
#include "shunt_steer_mac.h"
#include "steer/base.bpf.h"

#ifndef SHUNT_STEER_VERSION /* the build gives it */
#define SHUNT_STEER_VERSION 0
#endif

/* Written by userspace. */
struct shunt_steer_ctl shunt_ctl SEC(".data.shunt_cfg") = {.version = SHUNT_STEER_VERSION};

/* A queue's NAPI runs on one CPU at a time, so a counter has one writer and needs
 * no atomic. Where several share a slot (the last one, generic mode on a device
 * whose queue is no NAPI's) an increment may get lost. */
struct shunt_steer_slot shunt_cnt[SHUNT_STEER_QUEUES_MAX] SEC(".data.shunt_cnt");

static __always_inline __u32 slot_number(__u32 queue)
{
	__u32 slot = queue;

	/* Linux 6.1 forgets the bound where clang compares another copy of the value. */
	barrier_var(slot);
	if (slot >= SHUNT_STEER_QUEUES_MAX)
		slot = SHUNT_STEER_QUEUES_MAX - 1;
	return slot;
}

static __always_inline struct shunt_steer_slot *slot_of(__u32 queue)
{
	return &shunt_cnt[slot_number(queue)];
}

/* A queue's AF_XDP socket. The kernel takes it out when its process ends, however that ends. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, SHUNT_STEER_SOCKETS_MAX);
	__type(key, __u32);
	__type(value, __u32);
} shunt_xsks SEC(".maps");

/* The ports that take frames from XDP, by their numbers. Two, of which each program has one: the
 * kernel wants all programs of a devmap to agree on frags. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, SHUNT_STEER_PORTS_MAX);
	__type(key, __u32);
	__type(value, __u32);
} shunt_ports SEC(".maps"), shunt_ports_sg SEC(".maps");

/* Of those, the other ports of this port's bridge: all that a flooded frame leaves by. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, SHUNT_STEER_PORTS_MAX);
	__type(key, __u32);
	__type(value, __u32);
} shunt_flood SEC(".maps"), shunt_flood_sg SEC(".maps");

/* This host's addresses, in network order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * SHUNT_STEER_LOCALS_MAX); /* old and new at once */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __be32);
	__type(value, __u8);
} shunt_local4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * SHUNT_STEER_LOCALS_MAX); /* old and new at once */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64[2]);
	__type(value, __u8);
} shunt_local6 SEC(".maps");

/* Of each queue, where matches of rules are counted. Elsewhere userspace makes it of one entry. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SHUNT_STEER_QUEUES_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct shunt_steer_rule_counts));
} shunt_rule_cnt SEC(".maps");

/* ---- tables that the ports of a daemon share ------------------------------------------------ */

/* The forwarding tables (shunt_tables.h), in chunks. */
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

/* The MAC table (shunt_steer_mac.h): put here when the daemon configures the port. */
struct mac_table {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SHUNT_STEER_MAC_ELEMENTS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct shunt_steer_mac_bucket));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct mac_table);
} shunt_macs SEC(".maps");

/* ---- the program's own memory --------------------------------------------------------------- */

/* By what numbers the packet under way is counted, where neighbours and routes are: a CPU has one
 * packet at a time. */
struct numbers {
	__u32 neighbour, route; /* 0: it is not */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct numbers);
} shunt_number SEC(".maps");

#define CACHE4_BITS	13 /* 256 KiB: with 4,096 destinations three in four hit */
#define CACHE6_BITS	11
#define CACHE_HOP_BITS	8
#define CACHE_TAGS_BITS 6

/* What the tables said of late, by destination, by next hop (tables.bpf.h), by tags (device.bpf.h).
 */
struct shunt_tables_answer4 shunt_cache4[1 << CACHE4_BITS];
struct shunt_tables_answer6 shunt_cache6[1 << CACHE6_BITS];
struct shunt_tables_answer4 shunt_cache_hop[1 << CACHE_HOP_BITS];
struct shunt_tables_answer_tags shunt_cache_tags[1 << CACHE_TAGS_BITS];

#endif
