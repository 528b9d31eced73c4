/* SPDX-License-Identifier: BSD-2-Clause */
/* Detours (veth/detour.h) for ports that take no frames from XDP, where a port in lane xdp forwards
 * to them and the kernel would not: a cross-connect or a bridge without a kernel bridge beneath.
 * Lane user would copy every frame twice for that. Where the kernel forwards by itself it does
 * that better, segmentation offload included. */
#ifndef SHUNT_LANE_DETOURS_H
#define SHUNT_LANE_DETOURS_H

#include "lane/lanes.h"

/* shunt_lane_detours_open loads what detours need, where a port may need one; lanes->detours stays
 * NULL where the kernel does not. In a takeover it finds those of the daemon before, by which what
 * only crosses goes on meanwhile. Thread: init. */
void shunt_lane_detours_open(struct shunt_lanes *lanes);

/* shunt_lane_detours_can says whether a port that takes no frames from XDP can get them by a
 * detour. Thread: control. */
bool shunt_lane_detours_can(const struct shunt_lanes *lanes, const struct shunt_port *to);

/* shunt_lane_detours_follow opens those that the choices need, to be called before the programs are
 * told. Returns whether one was refused: that is in the facts then, and the lanes have to be chosen
 * again. shunt_lane_detours_prune removes those that no lane needs any more, after that. Thread:
 * control. Cost: some ms for each that comes or goes. */
bool shunt_lane_detours_follow(struct shunt_lanes *lanes, const struct shunt_lane_choice *choices);
void shunt_lane_detours_prune(struct shunt_lanes *lanes);

/* shunt_lane_detours_retry opens those that could not be opened (choice/backoff.h). Returns whether
 * one could, and the programs have to be told. Thread: control. Cost: nothing where none is missed.
 */
bool shunt_lane_detours_retry(struct shunt_lanes *lanes);

/* shunt_lane_detours_close removes all, but for a successor. Thread: control. */
void shunt_lane_detours_close(struct shunt_lanes *lanes, bool hands_over);

#endif
