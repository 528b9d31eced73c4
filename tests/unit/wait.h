/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for what a thread, a process or the kernel does meanwhile. How long that takes says
 * nothing about shunt: the limit only ends a test whose wait would not end. */
#ifndef SHUNT_TESTS_WAIT_H
#define SHUNT_TESTS_WAIT_H

#include <criterion/criterion.h>
#include <time.h>

#include "base/clock.h"

#define WAIT_S	60
#define WAIT_MS (WAIT_S * 1000)

/* Sleeps for a moment. Returns false when the limit, counted from the first call on, is over. */
static inline bool wait_a_moment(uint64_t *until_ns)
{
	const struct timespec pause = {.tv_nsec = 200 * 1000};

	if (!*until_ns)
		*until_ns = shunt_clock_ns() + WAIT_S * SHUNT_NS_PER_SEC;
	nanosleep(&pause, NULL);
	return shunt_clock_ns() < *until_ns;
}

#define wait_until(condition)                                                                  \
	do {                                                                                   \
		uint64_t until_ns = 0;                                                         \
                                                                                               \
		while (!(condition))                                                           \
			cr_assert(wait_a_moment(&until_ns), "%s: not within %d s", #condition, \
				  WAIT_S);                                                     \
	} while (0)

#endif
