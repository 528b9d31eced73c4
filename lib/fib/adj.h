/* SPDX-License-Identifier: BSD-2-Clause */
/* An adjacency: what is done with a packet whose next hop is known. For `rewrite` it holds the
 * output port and the Ethernet header ready to be written; the other kinds say why there is
 * none. 32 bytes, two a cache line; immutable while published (nexthop.h replaces it whole).
 */
#ifndef SHUNT_FIB_ADJ_H
#define SHUNT_FIB_ADJ_H

#include <stdint.h>

/* kind, name, help. `noroute` is 0: adjacency 0 is that of addresses without a route. */
#define SHUNT_ADJ_KINDS(X)                                                          \
	X(NOROUTE, "noroute", "no route; the kernel answers")                       \
	X(REWRITE, "rewrite", "write the Ethernet header and transmit on the port") \
	X(GLEAN, "glean", "no neighbour entry yet; the kernel resolves it")         \
	X(LOCAL, "local", "an address of this host")                                \
	X(PUNT, "punt", "the kernel forwards it")                                   \
	X(BLACKHOLE, "blackhole", "dropped silently")                               \
	X(UNREACHABLE, "unreachable", "the kernel answers host unreachable")        \
	X(PROHIBIT, "prohibit", "the kernel answers administratively prohibited")

enum shunt_adj_kind {
#define X(kind, name, help) SHUNT_ADJ_##kind,
	SHUNT_ADJ_KINDS(X)
#undef X
		SHUNT_ADJ_KIND_CNT
};

/* In the place of a port's index: packets leave by the device above ports whose number
 * (fib/device.h) the adjacency has: they are tagged, or one of a bond's members is chosen. */
#define SHUNT_ADJ_TAGGED   64

/* In the place of a space (fib/fib4.h): only the kernel knows. */
#define SHUNT_ADJ_NO_SPACE 0xff

struct shunt_adj {
	uint8_t eth[14]; /* destination, source, EtherType: copy 16, advance 14 */
	uint16_t above;	 /* where port says TAGGED: the device's number */
	uint32_t mtu;	 /* of the device, in bytes from the network header on */
	uint16_t port;	 /* output port's index, or SHUNT_ADJ_TAGGED */
	uint8_t kind;	 /* enum shunt_adj_kind */
	uint8_t space; /* by whose routes the kernel looks for IPv4 sources of what leaves by it */
	uint32_t ifindex; /* of the device behind it; 0: none */
	uint32_t number;  /* by which it is counted (fib/count.h); 0: it is not */
};

_Static_assert(sizeof(struct shunt_adj) == 32, "two adjacencies a cache line");

/* shunt_adj_kind_name and shunt_adj_kind_help return static text, "?" for a number that is no
 * kind. Thread: any. */
const char *shunt_adj_kind_name(unsigned kind);
const char *shunt_adj_kind_help(unsigned kind);

#endif
