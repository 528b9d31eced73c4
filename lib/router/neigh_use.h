/* SPDX-License-Identifier: BSD-2-Clause */
/* Neighbours that frames are sent to, kept true. The kernel asks a neighbour anew when something
 * is sent to one of which it has not heard for a while (state stale); of what shunt sends it knows
 * nothing, and a station that has another address, or is gone, would be sent to for ever. So the
 * kernel is told of their use (NTF_USE), and asks.
 *
 * Limits: which of them packets really go to is not known; those that are next hops of a route, or
 * that an address of their link leads to, count as used.
 *
 *	shunt_neigh_use_open(&use, &err);
 *	shunt_neigh_use_tick(use, mirror, now_ns);	every second
 *	shunt_neigh_use_close(use);
 */
#ifndef SHUNT_ROUTER_NEIGH_USE_H
#define SHUNT_ROUTER_NEIGH_USE_H

#include "base/err.h"
#include "mirror/mirror.h"

struct shunt_neigh_use;

/* shunt_neigh_use_open opens its socket, in the caller's network namespace. Returns 0, or -errno
 * with err set. shunt_neigh_use_close: NULL is legal. Thread: control. */
int shunt_neigh_use_open(struct shunt_neigh_use **out, struct shunt_err *err);
void shunt_neigh_use_close(struct shunt_neigh_use *use);

/* shunt_neigh_use_tick tells of the stale ones, every few seconds. Thread: control. Cost: then a
 * walk over the neighbours and up to 8 system calls. */
void shunt_neigh_use_tick(struct shunt_neigh_use *use, struct shunt_mirror *mirror,
			  uint64_t now_ns);

#endif
