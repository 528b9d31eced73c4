/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lanes, and every reason for which a frame goes to one. The two lists make the enums, the
 * names in JSON and metrics (lib/steer/steer.c) and the sentences; the program counts by reason. */
#ifndef SHUNT_STEER_REASON_H
#define SHUNT_STEER_REASON_H

/* Lanes: X(enumerator, name, help) */
#define SHUNT_STEER_LANES(X)                                                      \
	X(USER, "user", "to the worker's AF_XDP socket")                          \
	X(KERNEL, "kernel", "to the kernel's stack, as if no program were there") \
	X(DROP, "drop", "dropped in the driver, because a rule says so")          \
	X(XDP, "xdp", "redirected to another port inside the kernel")

/* Why a frame went to its lane: X(enumerator, name, lane, help). Those of the
 * lane user stand first, because their numbers index `unserved` too; those of the lane xdp stand
 * last. */
#define SHUNT_STEER_REASONS(X)                                                                      \
	X(FORWARD4, "forward4", USER, "IPv4 in transit that forwarding can finish")                 \
	X(FORWARD6, "forward6", USER, "IPv6 in transit that forwarding can finish")                 \
	X(BRIDGED, "bridged", USER, "crosses to the other port whatever it holds")                  \
	X(RULE_USER, "rule", USER, "a rule gives it to the worker")                                 \
	X(TRANSLATED, "translated", USER,                                                           \
	  "of an approved connection, its addresses or ports translated")                           \
	X(OFF, "off", KERNEL, "the port has no configuration, or its mode is off")                  \
	X(CLOSED, "closed", KERNEL, "the daemon closed the lane user")                              \
	X(NO_SOCKET, "no_socket", KERNEL, "meant for user, but no socket serves its queue")         \
	X(HUNG, "hung", KERNEL, "meant for user, but the queue's worker gives no sign of life")     \
	X(DRY, "dry", KERNEL, "meant for user, but the queue has no frame left to receive into")    \
	X(PUNTED, "punted", KERNEL,                                                                 \
	  "meant for user, but the worker hands so much of that destination back to the kernel")    \
	X(RULE_KERNEL, "rule", KERNEL, "a rule gives it to the kernel")                             \
	X(RULE_UNDECIDED, "rule_undecided", KERNEL,                                                 \
	  "a rule asks for what cannot be read: a fragment's ports, the end of an IPv6 chain")      \
	X(OWN_MAC, "own_mac", KERNEL, "cross-connect, bridge: sent to this host's MAC address")     \
	X(OTHER_MAC, "other_mac", KERNEL, "layer 3: sent to another station's MAC address")         \
	X(STATION, "station", KERNEL,                                                               \
	  "layer 3: its bridge does not know the sender there, or that port may not forward")       \
	X(MULTICAST, "multicast", KERNEL, "layer 3, bridge: multicast or broadcast by MAC or IP")   \
	X(LINK_LOCAL_CONTROL, "link_local_control", KERNEL,                                         \
	  "sent to 01:80:c2:00:00:0x: LACP, LLDP, EAPOL, STP, pause")                               \
	X(ARP, "arp", KERNEL, "ARP; cross-connect: only where it asks for this host's address")     \
	X(ND, "nd", KERNEL, "cross-connect: neighbour solicitation for this host's address")        \
	X(VLAN, "vlan", KERNEL,                                                                     \
	  "carries a VLAN tag: layer 3, of no device that is followed; bridge, where the port has " \
	  "VLAN devices")                                                                           \
	X(ETHERTYPE, "ethertype", KERNEL, "layer 3: neither IPv4, IPv6, ARP nor VLAN")              \
	X(TRUNCATED, "truncated", KERNEL, "shorter than the headers that it announces")             \
	X(BAD_HEADER, "bad_header", KERNEL, "IP version, header or total length that cannot be")    \
	X(IP_OPTIONS, "ip_options", KERNEL, "IPv4 with options")                                    \
	X(TOO_LONG, "too_long", KERNEL, "several buffers: longer than the port's MTU allows")       \
	X(TTL, "ttl", KERNEL, "IPv4 with TTL 0 or 1")                                               \
	X(HOPBYHOP, "hopbyhop", KERNEL, "IPv6 with a hop-by-hop header")                            \
	X(HOP_LIMIT, "hop_limit", KERNEL, "IPv6 with hop limit 0 or 1")                             \
	X(LINK_LOCAL, "link_local", KERNEL, "from or to a link-local IP address")                   \
	X(MARTIAN, "martian", KERNEL, "from or to an IP address that is reserved or never routed")  \
	X(LOCAL_ADDRESS, "local_address", KERNEL, "sent to an IP address of this host")             \
	X(LANE_KERNEL, "lane_kernel", KERNEL, "the lane of the port, or of the flow, is kernel")    \
	X(STALE, "stale", KERNEL,                                                                   \
	  "what follows the kernel's routes, bridges, rules is behind, or gives no sign of life")   \
	X(NOT_ROUTER, "not_router", KERNEL,                                                         \
	  "lane xdp: forwarding is off, or an ip rule leads elsewhere")                             \
	X(BAD_CHECKSUM, "bad_checksum", KERNEL,                                                     \
	  "lane xdp: wrong IPv4 header checksum, the kernel drops it")                              \
	X(OWN_SOURCE, "own_source", KERNEL, "lane xdp: from an address of this host")               \
	X(OTHER_SOURCE, "other_source", KERNEL,                                                     \
	  "lane xdp: the way back to its source is not plainly this port")                          \
	X(NO_WAY, "no_way", KERNEL,                                                                 \
	  "lane xdp: no route, no neighbour, or a route that only the kernel can follow")           \
	X(TOO_BIG, "too_big", KERNEL,                                                               \
	  "lane xdp: longer than the MTU of the port that it leaves by")                            \
	X(SAME_PORT, "same_port", KERNEL,                                                           \
	  "lane xdp: back where it came from, the kernel may redirect")                             \
	X(NO_XDP_PORT, "no_xdp_port", KERNEL, "lane xdp: the other port takes no frames from XDP")  \
	X(NO_FLOW, "no_flow", KERNEL,                                                               \
	  "the host's rules judge it, and no flowtable has its connection")                         \
	X(NOT_FLOW, "not_flow", KERNEL,                                                             \
	  "the host's rules judge it: neither TCP nor UDP, or a fragment")                          \
	X(FLOW_SIGNAL, "flow_signal", KERNEL,                                                       \
	  "the host's rules judge it: TCP that opens or ends a connection (SYN, FIN, RST)")         \
	X(RULE_DROP, "rule", DROP, "a rule drops it")                                               \
	X(XDP_FORWARD4, "forward4", XDP, "IPv4, routed inside the kernel")                          \
	X(XDP_FORWARD6, "forward6", XDP, "IPv6, routed inside the kernel")                          \
	X(XDP_BRIDGED, "bridged", XDP, "crossed to the other port inside the kernel")               \
	X(XDP_RULE, "rule", XDP, "a rule gives it to this lane")                                    \
	X(XDP_TRANSLATED, "translated", XDP,                                                        \
	  "of an approved connection: routed, addresses or ports translated, inside the kernel")

#define SHUNT_STEER_LANE_X(e, name, help) SHUNT_LANE_##e,
enum shunt_lane { SHUNT_STEER_LANES(SHUNT_STEER_LANE_X) SHUNT_LANE_CNT };
#undef SHUNT_STEER_LANE_X

#define SHUNT_STEER_REASON_X(e, name, lane, help) SHUNT_STEER_##e,
enum shunt_steer_reason { SHUNT_STEER_REASONS(SHUNT_STEER_REASON_X) SHUNT_STEER_REASON_CNT };
#undef SHUNT_STEER_REASON_X

#define SHUNT_STEER_USER_REASON_CNT 5 /* FORWARD4 .. TRANSLATED */
#define SHUNT_STEER_USER_REASON_MAX 8
#define SHUNT_STEER_REASON_MAX	    64

_Static_assert((int)SHUNT_STEER_REASON_CNT <= SHUNT_STEER_REASON_MAX, "a reason more than room");
_Static_assert(SHUNT_STEER_TRANSLATED + 1 == SHUNT_STEER_USER_REASON_CNT, "user reasons first");

#endif
