/* SPDX-License-Identifier: BSD-2-Clause */
/* Upgrade in place, the successor's side. He loads his own steering programs and tells them what
 * crosses from port to port, all while the running daemon serves (shunt_engine_create), and asks
 * that one for the stations of its bridges. Then he asks it over its control socket to hand over:
 * it lets its workers finish what they have, closes its sockets, leaves its steering programs on
 * the devices, and ends. From then until the successor serves the kernel forwards, and of what it
 * cannot, cross-connects and bridges without one of its own, the programs themselves do
 * (bpf/shunt_steer_handover.bpf.h): the old ones, and from shunt_engine_open the new ones, which
 * take their place whatever version they are of. */
#ifndef SHUNT_SERVE_TAKEOVER_H
#define SHUNT_SERVE_TAKEOVER_H

#include "base/err.h"

/* shunt_takeover_stations returns what the daemon at the control socket path says its bridges know,
 * `show macs`, a new reference; NULL without a daemon or an answer of his. He serves on.
 * Thread: init. Cost: blocks, for ten seconds at most. */
struct json_t *shunt_takeover_stations(const char *path);

/* shunt_takeover_request asks the daemon at the control socket path and waits until
 * it has let go of everything. Returns 1 when it has, 0 when no daemon listens
 * there, or -errno with err set: -ETIMEDOUT it does not let go within ten seconds,
 * -EPROTO it does not know the request. Thread: init. Cost: blocks. */
int shunt_takeover_request(const char *path, struct shunt_err *err);

/* shunt_takeover_pid returns the process that listens on the control socket at path, or a
 * negative number without one. Thread: init, control. */
int shunt_takeover_pid(const char *path);

#endif
