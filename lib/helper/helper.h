/* SPDX-License-Identifier: BSD-2-Clause */
/* The helper: one small process that does for the running daemon what takes rights. So the daemon
 * drops its own before the first packet. It is a copy of the daemon, made by fork when the programs
 * are on the devices and before there is a socket, a ring or a thread. From then on it owns what it
 * copied of the programs, the detours and the journal; the daemon owns the maps (xdp/delegate.h).
 * So there are not two copies of one truth, and the helper needs to be told nothing: a request is
 * a verb, a port and a size (message.h). It loads only what is in its binary.
 *
 * It has a capability set and a seccomp filter of its own (serve/rights.h), the daemon's user, no
 * socket but the one to the daemon, and no packets. In ps it is `shunt-helper`. It ends with the
 * daemon, however that ends: by the end of the socket, and by a signal of the kernel's.
 *
 * Limits: nothing starts it again, since the daemon has no right to. A daemon without its helper
 * goes on forwarding. Programs stay where they are then, and tables of lane xdp do not grow. What a
 * stop cannot give back stands in the journal, for the next start. A helper that somebody stops
 * (SIGSTOP) holds the control thread up for ANSWER_MS at one request, and counts as ended then.
 *
 *	shunt_helper_start(&helper, &opts, &err);	one thread so far
 *	ports.delegate = shunt_helper_delegate(helper);
 *	...
 *	shunt_helper_stop(helper);
 */
#ifndef SHUNT_HELPER_HELPER_H
#define SHUNT_HELPER_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "io/queue.h"
#include "serve/rights.h"
#include "xdp/delegate.h"

struct shunt_detours;
struct shunt_helper;
struct shunt_journal;

struct shunt_helper_opts {
	struct shunt_xdp *ports[SHUNT_PORT_MAX]; /* attached; the only devices it serves */
	unsigned port_cnt;
	struct shunt_detours *detours; /* NULL: none can be made */
	struct shunt_journal *journal; /* NULL: nothing to give back */
	struct shunt_rights_opts rights;
	void (*end)(int code); /* ends the new process: _exit. The library itself never exits */
	char *title; /* title_len bytes that ps shows, the process's argv; NULL: left as it is */
	size_t title_len;
};

/* shunt_helper_start makes the process, and returns when it has dropped its rights. opts is needed
 * no more then. Returns 0 with *out set, or -errno with err set and no process left. Thread: init,
 * the only one. Cost: a fork. */
int shunt_helper_start(struct shunt_helper **out, const struct shunt_helper_opts *opts,
		       struct shunt_err *err);

/* shunt_helper_stop ends the process and waits for its end, two seconds at most. What it holds of
 * programs must be off by then. NULL is legal. Thread: control. */
void shunt_helper_stop(struct shunt_helper *helper);

/* shunt_helper_delegate is for shunt_xdp_delegate and shunt_xdp_tables_delegate. It lives as long
 * as helper. */
const struct shunt_xdp_delegate *shunt_helper_delegate(const struct shunt_helper *helper);

/* shunt_helper_is_lost says whether the process has ended, or counts as that. It never comes back.
 * NULL: no. Thread: control. Cost: a syscall. */
bool shunt_helper_is_lost(struct shunt_helper *helper);

/* shunt_helper_pid returns its number. shunt_helper_fd returns the daemon's end of the socket, for
 * tests; -1 once it is lost. Thread: control. */
pid_t shunt_helper_pid(const struct shunt_helper *helper);
int shunt_helper_fd(const struct shunt_helper *helper);

/* shunt_helper_detour_open and _close do what shunt_detour_open and shunt_detour_close (or _clean)
 * do. shunt_helper_give_back does what shunt_journal_give_back does. They return the same. Each
 * -ENOTCONN with err set: the helper is lost. Thread: control. */
int shunt_helper_detour_open(struct shunt_helper *helper, unsigned far, uint32_t mtu,
			     uint32_t queues, struct shunt_err *err);
int shunt_helper_detour_close(struct shunt_helper *helper, unsigned far, struct shunt_err *err);
int shunt_helper_give_back(struct shunt_helper *helper, bool keep, struct shunt_err *err);

#endif
