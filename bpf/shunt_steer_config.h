/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What userspace tells the steering program of a port: struct shunt_steer_ctl, one for each port,
 * mapped by both.
 *
 * The configuration is double-buffered. Userspace writes a whole one into the half that is not
 * live, and then stores that half's number into `live`, one aligned word. So a frame is steered by
 * the old configuration or by the new one, never by a mixture. Before a half is written again, a
 * grace period passes in which every run that read it has ended (shunt_xdp_quiesce).
 *
 * Byte order: what ends in _be is in network order, everything else is the host's. */
#ifndef SHUNT_STEER_CONFIG_H
#define SHUNT_STEER_CONFIG_H

#include <linux/types.h>

#include "shunt_steer_reason.h"
#include "shunt_tables.h"

#define SHUNT_STEER_INLINE	 static inline __attribute__((always_inline))

#define SHUNT_STEER_SOCKETS_MAX	 256 /* slots of the socket map: the highest queue index + 1 */
#define SHUNT_STEER_RULES_MAX	 128
#define SHUNT_STEER_LOCALS_MAX	 4096 /* addresses a family */
#define SHUNT_STEER_PORTS_MAX	 64   /* slots of the map of ports, by the port's number */

/* Bits of the filter of local addresses: four cache lines, 1 % false hits with 20 addresses. */
#define SHUNT_STEER_FILTER_BITS	 11
#define SHUNT_STEER_FILTER_WORDS ((1 << SHUNT_STEER_FILTER_BITS) / 64)

enum shunt_steer_mode {
	SHUNT_STEER_MODE_OFF = 0,     /* every frame is the kernel's */
	SHUNT_STEER_MODE_XCONNECT,    /* everything crosses but what is meant for this host */
	SHUNT_STEER_MODE_LAYER3,      /* only what routing can finish */
	SHUNT_STEER_MODE_BRIDGE,      /* a kernel bridge lies beneath: unicast to other stations */
	SHUNT_STEER_MODE_MIX,	      /* to the own MAC as LAYER3, everything else as XCONNECT */
	SHUNT_STEER_MODE_TRANSPARENT, /* everything crosses, and is not looked at */
	SHUNT_STEER_MODE_BRIDGE_UNTAGGED, /* as BRIDGE, where the port has VLAN devices */
	/* as LAYER3, of connections that a flowtable of the kernel's has; programs made with
	 * SHUNT_FLOWS alone */
	SHUNT_STEER_MODE_LAYER3_FLOWS,
	SHUNT_STEER_MODE_CNT,
};

/* The lane of what a port's forwarding can finish: one of enum shunt_lane, or
 * SHUNT_STEER_LANE_SHARED, where user, xdp and kernel have a share of the flows each. A rule has a
 * lane, too, or SHUNT_STEER_RULE_AUTO: the port's. */
#define SHUNT_STEER_RULE_AUTO	SHUNT_LANE_CNT
#define SHUNT_STEER_LANE_SHARED (SHUNT_LANE_CNT + 1)

/* ---- rules ---------------------------------------------------------------------------------- */

/* What a rule compares. A rule matches where (key ^ value) & mask is 0 in all words and the layer 4
 * ports lie in its ranges. */
struct shunt_steer_key {
	union {
		struct {
			__be16 ethertype_be; /* behind up to two VLAN tags */
			__u8 proto;	     /* layer 4, behind IPv6 extension headers */
			__u8 is_ip : 1, has_proto : 1;
			__u8 has_ports : 1; /* 0: fragment, truncated, other protocol */
			__u32 pad;
		};
		__u64 head; /* those, as one word */
	};
	__u64 src[2]; /* network order; IPv4 in the first four bytes, zeros behind */
	__u64 dst[2];
};

struct shunt_steer_rule {
	struct shunt_steer_key value;
	struct shunt_steer_key mask;
	__u16 sport_min, sport_max; /* host order, inclusive; 0-65535 for any */
	__u16 dport_min, dport_max;
	__u32 lane;  /* enum shunt_lane, or SHUNT_STEER_RULE_AUTO */
	__u32 count; /* where matches are counted: its counter, below SHUNT_STEER_RULE_COUNTS */
};

/* Beside the number of rules: their matches are counted (shunt_count.h). */
#define SHUNT_STEER_RULES_COUNTED (2 * SHUNT_STEER_RULES_MAX)

