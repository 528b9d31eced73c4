/* SPDX-License-Identifier: BSD-2-Clause */
/* Notices: what an operator should know, and what helps. There is one table of kinds, and all have
 * one life. A notice is raised when its cause is seen, and told once in the log. It stands in show
 * and metrics while the cause lasts. When the cause ends it is cleared, and that is told, too. It
 * is raised anew when the cause changes, as when an MTU is raised once more.
 *
 *	shunt_notices_create(&notices, engine, &err);
 *	shunt_notices_look(notices);			every second, and before they are shown
 *	shunt_notices_tell(notices, fn, arg);		those that are new or over, for the log
 *	shunt_notices_each(notices, fn, arg);		those that stand
 *	shunt_notices_destroy(notices);
 *
 * A new kind is a line of SHUNT_NOTICES and a check in a file of this folder. */
#ifndef SHUNT_NOTICE_NOTICE_H
#define SHUNT_NOTICE_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct shunt_engine;

/* name (for programs), about (host, port, queue, worker), sentence when it is over */
#define SHUNT_NOTICES(X)                                                                           \
	X(unbridged, port, "a kernel bridge lies beneath it now")                                  \
	X(helper, host, "the helper process is there again")                                       \
	X(policy_routing, host, "where routing rules lead what comes in by a port is known again") \
	X(bypassed, host, "no packet filter or IPsec policy is bypassed any more")                 \
	X(unmanaged, host, "shunt's own table is there, or not needed")                            \
	X(flows_late, port, "no flowtable has it, or its program asks that")                       \
	X(ip4_forwarding, port, "IPv4 forwarding is on")                                           \
	X(rp_filter, port, "rp_filter is off")                                                     \
	X(ip6_forwarding, host, "IPv6 forwarding is on")                                           \
	X(unfollowed, host, "the kernel's routes, bridges and firewall are followed again")        \
	X(uncounted_redirects, host, "failed redirects are counted, or none can fail")             \
	X(death_unseen, host, "an end of this process closes all gates at once")                   \
	X(tags, port, "its NIC takes no VLAN tags off any more")                                   \
	X(tags_beside, port, "no VLAN tags come beside its frames, or they are seen")              \
	X(mtu, port, "its MTU is not above that of the start any more")                            \
	X(queues, port, "it has no queue any more that is not served")                             \
	X(renamed, port, "it has the name of the start again")                                     \
	X(kernel_part, queue, "most of its frames are forwarded again")                            \
	X(hang, worker, "it is at work again")

enum shunt_notice_kind {
#define X(name, about, over) SHUNT_NOTICE_##name,
	SHUNT_NOTICES(X)
#undef X
		SHUNT_NOTICE_CNT,
};

/* A worker's heartbeat that was found too old, and when; 0: none. */
struct shunt_suspect {
	uint64_t beat_ns, since_ns; /* CLOCK_MONOTONIC */
};

struct shunt_notice {
	enum shunt_notice_kind kind;
	int port, queue, worker;       /* what it is about; -1: not about one */
	struct shunt_suspect *suspect; /* the worker's; NULL: not about one */
	uint64_t key;	   /* of the cause; another key raises the notice anew; 0: over */
	uint64_t since_ns; /* CLOCK_MONOTONIC */
	bool is_told;
	struct shunt_err text; /* a sentence, with what helps */
};

struct shunt_notices;

typedef void (*shunt_notice_fn)(void *arg, const struct shunt_notice *notice);

/* shunt_notices_create makes an empty list about an engine, which outlives it. Returns 0 or -ENOMEM
 * with err set. shunt_notices_destroy: NULL is legal. Thread: control. */
int shunt_notices_create(struct shunt_notices **out, const struct shunt_engine *engine,
			 struct shunt_err *err);
void shunt_notices_destroy(struct shunt_notices *notices);

/* shunt_notices_look looks for all causes. Thread: control, engine started. Cost: some syscalls a
 * port. */
void shunt_notices_look(struct shunt_notices *notices);

/* shunt_notices_tell calls fn for every notice that is new, or over (key 0), since it was called
 * last. shunt_notices_each calls fn for every notice that stands. Thread: control. */
void shunt_notices_tell(struct shunt_notices *notices, shunt_notice_fn fn, void *arg);
void shunt_notices_each(const struct shunt_notices *notices, shunt_notice_fn fn, void *arg);

/* shunt_notice_name returns the kind's name; shunt_notice_over what is said when it is over.
 * Thread: any. */
const char *shunt_notice_name(enum shunt_notice_kind kind);
const char *shunt_notice_over(enum shunt_notice_kind kind);

#endif
