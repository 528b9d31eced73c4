/* SPDX-License-Identifier: BSD-2-Clause */
/* Which nodes a worker's graph has: from the modes that the configuration names. */
#ifndef SHUNT_ENGINE_GRAPH_H
#define SHUNT_ENGINE_GRAPH_H

#include "engine/state.h"

struct shunt_learn;

/* shunt_engine_build_graph makes the graph of a worker with its queues open. Returns 0 or -errno
 * with err set. Thread: control. */
int shunt_engine_build_graph(struct shunt_engine *engine, struct shunt_worker *worker,
			     struct shunt_err *err);

/* shunt_engine_build_dry_graph makes one that nothing leaves: stations that it hears go into learn,
 * and what would be the kernel's is counted as refused by it. Returns the same. Thread: control. */
int shunt_engine_build_dry_graph(struct shunt_engine *engine, struct shunt_worker *worker,
				 struct shunt_learn *learn, struct shunt_err *err);

#endif
