/* SPDX-License-Identifier: BSD-2-Clause */
/* The lanes of an engine's ports: facts are asked of configuration, devices, bridge and router
 * (facts.c), a choice follows from them (choice/choice.h, which asks nothing), and what the choice
 * wants is done (follow.c): detours, what the programs are told, programs on the devices or off.
 *
 *	shunt_lanes_open(&lanes, &ports);	ports looked at, programs loaded
 *	lanes.bridge = ...; lanes.router = ...;
 *	shunt_lanes_choose(&lanes);		sockets are there
 *	shunt_lanes_open_gates(&lanes, &err);	workers run
 *	shunt_lanes_follow(&lanes, false, &err);	then every second
 *	shunt_lanes_close(&lanes, hands_over);
 *
 * What is confirmed may change while frames flow (a veth's peer gets or loses its NAPI, an XDP
 * program): so the choice is made anew every second.
 *
 * Limits: what mix routes is the worker's in lane xdp. Where all drivers claim zero-copy the
 * routing tables are not shared with the programs, and auto stays with user. */
#ifndef SHUNT_LANE_LANES_H
#define SHUNT_LANE_LANES_H

#include "port/port.h"

struct shunt_bridge;
struct shunt_detours;
struct shunt_router;
struct shunt_xdp_fail;

struct shunt_lanes {
	struct shunt_ports *ports;
	const struct shunt_bridge *bridge; /* NULL when no port bridges */
	const struct shunt_router *router; /* NULL when no port routes */
	struct shunt_detours *detours;	   /* NULL where none can be needed, or loaded */
	struct shunt_xdp_fail *redirects;  /* those that failed; NULL: not counted, */
	struct shunt_err redirects_err;	   /* and why not */
	bool is_started;		   /* frames are forwarded */
};

/* shunt_lanes_open takes ports whose programs are loaded, and loads what detours and the counting
 * of failed redirects need; without those forwarding works as well. Thread: init. */
void shunt_lanes_open(struct shunt_lanes *lanes, struct shunt_ports *ports);

/* shunt_lanes_close removes the detours, but for a successor, and stops counting. Thread: control.
 */
void shunt_lanes_close(struct shunt_lanes *lanes, bool hands_over);

/* shunt_lanes_choose asks for the facts, chooses for every port, and opens the detours that the
 * choices need. Returns whether any choice, or what a port takes, is another than before. Thread:
 * control. Cost: three netlink exchanges a port. */
bool shunt_lanes_choose(struct shunt_lanes *lanes);

/* shunt_lanes_follow chooses anew, tells the programs where that changes anything (or is_new says
 * that something else has changed), and puts programs on devices and off as the choices want it.
 * A program that does not get back is no failure: the lane says so. Returns 0 or -errno with err
 * set. Thread: control. */
int shunt_lanes_follow(struct shunt_lanes *lanes, bool is_new, struct shunt_err *err);

/* shunt_lanes_take_new says whether the port's choice is new since the last call. Thread: control.
 */
bool shunt_lanes_take_new(struct shunt_port *port);

/* shunt_lanes_print writes why the port's lane is in use, one clause. Thread: control. */
void shunt_lanes_print(const struct shunt_lanes *lanes, const struct shunt_port *port, char *out,
		       unsigned len);

#endif
