// SPDX-License-Identifier: BSD-2-Clause
#include "steer/steer.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"

static const char *const lane_names[SHUNT_LANE_CNT] = {
#define LANE_X(e, name, help) [SHUNT_LANE_##e] = name,
	SHUNT_STEER_LANES(LANE_X)
#undef LANE_X
};

static const struct {
	const char *name, *help;
	enum shunt_lane lane;
} reasons[SHUNT_STEER_REASON_CNT] = {
#define REASON_X(e, name, lane, help) [SHUNT_STEER_##e] = {name, help, SHUNT_LANE_##lane},
	SHUNT_STEER_REASONS(REASON_X)
#undef REASON_X
};

const char *shunt_steer_lane_name(unsigned lane)
{
	return lane < SHUNT_LANE_CNT ? lane_names[lane] : "?";
}

int shunt_steer_lane_parse(const char *name, enum shunt_lane *lane)
{
	for (unsigned i = 0; i < SHUNT_LANE_CNT; i++) {
		if (strcmp(lane_names[i], name) == 0) {
			*lane = i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *shunt_steer_reason_name(unsigned reason)
{
	return reason < SHUNT_STEER_REASON_CNT ? reasons[reason].name : "?";
}

const char *shunt_steer_reason_help(unsigned reason)
{
	return reason < SHUNT_STEER_REASON_CNT ? reasons[reason].help : "";
}

enum shunt_lane shunt_steer_reason_lane(unsigned reason)
{
	return reason < SHUNT_STEER_REASON_CNT ? reasons[reason].lane : SHUNT_LANE_CNT;
}

void shunt_steer_counters_add(struct shunt_steer_counters *sum,
			      const struct shunt_steer_counters *c)
{
	for (unsigned i = 0; i < SHUNT_STEER_REASON_MAX; i++)
		sum->packets[i] += c->packets[i];
	for (unsigned i = 0; i < SHUNT_LANE_CNT; i++)
		sum->bytes[i] += c->bytes[i];
	for (unsigned i = 0; i < SHUNT_STEER_USER_REASON_CNT; i++)
		sum->unserved[i] += c->unserved[i];
	sum->csum_finished += c->csum_finished;
	sum->csum_segments += c->csum_segments;
}

uint64_t shunt_steer_counters_lane(const struct shunt_steer_counters *c, enum shunt_lane lane)
{
	uint64_t packets = 0;

	for (unsigned i = 0; i < SHUNT_STEER_REASON_CNT; i++) {
		if (reasons[i].lane == lane)
			packets += c->packets[i];
	}
	return packets;
}
