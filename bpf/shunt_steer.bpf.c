// SPDX-License-Identifier: GPL-2.0-only
/* The steering program: chooses the lane of every frame of a port, first thing
 * in the driver. The good frame takes a straight line: no loop, no map lookup, no
 * atomic; of a plain port (shunt_steer_plain.bpf.h) 75 instructions of x86-64 for
 * a cross-connect, 139 for IPv4 in layer 3. Whatever is not plainly good leaves it for
 * the functions that find out why.
 *
 * Configuration and counters are global variables, not .rodata and not map
 * lookups: the one object serves the daemon, `ip link set dev X xdpdrv obj` and
 * bpftool alike, can be configured while it runs, and reaches them by address.
 * Attached by hand it has the all-zero configuration: every frame passes.
 *
 * Verifying it is most of a port's start. A function that is not static is verified once, for any
 * arguments, and not on every way to its calls: it reads the frame again from ctx, and its answer
 * is one number, of which the verifier knows nothing. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <xdp/xdp_helpers.h>

#include "shunt_steer.h"

#define VLAN_TAGS_MAX	2
#define EXT_HEADERS_MAX 6 /* IPv6 extension headers that the rules see through */

#define NEXTHDR_HOP	0
#define NEXTHDR_ROUTING 43
#define NEXTHDR_FRAG	44
#define NEXTHDR_ICMP6	58
#define NEXTHDR_DEST	60
#define ICMP6_SOLICIT	135

/* Filters (libxdp's default priority is 50) see a frame first. XDP_PASS chains. */
struct {
	__uint(priority, 60);
	__uint(XDP_PASS, 1);
} XDP_RUN_CONFIG(shunt_steer);

struct {
	__uint(priority, 60);
	__uint(XDP_PASS, 1);
} XDP_RUN_CONFIG(shunt_steer_sg);

struct {
	__uint(priority, 60);
	__uint(XDP_PASS, 1);
} XDP_RUN_CONFIG(shunt_steer_dp);

struct {
	__uint(priority, 60);
	__uint(XDP_PASS, 1);
} XDP_RUN_CONFIG(shunt_steer_sgd);

#ifndef SHUNT_STEER_VERSION /* the build gives it */
#define SHUNT_STEER_VERSION 0
#endif

struct shunt_steer_ctl shunt_ctl SEC(".data.shunt_cfg") = {.version = SHUNT_STEER_VERSION};

/* A queue's NAPI runs on one CPU at a time, so a counter has one writer and needs
 * no atomic. Where several share a slot (the last one, generic mode on a device
 * whose queue is no NAPI's) an increment may get lost. */
struct shunt_steer_slot shunt_cnt[SHUNT_STEER_QUEUES_MAX] SEC(".data.shunt_cnt");

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

/* Not the kernel's packed struct ethhdr: clang would load it byte by byte. */
struct eth {
	__u8 dst[6];
	__u8 src[6];
	__be16 type_be;
};

struct ipv4 {
	__u8 version_ihl;
	__u8 tos;
	__be16 tot_len_be;
	__be16 id_be;
	__be16 frag_off_be;
	__u8 ttl;
	__u8 proto;
	__be16 csum_be;
	__be32 src_be;
	__be32 dst_be;
};

struct ipv6 {
	__u8 version_class;
	__u8 flow[3];
	__be16 payload_len_be;
	__u8 nexthdr;
	__u8 hop_limit;
	__u64 src[2];
	__u64 dst[2];
};

/* The fragment header, and the first eight bytes of every other. */
struct ext_header {
	__u8 nexthdr;
	__u8 len;
	__be16 frag_off_be;
	__u32 rest;
};

/* Leaves a value as it is, but the verifier knows it no more: what follows is looked at once, and
 * not once for each that it can be. unknown: any value that the verifier does not know. */
#define FORGET(value, unknown) asm volatile("%0 += %1; %0 -= %1" : "+r"(value) : "r"(unknown))

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

/* 01:80:c2:00:00:00 to 0f: never leaves the link (IEEE 802.1Q, 8.6.3). */
static __always_inline bool is_link_local_control(const struct eth *eth)
{
	const __u8 *mac = eth->dst;

	return mac[0] == 0x01 && mac[1] == 0x80 && mac[2] == 0xc2 && mac[3] == 0 && mac[4] == 0 &&
	       (mac[5] & 0xf0) == 0;
}

#include "shunt_steer_rules.bpf.h"
#include "shunt_steer_reason.bpf.h"
#include "shunt_steer_csum.bpf.h"

/* ---- the program ---------------------------------------------------------------------------- */

