/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a worker dropped a packet. Every dropped packet has exactly one of these reasons. */
#ifndef SHUNT_GRAPH_DROP_H
#define SHUNT_GRAPH_DROP_H

/* name, where (the part that drops: graph, bridge, transmit), help */
#define SHUNT_DROPS(X)                                                                          \
	X(none, "", "not dropped")                                                              \
	X(tx_ring_full, "transmit", "the output port's transmit ring had no room")              \
	X(late, "transmit",                                                                     \
	  "held while the worker had no CPU: the kernel has forwarded later ones")              \
	X(too_big, "transmit", "longer than the output port's MTU allows")                      \
	X(no_output, "graph", "no output port is configured for the input port")                \
	X(discarded, "graph", "UDP to port 9, given up as the front node discard was asked to") \
	X(truncated, "graph", "the frame ends inside a header that the graph must read")        \
	X(not_forwardable, "graph",                                                             \
	  "not IPv4 or IPv6 with a TTL or hop limit left: steering let "                        \
	  "it through by a rule")                                                               \
	X(bad_header, "graph", "an IP header with impossible version or lengths")               \
	X(bad_checksum, "graph", "the IPv4 header checksum is wrong")                           \
	X(blackhole, "graph", "the route is a blackhole")                                       \
	X(punt_limited, "graph", "more than the punt rate, and no program that could pass it")  \
	X(punt_failed, "graph", "the kernel's turn, but the kernel did not take it")            \
	X(bad_source, "bridge", "the source MAC address is a group's or all zeros")             \
	X(same_port, "bridge", "the destination is on the port the frame came in on")           \
	X(port_blocked, "bridge", "spanning tree does not let the port forward")                \
	X(reserved_group, "bridge", "sent to 01:80:c2:00:00:0x, which no bridge forwards")      \
	X(to_host, "bridge", "for this host, and no way leads back to the kernel")

enum shunt_drop {
#define X(name, where, help) SHUNT_DROP_##name,
	SHUNT_DROPS(X)
#undef X
		SHUNT_DROP_CNT
};

/* shunt_drop_name, _where and _help return static strings, "?" out of range.
 * Thread: any. */
const char *shunt_drop_name(enum shunt_drop reason);
const char *shunt_drop_where(enum shunt_drop reason);
const char *shunt_drop_help(enum shunt_drop reason);

#endif
