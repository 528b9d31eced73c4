/* SPDX-License-Identifier: BSD-2-Clause */
/* A port: what a configuration names (a network device, memory, a capture), brought to life. And
 * all ports of an engine together. Bridge, router and lanes are given these. They read the ports
 * and the configuration, and know nothing of the engine.
 *
 * The engine makes and closes ports (engine/ports.h). The control thread writes; workers read
 * max_lens and macs alone, and order nothing by them. The follower (engine/follower.h) reads names,
 * and a lane's `judged` and `asks_flows`: these are written with the guard held. */
#ifndef SHUNT_PORT_PORT_H
#define SHUNT_PORT_PORT_H

#include "base/err.h"
#include "base/guard.h"
#include "choice/bulk.h"
#include "choice/choice.h"
#include "choice/backoff.h"
#include "choice/share.h"
#include "config/config.h"
#include "device/netdev.h"
#include "firewall/judge.h"
#include "port/stats.h"
#include "xdp/xdp.h"

struct shunt_xdp_delegate;

/* The lane of a port: what is known, what follows from it, and what was tried. lane/ keeps it. */
struct shunt_port_lane {
	struct shunt_lane_facts facts;
	struct shunt_judged judged; /* what decides whose rules its frames would meet */
	struct shunt_lane_choice choice;
	bool asks_flows;	/* its program forwards approved connections alone: in force */
	bool is_flow_above;	/* a flowtable has the port's bridge or bond, and not the port */
	uint8_t approved_looks; /* since none are approved any more, which workers mind yet; or 0 */
	bool leaves_tags;	/* what carries a VLAN tag is the kernel's */
	bool is_new;		/* chosen, or changed, since shunt_lanes_take_new */
	uint32_t change_cnt;	/* lanes in use that differed from the one before */
	uint32_t carrier_changes;	    /* of the device, before the program was attached */
	struct shunt_backoff backoff;	    /* of the program, which the device did not take back */
	struct shunt_err refusal;	    /* why it was refused */
	struct shunt_backoff flows_backoff; /* of the program that asks a flowtable: not loaded, */
	struct shunt_err flows_refusal;	    /* for this reason */
};

/* What takes a port's frames from XDP where its device does not (veth/detour.h). */
struct shunt_port_detour {
	unsigned ifindex; /* 0: none */
	uint32_t mtu;
	bool is_own;		      /* this daemon's, not one that the daemon before left */
	struct shunt_backoff backoff; /* it could not be opened, */
	struct shunt_err err;	      /* and why */
};

struct shunt_port {
	const struct shunt_port_config *config;
	char name[sizeof(((struct shunt_port_config *)0)->name)]; /* as its device is called now;
								     the configuration's at start */
	unsigned index;
	unsigned queue_cnt;	     /* served */
	struct shunt_queue **queues; /* [queue_cnt]; queue q belongs to worker q % worker_cnt */
	struct shunt_xdp *xdp;	     /* its steering program; NULL for mem and pcap */
	struct shunt_netdev netdev;  /* the device's facts at start */
	uint32_t mtu;		     /* of now, where that is less than at the start */
	int promisc_fd;		     /* keeps the device promiscuous; -1 */

	bool multi_buffer;	/* its longest packet takes several frames, */
	unsigned packet_frames; /* as many */
	char mtu_limit[256];	/* the largest MTU that works, and why; "" unknown */

	struct shunt_port_lane lane;
	struct shunt_lane_share share; /* overrides the choice while it is set */
	struct shunt_lane_bulk bulk;
	struct shunt_port_detour detour;
	struct shunt_port_stats stats;
};

/* All ports of an engine. */
struct shunt_ports {
	struct shunt_config *config; /* the engine's caller's */
	struct shunt_port *at;	     /* [cnt], in the configuration's order */
	unsigned cnt;
	/* Of all that follows the kernel (router, bridge, firewall) and of what it reads of ports;
	 * NULL: one thread. */
	struct shunt_guard *guard;
	const struct shunt_xdp_delegate *delegate; /* of the programs and the tables; NULL */
	uint32_t max_lens[SHUNT_PORT_MAX]; /* by port: bytes of frames that leave by it, no FCS */
	/* By port: six bytes as in memory, the address by which packets for this host come in: its
	 * own, or of a port that routes for a bridge the bridge's. */
	uint64_t macs[SHUNT_PORT_MAX];
};

/* shunt_port_len_max returns the longest frame of a device's MTU, VLAN tag included, in bytes
 * without FCS. Thread: any. */
static inline uint32_t shunt_port_len_max(const struct shunt_port *port)
{
	return port->netdev.mtu + 18;
}

/* shunt_ports_mode returns the mode that a port forwards by. shunt_ports_routes says whether the
 * port routes, shunt_ports_bridges whether it bridges; mode mix does both. shunt_ports_any_routes
 * says whether any port routes. shunt_ports_hears_all says whether the port forwards what is sent
 * to other stations' addresses. Thread: any. */
enum shunt_forward_mode shunt_ports_mode(const struct shunt_ports *ports, unsigned port);
bool shunt_ports_routes(const struct shunt_ports *ports, unsigned port);
bool shunt_ports_bridges(const struct shunt_ports *ports, unsigned port);
bool shunt_ports_any_routes(const struct shunt_ports *ports);
bool shunt_ports_hears_all(const struct shunt_ports *ports, unsigned port);

/* shunt_ports_crosses_alone says whether the port's program carries its wire on where no worker
 * serves it: the kernel would forward nothing, and the configuration wants it (on_death). Thread:
 * control. */
bool shunt_ports_crosses_alone(const struct shunt_ports *ports, const struct shunt_port *port);

/* shunt_ports_at returns the index of the port on the device, or -1. Thread: control. */
int shunt_ports_at(const struct shunt_ports *ports, uint32_t ifindex);

/* shunt_ports_any_device says whether any port is a network device. Thread: any. */
bool shunt_ports_any_device(const struct shunt_ports *ports);

/* shunt_ports_have_rule says whether a steering rule gives packets to the lane. Thread: any. */
bool shunt_ports_have_rule(const struct shunt_ports *ports, enum shunt_lane lane);

/* shunt_ports_named returns the port whose device has that name now, else the port that the
 * configuration calls so, else NULL. Thread: control. */
struct shunt_port *shunt_ports_named(const struct shunt_ports *ports, const char *name);

#endif