/* Of a bridge's port that routes, what is not sent to the bridge: the kernel's, or unicast to other
 * stations bridged, but of a port with VLAN devices what carries a tag. */
enum shunt_steer_switches {
	SHUNT_STEER_SWITCHES_NOTHING = 0,
	SHUNT_STEER_SWITCHES_ALL,
	SHUNT_STEER_SWITCHES_UNTAGGED,
};

/* ---- configuration -------------------------------------------------------------------------- */

/* What a port's owner chooses; all zeros is off. */
struct shunt_steer_cfg {
	__u32 mode;	/* enum shunt_steer_mode */
	__u8 mac[6];	/* the port's own address */
	__u8 mac2[6];	/* bridge: the address of the kernel's bridge; a second one of the host's */
	__u32 len_max;	/* longest frame to userspace, in bytes without FCS: variants sg alone */
	__u32 lane;	/* of what forwarding can finish: user, kernel, xdp, or LANE_SHARED */
	__u32 out_port; /* slot of the other port for xconnect, of this port for layer 3 */
	__u16 in_port;	/* bridge in lane xdp: the port's own number */
	__u16 bridge;	/* bridge in lane xdp: the bridge's number + 1; 0: none */
	__u32 user_below; /* lane SHARED: flows whose 16-bit hash is below go to the worker, */
	__u32 xdp_below;  /* of the others those below this to lane xdp, the rest to the kernel */
	/* Lane xdp with one next hop: destination and source address that a frame leaves with; all
	 * zeros: there is none. And the longest IP packet, in bytes, that it takes. */
	__u8 hop[12];
	__u16 hop_mtu;
	__u16 finishes; /* bits 1 << lane: there checksums left to a device are finished */
	/* The port is left to the kernel, or forwards what rules of the host's approve alone,
	 * whoever asks for another lane: shunt's rules may only keep frames there, or drop them. */
	__u16 is_left;
	/* Without a worker that serves it, a frame from port to port crosses inside the kernel. 0:
	 * it is the kernel's. */
	__u16 crosses;
	/* LAYER3_FLOWS: workers take translated packets, since they can put back what was
	 * translated (lib/firewall/origin.h). 0: such a packet leaves by lane xdp, whatever the
	 * port's. */
	__u16 restores;
	__u16 switches; /* enum shunt_steer_switches; LAYER3 alone */
};

/* A whole configuration, as the program reads it. Fields without a word are shunt_steer_cfg's. */
struct shunt_steer_half {
	__u32 mode;
	__u32 rule_cnt;	 /* 0 .. SHUNT_STEER_RULES_MAX; with it SHUNT_STEER_RULES_COUNTED, or not */
	__u64 mac_word;	 /* shunt_steer_mac_word of the port's address */
	__u64 mac2_word; /* and of the kernel's bridge's */
	__u64 len_max;
	__u32 lane;
	__u32 out_port;
	union {
		__u16 in_port; /* where bridge is not 0 */
		__u16 hop_mtu; /* where hop is not 0 */
	};
	__u8 bridge;
	__u8 switches;
	__u32 user_below, xdp_below;
	__u32 hop_rest; /* the last four bytes of shunt_steer_cfg's hop, as they lie there */
	__u64 hop;	/* the first eight; 0: none */
	/* One bit a hash value (shunt_steer_hash4, 6): an address whose bit is 0 is not this
	 * host's. */
	__u64 filter[SHUNT_STEER_FILTER_WORDS];
	struct shunt_steer_rule rules[SHUNT_STEER_RULES_MAX];
};

/* `live`: what steers now. The lowest bit of (live - 1) is the half's number wherever a half
 * matters, so that the program finds it without knowing why; that leaves 4 unused. The program
 * tells the usual case, a half that is open, from all others by one comparison. */
enum shunt_steer_live {
	SHUNT_STEER_LIVE_OFF = 0,   /* nothing configured, as after `ip link set dev X xdp obj` */
	SHUNT_STEER_LIVE_HALF0 = 1, /* by half 0 */
	SHUNT_STEER_LIVE_HALF1 = 2,
	SHUNT_STEER_LIVE_CLOSED = 3, /* everything to the kernel until opened again */
	/* Handed over, or the daemon has died: none serves. What a cross-connect or a bridge sends
	 * goes on to the other port, by half 0, until handover_until_ns. All else is the kernel's.
	 */
	SHUNT_STEER_LIVE_HANDOVER0 = 5,
	SHUNT_STEER_LIVE_HANDOVER1 = 6,
};
#define SHUNT_STEER_LIVE_HALF(h)       (SHUNT_STEER_LIVE_HALF0 + (h))
#define SHUNT_STEER_LIVE_HANDOVER(h)   (SHUNT_STEER_LIVE_HANDOVER0 + (h))