static __always_inline struct shunt_steer_slot *slot_of(__u32 queue)
{
	__u32 slot = queue;

	/* Linux 6.1 forgets the bound where clang compares another copy of the value. */
	barrier_var(slot);
	if (slot >= SHUNT_STEER_QUEUES_MAX)
		slot = SHUNT_STEER_QUEUES_MAX - 1;
	return &shunt_cnt[slot];
}

/* Apart from the straight line. */
static __noinline void sample_end(struct shunt_steer_sample *sample, __u32 lane)
{
	if (!sample || lane >= SHUNT_LANE_CNT)
		return;
	sample->cnt[lane]++;
	sample->ns[lane] += bpf_ktime_get_ns() - sample->start_ns;
	sample->start_ns = 0;
}

static __noinline void sample_start(struct shunt_steer_sample *sample)
{
	if (!sample || !sample->due)
		return;
	sample->due--;
	sample->start_ns = bpf_ktime_get_ns();
}

static __always_inline void sample_begin(struct shunt_steer_sample *sample)
{
	if (*(volatile __u64 *)&sample->looks)
		sample_start(sample);
}

static __always_inline int count(struct shunt_steer_counters *counters, int reason,
				 enum shunt_lane lane, __u64 len, int verdict)
{
	struct shunt_steer_slot *slot = (struct shunt_steer_slot *)counters;

	counters->packets[reason & (SHUNT_STEER_REASON_MAX - 1)]++;
	counters->bytes[lane] += len;
	if (slot->sample.start_ns)
		sample_end(&slot->sample, lane);
	return verdict;
}

/* What leaves by a redirect: its bytes must be all that there is to it. Apart from the straight
 * line. */
static __noinline void finish(struct xdp_md *ctx, struct shunt_steer_slot *slot, __u32 lane)
{
	int finished;

	if (!slot)
		return;
	slot->sample.csum_due--;
	if (!(*(volatile __u64 *)&shunt_ctl.finishes >> (lane & 7) & 1))
		return;
	finished = finish_checksum(ctx);
	if (!finished)
		return;
	slot->sample.csum_due = SHUNT_STEER_CSUM_LOOKS;
	slot->counters.csum_finished++;
	slot->counters.csum_segments += finished == (FINISHED | SEGMENT);
}

static __always_inline int redirected(struct xdp_md *ctx, struct shunt_steer_slot *slot, int reason,
				      const enum shunt_lane lane, __u64 len)
{
	if (*(volatile __u32 *)&slot->sample.csum_due)
		finish(ctx, slot, lane);
	return count(&slot->counters, reason, lane, len, XDP_REDIRECT);
}

static __always_inline int lane_kernel(struct shunt_steer_slot *slot, int reason, __u64 len)
{
	return count(&slot->counters, reason, SHUNT_LANE_KERNEL, len, XDP_PASS);
}

static __always_inline int lane_user(struct xdp_md *ctx, struct shunt_steer_slot *slot, __u32 queue,
				     int reason, __u64 len)
{
	__u32 shut = *(volatile __u32 *)&slot->gate.shut & SHUNT_STEER_SHUT_USER;

	if (shut)
		return lane_kernel(slot, shut & 0xff ? SHUNT_STEER_HUNG : SHUNT_STEER_DRY, len);
	/* XDP_PASS comes back where the slot is empty: no socket, no harm. */
	if (bpf_redirect_map(&shunt_xsks, queue, XDP_PASS) == XDP_REDIRECT)
		return redirected(ctx, slot, reason, SHUNT_LANE_USER, len);
	slot->counters.unserved[reason & (SHUNT_STEER_USER_REASON_CNT - 1)]++;
	return lane_kernel(slot, SHUNT_STEER_NO_SOCKET, len);
}

#include "shunt_steer_mac.bpf.h"

#include "shunt_steer_lane.bpf.h"
#include "shunt_steer_plain.bpf.h"
#include "shunt_steer_quick.bpf.h"
#include "shunt_steer_share.bpf.h"
#include "shunt_steer_handover.bpf.h"

/* The lane of a frame that forwarding can finish. A packet of several buffers is the worker's: not
 * every port that takes frames from XDP takes those. */
static __always_inline __u32 lane_of(struct xdp_md *ctx, const struct shunt_steer_half *half,
				     __u32 live, bool is_ruled, __s64 beyond)
{
	__u32 lane = is_ruled ? SHUNT_LANE_XDP : half->lane;

	if (lane == SHUNT_STEER_LANE_SHARED)
		lane = share_lane(ctx, live);
	return beyond && lane == SHUNT_LANE_XDP ? SHUNT_LANE_USER : lane;
}

