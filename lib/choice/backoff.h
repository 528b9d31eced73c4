/* SPDX-License-Identifier: BSD-2-Clause */
/* When what a device or the kernel refused is tried again: after a second, then each time after
 * twice as long, up to eight seconds. With longer waits, an operator who mended the cause waits.
 * With shorter ones, a driver that restarts its device for what it refuses does so all the time. */
#ifndef SHUNT_CHOICE_BACKOFF_H
#define SHUNT_CHOICE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/clock.h"

#define SHUNT_BACKOFF_MAX_S 8U

struct shunt_backoff { /* all zeros: nothing was refused */
	uint64_t at_ns;
	uint32_t after_s;
};

/* shunt_backoff_refused says that it was, at now_ns, again or for the first time. Thread: any. */
static inline void shunt_backoff_refused(struct shunt_backoff *backoff, uint64_t now_ns)
{
	backoff->after_s =
		backoff->after_s ? SHUNT_MIN(2 * backoff->after_s, SHUNT_BACKOFF_MAX_S) : 1;
	backoff->at_ns = now_ns + backoff->after_s * SHUNT_NS_PER_SEC;
}

/* shunt_backoff_was_refused says whether it was, the latest time. Thread: any. */
static inline bool shunt_backoff_was_refused(const struct shunt_backoff *backoff)
{
	return backoff->after_s;
}

/* shunt_backoff_is_due says whether it may be tried. Thread: any. */
static inline bool shunt_backoff_is_due(const struct shunt_backoff *backoff, uint64_t now_ns)
{
	return now_ns >= backoff->at_ns;
}

#endif
