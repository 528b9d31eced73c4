/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine: a configuration brought to life. create looks at the devices and loads the steering
 * programs. attach puts them on the devices, open builds each worker's pool, sockets and graph. In
 * between a helper may be forked, with the programs and without packets. destroy takes all of it
 * down: first the programs, then the workers, then the sockets. A program that wants to
 * forward packets needs this header and config/config.h.
 *
 *   shunt_engine_create(&engine, &config, &err);
 *   shunt_engine_attach(engine, &err);
 *   shunt_engine_open(engine, &err);
 *   shunt_engine_start(engine, &err);
 *   ...
 *   shunt_engine_destroy(engine);
 */
#ifndef SHUNT_ENGINE_ENGINE_H
#define SHUNT_ENGINE_ENGINE_H

#include "base/err.h"
#include "engine/state.h"

/* shunt_engine_create looks at everything the configuration names and loads the steering programs.
 * A device becomes promiscuous where its port must hear more than what is sent to it. Nothing else
 * on it changes: another daemon may still serve it. Returns 0 with *out set, or -errno with err set
 * and nothing held. Thread: control. Cost: setup. */
int shunt_engine_create(struct shunt_engine **out, struct shunt_config *config,
			struct shunt_err *err);

/* shunt_engine_attach attaches the programs, in the place of those that an ended daemon left. In a
 * takeover, what only crosses from port to port goes on doing so. shunt_engine_open opens sockets
 * and tables after that. No packet moves yet. Each returns 0, or -errno with err set: then the
 * engine can only be destroyed, which takes off what it had attached. Thread: control. Cost: setup.
 */
int shunt_engine_attach(struct shunt_engine *engine, struct shunt_err *err);
int shunt_engine_open(struct shunt_engine *engine, struct shunt_err *err);

/* shunt_engine_set_helper has a helper do what takes rights, from now on. It outlives the engine.
 * Thread: control, between attach and open. */
void shunt_engine_set_helper(struct shunt_engine *engine, struct shunt_helper *helper);

/* shunt_engine_on_worker has every worker call enter(arg) in its thread before its first
 * turn (see struct shunt_worker_opts); arg lives as long as the engine. Thread: control,
 * before start. */
void shunt_engine_on_worker(struct shunt_engine *engine, int (*enter)(void *, struct shunt_err *),
			    void *arg);

/* shunt_engine_punts tells whether workers hand frames back to the kernel. Thread: control. */
bool shunt_engine_punts(const struct shunt_engine *engine);

/* shunt_engine_wants_tables tells whether programs read tables of routing, or will once open has
 * made them. shunt_engine_has_network tells whether ports route or bridge, for which the
 * kernel's tables are asked and told. Thread: control. */
bool shunt_engine_has_network(const struct shunt_engine *engine);
bool shunt_engine_wants_tables(const struct shunt_engine *engine);

/* shunt_engine_loads_later tells whether a program is loaded to take a port's off, or to exchange
 * it (shunt_xdp_loads_later). Thread: control. */
bool shunt_engine_loads_later(const struct shunt_engine *engine);

/* shunt_engine_start starts the follower (engine/follower.h) and the workers, then opens the
 * steering programs' gate. Routes that take longer than half a second to load come later: until
 * then the lanes are the kernel's. Returns 0 or -errno with err set. Thread: control, with the
 * rights that the threads are to have. */
int shunt_engine_start(struct shunt_engine *engine, struct shunt_err *err);

/* shunt_engine_refresh looks at what no message tells of and tells the steering programs
 * when this host's addresses changed; to be called every second. Returns 0 or -errno with
 * err set. Thread: control. Cost: a few syscalls. */
int shunt_engine_refresh(struct shunt_engine *engine, struct shunt_err *err);

/* shunt_engine_service follows what the kernel has told of ports' devices, and does what the
 * follower found and cannot do itself: lanes are chosen anew, addresses told to the programs,
 * stations to the kernel's bridge. It is to be called when the descriptor is readable, which there
 * is once the engine is open. Returns 0, or -errno with err set: also of what
 * failed in the follower. Thread: control. */
int shunt_engine_service(struct shunt_engine *engine, struct shunt_err *err);
int shunt_engine_fd(const struct shunt_engine *engine);

/* shunt_engine_hand_over leaves the steering programs on the devices when the engine is destroyed,
 * for a successor's to take their place. Until the successor serves, what only crosses from port to
 * port goes on to the other port where that takes frames from XDP. All else is the kernel's.
 * Thread: control. */
void shunt_engine_hand_over(struct shunt_engine *engine);

/* shunt_engine_destroy detaches the programs, stops the workers, closes the sockets. Returns
 * - 0;
 * - -EBADMSG with err set: the ledger of a worker did not balance;
 * - -ETIMEDOUT with err set: a worker or the follower hangs, and memory and sockets are left to the
 *   process's end.
 * NULL is legal. Thread: control. */
int shunt_engine_destroy(struct shunt_engine *engine, struct shunt_err *err);

#endif
