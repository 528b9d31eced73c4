/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the steering program and userspace share: lanes, reasons, configuration,
 * rules, counters. One header for both sides; sizes are asserted at the end.
 *
 * Userspace writes a whole configuration into the half that is not live and
 * then stores its number into `live`, one aligned word: a frame is steered by
 * the old configuration or by the new one, never by a mixture of them. */
#ifndef SHUNT_STEER_H
#define SHUNT_STEER_H

#include <linux/types.h>

#include "shunt_tables.h"

/* The program's name, as `ip link` and `bpftool prog` show it and by which a
 * program that a killed daemon left behind is recognised. */
#define SHUNT_STEER_PROG	"shunt_steer"
#define SHUNT_STEER_PROG_SG	"shunt_steer_sg"  /* for packets of several buffers */
#define SHUNT_STEER_PROG_DP	"shunt_steer_dp"  /* for libxdp's dispatcher, since Linux 6.14 */
#define SHUNT_STEER_PROG_SGD	"shunt_steer_sgd" /* both */

#define SHUNT_STEER_QUEUES_MAX	64  /* counted apart; later queues share the last slot */
#define SHUNT_STEER_SOCKETS_MAX 256 /* slots of the socket map: the highest queue index + 1 */
#define SHUNT_STEER_RULES_MAX	128
#define SHUNT_STEER_LOCALS_MAX	4096 /* addresses a family */
#define SHUNT_STEER_FILTER_BITS                                          \
	11 /* 2048 bits: 4 cache lines, 1 % false hits with 20 addresses \
	    */
#define SHUNT_STEER_FILTER_WORDS ((1 << SHUNT_STEER_FILTER_BITS) / 64)

/* Lanes: X(enumerator, name, help) */
#define SHUNT_STEER_LANES(X)                                                      \
	X(USER, "user", "to the worker's AF_XDP socket")                          \
	X(KERNEL, "kernel", "to the kernel's stack, as if no program were there") \
	X(DROP, "drop", "dropped in the driver, because a rule says so")          \
	X(XDP, "xdp", "redirected to another port inside the kernel")

/* Why a frame went to its lane: X(enumerator, name, lane, help). Those of the
 * lane user stand first: their numbers index `unserved` too. */
