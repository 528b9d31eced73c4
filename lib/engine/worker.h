/* SPDX-License-Identifier: BSD-2-Clause */
/* An engine's workers: what each is built of. */
#ifndef SHUNT_ENGINE_WORKER_H
#define SHUNT_ENGINE_WORKER_H

#include "engine/state.h"

/* shunt_engine_check_workers looks, before a daemon that runs is asked to hand over, whether the
 * workers can be: their CPUs, and the frames asked for. Returns 0 or -EINVAL with err set. Thread:
 * control. */
int shunt_engine_check_workers(const struct shunt_engine *engine, struct shunt_err *err);

/* shunt_engine_build_worker makes worker number id: pool, UMEM, one queue or more
 * of every port, graph; and counts it in engine->worker_cnt. Returns 0 or -errno
 * with err set and the worker gone again. Thread: control. */
int shunt_engine_build_worker(struct shunt_engine *engine, unsigned id, struct shunt_err *err);

/* shunt_engine_unbuild_worker frees a stopped worker. Thread: control. */
void shunt_engine_unbuild_worker(struct shunt_engine *engine, unsigned id);

#endif
