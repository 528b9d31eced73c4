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
#include "engine/state.h"

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

/* shunt_engine_punts tells whether workers hand frames back to the kernel. Thread: control. */
bool shunt_engine_punts(const struct shunt_engine *engine);

/* shunt_engine_has_xdp_tables tells whether lane xdp reads the forwarding tables. Thread: control.
 */
bool shunt_engine_has_xdp_tables(const struct shunt_engine *engine);

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
