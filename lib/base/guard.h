/* SPDX-License-Identifier: BSD-2-Clause */
/* A guard of state that two threads share: one of them must never wait long (the follower,
 * engine/follower.h), the other must go on where the first hangs with the guard held (control). The
 * threads take turns: the waiting one is next. A guard is held for some milliseconds at most, and
 * never over what may block.
 *
 * Limits: two threads. It is not recursive.
 *
 *	shunt_guard_init(&guard);
 *	shunt_guard_enter(&guard); ... shunt_guard_leave(&guard);	the follower
 *	if (shunt_guard_try(&guard)) { ... shunt_guard_leave(&guard); }	control
 *	shunt_guard_fini(&guard);
 *
 * Everywhere NULL is legal, and stands for state that one thread alone has. */
#ifndef SHUNT_BASE_GUARD_H
#define SHUNT_BASE_GUARD_H

#include <pthread.h>
#include <stdbool.h>

struct shunt_guard {
	pthread_mutex_t next;  /* held by the thread that waits */
	pthread_mutex_t state; /* held while the state is in use */
	bool is_stuck;	       /* control's: its latest try was in vain */
};

/* shunt_guard_init makes a guard that nobody holds. Returns 0 or -errno. shunt_guard_fini: nobody
 * holds it any more. Thread: init. */
int shunt_guard_init(struct shunt_guard *guard);
void shunt_guard_fini(struct shunt_guard *guard);

/* shunt_guard_enter waits for the guard. Thread: the one that must not hang. */
void shunt_guard_enter(struct shunt_guard *guard);

/* shunt_guard_try waits for it for two seconds at most, and for 10 ms after it waited in vain.
 * Returns whether the caller has it. If not, the other thread hangs: shunt_guard_is_stuck says so
 * until the next try. Thread: control. */
bool shunt_guard_try(struct shunt_guard *guard);
bool shunt_guard_is_stuck(const struct shunt_guard *guard);

/* shunt_guard_leave gives it back. Thread: the one that has it. */
void shunt_guard_leave(struct shunt_guard *guard);

#endif
