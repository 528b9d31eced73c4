/* SPDX-License-Identifier: BSD-2-Clause */
/* The lanes of an engine's ports, in three steps. facts.c asks configuration, devices, bridge and
 * router for facts. choice/choice.h chooses by them, and asks nothing. follow.c does what the
 * choice wants: detours, what the programs are told, programs on the devices or off.
 *
 *	shunt_lanes_open(&lanes, &ports);	ports looked at, programs loaded
 *	lanes.bridge = ...; lanes.router = ...;
 *	shunt_lanes_choose(&lanes);		sockets are there
 *	shunt_lanes_open_gates(&lanes, &err);	workers run
 *	shunt_lanes_follow(&lanes, false, &err);	then every second
 *	shunt_lanes_close(&lanes, hands_over);
 *
 * Facts may change while frames flow: a veth's peer gets or loses its NAPI, or an XDP program. So
 * the choice is made anew every second.
 *
 * The guard of the ports is held for those facts alone that the follower keeps (engine/follower.h),
 * not while devices are asked, nor while anything is done to them: that may take seconds. What
 * cannot wait that long the follower does itself: it bars ports that are judged now (judged.h).
 *
 * Limits: where all drivers claim zero-copy the programs cannot read the routing tables, and auto
 * stays with user; what a port of mode mix routes is then the worker's, also in lane xdp. */
#ifndef SHUNT_LANE_LANES_H
#define SHUNT_LANE_LANES_H

#include "port/port.h"

struct shunt_bridge;
struct shunt_detours;
struct shunt_firewall;
struct shunt_helper;
struct shunt_judge;
struct shunt_origin;
struct shunt_router;
struct shunt_xdp_fail;

struct shunt_lanes {
	struct shunt_ports *ports;
	const struct shunt_bridge *bridge;     /* NULL when no port bridges */
	struct shunt_router *router;	       /* NULL when no port routes */
	const struct shunt_firewall *firewall; /* NULL when nothing of the host is bypassed */
	struct shunt_origin *origin;	       /* the same; what translated packets were */
	struct shunt_helper *helper;	  /* has programs and detours; NULL: this process has */
	struct shunt_detours *detours;	  /* NULL where none can be needed, or loaded */
	struct shunt_xdp_fail *redirects; /* counts those that failed; NULL: not counted, */
	struct shunt_err redirects_err;	  /* for this reason */
	bool is_started;		  /* frames are forwarded */
	/* Times that judges barred ports: all, and those before the facts in force were asked.
	 * With the guard. */
	uint32_t bar_cnt, seen_bar_cnt;
};

/* shunt_lanes_open takes ports with their programs loaded, and loads what detours need. Forwarding
 * works without detours, too. Thread: init. */
void shunt_lanes_open(struct shunt_lanes *lanes, struct shunt_ports *ports);

/* shunt_lanes_close removes the detours, unless a successor takes over, and stops counting. Thread:
 * control. */
void shunt_lanes_close(struct shunt_lanes *lanes, bool hands_over);

/* shunt_lanes_choose asks for the facts, chooses for every port, and opens the detours that the
 * choices need. Returns whether any choice, or what a port takes, is another than before. Thread:
 * control. Cost: three netlink exchanges a port. */
bool shunt_lanes_choose(struct shunt_lanes *lanes);

/* shunt_lanes_follow chooses anew. It tells the programs where that changes anything, or where
 * is_new says that something else has changed. It puts programs on devices and off as the choices
 * want it. A program that does not get back on is no failure: the lane says so. Returns 0 or -errno
 * with err set. Thread: control. */
int shunt_lanes_follow(struct shunt_lanes *lanes, bool is_new, struct shunt_err *err);

/* shunt_lanes_look_for_bulk looks for TCP in bulk (choice/bulk.h) on every port where the kernel
 * would do better, and closes a second. Thread: control, every second, before lanes are chosen.
 * Cost: no syscall; a netlink exchange for a port with bulk. */
void shunt_lanes_look_for_bulk(struct shunt_lanes *lanes);

/* shunt_lanes_open_gates tells every port's program rules, mode, lane and the other ports, and
 * opens it. shunt_lanes_tell_ports tells one port's only which other ports take frames from it.
 * Both return 0 or -errno with err set. Thread: control. */
int shunt_lanes_open_gates(struct shunt_lanes *lanes, struct shunt_err *err);
int shunt_lanes_tell_ports(const struct shunt_lanes *lanes, const struct shunt_port *port,
			   struct shunt_err *err);

/* shunt_lanes_prepare_crossing configures the programs of a takeover's bridges (are_bridges), or of
 * its cross-connects, before they are attached: rules, mode, other ports. Those for which the
 * kernel forwards are left out. Returns 0 or -errno with err set. shunt_lanes_cross asks the
 * firewall what it judges, then has frames of those ports cross from now on without sockets
 * (shunt_xdp_cross). Thread: control. */
int shunt_lanes_prepare_crossing(struct shunt_lanes *lanes, bool are_bridges,
				 struct shunt_err *err);
void shunt_lanes_cross(struct shunt_lanes *lanes);

/* shunt_lanes_end_approved ends what workers mind of connections that were approved, where none are
 * any more: what they hand back is no longer made what it was before its translation. are_through:
 * they took all that was there at the call before. Thread: control, every second. */
void shunt_lanes_end_approved(struct shunt_lanes *lanes, bool are_through);

/* shunt_lanes_follows says whether the port forwards by what the follower keeps: routes, the states
 * of a kernel bridge's ports, or rules of the firewall that leave it to the kernel. What others
 * forward by changes at this daemon's word alone. Thread: any. */
bool shunt_lanes_follows(const struct shunt_lanes *lanes, unsigned port);

/* shunt_lanes_take_new says whether the port's choice is new since the last call. Thread: control.
 */
bool shunt_lanes_take_new(struct shunt_port *port);

/* shunt_lanes_print writes why the port's lane is in use, one clause. Thread: control. */
void shunt_lanes_print(const struct shunt_lanes *lanes, const struct shunt_port *port, char *out,
		       unsigned len);

#endif