#define SHUNT_STEER_REASONS(X)                                                                     \
	X(FORWARD4, "forward4", USER, "IPv4 in transit that forwarding can finish")                \
	X(FORWARD6, "forward6", USER, "IPv6 in transit that forwarding can finish")                \
	X(BRIDGED, "bridged", USER, "crosses to the other port whatever it holds")                 \
	X(RULE_USER, "rule", USER, "a rule gives it to the worker")                                \
	X(OFF, "off", KERNEL, "the port has no configuration, or its mode is off")                 \
	X(CLOSED, "closed", KERNEL, "the daemon closed the lane user")                             \
	X(NO_SOCKET, "no_socket", KERNEL, "meant for user, but no socket serves its queue")        \
	X(HUNG, "hung", KERNEL, "meant for user, but the queue's worker gives no sign of life")    \
	X(DRY, "dry", KERNEL, "meant for user, but the queue has no frame left to receive into")   \
	X(RULE_KERNEL, "rule", KERNEL, "a rule gives it to the kernel")                            \
	X(OWN_MAC, "own_mac", KERNEL, "cross-connect, bridge: sent to this host's MAC address")    \
	X(OTHER_MAC, "other_mac", KERNEL, "layer 3: sent to another station's MAC address")        \
	X(MULTICAST, "multicast", KERNEL, "layer 3, bridge: multicast or broadcast by MAC or IP")  \
	X(LINK_LOCAL_CONTROL, "link_local_control", KERNEL,                                        \
	  "sent to 01:80:c2:00:00:0x: LACP, LLDP, EAPOL, STP, pause")                              \
	X(ARP, "arp", KERNEL, "ARP; cross-connect: only where it asks for this host's address")    \
	X(ND, "nd", KERNEL, "cross-connect: neighbour solicitation for this host's address")       \
	X(VLAN, "vlan", KERNEL, "layer 3: carries a VLAN tag")                                     \
	X(ETHERTYPE, "ethertype", KERNEL, "layer 3: neither IPv4, IPv6, ARP nor VLAN")             \
	X(TRUNCATED, "truncated", KERNEL, "shorter than the headers that it announces")            \
	X(BAD_HEADER, "bad_header", KERNEL, "IP version, header or total length that cannot be")   \
	X(IP_OPTIONS, "ip_options", KERNEL, "IPv4 with options")                                   \
	X(TOO_LONG, "too_long", KERNEL, "several buffers: longer than the port's MTU allows")      \
	X(TTL, "ttl", KERNEL, "IPv4 with TTL 0 or 1")                                              \
	X(HOPBYHOP, "hopbyhop", KERNEL, "IPv6 with a hop-by-hop header")                           \
	X(HOP_LIMIT, "hop_limit", KERNEL, "IPv6 with hop limit 0 or 1")                            \
	X(LINK_LOCAL, "link_local", KERNEL, "from or to a link-local IP address")                  \
	X(MARTIAN, "martian", KERNEL, "from or to an IP address that is reserved or never routed") \
	X(LOCAL_ADDRESS, "local_address", KERNEL, "sent to an IP address of this host")            \
	X(LANE_KERNEL, "lane_kernel", KERNEL, "the lane of the port, or of the flow, is kernel")   \
	X(STALE, "stale", KERNEL,                                                                  \
	  "lane xdp: the daemon gives no sign of life, its routes may be old")                     \
	X(NOT_ROUTER, "not_router", KERNEL,                                                        \
	  "lane xdp: forwarding is off, or an ip rule leads elsewhere")                            \
	X(BAD_CHECKSUM, "bad_checksum", KERNEL,                                                    \
	  "lane xdp: wrong IPv4 header checksum, the kernel drops it")                             \
	X(OWN_SOURCE, "own_source", KERNEL, "lane xdp: from an address of this host")              \
	X(OTHER_SOURCE, "other_source", KERNEL,                                                    \
	  "lane xdp: the way back to its source is not plainly this port")                         \
	X(NO_WAY, "no_way", KERNEL,                                                                \
	  "lane xdp: no route, no neighbour, or a route that only the kernel can follow")          \
	X(TOO_BIG, "too_big", KERNEL,                                                              \
	  "lane xdp: longer than the MTU of the port that it leaves by")                           \
	X(SAME_PORT, "same_port", KERNEL,                                                          \
	  "lane xdp: back where it came from, the kernel may redirect")                            \
	X(NO_XDP_PORT, "no_xdp_port", KERNEL, "lane xdp: the other port takes no frames from XDP") \
	X(RULE_DROP, "rule", DROP, "a rule drops it")                                              \
	X(XDP_FORWARD4, "forward4", XDP, "IPv4, routed inside the kernel")                         \
	X(XDP_FORWARD6, "forward6", XDP, "IPv6, routed inside the kernel")                         \
	X(XDP_BRIDGED, "bridged", XDP, "crossed to the other port inside the kernel")              \
	X(XDP_RULE, "rule", XDP, "a rule gives it to this lane")

#define SHUNT_STEER_LANE_X(e, name, help) SHUNT_LANE_##e,
enum shunt_lane { SHUNT_STEER_LANES(SHUNT_STEER_LANE_X) SHUNT_LANE_CNT };
#undef SHUNT_STEER_LANE_X

#define SHUNT_STEER_REASON_X(e, name, lane, help) SHUNT_STEER_##e,
enum shunt_steer_reason { SHUNT_STEER_REASONS(SHUNT_STEER_REASON_X) SHUNT_STEER_REASON_CNT };
#undef SHUNT_STEER_REASON_X

#define SHUNT_STEER_USER_REASON_CNT 4 /* FORWARD4 .. RULE_USER */
#define SHUNT_STEER_REASON_MAX	    64

enum shunt_steer_mode {
	SHUNT_STEER_MODE_OFF = 0,     /* every frame is the kernel's */
	SHUNT_STEER_MODE_XCONNECT,    /* everything crosses but what is meant for this host */
	SHUNT_STEER_MODE_LAYER3,      /* only what routing can finish */
	SHUNT_STEER_MODE_BRIDGE,      /* a kernel bridge lies beneath: unicast to other stations */
	SHUNT_STEER_MODE_MIX,	      /* to the own MAC as LAYER3, everything else as XCONNECT */
	SHUNT_STEER_MODE_TRANSPARENT, /* everything crosses, and is not looked at */
};

/* What a rule compares, in words: a rule matches where (key ^ value) & mask is 0
 * in all of them and the ports lie in the ranges. Addresses are in network order,
 * IPv4 in the first four bytes, zeros behind. A frame whose layer 4 ports are out
 * of reach (later fragments, truncated, other protocols) has has_ports 0. */