/* beyond: bytes of the frame that are in other buffers than the first. */
static __always_inline int steer(struct xdp_md *ctx, const bool is_sg, const bool can_trim)
{
	const void *data = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	__u32 queue = ctx->rx_queue_index, live = *(volatile __u32 *)&shunt_ctl.live, lane;
	const struct shunt_steer_half *half = &shunt_ctl.half[(live - 1) & 1];
	struct shunt_steer_slot *slot = slot_of(queue);
	__u64 len = is_sg ? bpf_xdp_get_buff_len(ctx) : (__u64)(end - data);
	__s64 beyond = is_sg ? (__s64)len - (end - data) : 0;
	int reason = RULE_NONE;
	bool is_ruled;

	sample_begin(&slot->sample);
	if (live - 1 > 1) {
		if (live > SHUNT_STEER_LIVE_CLOSED)
			return is_sg ? handover_sg(ctx) : handover(ctx);
		return lane_kernel(slot, live ? SHUNT_STEER_CLOSED : SHUNT_STEER_OFF, len);
	}
	if (data + sizeof(struct eth) > end)
		return lane_kernel(slot, SHUNT_STEER_TRUNCATED, len);
	if (is_sg && len > half->len_max)
		return lane_kernel(slot, SHUNT_STEER_TOO_LONG, len);
	if (half->rule_cnt)
		reason = by_rules(ctx, live);
	else if (half->lane == SHUNT_LANE_KERNEL) /* whatever it is: not looked at */
		return lane_kernel(slot, SHUNT_STEER_LANE_KERNEL, len);
	is_ruled = reason == RULE_XDP;
	if (reason < 0)
		reason = mode_reason(half, data, end, beyond);
	FORGET(reason, len);
	if (reason == SHUNT_STEER_RULE_DROP)
		return count(&slot->counters, reason, SHUNT_LANE_DROP, len, XDP_DROP);
	if (reason >= SHUNT_STEER_USER_REASON_CNT)
		return lane_kernel(slot, reason, len);
	if (reason == SHUNT_STEER_RULE_USER)
		return lane_user(ctx, slot, queue, reason, len);
	lane = lane_of(ctx, half, live, is_ruled, beyond);
	if (lane == SHUNT_LANE_XDP)
		return lane_xdp(ctx, half, slot, reason, is_ruled, len, is_sg, can_trim);
	if (lane == SHUNT_LANE_USER)
		return lane_user(ctx, slot, queue, reason, len);
	return lane_kernel(slot, SHUNT_STEER_LANE_KERNEL, len);
}

/* true: on its way already. */
static __always_inline bool goes_quickly(struct xdp_md *ctx)
{
	__u64 word = *(volatile __u64 *)&shunt_ctl.quick;

	if (word & (SHUNT_STEER_QUICK_XCONNECT | SHUNT_STEER_QUICK_LAYER3))
		return plain(ctx, word);
	if (word & (SHUNT_STEER_QUICK_ALL | SHUNT_STEER_QUICK_ALL_USER))
		return crosses_unseen(ctx, word);
	return word && crosses_quickly(ctx, word);
}

/* Functions of their own, so that the short ways save no registers for them. */
static __noinline int steer_any(struct xdp_md *ctx)
{
	return steer(ctx, false, true);
}

static __noinline int steer_any_dp(struct xdp_md *ctx)
{
	return steer(ctx, false, false);
}

SEC("xdp")
int shunt_steer(struct xdp_md *ctx)
{
	return goes_quickly(ctx) ? XDP_REDIRECT : steer_any(ctx);
}

/* For ports whose packets take several buffers: headers are read in the first, lengths are
 * those of the whole. What is longer than a packet of this port can be was merged, by the
 * device or by its sender's end, and is the kernel's, which can cut it again. */
SEC("xdp.frags")
int shunt_steer_sg(struct xdp_md *ctx)
{
	return steer(ctx, true, true);
}

/* For libxdp's dispatcher since Linux 6.14: there a program that may change a frame's length cannot
 * be loaded ("Extension program changes packet data, while original does not"). What lane xdp would
 * have to cut is the worker's. */
SEC("xdp")
int shunt_steer_dp(struct xdp_md *ctx)
{
	return goes_quickly(ctx) ? XDP_REDIRECT : steer_any_dp(ctx);
}

SEC("xdp.frags")
int shunt_steer_sgd(struct xdp_md *ctx)
{
	return steer(ctx, true, false);
}

char _license[] SEC("license") = "GPL";
