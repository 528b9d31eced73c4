/* SPDX-License-Identifier: BSD-2-Clause */
/* A live share: what comes in on a port is split among the lanes by flows, so many in a hundred,
 * for a careful roll-out and to compare lanes on the same traffic. A flow keeps its lane while
 * the share stands. `auto` ends it: from the next frame on the port's own lane has everything.
 *
 *	shunt_lane_share_set(engine, "eth1", words, cnt, &err);	user=25% xdp=50% kernel=25%
 *	shunt_lane_share_set(engine, "eth1", (const char *[]){"auto"}, 1, &err);
 */
#ifndef SHUNT_LANE_SHARE_H
#define SHUNT_LANE_SHARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "shunt_steer.h"

struct shunt_engine;
struct shunt_port;

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
 * there is one, no frame is asked for its flow. Thread: any. */
int shunt_lane_share_whole(const struct shunt_lane_share *share, bool has_xdp);

/* shunt_lane_share_steer puts the share into what a steering program is told. While no port takes
 * frames from XDP, the worker has the share of lane xdp. Thread: any. */
void shunt_lane_share_steer(const struct shunt_lane_share *share, bool has_xdp,
			    struct shunt_steer_cfg *cfg);

/* shunt_lane_share_has_xdp says whether a port that this one's frames can leave by takes frames
 * from XDP. Thread: control. */
bool shunt_lane_share_has_xdp(const struct shunt_engine *engine, const struct shunt_port *port);

/* shunt_lane_share_is_in_force says whether a share steers the port now: one is set, and the frames
 * are not left to the kernel whatever lane is asked for. Thread: control. */
bool shunt_lane_share_is_in_force(const struct shunt_port *port);

/* shunt_lane_share_set parses and puts in force. Returns 0, or -errno with err set and nothing
 * changed: no such port, a lane that the port cannot have. Thread: control. Cost: one grace period.
 */
int shunt_lane_share_set(struct shunt_engine *engine, const char *port, const char *const *words,
			 unsigned cnt, struct shunt_err *err);

/* shunt_lane_share_request answers {"cmd": "lane", "port": PORT, "share": [WORD, ...]} as
 * shunt_show_lanes does. Returns a new reference, or NULL with err set. Thread: control. */
json_t *shunt_lane_share_request(struct shunt_engine *engine, const json_t *request,
				 struct shunt_err *err);

#endif
