/* SPDX-License-Identifier: BSD-2-Clause */
/* The netlink mirror: what the kernel knows of links, addresses, neighbours, next hops and
 * routes, followed live, and the forwarding table made of it. `ip route`, BIRD and FRR
 * configure shunt without knowing it.
 *
 * One netlink socket carries both the dumps and the events, so that they come in the order in
 * which they happened. First everything is dumped; then events are followed. When the socket
 * overruns (ENOBUFS) everything is dumped again and what the kernel no longer has is swept
 * out: at no time is the table empty. From time to time an audit does the same and counts the
 * differences. What the kernel removes without a message (IPv4 routes of a device that goes down)
 * is removed here by the kernel's rules, and a small dump checks that.
 *
 * Until the first dump is complete no route is in the FIB, and a lookup that finds nothing
 * punts; then the longest prefixes go in first. So a lookup never finds a shorter prefix than
 * the kernel would. When memory runs out, every route is taken out again, shortest first.
 *
 * Followed: tables main and local, merged as the kernel does without rules of its own, and tables
 * that VRFs and rules lead to (mirror/space.h). Not followed: multicast routes, MPLS.
 *
 *	shunt_mirror_create(&mirror, &opts, &err);
 *	poll shunt_mirror_fd(mirror) for input, shunt_mirror_timeout_ms(mirror) at most
 *	while ((ret = shunt_mirror_service(mirror, 4096, &err)) > 0) other work;
 *	shunt_mirror_stats(mirror, &stats);
 *	shunt_mirror_destroy(mirror);
 */
#ifndef SHUNT_MIRROR_MIRROR_H
#define SHUNT_MIRROR_MIRROR_H

#include "base/err.h"
#include "mirror/above.h"
#include "mirror/route.h"
#include "fib/count.h"
#include "fib/device.h"
#include "fib/fib4.h"
#include "fib/fib6.h"
#include "fib/nexthop.h"

struct shunt_mirror;

struct shunt_mirror_opts {
	int netns_fd;	       /* network namespace to mirror; -1: the thread's own */
	uint32_t rcvbuf_bytes; /* of the socket; 0: 64 MiB, some 60,000 events */
	uint32_t audit_s;      /* seconds between audits; 0: none */
	uint32_t routes_max;   /* refuse more routes a family; 0: no bound */
	/* The forwarding table to keep: all three, or none (then only mirrored). The caller's;
	 * they outlive the mirror, which takes its routes out when it is destroyed. */
	struct shunt_fib4 *fib4;
	struct shunt_fib6 *fib6;
	struct shunt_nexthops *nexthops;
	struct shunt_counts *counts;   /* of neighbours and routes; NULL: none */
	struct shunt_devices *devices; /* above ports, to be kept, too; NULL: none */
	/* port_of returns the index of the port that is this device, -1 for none: then what
	 * leaves by it punts. Asked whenever the device changes. */
	int (*port_of)(void *ctx, uint32_t ifindex);
	/* The same of ports whose devices above them are followed; NULL without `devices`. */
	int (*base_of)(void *ctx, uint32_t ifindex);
	int (*order_of)(const char *bond, char (*names)[16], unsigned max); /* mirror/above.h */
	void *port_ctx;
	bool are_rules_ignored, may_be_marked; /* mirror/table.h */
};

#define SHUNT_MIRROR_STATES(X)                                                     \
	X(loading, "the first dump is under way: every packet goes to the kernel") \
	X(following, "up to date")                                                 \
	X(resyncing, "events were lost: the kernel's tables are being read again") \
	X(incomplete, "out of memory: every packet goes to the kernel")

enum shunt_mirror_state {
#define X(name, help) SHUNT_MIRROR_##name,
	SHUNT_MIRROR_STATES(X)
#undef X
		SHUNT_MIRROR_STATE_CNT
};

/* name, help */
#define SHUNT_MIRROR_COUNTERS(X)                                                             \
	X(messages, "netlink messages received")                                             \
	X(events, "of these, changes told by the kernel (the others are dumps)")             \
	X(overruns, "times the socket lost events (ENOBUFS)")                                \
	X(resyncs, "complete dumps after the first, because events were lost")               \
	X(audits, "complete dumps to compare")                                               \
	X(differences, "objects that an audit found wrong, and put right")                   \
	X(races, "the same, found while the kernel was changing its tables: not held wrong") \
	X(checks, "small dumps after a device went down")                                    \
	X(check_differences, "objects that these put right")                                 \
	X(interrupted, "dumps begun again because the kernel's tables changed under them")   \
	X(refused, "dumps that the kernel cannot do (no IPv6, no next-hop objects)")         \
	X(unmatched_deletes, "deletions of routes that were not mirrored")                   \
	X(malformed, "messages not understood")                                              \
	X(out_of_memory, "objects that could not be stored")

