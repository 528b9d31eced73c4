/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine: a configuration brought to life. It looks at the devices and loads the steering
 * programs (create), attaches them, builds each worker's pool, sockets and graph (open), and takes
 * all of it down again in the right order (programs first, then workers, then
 * sockets). A program that wants to forward packets needs this header and
 * config/config.h.
 *
 *   shunt_engine_create(&engine, &config, &err);
 *   shunt_engine_open(engine, &err);
 *   shunt_engine_start(engine, &err);
 *   ...
 *   shunt_engine_destroy(engine);
 */
#ifndef SHUNT_ENGINE_ENGINE_H
#define SHUNT_ENGINE_ENGINE_H

#include "base/err.h"
#include "config/config.h"
#include "lane/bulk.h"
#include "lane/lane.h"
#include "lane/share.h"
#include "lane/stats.h"
#include "graph/worker.h"
#include "device/netdev.h"
#include "device/netdev_xdp.h"
#include "xdp/xdp.h"

struct shunt_port {
	const struct shunt_port_config *config;
	char name[sizeof(((struct shunt_port_config *)0)->name)]; /* as its device is called now;
								     the configuration's at start */
	unsigned index;
	unsigned queue_cnt;		/* served */
	bool multi_buffer;		/* its longest packet takes several frames */
	unsigned packet_frames;		/* as many */
	struct shunt_netdev_xdp offers; /* xsk: what the driver says of its XDP */
	char mtu_limit[256];		/* xsk: the largest MTU that works, and why; "" unknown */
	bool is_generic_dear; /* its program costs a frame more than the kernel's forwarding */
	bool has_fallback;    /* the kernel forwards what it gets in the user lane's place */
	struct shunt_lane_choice lane;
	struct shunt_lane_share share; /* overrides the choice while it is set */
	struct shunt_lane_stats stats;
	struct shunt_bulk bulk;
	struct shunt_netdev netdev; /* xsk: the device's facts at start */
	uint32_t carrier_changes;   /* before the program was attached */
	unsigned detour_ifindex;    /* what takes its frames from XDP (veth/detour.h); 0: none */
	uint32_t detour_mtu;
	bool has_detour;	     /* one of this daemon's */
	bool has_no_detour;	     /* it could not be opened, */
	struct shunt_err detour_err; /* and why */
	struct shunt_retry detour_retry;
	int promisc_fd;		     /* keeps the device promiscuous; -1 */
	struct shunt_xdp *xdp;	     /* NULL for mem and pcap */
	struct shunt_queue **queues; /* [queue_cnt]; queue q belongs to worker q % worker_cnt */
	bool is_rename_new;	     /* to be said */
	uint32_t mtu;		     /* of now, where that is less than at the start */
	uint32_t mtu_told;	     /* the raised MTU that was said; 0: none */
	unsigned queues_told;	     /* the device's queues when that was looked at last */
	bool tags_told;		     /* that VLAN tags are taken off was said */
	uint64_t share_told;	     /* bit q: that the kernel has much of queue q was said */
};

/* shunt_port_len_max returns the longest frame of a device's MTU, VLAN tag included, in bytes
 * without FCS. Thread: any. */
static inline uint32_t shunt_port_len_max(const struct shunt_port *port)
{
	return port->netdev.mtu + 18;
}

struct shunt_router;
struct shunt_bridge;
struct shunt_xdp_fail;
struct shunt_detours;

struct shunt_engine {
	struct shunt_config *config; /* the caller's; unchanged while the engine lives */
	struct shunt_port *ports;
	unsigned port_cnt;
	uint32_t max_lens[SHUNT_PORT_MAX]; /* by port: of frames that leave by it (mtu.h) */
	uint64_t macs[SHUNT_PORT_MAX];	   /* by port: six bytes as in memory */
	struct shunt_worker **workers;
	struct shunt_xsk_umem **umems; /* one a worker */
	unsigned worker_cnt;
	uint32_t frame_size;		    /* bytes, in use */
	bool multi_buffer;		    /* packets of some port take several frames */
	struct shunt_router *router;	    /* NULL when no port routes */
	struct shunt_bridge *bridge;	    /* NULL when no port bridges */
	struct shunt_puntdev_queue **punts; /* one a worker; NULL when nothing punts */
	struct shunt_err redirects_err;	    /* why not, then */
	struct shunt_detours *detours;	    /* NULL where none can be needed, or loaded */
	struct shunt_xdp_fail *redirects;   /* those that failed; NULL: not counted */
	struct shunt_locals locals;	    /* as the steering programs know them */
	uint64_t started_ns;		    /* CLOCK_MONOTONIC; 0 before start */
	bool hands_over;		    /* at its end, to a successor */
	struct json_t *stations;	    /* `show macs` of the daemon before; NULL */
};

