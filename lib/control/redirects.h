/* SPDX-License-Identifier: BSD-2-Clause */
/* What became of frames that the ports' programs redirected, for show drops. */
#ifndef SHUNT_CONTROL_REDIRECTS_H
#define SHUNT_CONTROL_REDIRECTS_H

#include "control/engine.h"
#include "io/xdp_fail.h"

/* shunt_redirects_open counts failed redirects of the engine's devices from now on, in
 * engine->redirects. Without the rights or the tracepoints it leaves that NULL and returns
 * -errno with err set: forwarding does not need it. Thread: init. */
int shunt_redirects_open(struct shunt_engine *engine, struct shunt_err *err);

#endif