struct shunt_steer_key {
	union {
		struct {
			__be16 ethertype_be; /* behind up to two VLAN tags */
			__u8 proto;	     /* layer 4, behind IPv6 extension headers */
			__u8 is_ip : 1, has_proto : 1, has_ports : 1;
			__u32 zero;
		};
		__u64 meta;
	};
	__u64 src[2];
	__u64 dst[2];
};

struct shunt_steer_rule {
	struct shunt_steer_key value;
	struct shunt_steer_key mask;
	__u16 sport_min, sport_max; /* host order, inclusive; 0-65535 for any */
	__u16 dport_min, dport_max;
	__u32 lane; /* enum shunt_lane, or SHUNT_STEER_RULE_AUTO */
	__u32 zero;
};

#define SHUNT_STEER_RULE_AUTO	SHUNT_LANE_CNT /* of a rule: the port's own lane */

/* Of a port: user, xdp and kernel have a share of the flows each. */
#define SHUNT_STEER_LANE_SHARED (SHUNT_LANE_CNT + 1)

#define SHUNT_STEER_PORTS_MAX	64 /* slots of the map of ports, by the port's number */

/* What a port's owner chooses; all zeros is off. */
struct shunt_steer_cfg {
	__u32 mode;	/* enum shunt_steer_mode */
	__u8 mac[6];	/* the port's own address */
	__u8 mac2[6];	/* bridge: the address of the kernel's bridge */
	__u32 len_max;	/* longest frame to userspace, in bytes without FCS: shunt_steer_sg alone */
	__u32 lane;	/* of what forwarding can finish: user, kernel, xdp, or LANE_SHARED */
	__u32 out_port; /* slot of the other port for xconnect, of this port for layer 3 */
	__u16 in_port;	/* bridge in lane xdp: the port's own number */
	__u16 bridge;	/* bridge in lane xdp: the bridge's number + 1; 0: none */
	__u32 user_below, xdp_below; /* lane SHARED: of a flow's 16-bit hash */
	__u8 hop[12];  /* lane xdp, one next hop: destination and source it leaves with; zeros: none
			*/
	__u16 hop_mtu; /* and the longest IP packet that it takes */
	__u16 finishes; /* bits 1 << lane: there checksums that were left to a device are finished
			 */
};

/* A whole configuration, as the program reads it. */
struct shunt_steer_half {
	__u32 mode;
	__u32 rule_cnt;
	__u64 mac_word; /* shunt_steer_mac_word of the port's address */
	__u64 mac2_word;
	__u64 len_max;
	__u32 lane;	/* of what forwarding can finish */
	__u32 out_port; /* slot of the other port for xconnect, of this port for layer 3 */
	union {
		__u16 in_port; /* bridge */
		__u16 hop_mtu; /* one next hop */
	};
	__u16 bridge;
	__u32 user_below, xdp_below;
	__u32 hop_rest;
	__u64 hop; /* the first eight bytes; 0: none */
	/* One bit a hash value: an address whose bit is 0 is not this host's. */
	__u64 filter[SHUNT_STEER_FILTER_WORDS];
	struct shunt_steer_rule rules[SHUNT_STEER_RULES_MAX];
};

/* `live`: what steers now. */
#define SHUNT_STEER_LIVE_OFF	     0 /* nothing configured, as after `ip link set dev X xdp obj` */
#define SHUNT_STEER_LIVE_HALF(h)     ((h) + 1)
#define SHUNT_STEER_LIVE_CLOSED	     3 /* everything to the kernel until opened again */
/* Handed over, nobody serves: what a cross-connect of this half's sends goes on to the other port.
 */
#define SHUNT_STEER_LIVE_HANDOVER(h) ((h) + 5)

/* A successor who is not there after so long does not come. */
#define SHUNT_STEER_HANDOVER_NS	     (10 * 1000 * 1000 * 1000ULL)

struct shunt_steer_ctl {
	__u32 live;
	__u32 owner_pid;   /* the process that configures it, for the next one to see; 0 none */
	__u64 owner_start; /* when that process started, from /proc/PID/stat */
	__u64 quick;	   /* not 0: the short way is open, below */
	__u64 handover_until_ns; /* CLOCK_MONOTONIC: when LIVE_HANDOVER ends */
	__u64 version;		 /* of the program's source; nobody writes it */
	__u64 owner_netns;   /* where that process serves the device of this number: the program */
	__u64 owner_ifindex; /* may be on none meanwhile */
	__u64 finishes;	     /* as shunt_steer_cfg's */
	struct shunt_tables_cfg tables;
	__u64 zeros[2];
	struct shunt_steer_half half[2];
};

