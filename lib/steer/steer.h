/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of lanes and steer reasons, made from the one list that the XDP
 * program counts by (bpf/shunt_steer_reason.h), and the arithmetic on its counters. */
#ifndef SHUNT_STEER_STEER_H
#define SHUNT_STEER_STEER_H

#include <stdbool.h>
#include <stdint.h>

#include "shunt_steer.h"

/* shunt_steer_lane_name returns a lane's name, "?" for a number that is none.
 * Static storage. Thread: any. */
const char *shunt_steer_lane_name(unsigned lane);

/* shunt_steer_lane_parse finds the lane called name. Returns 0 and sets *lane,
 * or -EINVAL. Thread: any. */
int shunt_steer_lane_parse(const char *name, enum shunt_lane *lane);

/* shunt_steer_reason_name returns a reason's short name, unique within its lane
 * ("rule" exists in three), "?" for a number that is none. Thread: any. */
const char *shunt_steer_reason_name(unsigned reason);

/* shunt_steer_reason_help returns one sentence on what a reason means, "" for a
 * number that is none. Thread: any. */
const char *shunt_steer_reason_help(unsigned reason);

/* shunt_steer_reason_lane returns the lane that a reason belongs to,
 * SHUNT_LANE_CNT for a number that is none. Thread: any. */
enum shunt_lane shunt_steer_reason_lane(unsigned reason);

/* shunt_steer_counters_add adds every counter of c to sum. Thread: any. */
void shunt_steer_counters_add(struct shunt_steer_counters *sum,
			      const struct shunt_steer_counters *c);

/* shunt_steer_counters_lane returns the packets of one lane: the sum over its
 * reasons. Thread: any. */
uint64_t shunt_steer_counters_lane(const struct shunt_steer_counters *c, enum shunt_lane lane);

#endif
