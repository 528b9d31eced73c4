/* SPDX-License-Identifier: BSD-2-Clause */
/* Upgrade in place, the successor's side. The running daemon is asked over its
 * control socket to hand over: it gives every frame to the kernel, lets its workers
 * finish what they have, closes its sockets, leaves its steering programs on the
 * devices, and ends. From then until the successor opens the programs again the
 * kernel forwards. */
#ifndef SHUNT_CONTROL_TAKEOVER_H
#define SHUNT_CONTROL_TAKEOVER_H

#include "base/err.h"

/* shunt_takeover_request asks the daemon at the control socket path and waits until
 * it has let go of everything. Returns 1 when it has, 0 when no daemon listens
 * there, or -errno with err set: -ETIMEDOUT it does not let go within ten seconds,
 * -EPROTO it does not know the request. Thread: init. Cost: blocks. */
int shunt_takeover_request(const char *path, struct shunt_err *err);

/* shunt_takeover_pid returns the process that listens on the control socket at path, or a
 * negative number without one. Thread: init, control. */
int shunt_takeover_pid(const char *path);

#endif
