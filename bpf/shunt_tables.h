/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The forwarding tables as XDP programs walk them. lib/fib builds them in memory that is made of
 * BPF arrays, the workers read it as memory, the programs through the map of those arrays: one
 * table, one update, seen by both. What a word, a leaf and a next hop are is said in
 * lib/fib/fib4_table.h, fib6_table.h and nexthop.h; here is what both sides count with.
 *
 * An address is a number of bytes from where the shared memory starts; it is cut into chunks,
 * each an array of lines, and nothing that is read crosses a line. */
#ifndef SHUNT_TABLES_H
#define SHUNT_TABLES_H

#include <linux/types.h>

#define SHUNT_TABLES_CHUNK_SHIFT 21 /* 2 MiB: the step in which lib/fib takes memory */
#define SHUNT_TABLES_LINE_SHIFT	 6
#define SHUNT_TABLES_LINES	 (1 << (SHUNT_TABLES_CHUNK_SHIFT - SHUNT_TABLES_LINE_SHIFT))
#define SHUNT_TABLES_CHUNKS_MAX	 3424 /* 6.7 GiB: what the tables reserve */

struct shunt_tables_line {
	__u64 words[8];
};

/* X(enumerator): where each table starts is told in chunks. */
#define SHUNT_TABLES(X)                                                                    \
	X(ROOT4)                                                                           \
	X(LEAVES4)                                                                         \
	X(TAILS4)                                                                          \
	X(ROOT6)                                                                           \
	X(NODES6)                                                                          \
	X(SLOTS)                                                                           \
	X(ADJS)                                                                            \
	X(BUCKETS)                                                                         \
	X(COUNTS)  /* of neighbours and routes, where they are counted: lib/fib/count.h */ \
	X(TAGS)	   /* shunt_device.h: lines of tags, */                                    \
	X(DEVICES) /* and devices */

#define SHUNT_TABLES_X(e) SHUNT_TABLE_##e,
enum shunt_table { SHUNT_TABLES(SHUNT_TABLES_X) SHUNT_TABLE_CNT };
#undef SHUNT_TABLES_X

/* A space has the routes of both families that decide together: space 0 those of the kernel's
 * tables local and main, each other those of one other table. Roots lie one after the other. */
#define SHUNT_TABLES_SPACES	 32

/* fib4: a root word for each /19; of a leaf: it has a tail, and the next hop or the tail's number
 */
#define SHUNT_TABLES_ROOT4_SHIFT 13
#define SHUNT_TABLES_ROOT4_BITS	 19
#define SHUNT_TABLES_TAIL	 (1u << 31)
#define SHUNT_TABLES_NH		 0xffffffu
/* fib6: bits of an address that the root takes, and each node below it */
#define SHUNT_TABLES_ROOT6_BITS	 18
#define SHUNT_TABLES_STRIDE	 5
/* nexthop: of a slot: it names a group; log2 of its buckets, in units; its first bucket, in units.
 * Or with all bits of ALIAS: it names another slot, and its route is counted by its own number. */
#define SHUNT_TABLES_GROUP	 (1u << 31)
#define SHUNT_TABLES_SIZE_SHIFT	 28
#define SHUNT_TABLES_INDEX	 ((1u << SHUNT_TABLES_SIZE_SHIFT) - 1)
#define SHUNT_TABLES_UNIT	 32 /* buckets */
#define SHUNT_TABLES_ALIAS	 (0xfu << SHUNT_TABLES_SIZE_SHIFT)

/* Of lib/fib/adj.h's kinds, those that a program knows. */
enum shunt_tables_kind {
	SHUNT_TABLES_REWRITE = 1, /* leaves by port, with eth */
	SHUNT_TABLES_LOCAL = 3,	  /* this host */
};

/* In the place of a port's number: the packet leaves by a device above ports. With more added, in
 * an answer: by the device of that number less this one. */
#define SHUNT_TABLES_TAGGED 64

