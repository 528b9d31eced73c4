/* SPDX-License-Identifier: BSD-2-Clause */
/* What the bridging ports of an engine have in common: the MAC table, the rings by which workers
 * tell of stations, and the kernel's bridge beneath, if there is one, with its punt device. The
 * follower (engine/follower.h) keeps it, with the ports' guard held, and is the table's only
 * writer. The control thread reads with the guard what may change.
 *
 * Ports of mode route that belong to a kernel bridge are among them: what is sent to the bridge's
 * address is routed, all else is the kernel's. Their programs look the sender up, and a station
 * that the bridge does not know behind that port is the kernel's, too: the bridge has to hear it.
 *
 * A kernel bridge lies beneath where all ports of a group are ports of it. It is the fallback, and
 * keeps all but the plain work: steering gives it every frame to a multicast group and to the host.
 * So it floods those, delivers to the host, snoops and speaks spanning tree. shunt forwards unicast
 * alone, between ports that may forward. Without a kernel bridge, shunt floods groups too, and the
 * host sees what asks for one of its addresses, as in cross-connect.
 *
 *	shunt_bridge_create(&bridge, &ports, &err);
 *	poll shunt_bridge_fd(bridge); shunt_bridge_service(bridge);
 *	shunt_bridge_tick(bridge);		every second
 *	shunt_bridge_tell(bridge);		control, when shunt_bridge_has_tells
 *	shunt_bridge_destroy(bridge);		after the workers
 */
#ifndef SHUNT_BRIDGE_BRIDGE_H
#define SHUNT_BRIDGE_BRIDGE_H

#include "port/port.h"
#include "bridge/devices.h"
#include "bridge/fdb.h"
#include "bridge/vlans.h"
#include "graph/nodes.h"
#include "xdp/macs.h"

/* name, help */
#define SHUNT_BRIDGE_COUNTERS(X)                                          \
	X(learned, "stations put into the table")                         \
	X(moved, "times a station was heard on another port")             \
	X(aged, "stations removed after the ageing time")                 \
	X(full, "times the table had no room: the station is flooded to") \
	X(pinned, "times a station with a static entry was heard elsewhere")

struct json_t;

struct shunt_bridge_one {
	uint64_t members; /* ports, a bit each */
	/* the kernel's bridge beneath; ifindex 0: none */
	uint32_t ifindex;
	uint8_t mac[6];
	char name[IFNAMSIZ];
	bool is_routed; /* its ports are of mode route */
	bool filters_vlans;
	uint16_t vlan_type_be;
	uint32_t age_s; /* 0: it keeps no station, and floods */
};

struct shunt_bridge {
	const struct shunt_ports *ports;
	struct shunt_mac_table *macs;
	struct shunt_xdp_macs *xdp_macs; /* its memory, which lane xdp reads; NULL: no devices */
	struct shunt_bridge_masks masks;
	struct shunt_learn *learns; /* one a worker */
	unsigned learn_cnt;
	struct shunt_fdb *fdb;	       /* NULL: no kernel bridge beneath */
	struct shunt_puntdev *puntdev; /* NULL: the router's serves, or none is needed */
	struct shunt_bridge_one bridges[SHUNT_BRIDGE_MAX];
	unsigned bridge_cnt;
	uint8_t bridge_of[SHUNT_PORT_MAX];
	enum shunt_lane_reason left[SHUNT_PORT_MAX]; /* shunt_fdb_port's */
	uint64_t tagged;			     /* ports that have VLAN devices */
	struct shunt_bridge_devices vlan_devices;
	struct shunt_bridge_vlans vlans;
	uint64_t backed; /* ports that have a backup port */
	uint64_t named;	 /* ports that the dump under way, or the last one, has told of */
	struct shunt_bridge_devices foreign; /* ports of the kernel's alone, for their bridge */
	int epoll_fd;
	bool is_behind; /* more was told than one service takes; the follower's */
	uint32_t age_s;
	uint64_t age_due_ns, tell_due_ns;
#define X(name, help) uint64_t name;
	SHUNT_BRIDGE_COUNTERS(X)
#undef X
};

/* shunt_bridge_create makes it for ports that are open. Returns 0, or -errno with err set and
 * nothing held:
 * - a group of which some ports are a bridge's and some are not;
 * - mode mix on the ports of a bridge.
 * shunt_bridge_destroy: NULL is legal. Thread: control. */
