/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a tap takes: a record for each packet and place. Steering programs (steer/tap.bpf.h) and
 * workers (lib/graph/tap.c) write records, whoever opened the tap reads them. All in the host's
 * byte order. */
#ifndef SHUNT_TAP_H
#define SHUNT_TAP_H

#include <linux/types.h>

/* The places: X(enumerator, name, help) */
#define SHUNT_TAP_PLACES(X)                                                              \
	X(ARRIVED, "arrived", "before the steering program, as the device delivered it") \
	X(STEERED, "steered",                                                            \
	  "behind it: its lane and why; of lane xdp with the bytes that "                \
	  "leave")                                                                       \
	X(SENT, "sent", "given to a port's transmit ring by a worker")                   \
	X(DROPPED, "dropped", "given up by a worker, and why")                           \
	X(PUNTED, "punted", "handed back to the kernel by a worker, and why")

#define SHUNT_TAP_PLACE_X(e, name, help) SHUNT_TAP_##e,
enum shunt_tap_place { SHUNT_TAP_PLACES(SHUNT_TAP_PLACE_X) SHUNT_TAP_PLACE_CNT };
#undef SHUNT_TAP_PLACE_X

#define SHUNT_TAP_NO_PORT     0xff /* no port, or the port is not known */
#define SHUNT_TAP_ALL_PORT    0xfe /* all other ports of a bridge */

/* The filter's place in a program: an instruction that loads MARK, and what follows. */
#define SHUNT_TAP_FILTER_MARK 0x5ea7ed17
#define SHUNT_TAP_FILTER_ROOM 8192 /* instructions */

#define SHUNT_TAP_SNAP_MAX    65536 /* bytes of a packet, at most */

struct shunt_tap_record {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 len;     /* the packet's bytes, without FCS */
	__u32 cap_len; /* of these, bytes that follow */
	/* A packet's ARRIVED and its STEERED have the same, and no other packet of the queue near
	 * by; bits 9..1 are the CPU's. 0: it has not both. */
	__u32 number;
	__u16 queue; /* of the device */
	__u8 port;   /* by its index in the daemon: that it came by; SENT: that it leaves by */
	__u8 place;  /* enum shunt_tap_place */
	__u8 lane;   /* STEERED: enum shunt_lane */
	__u8 reason; /* STEERED: enum shunt_steer_reason; DROPPED: shunt_drop; PUNTED: shunt_punt */
	__u8 out;    /* STEERED, lane xdp: the port that it leaves by */
	__u8 rule;   /* STEERED: which rule matched, from 1; 0: none */
	__u32 pad;
	/* cap_len bytes follow */
};

static inline __attribute__((always_inline)) void *shunt_tap_bytes(
	const struct shunt_tap_record *record)
{
	return (void *)(record + 1);
}

_Static_assert(sizeof(struct shunt_tap_record) == 32, "shared layout");

/* What a tap's program is made for: constants of it. */
struct shunt_tap_opts {
	__u64 ports;	 /* bits 1 << index of those that are shown, */
	__u32 port;	 /* the index of the program's own */
	__u32 snap_len;	 /* 1 .. SHUNT_TAP_SNAP_MAX */
	__u8 is_own;	 /* what arrives by its own port is shown */
	__u8 is_changed; /* the filter reads what forwarding changes: asked at both ends */
	__u8 is_asked;	 /* it is asked when a frame arrives: is_own, or not is_changed */
	__u8 is_sg;	 /* packets may take several buffers */
};

#endif
