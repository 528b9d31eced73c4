/* SPDX-License-Identifier: BSD-2-Clause */
/* How long frames are, and how many a packet takes. */
#ifndef SHUNT_ENGINE_FRAMES_H
#define SHUNT_ENGINE_FRAMES_H

#include "engine/state.h"

/* shunt_engine_fit_frames chooses the engine's frame size by the MTU of one more port. It is the
 * smaller size, unless the configuration or a port wants the larger. A packet that is longer than
 * the larger size takes several frames, where driver and kernel can do that. Returns 0 with the
 * port's multi_buffer, packet_frames and mtu_limit set, or -ERANGE with err set. Thread: control.
 */
int shunt_engine_fit_frames(struct shunt_engine *engine, struct shunt_port *port,
			    struct shunt_err *err);

#endif
