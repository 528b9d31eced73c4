// SPDX-License-Identifier: BSD-2-Clause
#include "base/guard.h"

#include <stdint.h>
#include <time.h>

#include "base/clock.h"

/* The other one has it for some milliseconds where it lives. It may get no CPU for a while. */
#define WAIT_NS	 (2 * SHUNT_NS_PER_SEC)
#define AGAIN_NS (SHUNT_NS_PER_SEC / 100)

int shunt_guard_init(struct shunt_guard *guard)
{
	int ret = pthread_mutex_init(&guard->next, NULL);

	guard->is_stuck = false;
	if (!ret)
		ret = pthread_mutex_init(&guard->state, NULL);
	return -ret;
}

void shunt_guard_fini(struct shunt_guard *guard)
{
	if (!guard)
		return;
	pthread_mutex_destroy(&guard->state);
	pthread_mutex_destroy(&guard->next);
}

void shunt_guard_enter(struct shunt_guard *guard)
{
	if (!guard)
		return;
	pthread_mutex_lock(&guard->next);
	pthread_mutex_lock(&guard->state);
	pthread_mutex_unlock(&guard->next);
}

static bool lock_until(pthread_mutex_t *mutex, uint64_t until_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(until_ns / SHUNT_NS_PER_SEC),
				       .tv_nsec = (long)(until_ns % SHUNT_NS_PER_SEC)};

	return !pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until);
}

bool shunt_guard_try(struct shunt_guard *guard)
{
	uint64_t until_ns;

	if (!guard)
		return true;
	until_ns = shunt_clock_ns() + (guard->is_stuck ? AGAIN_NS : WAIT_NS);
	guard->is_stuck = true;
	if (!lock_until(&guard->next, until_ns))
		return false;
	guard->is_stuck = !lock_until(&guard->state, until_ns);
	pthread_mutex_unlock(&guard->next);
	return !guard->is_stuck;
}

bool shunt_guard_is_stuck(const struct shunt_guard *guard)
{
	return guard && guard->is_stuck;
}

void shunt_guard_leave(struct shunt_guard *guard)
{
	if (guard)
		pthread_mutex_unlock(&guard->state);
}
