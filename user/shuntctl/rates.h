/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates from two snapshots of the daemon's counters. Pure. */
#ifndef SHUNTCTL_RATES_H
#define SHUNTCTL_RATES_H

#include <jansson.h>

/* What `show` said at one moment; references of the holder, NULL for none. */
struct shuntctl_snapshot {
	json_t *ports, *runtime, *drops;
};

void shuntctl_snapshot_fini(struct shuntctl_snapshot *s);

/* shuntctl_rates computes what happened from a to b. A counter that fell (another
 * daemon answers now) and a cost without samples are null. Returns a new reference. */
json_t *shuntctl_rates(const struct shuntctl_snapshot *a, const struct shuntctl_snapshot *b);

#endif