/* The number of the half that a value of `live` names. */
#define SHUNT_STEER_LIVE_HALF_OF(live) (((live)-SHUNT_STEER_LIVE_HALF0) & 1)

/* Whether a half is open; the value is unsigned. */
#define SHUNT_STEER_LIVE_IS_OPEN(live) \
	((live)-SHUNT_STEER_LIVE_HALF0 <= SHUNT_STEER_LIVE_HALF1 - SHUNT_STEER_LIVE_HALF0)

/* A successor that is not there after so long does not come. A guest without hardware help takes
 * ten seconds to load the programs of two ports. */
#define SHUNT_STEER_HANDOVER_NS (30 * 1000 * 1000 * 1000ULL)

/* All that steers a port. Written by the control thread of the owner alone. */
struct shunt_steer_ctl {
	__u32 live;	   /* enum shunt_steer_live */
	__u32 owner_pid;   /* the process that configures it, for the next one to see; 0 none */
	__u64 owner_start; /* when that process started, from /proc/PID/stat */
	__u64 quick;	   /* the short way, below; 0: closed */
	__u64 handover_until_ns; /* CLOCK_MONOTONIC: when LIVE_HANDOVER ends */
	__u64 version;		 /* of the program's source; nobody writes it */
	__u64 owner_netns;	 /* where that process serves the device of this number: the */
	__u64 owner_ifindex;	 /* program may be on none meanwhile */
	__u64 finishes;		 /* as shunt_steer_cfg's */
	struct shunt_tables_cfg tables;
	__u64 crosses;	  /* the same */
	__u64 restores;	  /* the same */
	__u64 flow_epoch; /* another when the kernel's flowtables are: shunt_xdp_forget_flows */
	/* Another when what was found of a bridge's stations is no longer so, or time went by:
	 * shunt_xdp_forget_stations. */
	__u64 station_epoch;
	/* A flowtable has the bridge or bond that the port belongs to, and not the port: the
	 * flowtable's own function knows nothing of it, so connections are asked for. */
	__u64 flow_above;
	struct shunt_steer_half half[2];
};

/* ---- addresses ------------------------------------------------------------------------------ */

/* shunt_steer_mac_word takes the eight bytes that start at a MAC address, loaded
 * as one word, and keeps the address: one load, one shift, one compare. */
SHUNT_STEER_INLINE __u64 shunt_steer_mac_word(__u64 eight_bytes)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return eight_bytes << 16;
#else
	return eight_bytes >> 16;
#endif
}

/* shunt_steer_hash4 and shunt_steer_hash6 return a bit's index in the filter for
 * an address in network order: the top bits of a multiplication by 2^64 / phi. */
SHUNT_STEER_INLINE __u32 shunt_steer_hash4(__be32 addr_be)
{
	return (__u64)addr_be * 0x9e3779b97f4a7c15ULL >> (64 - SHUNT_STEER_FILTER_BITS);
}

SHUNT_STEER_INLINE __u32 shunt_steer_hash6(__u64 hi, __u64 lo)
{
	return (hi * 3 ^ lo) * 0x9e3779b97f4a7c15ULL >> (64 - SHUNT_STEER_FILTER_BITS);
}

/* ---- the short way -------------------------------------------------------------------------- */

/* Where nothing but a frame's headers has to be asked, one word of the configuration says all that
 * the program must know:
 *
 *     bits 63..16  the port's own MAC address, as shunt_steer_mac_word has it, moved to the top
 *     bits 15..7   how, one bit of seven, the half that has the local addresses, and whether
 *                  stations are looked up
 *     bits  5..0   the slot of the port by which frames leave; lane xdp alone, without tables
 *
 * 0: the short way is closed. A word costs as many instructions to load as a constant, and changes
 * while frames come. */
