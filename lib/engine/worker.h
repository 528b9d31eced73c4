/* SPDX-License-Identifier: BSD-2-Clause */
/* What an engine is built of; for engine*.c and what chooses lanes. */
#ifndef SHUNT_ENGINE_WORKER_H
#define SHUNT_ENGINE_WORKER_H

#include "engine/engine.h"

/* shunt_engine_open_ports looks at the devices of all ports and loads their programs;
 * shunt_engine_attach_ports attaches those. Both return 0 or -errno with err set, and leave to
 * shunt_engine_close_port what they did, one port a call. Thread: control. */
int shunt_engine_open_ports(struct shunt_engine *engine, struct shunt_err *err);
int shunt_engine_attach_ports(struct shunt_engine *engine, struct shunt_err *err);
void shunt_engine_close_port(struct shunt_port *port);

/* shunt_engine_check_workers looks, before a daemon that runs is asked to hand over, whether the
 * workers can be: their CPUs, and the frames asked for. Returns 0 or -EINVAL with err set. Thread:
 * control. */
int shunt_engine_check_workers(const struct shunt_engine *engine, struct shunt_err *err);

/* shunt_engine_build_worker makes worker number id: pool, UMEM, one queue or more
 * of every port, graph; and counts it in engine->worker_cnt. Returns 0 or -errno
 * with err set and the worker gone again. Thread: control. */
int shunt_engine_build_worker(struct shunt_engine *engine, unsigned id, struct shunt_err *err);

/* shunt_engine_build_graph makes the graph of a worker whose queues are open. Returns 0 or -errno
 * with err set. Thread: control. */
int shunt_engine_build_graph(struct shunt_engine *engine, struct shunt_worker *worker,
			     struct shunt_err *err);

/* shunt_engine_fit_frames chooses the engine's frame size by the MTU of one port more: the
 * smaller one unless the configuration or a port wants the larger. A packet that is longer than
 * the larger one takes several frames, where driver and kernel have that. Returns 0 with the
 * port's multi_buffer, packet_frames and mtu_limit set, or -ERANGE with err set. Thread: control.
 */
int shunt_engine_fit_frames(struct shunt_engine *engine, struct shunt_port *port,
			    struct shunt_err *err);

/* shunt_engine_unbuild_worker frees a stopped worker. Thread: control. */
void shunt_engine_unbuild_worker(struct shunt_engine *engine, unsigned id);

/* shunt_engine_put_rules gives one port's steering program the configuration's rules.
 * Returns 0 or -errno with err set. Thread: control. */
int shunt_engine_put_rules(const struct shunt_engine *engine, struct shunt_xdp *xdp,
			   struct shunt_err *err);

/* shunt_engine_forwards_foreign_macs says whether the port forwards what is sent to other
 * stations' addresses. Thread: any. */
bool shunt_engine_forwards_foreign_macs(const struct shunt_config *config, unsigned port);

/* shunt_engine_open_gate tells a port's program rules, mode, lane and the other ports, and opens
 * it. Returns 0 or -errno with err set. Thread: control. */
int shunt_engine_open_gate(struct shunt_engine *engine, struct shunt_port *port,
			   struct shunt_err *err);

/* shunt_engine_prepare_crossing configures the programs of a takeover's bridges, or of its
 * cross-connects, before they are attached: rules, mode, other ports. Returns 0 or -errno with err
 * set. shunt_engine_cross has both cross from now on without sockets (shunt_xdp_cross).
 * Thread: control. */
int shunt_engine_prepare_crossing(struct shunt_engine *engine, bool are_bridges,
				  struct shunt_err *err);
void shunt_engine_cross(struct shunt_engine *engine);

/* shunt_engine_set_ports tells a port's program which of the other ports take frames from it.
 * Returns 0 or -errno with err set. Thread: control. */
int shunt_engine_set_ports(const struct shunt_engine *engine, const struct shunt_port *port,
			   struct shunt_err *err);

/* shunt_engine_steer tells a port's program its lane, or share, and the other ports anew. Returns 0
 * or -errno with err set. Thread: control. */
int shunt_engine_steer(struct shunt_engine *engine, struct shunt_port *port, struct shunt_err *err);

/* shunt_engine_follow_devices asks for the ports' MAC addresses and MTUs of now, and tells the
 * workers. Returns whether any is another than before. Thread: control. Cost: two ioctls a port. */
bool shunt_engine_follow_devices(struct shunt_engine *engine);

/* shunt_engine_follow_lanes chooses the lanes anew, and tells the programs where that changes
 * anything. Returns 0 or -errno with err set. Thread: control. */
int shunt_engine_follow_lanes(struct shunt_engine *engine, struct shunt_err *err);

#endif
