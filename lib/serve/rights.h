/* SPDX-License-Identifier: BSD-2-Clause */
/* Least rights: what the daemon gives up once everything is open. An attacker that gets hold of it
 * by a packet or a request can do little then. What it needs again later is done for it by its
 * helper (helper/helper.h), which answers a few requests and gets no packet.
 *
 * The control thread keeps no capability. Where ports route or bridge it keeps CAP_NET_ADMIN: the
 * kernel asks for it with every question about netfilter, with every neighbour and station that it
 * is told of, and workers have it from there. No program is loaded and no map made in the daemon.
 * It has no new privileges, a user of its own if asked, and a seccomp filter.
 * A worker keeps no capability, and has a narrower filter: rings, timers and memory. Where workers
 * punt they keep CAP_NET_ADMIN, which the kernel asks for with every marked frame.
 * The helper keeps CAP_NET_ADMIN. For the tables of lane xdp it keeps CAP_BPF. Where captures are
 * allowed it keeps CAP_BPF and CAP_PERFMON, to load tapped programs. Under libxdp's
 * dispatcher, to take a program off is to load one, and one that asks for approved connections
 * looks the kernel's functions up: there it keeps CAP_SYS_ADMIN, CAP_BPF and CAP_PERFMON, and
 * CAP_DAC_OVERRIDE unless it is root. Its filter has no threads and no signals.
 * Maps of BPF are read and written by descriptors that are open, which needs no capability since
 * Linux 5.19. CAP_BPF is kept on older kernels.
 *
 * A refused call ends with EPERM, and the kernel logs it (audit). It does not end the daemon: a
 * filter that is too narrow must not stop a forwarder.
 *
 * Limits: CAP_NET_ADMIN is much. It stays where ports route or bridge.
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
	SHUNT_RIGHTS_HELPER,
};

struct shunt_rights_opts {
	const char *user; /* to become; "" or NULL: none */
	bool no_seccomp;
	bool loads_later; /* programs are loaded to take one off, or to exchange it */
	bool has_tables;  /* tables of routing: BPF arrays that are made as they grow */
	bool has_taps;	  /* programs are exchanged for tapped ones when somebody captures */
	bool has_network; /* ports route or bridge: the kernel's tables are asked and told */
	bool has_punt;	  /* workers send marked frames */
};

/* shunt_rights_drop gives up for good what the running daemon does not need. Capabilities that were
 * not there are not missed. Returns 0, -ENOENT (no such user), -EPERM (not allowed to become that
 * user) or another -errno, with err set. After a failure some rights may be gone, and the process
 * should end. Thread: init, the only one. */
int shunt_rights_drop(const struct shunt_rights_opts *opts, struct shunt_err *err);

/* shunt_rights_drop_helper does the same in the helper process. */
int shunt_rights_drop_helper(const struct shunt_rights_opts *opts, struct shunt_err *err);

/* shunt_rights_make_folder makes the folder that path is in, if it is missing, and gives it to the
 * user ("": the caller keeps it). As that user the daemon can then remove what it put there.
 * Returns 0 (also when the folder was there), or -errno with err set. Thread: init. */
int shunt_rights_make_folder(const char *path, const char *user, struct shunt_err *err);

/* shunt_rights_enter_worker gives up the capabilities of the calling thread and
 * puts the workers' filter in force; arg is a struct shunt_rights_opts. Returns 0
 * or -errno with err set. Thread: a worker, before its first turn. */
int shunt_rights_enter_worker(void *arg, struct shunt_err *err);

/* shunt_rights_filter puts a seccomp filter in force for the calling thread and
 * those it starts, no_new_privs too. Filters add up: the narrowest counts. opts are
 * for the helper's. Returns 0 or -errno with err set. Thread: any. */
int shunt_rights_filter(enum shunt_rights_side side, const struct shunt_rights_opts *opts,
			struct shunt_err *err);

#endif