/* TCP header and data: what only a sender with much to send fills. */
#define SHUNT_STEER_SEGMENT_MIN 1000

/* One queue's counters. `packets` by reason, `bytes` by lane (frame length as the
 * program sees it, without FCS). `unserved` splits NO_SOCKET by the reason for
 * which the frame was meant for user; it is contained in it. */
struct shunt_steer_counters {
	__u64 packets[SHUNT_STEER_REASON_MAX];
	__u64 bytes[SHUNT_LANE_CNT];
	__u64 unserved[SHUNT_STEER_USER_REASON_CNT];
	__u64 csum_finished; /* came with a checksum left to a device, which was finished here */
	__u64 csum_segments; /* of those, TCP of SHUNT_STEER_SEGMENT_MIN bytes or more */
	__u64 zero[6];
};

/* Whether a queue's worker can be given frames, one cache line. The program loads
 * `shut` and nothing else; each of its bytes has one writer. Queues that share the
 * last slot share its gate too. */
struct shunt_steer_gate {
	union {
		__u32 shut; /* 0: the lane user is open */
		struct {
			__u8 is_hung;  /* written by the watch, shunt_watch.bpf.c */
			__u8 is_dry;   /* written by the worker */
			__u8 is_stale; /* written by the watch: nobody keeps the tables */
			__u8 zero;
		};
	};
	__u32 zero_too;
	/* Written by the worker: CLOCK_MONOTONIC of his latest sign of life, with bit 0
	 * set while he sleeps until a frame comes; 0 while nobody serves the queue. */
	__u64 beat_ns;
	/* Of the first slot, for all of them: the same of who keeps the forwarding tables; 0
	 * while there are none. */
	__u64 keeper_ns;
	/* Written by the worker before he sleeps: shunt_steer_sent by then. */
	__u64 sent;
	__u64 zeros[4];
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SHUNT_STEER_SHUT_USER 0x0000ffffu /* of `shut`: what closes the lane user */
#else
#define SHUNT_STEER_SHUT_USER 0xffff0000u
#endif

#define SHUNT_STEER_BEAT_ASLEEP 1ULL

/* A worker that is awake beats every millisecond. One that has not for DEAD is taken
 * for hung, found out a TICK later at the latest. Together below 50 ms, of which 10 are for timers
 * that are late and, seen from outside, for the time to the next frame: with 40 and 5 a frame every
 * 5 ms showed 50.1 (igb in a guest that counts instructions). Not shorter, since a thread that is
 * merely preempted looks the same. */
#define SHUNT_STEER_DEAD_NS	(35 * 1000 * 1000ULL)
/* The keeper beats every second. Less than three could be a busy host. */
#define SHUNT_STEER_STALE_NS	(3 * 1000 * 1000 * 1000ULL)
#define SHUNT_STEER_TICK_NS	(5 * 1000 * 1000ULL)

/* How long the program ran, by lane. Userspace asks for so many frames to be timed, every second;
 * for the others that is a load and a comparison. */
#define SHUNT_STEER_SAMPLES	1000

/* Frames of a queue whose checksums are looked at: so many every second, and so many more after one
 * that was left to a device. Where all senders do that every frame is looked at, where none does,
 * one in seventy of 3.5 million a second. */
#define SHUNT_STEER_CSUM_LOOKS	50000

struct shunt_steer_sample {
	union {
		__u64 looks; /* 0: the next frame is like any other */
		struct {
			__u32 due;	/* frames that are yet to be timed */
			__u32 csum_due; /* frames whose checksum is yet to be looked at */
		};
	};
	__u64 start_ns; /* of the frame that is timed; 0: this one is not */
	__u64 cnt[SHUNT_LANE_CNT];
	__u64 ns[SHUNT_LANE_CNT];
	__u64 zeros[6];
};

/* What the program keeps of a queue. */
struct shunt_steer_slot {
	struct shunt_steer_counters counters;
	struct shunt_steer_gate gate;
	struct shunt_steer_sample sample;
};

/* shunt_steer_sent is how many frames of a queue were meant for its worker. */
static inline __attribute__((always_inline)) __u64 shunt_steer_sent(
	const struct shunt_steer_counters *counters)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < SHUNT_STEER_USER_REASON_CNT; i++)
		sum += *(const volatile __u64 *)&counters->packets[i];
	return sum;
}

