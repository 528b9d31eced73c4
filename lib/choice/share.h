/* SPDX-License-Identifier: BSD-2-Clause */
/* A share as a value: an operator splits the flows that come in on a port among the lanes, in per
 * cent. A flow keeps its lane while the share stands. lane/share.h puts one in force. */
#ifndef SHUNT_CHOICE_SHARE_H
#define SHUNT_CHOICE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "shunt_steer.h"

/* Of what forwarding can finish, in per cent by enum shunt_lane; no share where is_set is false. */
struct shunt_lane_share {
	bool is_set;
	uint8_t percent[SHUNT_LANE_CNT];
};

/* shunt_lane_share_parse reads words LANE=N% (the % may be missing), lanes user, xdp and kernel, or
 * one word: auto, or a lane that is to have all. Returns 0, or -EINVAL with err set: an unknown
 * lane, a lane twice, no number, a sum that is not 100. Thread: any. */
int shunt_lane_share_parse(struct shunt_lane_share *out, const char *const *words, unsigned cnt,
			   struct shunt_err *err);

/* shunt_lane_share_whole returns the lane that has all of the flows, -1 where there is none. Where
 * there is one, no frame's flow is looked up. has_xdp: a port takes frames from XDP. Thread: any.
 */
int shunt_lane_share_whole(const struct shunt_lane_share *share, bool has_xdp);

/* shunt_lane_share_steer puts the share into what a steering program is told. While no port takes
 * frames from XDP, the worker has the share of lane xdp. Thread: any. */
void shunt_lane_share_steer(const struct shunt_lane_share *share, bool has_xdp,
			    struct shunt_steer_cfg *cfg);

#endif