struct shunt_mirror_stats {
#define X(name, help) uint64_t name;
	SHUNT_MIRROR_COUNTERS(X)
#undef X
	/* now */
	enum shunt_mirror_state state;
	uint32_t links, addrs, neighs, nexthops, paths;
	uint32_t routes[SHUNT_MIRROR_IP_CNT];
	uint32_t hosts;		/* neighbours that are in the FIB as host routes */
	uint64_t fib_updates;	/* routes put into the FIB or taken out */
	uint32_t above_changes; /* of devices above ports that came, changed or went */
	uint32_t policy_rules;	/* rules beside the kernel's own */
	uint64_t bytes;		/* memory of the mirror, the FIB's not included */
	uint64_t load_ns;	/* what the first dump took, until the FIB had it all */
	uint64_t dump_ns;	/* what the latest complete dump took */
};

/* shunt_mirror_create opens the socket and asks for the first dump; no waiting. opts NULL:
 * defaults, an audit every 60 s. Returns 0, or -errno with *err filled and *out NULL.
 * Thread: the writer. Cost: setup. */
int shunt_mirror_create(struct shunt_mirror **out, const struct shunt_mirror_opts *opts,
			struct shunt_err *err);

/* shunt_mirror_destroy closes the socket and frees the mirror; NULL is legal. */
void shunt_mirror_destroy(struct shunt_mirror *mirror);

/* shunt_mirror_fd returns the descriptor to poll for input. */
int shunt_mirror_fd(const struct shunt_mirror *mirror);

/* shunt_mirror_timeout_ms returns after how long shunt_mirror_service is due without input;
 * 0 when it has work now, -1 for never. */
int shunt_mirror_timeout_ms(const struct shunt_mirror *mirror);

/* shunt_mirror_service takes over what has come, looking at about budget messages (those of
 * one read more at most), and publishes it as one batch. Returns 1 when there is more to do,
 * 0 when not, -errno with *err filled when the socket fails for good. Thread: the writer.
 * Cost: budget microseconds at the worst, but a walk over all routes (10 ms at a million)
 * when a device goes down or a next-hop object is deleted. */
int shunt_mirror_service(struct shunt_mirror *mirror, uint32_t budget, struct shunt_err *err);

/* shunt_mirror_current_ns returns until when (CLOCK_MONOTONIC) all that the kernel told is in the
 * FIB, as of the latest service; 0: never. It stands still where the kernel tells more than is
 * taken over. */
uint64_t shunt_mirror_current_ns(const struct shunt_mirror *mirror);

/* shunt_mirror_audit makes the next audit due now. Thread: the writer. */
void shunt_mirror_audit(struct shunt_mirror *mirror);

/* shunt_mirror_neigh_is_used says whether the FIB leads to the neighbour. Thread: the writer. */
bool shunt_mirror_neigh_is_used(const struct shunt_mirror *mirror,
				const struct shunt_mirror_neigh_info *info);

/* shunt_mirror_neigh_count says what the neighbour was sent, since it came into the FIB. Returns
 * false where it is not there, or not counted. Thread: the writer. */
bool shunt_mirror_neigh_count(const struct shunt_mirror *mirror,
			      const struct shunt_mirror_neigh_info *info, struct shunt_count *out);

/* shunt_mirror_master returns the ifindex of the bond, bridge or VRF that a device belongs to; 0:
 * to none. Thread: control. */
uint32_t shunt_mirror_master(const struct shunt_mirror *mirror, uint32_t ifindex);

/* shunt_mirror_above returns the number of a device above a port (fib/device.h); 0: it is not in
 * that table. Thread: the writer. */
uint32_t shunt_mirror_above(const struct shunt_mirror *mirror, uint32_t ifindex);

/* shunt_mirror_above_state says why a VLAN device is in that table, or not; *out as in
 * shunt_mirror_above_look (mirror/above.h). Thread: the writer. */
enum shunt_above_state shunt_mirror_above_state(const struct shunt_mirror *mirror, uint32_t ifindex,
						struct shunt_device *out);

/* shunt_mirror_set_mtu6 sets a device's MTU for IPv6, which no message carries. Thread: the writer.
 */
void shunt_mirror_set_mtu6(struct shunt_mirror *mirror, uint32_t ifindex, uint32_t mtu6);

void shunt_mirror_stats(const struct shunt_mirror *mirror, struct shunt_mirror_stats *out);

/* shunt_mirror_table returns the objects, for showing: step with shunt_mirror_store_next over
 * table->links, ->addrs, ->neighs, ->nexthops, ->rules, ->routes[ip]. Valid until the next
 * shunt_mirror_service. */
struct shunt_mirror_table *shunt_mirror_table(struct shunt_mirror *mirror);

/* shunt_mirror_state_name and _help return static strings, "?" out of range. Thread: any. */
const char *shunt_mirror_state_name(enum shunt_mirror_state state);
const char *shunt_mirror_state_help(enum shunt_mirror_state state);

#endif
