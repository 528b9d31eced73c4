/* SPDX-License-Identifier: BSD-2-Clause */
/* Upgrade in place, the successor's side.
 * 1. The successor loads its steering programs and tells them what crosses from port to port
 *    (shunt_engine_create). It asks the running daemon for the stations of its bridges. That one
 *    serves on meanwhile.
 * 2. The successor asks it over its control socket to hand over. The running daemon lets its
 * workers finish what they have, closes its sockets, leaves its steering programs on the devices,
 * and ends.
 * 3. From then until the successor serves, the kernel forwards. What the kernel cannot forward,
 *    cross-connects and bridges without a kernel bridge, the programs do by themselves
 *    (bpf/steer/handover.bpf.h). First the old ones do, and from shunt_engine_open the new ones,
 *    which take their place whatever version they are of. */
#ifndef SHUNT_SERVE_TAKEOVER_H
#define SHUNT_SERVE_TAKEOVER_H

#include "base/err.h"

/* shunt_takeover_stations returns what the daemon at the control socket path says its bridges know,
 * `show macs`, a new reference; NULL without a daemon, or without its answer. The daemon serves on.
 * Thread: init. Cost: blocks, for ten seconds at most. */
struct json_t *shunt_takeover_stations(const char *path);

/* shunt_takeover_request asks the daemon at the control socket path and waits until
 * it has let go of everything. Returns 1 when it has, 0 when no daemon listens
 * there, or -errno with err set: -ETIMEDOUT it does not let go within ten seconds,
 * -EPROTO it does not know the request. Thread: init. Cost: blocks. */
int shunt_takeover_request(const char *path, struct shunt_err *err);

/* shunt_takeover_pid returns the process that listens on the control socket at path, or a
 * negative number without one. shunt_takeover_root_pid returns it only if it was root when it began
 * to listen (SO_PEERCRED), else -EPERM. Thread: init, control. */
int shunt_takeover_pid(const char *path);
int shunt_takeover_root_pid(const char *path);

#endif
