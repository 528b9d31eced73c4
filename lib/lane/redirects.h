/* SPDX-License-Identifier: BSD-2-Clause */
/* What became of frames that the ports' programs redirected, for show drops. */
#ifndef SHUNT_LANE_REDIRECTS_H
#define SHUNT_LANE_REDIRECTS_H

#include "engine/engine.h"
#include "xdp/fail.h"

/* shunt_redirects_open counts failed redirects of the engine's devices from now on, in
 * engine->redirects, where a port has a lane xdp. Without the rights or the tracepoints that stays
 * NULL and the reason is kept: forwarding does not need it. Thread: init. */
void shunt_redirects_open(struct shunt_engine *engine);

/* shunt_redirects_warn writes a sentence where a port's lane is xdp and nobody counts. Returns how
 * many, at most max. Thread: control. */
unsigned shunt_redirects_warn(const struct shunt_engine *engine, struct shunt_err *out,
			      unsigned max);

/* shunt_redirects_set_detour counts what fails at the port's detour, too, as the port's. Thread:
 * control. */
void shunt_redirects_set_detour(const struct shunt_engine *engine, const struct shunt_port *port);

#endif