/* shunt_engine_create looks at everything the configuration names and loads the steering programs.
 * Nothing on a device changes, but that it is promiscuous where its port must hear more than what
 * is sent to it: another daemon may serve it meanwhile. Returns 0 with *out set, or -errno with err
 * set. Thread: control. Cost: setup. */
int shunt_engine_create(struct shunt_engine **out, struct shunt_config *config,
			struct shunt_err *err);

/* shunt_engine_open attaches the programs, in the place of those that an ended daemon left, and
 * opens sockets and tables. No packet moves yet, but that in a takeover what only crosses from port
 * to port goes on doing so. Returns 0, or -errno with err set: then the engine can only be
 * destroyed, which takes off what it had attached. Thread: control. Cost: setup. */
int shunt_engine_open(struct shunt_engine *engine, struct shunt_err *err);

/* shunt_engine_on_worker has every worker call enter(arg) in his thread before his first
 * turn (see struct shunt_worker_opts); arg lives as long as the engine. Thread: control,
 * before start. */
void shunt_engine_on_worker(struct shunt_engine *engine, int (*enter)(void *, struct shunt_err *),
			    void *arg);

/* shunt_engine_routes tells whether some port routes, alone or beside bridging. Thread: any. */
bool shunt_engine_routes(const struct shunt_engine *engine);

/* shunt_engine_punts tells whether workers hand frames back to the kernel. Thread: control. */
bool shunt_engine_punts(const struct shunt_engine *engine);

/* shunt_engine_shares_tables tells whether lane xdp reads the forwarding tables. Thread: control.
 */
bool shunt_engine_shares_tables(const struct shunt_engine *engine);

/* shunt_engine_is_dispatched tells whether a port's program runs under libxdp's dispatcher.
 * Thread: control. */
bool shunt_engine_is_dispatched(const struct shunt_engine *engine);

/* shunt_engine_start starts the workers, then opens the steering programs'
 * gate. Returns 0 or -errno with err set. Thread: control. */
int shunt_engine_start(struct shunt_engine *engine, struct shunt_err *err);

/* shunt_engine_refresh looks at what no message tells of and tells the steering programs
 * when this host's addresses changed; to be called every second. Returns 0 or -errno with
 * err set. Thread: control. Cost: a few syscalls. */
int shunt_engine_refresh(struct shunt_engine *engine, struct shunt_err *err);

/* shunt_engine_service follows the kernel's routes: to be called when shunt_engine_fd is
 * readable (-1: there is nothing to follow; it may change at a refresh), or after
 * shunt_engine_timeout_ms (-1: never). Returns 1 when there is more to do, 0, or -errno
 * with err set. Thread: control. */
int shunt_engine_service(struct shunt_engine *engine, struct shunt_err *err);
int shunt_engine_fd(const struct shunt_engine *engine);
int shunt_engine_bridge_fd(const struct shunt_engine *engine); /* the same for stations learned */
int shunt_engine_timeout_ms(const struct shunt_engine *engine);

/* shunt_engine_warn writes up to max sentences about settings of this host under which the
 * engine does less than was asked for. Returns how many. Thread: control, after start. */
unsigned shunt_engine_warn(const struct shunt_engine *engine, struct shunt_err *out, unsigned max);

/* shunt_engine_swap_rules puts the rules of `with` in force on every port, and gives it those
 * that the engine's configuration had. A port changes from all of the old ones to all of the
 * new between two frames. Returns 0, or -errno with err set and everything as it was. Thread:
 * control, after start. Cost: a grace period a port. */
int shunt_engine_swap_rules(struct shunt_engine *engine, struct shunt_config *with,
			    struct shunt_err *err);

/* shunt_engine_hand_over leaves the steering programs on the devices when the engine is destroyed,
 * for a successor's to take their place. Until he serves, what only crosses from port to port goes
 * on to the other port where that takes frames from XDP; all else is the kernel's. Thread: control.
 */
void shunt_engine_hand_over(struct shunt_engine *engine);

/* shunt_engine_destroy detaches the programs, stops the workers, closes the
 * sockets. Returns 0; -EBADMSG with err set when a worker's ledger did not balance; -ETIMEDOUT
 * with err set when a worker hangs: then memory and sockets are left to the end of the process.
 * NULL is legal. Thread: control. */
int shunt_engine_destroy(struct shunt_engine *engine, struct shunt_err *err);

#endif
