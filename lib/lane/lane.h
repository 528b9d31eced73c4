/* SPDX-License-Identifier: BSD-2-Clause */
/* The lane that a port's frames take: what the configuration asks for and, where it leaves the
 * choice (auto), what the drivers confirmed:
 *
 *	zero-copy on all of the ports	user	a framework's cost per packet
 *	the far port takes XDP frames	xdp	no copy, no socket buffer, no wake-up; in
 *						generic mode before Linux 6.9 only on veth
 *						and tun, or where the kernel would not forward;
 *						not for TCP in bulk on veth (bulk.h)
 *	otherwise			kernel	where it forwards by the same tables
 *	and where it does not		xdp	by a detour (detours.h), else user
 *
 * What is confirmed may change while frames flow (a veth's peer gets or loses its NAPI, an XDP
 * program): so the choice is made anew every second.
 *
 * Limits: what mix routes is the worker's in lane xdp. Where all drivers claim zero-copy the
 * routing tables are not shared with the programs, and auto stays with user. */
#ifndef SHUNT_LANE_LANE_H
#define SHUNT_LANE_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "config/config.h"
#include "lane/retry.h"

struct shunt_engine;
struct shunt_port;

struct shunt_lane_choice {
	enum shunt_lane_request requested;
	enum shunt_lane in_use; /* user, xdp or kernel */
	bool has_xdp_transmit;	/* the device takes frames that XDP redirects */
	bool is_confirmed;   /* the kernel said so; false: it cannot be asked, the driver's name did
			      */
	bool is_gone;	     /* the device was removed, or moved to another namespace */
	bool is_taken_off;   /* the steering program is not on the device any more */
	bool is_suspended;   /* we took it off ourselves (suspend.h) */
	bool is_blocked;     /* so, and another's program has come */
	bool is_refused;     /* so, and the device does not take the program back */
	bool is_left;	     /* frames are left to the kernel whatever lane is asked for */
	bool is_new;	     /* chosen, or changed, since shunt_lane_take_new */
	uint32_t change_cnt; /* choices that differed from the one before */
	enum shunt_lane wanted;	  /* what would be in use if the program could be on the device */
	struct shunt_retry retry; /* is_refused */
	struct shunt_err refusal; /* is_refused */
	char why[sizeof(struct shunt_err) + 80]; /* one clause */
};

/* shunt_lane_choose looks at the devices and chooses for every port. Returns whether any choice,
 * or what a port takes, is another than before. Thread: control. Cost: three netlink exchanges a
 * port. */
bool shunt_lane_choose(struct shunt_engine *engine);

/* shunt_lane_ask asks what a port's device takes, its program attached or not. Thread: control.
 * Cost: two netlink exchanges. */
void shunt_lane_ask(struct shunt_port *port);

/* shunt_lane_is_zerocopy says whether the kernel confirmed zero-copy on all of the port's queues.
 * Thread: control. Cost: a syscall a queue. */
bool shunt_lane_is_zerocopy(const struct shunt_port *port);

/* shunt_lane_sends_bare says whether the port's driver sends what is redirected to it without a
 * program of its own. Thread: any. */
bool shunt_lane_sends_bare(const struct shunt_port *port);

/* shunt_lane_takes_frames says whether what comes in on `from` can be redirected to `to`.
 * Thread: control. */
bool shunt_lane_takes_frames(const struct shunt_port *from, const struct shunt_port *to);

/* shunt_lane_far_ifindex returns the device that what comes in on `from` is redirected to for `to`:
 * its own, that of its detour, or 0, none. Thread: control. */
unsigned shunt_lane_far_ifindex(const struct shunt_port *from, const struct shunt_port *to);

/* shunt_lane_take_new says whether the port's choice is new since the last call. */
bool shunt_lane_take_new(struct shunt_port *port);

#endif
