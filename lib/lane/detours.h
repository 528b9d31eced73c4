/* SPDX-License-Identifier: BSD-2-Clause */
/* Detours (veth/detour.h) for ports that take no frames from XDP, where a port in lane xdp forwards
 * to them and the kernel would not: a cross-connect or a bridge without a kernel bridge beneath.
 * Lane user would copy every frame twice for that. Where the kernel forwards by itself it does
 * that better, segmentation offload included. */
#ifndef SHUNT_LANE_DETOURS_H
#define SHUNT_LANE_DETOURS_H

#include "engine/engine.h"

/* shunt_detours_prepare loads what detours need, where a port may need one; engine->detours stays
 * NULL where the kernel does not. Of a takeover it finds those of the daemon before, by which what
 * only crosses goes on meanwhile. Thread: init. */
void shunt_detours_prepare(struct shunt_engine *engine);

/* shunt_detours_can says whether a port that takes no frames from XDP can get them by a detour.
 * Thread: control. */
bool shunt_detours_can(const struct shunt_engine *engine, const struct shunt_port *to);

/* shunt_detours_follow opens those that the lanes chosen need, to be called before the programs are
 * told. Returns whether the lanes have to be chosen again, because one could not be opened.
 * shunt_detours_prune removes those that no lane needs any more, after that. Thread:
 * control. Cost: some ms for each that comes or goes. */
bool shunt_detours_follow(struct shunt_engine *engine);
void shunt_detours_prune(struct shunt_engine *engine);

/* shunt_detours_retry opens those that could not be opened (retry.h). Returns whether one could,
 * and the lanes have to be chosen again. Thread: control. Cost: nothing where none is missed. */
bool shunt_detours_retry(struct shunt_engine *engine);

/* shunt_detours_end removes all, but for a successor. Thread: control. */
void shunt_detours_end(struct shunt_engine *engine);

#endif
