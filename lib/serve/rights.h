/* SPDX-License-Identifier: BSD-2-Clause */
/* Least rights: what the daemon gives up once everything is open. An attacker that gets hold of it
 * by a packet or a request can do little then.
 *
 * The control thread keeps CAP_NET_ADMIN, to take the programs and the punt device off again, and
 * to follow the kernel's tables with large buffers. It keeps no other capability. It has no new
 * privileges, a user of its own if asked, and a seccomp filter.
 * A worker keeps no capability, and has a narrower filter: rings, timers and memory. Where workers
 * punt they keep CAP_NET_ADMIN, which the kernel asks for with every marked frame.
 * Maps of BPF are read and written by descriptors that are open, which needs no capability since
 * Linux 5.19. CAP_BPF is kept on older kernels.
 *
 * A refused call ends with EPERM, and the kernel logs it (audit). It does not end the daemon: a
 * filter that is too narrow must not stop a forwarder.
 *
 * Limits: CAP_NET_ADMIN is much. Under libxdp's dispatcher, to take the program off is to load a
 * program. That needs CAP_SYS_ADMIN, CAP_BPF and files, which are kept then.
 *
 *     shunt_rights_drop(&opts, &err);           one thread so far, everything open
 *     shunt_engine_on_worker(engine, shunt_rights_enter_worker, &opts);
 *     shunt_engine_start(engine, &err);
 */
#ifndef SHUNT_SERVE_RIGHTS_H
#define SHUNT_SERVE_RIGHTS_H

#include <stdbool.h>

#include "base/err.h"

enum shunt_rights_side {
	SHUNT_RIGHTS_CONTROL,
	SHUNT_RIGHTS_WORKER,
};

struct shunt_rights_opts {
	const char *user; /* to become; "" or NULL: none */
	bool no_seccomp;
	bool has_dispatcher; /* a port's program runs under libxdp's dispatcher */
	bool has_tables;     /* the tables of lane xdp: BPF arrays that are made as they grow */
	bool has_punt;	     /* workers send marked frames */
};

/* shunt_rights_drop gives up for good what the running daemon does not need. Capabilities that were
 * not there are not missed. Returns 0, -ENOENT (no such user), -EPERM (not allowed to become that
 * user) or another -errno, with err set. After a failure some rights may be gone, and the process
 * should end. Thread: init, the only one. */
int shunt_rights_drop(const struct shunt_rights_opts *opts, struct shunt_err *err);

/* shunt_rights_make_folder makes the folder that path is in, if it is missing, and gives it to the
 * user ("": the caller keeps it). As that user the daemon can then remove what it put there.
 * Returns 0 (also when the folder was there), or -errno with err set. Thread: init. */
int shunt_rights_make_folder(const char *path, const char *user, struct shunt_err *err);

/* shunt_rights_enter_worker gives up the capabilities of the calling thread and
 * puts the workers' filter in force; arg is a struct shunt_rights_opts. Returns 0
 * or -errno with err set. Thread: a worker, before its first turn. */
int shunt_rights_enter_worker(void *arg, struct shunt_err *err);

/* shunt_rights_filter puts a seccomp filter in force for the calling thread and
 * those it starts, no_new_privs too. Filters add up: the narrowest counts. Returns
 * 0 or -errno with err set. Thread: any. */
int shunt_rights_filter(enum shunt_rights_side side, bool has_dispatcher, bool has_tables,
			struct shunt_err *err);

#endif