int shunt_bridge_create(struct shunt_bridge **out, const struct shunt_ports *ports,
			struct shunt_err *err);
void shunt_bridge_destroy(struct shunt_bridge *bridge);

/* shunt_bridge_inherit puts in the stations that the daemon before knew, as its `show macs` told
 * them (NULL is legal), each as if just heard. Those behind a kernel bridge's ports are left out:
 * that bridge tells of them. Thread: control. */
void shunt_bridge_inherit(struct shunt_bridge *bridge, const struct json_t *macs);

/* shunt_bridge_has says whether the ports are two of one bridge. Thread: control. */
bool shunt_bridge_has(const struct shunt_bridge *bridge, unsigned port, unsigned other);

/* shunt_bridge_params fills in what the bridge node of a worker is made with. Thread: control. */
void shunt_bridge_params(struct shunt_bridge *bridge, unsigned worker,
			 struct shunt_bridge_params *out);

/* shunt_bridge_routes says whether the port is one of mode route that belongs to a kernel bridge.
 * shunt_bridge_ifindex returns that bridge's; 0: the port is none. Thread: any. */
bool shunt_bridge_routes(const struct shunt_bridge *bridge, unsigned port);
uint32_t shunt_bridge_ifindex(const struct shunt_bridge *bridge, unsigned port);

/* shunt_bridge_steer fills in how a port steers that shunt_bridge_has. Thread: control. */
void shunt_bridge_steer(const struct shunt_bridge *bridge, unsigned port,
			struct shunt_steer_cfg *cfg);

/* shunt_bridge_is_over says whether a bridge of the kernel's lies beneath the port. Thread: any. */
bool shunt_bridge_is_over(const struct shunt_bridge *bridge, unsigned port);

/* shunt_bridge_leaves says why what comes in on a port is left to the kernel's bridge now,
 * SHUNT_LANE_REASON_none where it is not. Thread: the one that holds the guard. */
enum shunt_lane_reason shunt_bridge_leaves(const struct shunt_bridge *bridge, unsigned port);

/* shunt_bridge_leaves_tags says whether what carries a VLAN tag is left to the kernel on a port of
 * which all else is not: it has VLAN devices, and the kernel gives a frame to those before its
 * bridge sees it. Thread: any. */
bool shunt_bridge_leaves_tags(const struct shunt_bridge *bridge, unsigned port);

/* shunt_bridge_fd is readable when shunt_bridge_service has work. Thread: the follower, service
 * with the guard. Cost: bounded, some milliseconds; is_behind says that there is more. After events
 * were lost, a dump. */
int shunt_bridge_fd(const struct shunt_bridge *bridge);
void shunt_bridge_service(struct shunt_bridge *bridge);

/* shunt_bridge_is_behind says whether service has work whether or not the descriptor is readable.
 * Thread: the follower. */
bool shunt_bridge_is_behind(const struct shunt_bridge *bridge);

/* shunt_bridge_tick ages stations, and notes those still heard for the kernel's bridge, so that its
 * entries do not age while shunt forwards. Thread: the follower, with the guard, every second.
 * Cost: a walk over the stations. */
void shunt_bridge_tick(struct shunt_bridge *bridge);

/* shunt_bridge_current_ns returns until when (CLOCK_MONOTONIC) all that the kernel's bridge told is
 * followed, at most now_ns. is_idle says that it told nothing more by now_ns. Where events were
 * lost its ports are left to it, and where there is none nothing is followed: then it is now_ns.
 * Thread: the follower. */
uint64_t shunt_bridge_current_ns(const struct shunt_bridge *bridge, uint64_t now_ns, bool is_idle);

/* shunt_bridge_has_tells says whether the kernel's bridge is to be told of stations, with the
 * guard. shunt_bridge_tell tells it. Thread: control, without the guard. */
bool shunt_bridge_has_tells(const struct shunt_bridge *bridge);
void shunt_bridge_tell(struct shunt_bridge *bridge);

/* shunt_bridge_is_alone says whether the port is the first of a bridge without a kernel bridge
 * beneath. Thread: control. */
bool shunt_bridge_is_alone(const struct shunt_bridge *bridge, unsigned port);

#endif
