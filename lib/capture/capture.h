/* SPDX-License-Identifier: BSD-2-Clause */
/* Captures: what a client sees of some ports' packets, for as long as it is connected. The daemon
 * exchanges the ports' programs for tapped ones, gives each worker a ring, and hands the rings to
 * the client. From then on it has nothing to do with them: the client reads, and what it does not
 * read is lost to it alone. Its end is the capture's end.
 *
 * Limits: one capture at a time.
 *
 *	shunt_captures_create(&captures, engine, &err);
 *	result = shunt_capture_begin(captures, request, fds, &fd_cnt, &capture, &err);
 *	... the reply, with the descriptors ...
 *	shunt_capture_end(capture);			when the client is gone
 *	shunt_captures_destroy(captures);		before the engine
 */
#ifndef SHUNT_CAPTURE_CAPTURE_H
#define SHUNT_CAPTURE_CAPTURE_H

#include <jansson.h>

#include "base/err.h"

struct shunt_captures;
struct shunt_capture;
struct shunt_engine;

int shunt_captures_create(struct shunt_captures **out, struct shunt_engine *engine,
			  struct shunt_err *err);
void shunt_captures_destroy(struct shunt_captures *captures);

/* shunt_capture_begin does {"cmd": "capture", "ports": [NAME, ...], "snap_len": N, "ring_bytes": N,
 * "filter": TEXT}: bytes of a packet, of each ring, and classic BPF as hexadecimal digits, 16 an
 * instruction (code, jt, jf, k as struct sock_filter on a big-endian machine); no ports: all.
 * Returns
 * {"ports": [{"index", "name", "is_shown", "ring"}, ...], "workers": N, "ring_bytes"}, a new
 * reference, with *fd_cnt descriptors, the caller's, and *capture; NULL with err set. The first
 * descriptor is the workers' rings (tap/ring.h); "ring" is the number of that of a port's own
 * (tap/kernel_ring.h), or null. fds has room for SHUNT_CAPTURE_FD_MAX. Thread: control. */
#define SHUNT_CAPTURE_FD_MAX 65
json_t *shunt_capture_begin(struct shunt_captures *captures, const json_t *request, int *fds,
			    unsigned *fd_cnt, struct shunt_capture **capture,
			    struct shunt_err *err);

/* shunt_capture_lost answers {"cmd": "captured"}: {"lost": [N, ...]}, records that had no room in
 * the ports' own rings since the capture began, by port. NULL with err set: there is no capture.
 * Thread: control. */
json_t *shunt_capture_lost(const struct shunt_captures *captures, struct shunt_err *err);

/* shunt_capture_end ends it. Thread: control. */
void shunt_capture_end(struct shunt_capture *capture);

#endif
