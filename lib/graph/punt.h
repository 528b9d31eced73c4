/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a worker handed a packet back to the kernel. The kernel then does with it what it does
 * with every packet: resolves, answers, fragments, forwards or drops, and counts it. */
#ifndef SHUNT_GRAPH_PUNT_H
#define SHUNT_GRAPH_PUNT_H

/* name, help */
#define SHUNT_PUNTS(X)                                                                           \
	X(none, "not punted")                                                                    \
	X(not_ip, "neither IPv4 nor IPv6")                                                       \
	X(no_device, "a VLAN tag that no device above the port has, or none that shunt follows") \
	X(other_mac, "not addressed to the port's own MAC address")                              \
	X(not_router, "the port does not forward this family: the kernel drops or answers")      \
	X(options, "IPv4 options or an IPv6 hop-by-hop header")                                  \
	X(expired, "TTL or hop limit used up: the kernel answers time exceeded")                 \
	X(address, "an address that is not forwarded: loopback, multicast, link-local ...")      \
	X(own_source, "the source is one of this host's own addresses")                          \
	X(noroute, "no route: the kernel answers unreachable")                                   \
	X(rp_filter, "reverse path filter: the way back to the source is not plain")             \
	X(glean, "no neighbour entry yet: the kernel resolves it")                               \
	X(local, "an address of this host")                                                      \
	X(other_path, "the route leads where only the kernel can go")                            \
	X(unreachable, "an unreachable route: the kernel answers")                               \
	X(prohibit, "a prohibit route: the kernel answers")                                      \
	X(too_big, "over the output port's MTU: the kernel fragments or answers")                \
	X(redirect, "leaves by the port it came in on: the kernel sends a redirect")             \
	X(bridge, "bridge: for this host, or where only the kernel's bridge can send it")

enum shunt_punt {
#define X(name, help) SHUNT_PUNT_##name,
	SHUNT_PUNTS(X)
#undef X
		SHUNT_PUNT_CNT
};

/* shunt_punt_name and shunt_punt_help return static strings, "?" out of range.
 * Thread: any. */
const char *shunt_punt_name(enum shunt_punt reason);
const char *shunt_punt_help(enum shunt_punt reason);

#endif
