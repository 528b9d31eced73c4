/* SPDX-License-Identifier: BSD-2-Clause */
/* What the daemon tells about itself, as JSON. shuntctl(8) describes the fields. Names are stable,
 * counters only rise, and what was not measured is null. Every object but config has time_ns
 * (CLOCK_MONOTONIC), so that two of them give a rate.
 *
 *     struct shunt_show show = {engine, notices};
 *     result = shunt_show_request(&show, request, &err);
 */
#ifndef SHUNT_SHOW_SHOW_H
#define SHUNT_SHOW_SHOW_H

#include <jansson.h>

#include "base/err.h"
#include "engine/state.h"
#include "notice/notice.h"

#define SHUNT_SHOW_OBJECTS(X)                                                         \
	X(ports, "ports and queues: modes requested and in use, counters")            \
	X(lanes, "the lane of each port: asked for, in use and why, packets by lane") \
	X(notices, "what an operator should know, and what helps")                    \
	X(workers, "threads: CPU, polling, turns, sleeps, heartbeat")                 \
	X(runtime, "cycles per packet by stage and node, batch sizes received")       \
	X(drops, "every frame that did not come out, from the NIC to the graph")      \
	X(ledger, "where every frame of every worker is")                             \
	X(rules, "steering rules, in the order in which they are tried")              \
	X(nodes, "nodes of the graph, what they do, packets and batches")             \
	X(devices, "VLAN devices above the ports: tags, what each forwards")          \
	X(routes, "what the FIB holds, with next hops")                               \
	X(neighbours, "the kernel's neighbours, as mirrored")                         \
	X(flows, "connections that rules have put into a flowtable")                  \
	X(mirror, "how the kernel's tables are followed: state and counters")         \
	X(macs, "stations that the bridges know, and what learning counted")          \
	X(config, "the configuration in full")

/* Why something cannot be shown. */
#define SHUNT_SHOW_UNFOLLOWED \
	"what follows the kernel hangs, and its tables cannot be shown; start shuntd again"

struct shunt_show {
	struct shunt_engine *engine;
	struct shunt_notices *notices;
	struct shunt_sieve *filter; /* of flows (tap/sieve.h); NULL: all */
};

#define X(name, help) json_t *shunt_show_##name(const struct shunt_show *show);
/* shunt_show_OBJECT returns a new reference, NULL without memory or where the follower
 * (engine/follower.h) hangs with what is to be shown. Thread: control.
 * Cost: setup; some ask the kernel, ledger waits up to half a second. */
SHUNT_SHOW_OBJECTS(X)
#undef X

/* shunt_show_mac returns a MAC address as text, a new reference. Thread: any. */
json_t *shunt_show_mac(const uint8_t mac[6]);

/* shunt_show_members writes the names of the ports beneath a device (fib/device.h), with a space
 * between. Thread: control. */
struct shunt_device;
void shunt_show_members(const struct shunt_engine *engine, const struct shunt_device *device,
			char *out, size_t len);

/* shunt_show_notices_of returns the notices about a port, -1 for all, an array. Thread: control. */
json_t *shunt_show_notices_of(const struct shunt_show *show, int port);

/* shunt_show_station says where the destination of a frame was heard that comes in on a port, by
 * its index, and is bridged: mac, and port (null: not known; kernel: the host's own). null for a
 * group, and on a port that bridges nothing. Of the frame 16 bytes are read. Returns a new
 * reference. Thread: control, with the guard. */
json_t *shunt_show_station(const struct shunt_engine *engine, unsigned port, const uint8_t *frame);

/* shunt_show_route says where a packet to address (text, IPv4 or IPv6) would go that came in by the
 * device iif (text); NULL: by one that no rule and no VRF leads elsewhere. shunt_show_route_in says
 * so by the routes of a space. Each returns a new reference, or NULL with err set. Thread: control.
 */
json_t *shunt_show_route(const struct shunt_engine *engine, const char *address, const char *iif,
			 struct shunt_err *err);
json_t *shunt_show_route_in(const struct shunt_engine *engine, const char *address, unsigned port,
			    struct shunt_err *err);

/* shunt_show_request answers {"cmd": "show", "object": OBJECT} and {"cmd": "route", "address":
 * ADDRESS, "iif": DEVICE or not there}, and does {"cmd": "lane",
 * "port": PORT, "share": [WORD, ...]} (lane/share.h). With the object flows, "filter" may be one of
 * tap/cbpf_text.h: what connections' packets pass it, whichever way they go. Thread: control. */
json_t *shunt_show_request(const struct shunt_show *show, const json_t *request,
			   struct shunt_err *err);

#endif
