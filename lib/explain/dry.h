/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker that is none: a graph as workers have it, over the tables in use, with queues that keep
 * what is sent. One frame at a time goes through it. */
#ifndef SHUNT_EXPLAIN_DRY_H
#define SHUNT_EXPLAIN_DRY_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

struct shunt_dry;
struct shunt_engine;
struct shunt_xdp_frame;

/* shunt_dry_create makes one. Returns 0 or -errno with err set. destroy(NULL) is legal.
 * Thread: control. */
int shunt_dry_create(struct shunt_dry **out, struct shunt_engine *engine, struct shunt_err *err);
void shunt_dry_destroy(struct shunt_dry *dry);

/* shunt_dry_run sends a frame through, and adds nodes, result, reason and outputs to the answer
 * (explain.h). Returns 0 or -errno with err set. Thread: control, with the guard. */
int shunt_dry_run(struct shunt_dry *dry, unsigned port, const struct shunt_xdp_frame *frame,
		  json_t *answer, struct shunt_err *err);

/* shunt_explain_hex returns bytes as digits, a new reference. Thread: any. */
json_t *shunt_explain_hex(const uint8_t *bytes, uint32_t len);

#endif