enum shunt_steer_quick {
	SHUNT_STEER_QUICK_PORT = 0x003f, /* a mask, as is MAC */
	SHUNT_STEER_QUICK_LAYER3_XDP = 0x0080,
	SHUNT_STEER_QUICK_HALF1 = 0x0100,
	SHUNT_STEER_QUICK_XCONNECT_USER = 0x0200,
	SHUNT_STEER_QUICK_LAYER3_USER = 0x0400,
	SHUNT_STEER_QUICK_TRANSPARENT_XDP = 0x0800,
	SHUNT_STEER_QUICK_TRANSPARENT_USER = 0x1000,
	SHUNT_STEER_QUICK_XCONNECT_XDP = 0x2000,
	SHUNT_STEER_QUICK_FLOWS_USER = 0x4000,
	SHUNT_STEER_QUICK_STATION = 0x8000, /* beside one of layer 3: of a bridge's port */
};
#define SHUNT_STEER_QUICK_MAC_SHIFT 16

/* shunt_steer_quick_mac returns a MAC word (shunt_steer_mac_word) in its place in the word. */
SHUNT_STEER_INLINE __u64 shunt_steer_quick_mac(__u64 mac_word)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return mac_word;
#else
	return mac_word << SHUNT_STEER_QUICK_MAC_SHIFT;
#endif
}

/* shunt_steer_quick_is_own says whether the eight bytes that a frame begins with hold the word's
 * MAC address. */
SHUNT_STEER_INLINE int shunt_steer_quick_is_own(__u64 word, __u64 eight_bytes)
{
	return !((shunt_steer_quick_mac(shunt_steer_mac_word(eight_bytes)) ^ word) >>
		 SHUNT_STEER_QUICK_MAC_SHIFT);
}

SHUNT_STEER_INLINE __u32 shunt_steer_quick_layer3(const struct shunt_steer_half *half, int is_xdp)
{
	if (half->mode == SHUNT_STEER_MODE_LAYER3_FLOWS)
		return SHUNT_STEER_QUICK_FLOWS_USER;
	return is_xdp ? SHUNT_STEER_QUICK_LAYER3_XDP : SHUNT_STEER_QUICK_LAYER3_USER;
}

SHUNT_STEER_INLINE __u32 shunt_steer_quick_how(const struct shunt_steer_half *half, __u32 index)
{
	const int is_xdp = half->lane == SHUNT_LANE_XDP;

	if (half->rule_cnt || (!is_xdp && half->lane != SHUNT_LANE_USER))
		return 0;
	if (is_xdp && (half->hop || half->out_port >= SHUNT_STEER_PORTS_MAX))
		return 0;
	if (half->mode == SHUNT_STEER_MODE_LAYER3 ||
	    (half->mode == SHUNT_STEER_MODE_LAYER3_FLOWS && !is_xdp))
		return shunt_steer_quick_layer3(half, is_xdp) |
		       (half->bridge ? SHUNT_STEER_QUICK_STATION : 0) |
		       (index ? SHUNT_STEER_QUICK_HALF1 : 0);
	if (is_xdp && half->bridge)
		return 0;
	if (half->mode == SHUNT_STEER_MODE_TRANSPARENT)
		return is_xdp ? SHUNT_STEER_QUICK_TRANSPARENT_XDP
			      : SHUNT_STEER_QUICK_TRANSPARENT_USER;
	if (half->mode == SHUNT_STEER_MODE_XCONNECT)
		return is_xdp ? SHUNT_STEER_QUICK_XCONNECT_XDP : SHUNT_STEER_QUICK_XCONNECT_USER;
	return 0;
}

/* shunt_steer_quick_of returns the word of a half and its number; 0 where rules, shares, a bridge
 * or a next hop have to be asked. */
SHUNT_STEER_INLINE __u64 shunt_steer_quick_of(const struct shunt_steer_half *half, __u32 index)
{
	const __u32 how = shunt_steer_quick_how(half, index);
	const int has_port = half->lane == SHUNT_LANE_XDP && !(how & SHUNT_STEER_QUICK_LAYER3_XDP);

	if (!how)
		return 0;
	return shunt_steer_quick_mac(half->mac_word) | how | (has_port ? half->out_port : 0);
}

_Static_assert(sizeof(struct shunt_steer_key) == 40, "shared layout");
_Static_assert(sizeof(struct shunt_steer_rule) == 96, "shared layout");
_Static_assert(sizeof(struct shunt_steer_cfg) == 64, "shared layout");
_Static_assert(sizeof(struct shunt_steer_half) == 64 + 256 + 96 * SHUNT_STEER_RULES_MAX,
	       "shared layout");
_Static_assert(SHUNT_STEER_PORTS_MAX - 1 <= SHUNT_STEER_QUICK_PORT, "a port's slot fits its mask");

#endif
