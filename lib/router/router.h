/* SPDX-License-Identifier: BSD-2-Clause */
/* What the routing ports of an engine have in common: forwarding tables, the mirror that fills
 * them, this host's addresses, the punt device, and whether the kernel would forward at all. The
 * follower (engine/follower.h) keeps it, with the ports' guard held. The control thread reads it
 * with the guard. The workers read the tables between quiescent states.
 *
 *	shunt_router_create(&router, &ports, &err);
 *	shunt_router_load(router, &err);	the first dump, or some of it
 *	poll shunt_router_fd(router), shunt_router_timeout_ms(router)
 *	shunt_router_service(router, &err); every second: shunt_router_tick(router, &err);
 *	shunt_router_destroy(router);		after the workers
 */
#ifndef SHUNT_ROUTER_ROUTER_H
#define SHUNT_ROUTER_ROUTER_H

#include "port/port.h"
#include "router/neigh_use.h"
#include "mirror/mirror.h"
#include "shunt_tables.h"
#include "graph/nodes.h"

struct shunt_router {
	const struct shunt_ports *ports;
	struct shunt_fib4 *fib4;
	struct shunt_fib6 *fib6;
	struct shunt_nexthops *nexthops;
	struct shunt_devices *devices; /* above ports */
	struct shunt_counts *counts;   /* of neighbours and routes; NULL: none */
	uint32_t first_worker;	       /* of their writers */
	struct shunt_mirror *mirror;   /* NULL while its socket cannot be had */
	struct shunt_neigh_use *neigh_use;
	struct shunt_puntdev *puntdev;
	struct shunt_local4 *local4;		     /* published to the workers */
	struct shunt_port_live live[SHUNT_PORT_MAX]; /* the same */
	struct shunt_xdp_tables *tables;	     /* what programs read; NULL: there are none */
	bool has_routes;			     /* routes are among it: lane xdp can route */
	struct shunt_tables_cfg tables_cfg;	     /* as the programs were told */
	uint64_t flow_seed;
	uint64_t addrs_digest;	 /* of the mirrored addresses, when last looked at */
	bool are_addrs_new;	 /* they changed since shunt_router_take_addrs_new */
	uint32_t policy_changes; /* of rules (ip rule), VRFs, spaces, when last looked at */
	uint32_t netconf_cnt;	 /* messages about changed settings, when last looked at */
	uint32_t above_cnt;	 /* the same of devices above ports that came, changed or went */
	uint32_t above_at;	 /* the next one whose settings of IPv6 are to be read */
	uint64_t foreign;	 /* bit p: port p belongs to a device that is not followed */
	uint64_t diverted;	 /* bit p: rules may lead what comes in by port p anywhere */
	uint64_t spaced;	 /* bit p: what comes in by port p goes by another table */
	uint64_t ip4_off;	 /* bit p: the kernel forwards no IPv4 that comes in by port p */
	bool is_following;	 /* the tables are the kernel's of now; else it forwards all */
	bool is_ip6_off;	 /* it forwards no IPv6 */
};

/* shunt_router_create makes empty tables, the punt device and the mirror, for ports that are open.
 * Returns 0, or -errno with err set and nothing held. Thread: control. */
int shunt_router_create(struct shunt_router **out, const struct shunt_ports *ports,
			struct shunt_err *err);

/* shunt_router_destroy frees it; NULL is legal. No worker may run. Thread: control. */
void shunt_router_destroy(struct shunt_router *router);

/* shunt_router_load waits until the kernel's tables are in the FIB, or memory ran out, for half a
 * second at most. What is late follows by service; until all is there everything is the kernel's.
 * Returns 0 or -errno with err set. Thread: control, before there is a follower. */
int shunt_router_load(struct shunt_router *router, struct shunt_err *err);

/* shunt_router_fd, _timeout_ms and _service are those of the mirror, with one difference. When its
 * socket fails for good, service drops the mirror and every route, so that all packets go to the
 * kernel, and returns -errno with err set. shunt_router_tick makes a new mirror then, with another
 * descriptor. Thread: the follower, with the guard; fd and timeout_ms without. */
int shunt_router_fd(const struct shunt_router *router);
int shunt_router_timeout_ms(const struct shunt_router *router);
int shunt_router_service(struct shunt_router *router, struct shunt_err *err);

/* shunt_router_tick looks at what no message tells of. Returns 0 or -errno with err set. Thread:
 * the follower, with the guard, every second. Cost: some files of /proc a port. */
int shunt_router_tick(struct shunt_router *router, struct shunt_err *err);

/* shunt_router_current_ns returns until when (CLOCK_MONOTONIC) all that the kernel told is in what
 * packets are forwarded by, at most now_ns. is_idle says that the kernel told nothing more by
 * now_ns. Where the tables are no good, nothing is forwarded by them: then it is now_ns. Thread:
 * the follower. */
uint64_t shunt_router_current_ns(const struct shunt_router *router, uint64_t now_ns, bool is_idle);

/* shunt_router_tell tells the kernel which neighbours are in use. Thread: control, every second,
 * without the guard. Cost: every few seconds a walk over the neighbours and some system calls. */
void shunt_router_tell(struct shunt_router *router);

/* shunt_router_take_addrs_new says whether this host's addresses changed since the last call. With
 * the guard. Thread: any. */
bool shunt_router_take_addrs_new(struct shunt_router *router);

/* shunt_router_tables_are_wanted says whether the programs are to read the routes. They are not
 * where lane user is certain: its lookups want huge pages. Thread: control. */
bool shunt_router_tables_are_wanted(const struct shunt_ports *ports);

/* shunt_router_is_current says whether is_following is as the mirror says; for router.c. With the
 * guard. */
bool shunt_router_is_current(const struct shunt_router *router);

/* shunt_router_look reads the settings that decide which ports forward; for router.c. With the
 * guard. */
void shunt_router_look(struct shunt_router *router);

#endif
