/* SPDX-License-Identifier: BSD-2-Clause */
/* What the daemon says on stderr while it runs, for the log. Thread of all: control. */
#ifndef SHUNTD_ANNOUNCE_H
#define SHUNTD_ANNOUNCE_H

#include "engine/engine.h"
#include "notice/notice.h"

/* shuntd_announce_left says that the port of a bridge is none of shunt's; a shunt_brlink_left_fn.
 */
void shuntd_announce_left(const char *port, const char *bridge, const char *why);

/* shuntd_announce_start says how many ports forward by what, and which are connected
 * transparently. */
void shuntd_announce_start(const struct shunt_config *config);

/* shuntd_announce_ports says what the kernel granted, a line a port. */
void shuntd_announce_ports(const struct shunt_engine *engine);

/* shuntd_announce_lanes says the lane of each port where it is new since the last call. A first
 * choice that is what was asked for is not said. */
void shuntd_announce_lanes(struct shunt_engine *engine);

/* shuntd_announce_notice says that a notice is new or over; for shunt_notices_tell, with the engine
 * as arg. */
void shuntd_announce_notice(void *engine_arg, const struct shunt_notice *notice);

#endif
