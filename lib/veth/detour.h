/* SPDX-License-Identifier: BSD-2-Clause */
/* A detour lets programs redirect to a device that takes no frames from XDP. They redirect to a
 * veth pair of shunt's. A tc program at its other end sends each frame by the device's ordinary
 * transmit, in its qdisc. That costs a socket buffer a frame, but no copy and no worker.
 *
 *	shunt_detours_open(&detours, &err);
 *	ifindex = shunt_detour_open(detours, far_ifindex, mtu, queues, &err);	for the devmap
 *	...
 *	shunt_detour_close(detours, far_ifindex);
 *	shunt_detours_close(detours);
 *
 * The pair's name is made of the device's number. So a daemon finds the pairs of the daemon that it
 * takes over from, or of one that was killed. */
#ifndef SHUNT_VETH_DETOUR_H
#define SHUNT_VETH_DETOUR_H

#include <net/if.h>
#include <stdint.h>

#include "base/err.h"

struct shunt_detours;

/* shunt_detours_open loads the program. Returns 0, or -errno with err set: the kernel refuses it.
 * Thread: init. */
int shunt_detours_open(struct shunt_detours **out, struct shunt_err *err);

/* shunt_detours_close frees the program; the pairs that are there keep it. NULL is legal. Thread:
 * control. */
void shunt_detours_close(struct shunt_detours *detours);

/* shunt_detour_name writes the name of the pair's end that takes frames for the device far, to
 * name[IFNAMSIZ]. Thread: any. */
void shunt_detour_name(unsigned far, char *name);

/* shunt_detour_find returns that end's ifindex, 0 where there is no such device. Thread: any. */
unsigned shunt_detour_find(unsigned far);

/* shunt_detour_open makes the pair for the device far, or takes the one that is there, which goes
 * on forwarding meanwhile. mtu in bytes: longer frames are refused, as by far itself. queues: so
 * many CPUs can send at once. Returns the ifindex of the end that takes frames (over 0), or -errno
 * with err set and nothing left: -EEXIST where another device has the name. Thread: control, with
 * CAP_NET_ADMIN. Cost: some ms. */
int shunt_detour_open(struct shunt_detours *detours, unsigned far, uint32_t mtu, uint32_t queues,
		      struct shunt_err *err);

/* shunt_detour_close removes the pair, and forgets it. Thread: control. */
void shunt_detour_close(struct shunt_detours *detours, unsigned far);

/* shunt_detour_clean removes the pair that an ended daemon left. Returns 1, 0 where there is none,
 * or -errno with err set. Thread: control. */
int shunt_detour_clean(unsigned far, struct shunt_err *err);

#endif
