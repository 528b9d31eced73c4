/* SPDX-License-Identifier: BSD-2-Clause */
/* The follower: a thread that follows the kernel and does nothing else. Routes, neighbours,
 * addresses (router/), a kernel bridge's stations and the states of its ports (bridge/), and the
 * firewall's events are taken when they come, also while the control thread loads a program, asks a
 * driver or answers shuntctl. It keeps what is forwarded by: tables, masks, bars.
 *
 * It says to the watch (bpf/shunt_watch.bpf.c) of each port until when all that the port goes by is
 * as the kernel has it. That is its beat. Where it hangs, gets no CPU, or the kernel tells more
 * than it takes over, the time stands still, and after 170 ms the watch shuts both lanes of the
 * port. Where it knows itself that something is not followed (the first load, events that were
 * lost), nothing is forwarded by that: flags and masks say so at once, and the beat goes on.
 *
 * What it shares with the control thread is behind the ports' guard (base/guard.h). It never waits
 * while it has the guard, but for these, which take the kernel's lock of all devices: a dump of the
 * mirror (every minute, and when events were lost), and one of the bridge (when events were lost).
 * Where somebody holds that lock meanwhile, it stands still.
 *
 *	shunt_follower_create(&follower, engine, &err);	rights are there
 *	shunt_follower_start(follower, &err);		the router is loaded, in part at least
 *	poll shunt_follower_fd(follower); shunt_follower_take(follower, &news);		control
 *	shunt_follower_stop(follower, 5000);
 *	shunt_follower_destroy(follower);
 */
#ifndef SHUNT_ENGINE_FOLLOWER_H
#define SHUNT_ENGINE_FOLLOWER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct shunt_engine;
struct shunt_follower;

/* What the control thread has to do for the follower. */
struct shunt_follower_news {
	bool are_addrs_new; /* this host's */
	bool are_lanes_due; /* the facts that lanes are chosen by have changed */
	bool are_tells;	    /* the kernel's bridge is to be told of stations */
	int error;	    /* -errno of what failed meanwhile, with err set; 0: nothing did */
	struct shunt_err err;
};

/* shunt_follower_create opens its descriptors, for an engine with router, bridge and firewall as
 * they will be. It says of every port that it follows nothing. Returns 0 or -errno with err set.
 * shunt_follower_destroy: it does not run; NULL is legal. Thread: control. */
int shunt_follower_create(struct shunt_follower **out, struct shunt_engine *engine,
			  struct shunt_err *err);
void shunt_follower_destroy(struct shunt_follower *follower);

/* shunt_follower_start starts the thread, with the rights of the caller. Returns 0 or -errno with
 * err set. shunt_follower_stop waits until it has ended, some milliseconds: returns 0 (also where
 * it never ran), or -ETIMEDOUT: it hangs, and nothing that it touches may be freed. NULL is legal.
 * Thread: control. */
int shunt_follower_start(struct shunt_follower *follower, struct shunt_err *err);
int shunt_follower_stop(struct shunt_follower *follower, unsigned timeout_ms);

/* shunt_follower_fd is readable when there are news. shunt_follower_take takes them; none where the
 * follower hangs. Thread: control. */
int shunt_follower_fd(const struct shunt_follower *follower);
void shunt_follower_take(struct shunt_follower *follower, struct shunt_follower_news *out);

/* shunt_follower_silent_ns returns for how long it has given no sign of life, 0 where it gives
 * some. To be asked every second: a process that was stopped as a whole is not taken for it.
 * Thread: control. */
uint64_t shunt_follower_silent_ns(struct shunt_follower *follower);

#endif