/* shunt_steer_mac_word takes the eight bytes that start at a MAC address, loaded
 * as one word, and keeps the address: one load, one shift, one compare. */
static inline __attribute__((always_inline)) __u64 shunt_steer_mac_word(__u64 eight_bytes)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return eight_bytes << 16;
#else
	return eight_bytes >> 16;
#endif
}

/* The word of the short way: the port's own MAC address, which is left out, and the slot of the
 * port by which everything else leaves. */
static inline __attribute__((always_inline)) __u64 shunt_steer_quick(__u64 mac_word, __u16 port)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return mac_word | port;
#else
	return mac_word << 16 | port;
#endif
}

/* In the slot's place, with a port in mode XCONNECT or LAYER3 and without rules whose forwardable
 * frames are all the worker's: the mode, and the half that has the local addresses. Above any
 * port's slot. */
#define SHUNT_STEER_QUICK_HALF	   0x100
#define SHUNT_STEER_QUICK_XCONNECT 0x200
#define SHUNT_STEER_QUICK_LAYER3   0x400

/* With a port in mode TRANSPARENT: everything leaves by the slot, or is the worker's. */
#define SHUNT_STEER_QUICK_ALL	   0x800
#define SHUNT_STEER_QUICK_ALL_USER 0x1000

/* shunt_steer_quick_user returns that word for a half, 0 where the port is not so plain. */
static inline __attribute__((always_inline)) __u64 shunt_steer_quick_user(
	const struct shunt_steer_half *half, __u32 index)
{
	__u16 how = half->mode == SHUNT_STEER_MODE_XCONNECT	 ? SHUNT_STEER_QUICK_XCONNECT
		    : half->mode == SHUNT_STEER_MODE_LAYER3	 ? SHUNT_STEER_QUICK_LAYER3
		    : half->mode == SHUNT_STEER_MODE_TRANSPARENT ? SHUNT_STEER_QUICK_ALL_USER
								 : 0;

	if (!how || half->rule_cnt || half->lane != SHUNT_LANE_USER)
		return 0;
	return shunt_steer_quick(half->mac_word, how | (index ? SHUNT_STEER_QUICK_HALF : 0));
}

static inline __attribute__((always_inline)) __u32 shunt_steer_quick_port(__u64 word)
{
	return word & 0xffff;
}

static inline __attribute__((always_inline)) int shunt_steer_quick_is_own(__u64 word,
									  __u64 eight_bytes)
{
	return !((shunt_steer_quick(shunt_steer_mac_word(eight_bytes), 0) ^ word) >> 16);
}

/* shunt_steer_hash4 and shunt_steer_hash6 return a bit's index in the filter for
 * an address in network order: the top bits of a multiplication by 2^64 / phi. */
static inline __attribute__((always_inline)) __u32 shunt_steer_hash4(__be32 addr_be)
{
	return (__u64)addr_be * 0x9e3779b97f4a7c15ULL >> (64 - SHUNT_STEER_FILTER_BITS);
}

static inline __attribute__((always_inline)) __u32 shunt_steer_hash6(__u64 hi, __u64 lo)
{
	return (hi * 3 ^ lo) * 0x9e3779b97f4a7c15ULL >> (64 - SHUNT_STEER_FILTER_BITS);
}

_Static_assert(sizeof(struct shunt_steer_key) == 40, "shared layout");
_Static_assert(sizeof(struct shunt_steer_rule) == 96, "shared layout");
_Static_assert(sizeof(struct shunt_steer_cfg) == 56, "shared layout");
_Static_assert(sizeof(struct shunt_steer_half) == 64 + 256 + 96 * SHUNT_STEER_RULES_MAX,
	       "shared layout");
_Static_assert(sizeof(struct shunt_steer_counters) == 640, "shared layout");
_Static_assert(sizeof(struct shunt_steer_gate) == 64, "a cache line");
_Static_assert(sizeof(struct shunt_steer_sample) == 128, "two cache lines");
_Static_assert((int)SHUNT_STEER_REASON_CNT <= SHUNT_STEER_REASON_MAX, "a reason more than room");
_Static_assert(SHUNT_STEER_PORTS_MAX <= SHUNT_STEER_QUICK_HALF, "ports below the flags");
_Static_assert(SHUNT_STEER_RULE_USER + 1 == SHUNT_STEER_USER_REASON_CNT, "user reasons first");

#endif
