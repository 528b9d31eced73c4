/* SPDX-License-Identifier: BSD-2-Clause */
/* Neighbours that shunt sends to are kept true. The kernel asks a neighbour anew when it sends to
 * one that it has not heard of for a while (state stale). It knows nothing of what shunt sends.
 * Without being asked, a station that got another address, or is gone, would be sent to for ever.
 * So the kernel is told that they are in use (NTF_USE), and asks.
 *
 * Limits: which of them packets go to is not known. A neighbour counts as used when it is a next
 * hop of a route, or when an address of its link leads to it.
 *
 *	shunt_neigh_use_open(&use, &err);
 *	shunt_neigh_use_collect(use, mirror, now_ns);	every second
 *	shunt_neigh_use_tell(use);
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

/* shunt_neigh_use_collect notes the stale ones, every few seconds. Returns whether there are more
 * than it has room for: call it again once they are told. The mirror's guard is held. Thread:
 * control. Cost: a walk over the neighbours. */
bool shunt_neigh_use_collect(struct shunt_neigh_use *use, struct shunt_mirror *mirror,
			     uint64_t now_ns);

/* shunt_neigh_use_tell tells the kernel of those that were noted. Without the guard: it waits for
 * whoever changes devices. Thread: control. Cost: some system calls. */
void shunt_neigh_use_tell(struct shunt_neigh_use *use);

#endif
