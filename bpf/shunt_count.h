/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is counted where the configuration says `count`: packets and bytes, each counter with one
 * writer. Elsewhere none of it is written. */
#ifndef SHUNT_COUNT_H
#define SHUNT_COUNT_H

#include <linux/types.h>

#include "shunt_steer_config.h"

struct shunt_count {
	__u64 packets;
	__u64 bytes; /* of frames, as their receiver sees them: without FCS */
};

/* One writer's, of one number: lines of two writers are not one cache line. */
struct shunt_count_line {
	struct shunt_count count;
	__u64 pad[6];
};

/* Twice as many as rules: a reload gives its new rules counters that no rule in force has. */
#define SHUNT_STEER_RULE_COUNTS (2 * SHUNT_STEER_RULES_MAX)

/* Of each receive queue: frames that a rule matched, by the rule's `count`. */
struct shunt_steer_rule_counts {
	struct shunt_count of[SHUNT_STEER_RULE_COUNTS];
};

_Static_assert(sizeof(struct shunt_count_line) == 64, "a line of the shared tables");
_Static_assert(sizeof(struct shunt_steer_rule_counts) == 4096, "shared layout");

#endif
