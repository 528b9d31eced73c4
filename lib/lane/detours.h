/* SPDX-License-Identifier: BSD-2-Clause */
/* Detours (veth/detour.h) for ports that take no frames from XDP. A port gets one where a port in
 * lane xdp forwards to it and the kernel would not: in a cross-connect, or a bridge without a
 * kernel bridge beneath. Without a detour lane user would copy every frame twice. Where the kernel
 * forwards by itself it does that better, segmentation offload included. */
#ifndef SHUNT_LANE_DETOURS_H
#define SHUNT_LANE_DETOURS_H

#include "lane/lanes.h"

/* shunt_lane_detours_open loads what detours need, where a port may need one. lanes->detours stays
 * NULL where none is needed or the kernel refuses. In a takeover it finds the detours of the daemon
 * before, by which what only crosses goes on meanwhile. Thread: init. */
void shunt_lane_detours_open(struct shunt_lanes *lanes);

/* shunt_lane_detours_can says whether a port that takes no frames from XDP can get them by a
 * detour. Thread: control. */
bool shunt_lane_detours_can(const struct shunt_lanes *lanes, const struct shunt_port *to);

/* shunt_lane_detours_follow opens the detours that the choices need. It must come before the
 * programs are told. Returns whether one was refused: that is a fact then, and the lanes have to be
 * chosen again. shunt_lane_detours_prune removes detours that no lane needs any more. It must come
 * after the programs were told. Thread: control. Cost: some ms for each that comes or goes. */
bool shunt_lane_detours_follow(struct shunt_lanes *lanes, const struct shunt_lane_choice *choices);
void shunt_lane_detours_prune(struct shunt_lanes *lanes);

/* shunt_lane_detours_retry opens detours that were refused, when it is time to (choice/backoff.h).
 * Returns whether one was opened: then the programs have to be told. Thread: control. Cost: nothing
 * where none is missed. */
bool shunt_lane_detours_retry(struct shunt_lanes *lanes);

/* shunt_lane_detours_close removes all detours, unless a successor takes over. Thread: control. */
void shunt_lane_detours_close(struct shunt_lanes *lanes, bool hands_over);

#endif
