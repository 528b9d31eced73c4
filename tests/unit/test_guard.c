// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <semaphore.h>
#include <sched.h>

#include "base/guard.h"
#include "mirror/fresh.h"

/* --- the guard -------------------------------------------------------------------------------- */

struct other {
	struct shunt_guard guard;
	sem_t has, may_leave;
	unsigned turns;
	bool is_over;
};

static void *holds(void *arg)
{
	struct other *o = arg;

	shunt_guard_enter(&o->guard);
	sem_post(&o->has);
	sem_wait(&o->may_leave);
	shunt_guard_leave(&o->guard);
	return NULL;
}

static void *comes_back(void *arg)
{
	struct other *o = arg;

	while (!__atomic_load_n(&o->is_over, __ATOMIC_ACQUIRE)) {
		shunt_guard_enter(&o->guard);
		o->turns++;
		shunt_guard_leave(&o->guard);
	}
	return NULL;
}

static void start(struct other *o, pthread_t *thread, void *(*run)(void *))
{
	*o = (struct other){.turns = 0};
	cr_assert_eq(shunt_guard_init(&o->guard), 0);
	sem_init(&o->has, 0, 0);
	sem_init(&o->may_leave, 0, 0);
	cr_assert_eq(pthread_create(thread, NULL, run, o), 0);
}

Test(guard, without)
{
	shunt_guard_enter(NULL);
	shunt_guard_leave(NULL);
	cr_assert(shunt_guard_try(NULL));
	shunt_guard_leave(NULL);
	cr_assert_not(shunt_guard_is_stuck(NULL));
}

/* A thread that hangs with the guard is found out, and forgiven once it leaves. */
Test(guard, held_by_one_that_hangs)
{
	struct other o;
	pthread_t thread;

	start(&o, &thread, holds);
	sem_wait(&o.has);
	cr_assert_not(shunt_guard_try(&o.guard));
	cr_assert(shunt_guard_is_stuck(&o.guard));
	cr_assert_not(shunt_guard_try(&o.guard));
	sem_post(&o.may_leave);
	pthread_join(thread, NULL);
	cr_assert(shunt_guard_try(&o.guard));
	cr_assert_not(shunt_guard_is_stuck(&o.guard));
	shunt_guard_leave(&o.guard);
	shunt_guard_fini(&o.guard);
}

/* One that comes back at once does not shut the other out: each try takes a turn. */
Test(guard, turns)
{
	struct other o;
	pthread_t thread;
	unsigned i;

	start(&o, &thread, comes_back);
	for (i = 0; i < 1000; i++) {
		cr_assert(shunt_guard_try(&o.guard));
		o.turns++;
		shunt_guard_leave(&o.guard);
	}
	__atomic_store_n(&o.is_over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	cr_assert_geq(o.turns, 1000u);
	shunt_guard_fini(&o.guard);
}

/* --- until when a socket's reader has heard everything ---------------------------------------- */

Test(fresh, empty_socket)
{
	struct shunt_mirror_fresh fresh = {.heard_ns = 0};

	shunt_mirror_fresh_read(&fresh, 5);
	cr_assert_eq(fresh.heard_ns, 0);
	shunt_mirror_fresh_empty(&fresh, 7);
	cr_assert_eq(fresh.heard_ns, 7);
}

/* A dump alone: each part was made when the one before was read. */
Test(fresh, dump)
{
	struct shunt_mirror_fresh fresh = {.heard_ns = 3};
	uint64_t now;

	shunt_mirror_fresh_begin(&fresh, 10);
	for (now = 20; now < 100; now += 10) {
		shunt_mirror_fresh_read(&fresh, now);
		shunt_mirror_fresh_part(&fresh);
		cr_assert_eq(fresh.heard_ns, now - 10);
	}
}

/* Each event that is read makes a part as well, which waits behind the others. */
Test(fresh, dump_among_events)
{
	struct shunt_mirror_fresh fresh = {.heard_ns = 3};
	uint64_t now;

	shunt_mirror_fresh_begin(&fresh, 10);
	for (now = 20; now < 70; now += 10)
		shunt_mirror_fresh_read(&fresh, now);
	cr_assert_eq(fresh.heard_ns, 3);
	for (now = 70; now < 100; now += 10) {
		shunt_mirror_fresh_read(&fresh, now);
		shunt_mirror_fresh_part(&fresh);
		cr_assert_eq(fresh.heard_ns, now - 60);
	}
	shunt_mirror_fresh_empty(&fresh, 200);
	cr_assert_eq(fresh.heard_ns, 200);
	shunt_mirror_fresh_part(&fresh); /* it never goes back */
	cr_assert_eq(fresh.heard_ns, 200);
}

/* With more parts waiting than are kept track of, the time stands still until the next dump. */
Test(fresh, too_many)
{
	struct shunt_mirror_fresh fresh = {.heard_ns = 3};
	unsigned i;

	shunt_mirror_fresh_begin(&fresh, 10);
	for (i = 0; i < SHUNT_MIRROR_READS_MAX + 1; i++)
		shunt_mirror_fresh_read(&fresh, 20 + i);
	shunt_mirror_fresh_part(&fresh);
	cr_assert_eq(fresh.heard_ns, 3);
	shunt_mirror_fresh_begin(&fresh, 5000);
	shunt_mirror_fresh_part(&fresh);
	cr_assert_eq(fresh.heard_ns, 5000);
}
