/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine's ports: looked at, opened, their programs attached, closed. */
#ifndef SHUNT_ENGINE_PORTS_H
#define SHUNT_ENGINE_PORTS_H

#include "engine/state.h"

/* shunt_engine_open_ports looks at the devices of all ports and loads their programs;
 * shunt_engine_attach_ports attaches those. Both return 0 or -errno with err set, and leave to
 * shunt_engine_close_port what they did, one port a call. Thread: control. */
int shunt_engine_open_ports(struct shunt_engine *engine, struct shunt_err *err);
int shunt_engine_attach_ports(struct shunt_engine *engine, struct shunt_err *err);
void shunt_engine_close_port(struct shunt_port *port);

#endif
