/* SPDX-License-Identifier: BSD-2-Clause */
/* Upgrade in place, the successor's side. The running daemon is asked over its
 * control socket to hand over: it lets its workers finish what they have, closes its
 * sockets, leaves its steering programs on the devices, and ends. From then until the
 * successor opens the programs again the kernel forwards, and of what it cannot, cross-connects,
 * the programs themselves do (bpf/shunt_steer_handover.bpf.h). */
#ifndef SHUNT_CONTROL_TAKEOVER_H
#define SHUNT_CONTROL_TAKEOVER_H

#include "base/err.h"
#include "config/config.h"

/* shunt_takeover_request asks the daemon at the control socket path and waits until
 * it has let go of everything. Returns 1 when it has, 0 when no daemon listens
 * there, or -errno with err set: -ETIMEDOUT it does not let go within ten seconds,
 * -EPROTO it does not know the request. Thread: init. Cost: blocks. */
int shunt_takeover_request(const char *path, struct shunt_err *err);

/* shunt_takeover_hold keeps the devices promiscuous that the configuration's ports must hear more
 * from than what is sent to them, while one daemon has let go and the next has not taken hold.
 * Returns a descriptor to be closed then, or -1. Thread: init. */
int shunt_takeover_hold(const struct shunt_config *config);

/* shunt_takeover_pid returns the process that listens on the control socket at path, or a
 * negative number without one. Thread: init, control. */
int shunt_takeover_pid(const char *path);

#endif