/* struct shunt_adj, as a program reads it. */
struct shunt_tables_adj {
	union {
		__u64 eth[2]; /* twelve bytes: destination, source */
		struct {
			__u8 addresses[14];
			__u16 above; /* where port says TAGGED: the device's number */
		};
	};
	__u32 mtu; /* bytes, without Ethernet header and tags */
	__u16 port;
	__u8 kind;  /* enum shunt_tables_kind, or another: not this lane's */
	__u8 space; /* see SHUNT_TABLES_FAR; not below SHUNT_TABLES_SPACES: not known */
	__u32 ifindex;
	__u32 number; /* by which it is counted; 0: it is not */
};

/* What a program remembers of a destination, or of a next hop. Its reader checks `sum`, which is
 * made of all other words: an entry that two queues have written at once is good for no
 * destination.
 *
 * eth: the first eight bytes of the Ethernet addresses, as they lie in the frame.
 * rest: bits 31..0 the other four bytes; 47..32 the MTU in bytes, without Ethernet header; 62..48
 * the port, or TAGGED and more; 63: the packet is counted, which no remembered one is. */
#define SHUNT_TABLES_REST_MTU_SHIFT  32
#define SHUNT_TABLES_REST_PORT_SHIFT 48
#define SHUNT_TABLES_REST_COUNTED    (1ULL << 63)

struct shunt_tables_answer4 {
	__u64 key; /* 63..32 destination, in network order, or next hop's index; 31..0 generation */
	__u64 eth;
	__u64 rest;
	__u64 sum;
};

struct shunt_tables_answer6 {
	__u64 dst[2]; /* network order */
	__u64 generation;
	__u64 eth;
	__u64 rest;
	__u64 sum;
	__u64 pad[2];
};

/* By which device tags come in (shunt_device.h, a line's word). The sum says that both words are of
 * one device, and in which generation it was found. */
struct shunt_tables_answer_tags {
	__u64 word;
	__u64 sum;
};

enum shunt_tables_flags {
	SHUNT_TABLES_IP4 = 1, /* forwarding is on */
	SHUNT_TABLES_IP6 = 2,
	SHUNT_TABLES_RPF4 = 4,	   /* a source must be reached by the port it came in on */
	SHUNT_TABLES_NO_LOCAL = 8, /* a source must not be routed to this host */
	SHUNT_TABLES_ABOVE = 16,   /* of a port: there are devices above it */
	/* and in five bits each, by which space each family's packets go; then: */
	SHUNT_TABLES_FAR =
		1 << 15, /* sources are looked up by the space of what a packet leaves by */
};

#define SHUNT_TABLES_SPACE4_SHIFT 5
#define SHUNT_TABLES_SPACE6_SHIFT 10
#define SHUNT_TABLES_SPACE4	  (0x1fu << SHUNT_TABLES_SPACE4_SHIFT)
#define SHUNT_TABLES_SPACE6	  (0x1fu << SHUNT_TABLES_SPACE6_SHIFT)

/* Above a port's flags: what leads back to where its packets come from, as an answer has it. */
#define SHUNT_TABLES_OWN_SHIFT	  16

/* What a port's program must know to route; all zeros: it does not. */
struct shunt_tables_cfg {
	__u32 generation; /* counts changes, from 1: what was remembered under another is forgotten
			   */
	__u32 flags;	  /* enum shunt_tables_flags; 0: every frame is the kernel's */
	__u64 flow_seed;
	__u32 base[SHUNT_TABLE_CNT]; /* chunks */
	__u32 writer_cnt; /* of COUNTS: lines of a number; a program's is that of its CPU */
	/* Of a port of a bridge that keeps its VLANs apart: VLANS, and the VLAN ID of what comes
	 * untagged, 0: none has it. */
	__u32 vlan;
	__u32 pad;
};

#define SHUNT_TABLES_VLANS 0x1000u

_Static_assert(sizeof(struct shunt_tables_line) == 1 << SHUNT_TABLES_LINE_SHIFT, "a cache line");
_Static_assert(sizeof(struct shunt_tables_adj) == 32, "two adjacencies a line");
_Static_assert(sizeof(struct shunt_tables_cfg) == 72, "shared layout");

#endif
