/* SPDX-License-Identifier: BSD-2-Clause */
/* What would become of a frame that arrives on a port now: the steering program's answer, by a test
 * run of one apart (xdp/explain.c), and for lane user the way through a worker's graph, by a graph
 * of its own with one frame in it. Tables, addresses and configuration are those in use. Nothing is
 * sent, learned or counted.
 *
 * Limits: what only the driver knows, such as a full ring, is not foreseen. A frame has 14 to 2048
 * bytes.
 *
 *	shunt_explain_create(&explain, engine, &err);
 *	answer = shunt_explain_request(explain, request, &err);
 *	shunt_explain_destroy(explain);			before the engine
 */
#ifndef SHUNT_EXPLAIN_EXPLAIN_H
#define SHUNT_EXPLAIN_EXPLAIN_H

#include <jansson.h>

#include "base/err.h"

struct shunt_engine;
struct shunt_explain;

int shunt_explain_create(struct shunt_explain **out, struct shunt_engine *engine,
			 struct shunt_err *err);
void shunt_explain_destroy(struct shunt_explain *explain);

/* shunt_explain_request answers {"cmd": "explain", "port": NAME, "bytes": HEX, "queue": N}:
 *   port, queue, bytes
 *   steering   null for ports without a program, else lane, reason, why, rule (number, text or
 * null) route      as `route get`, of the destination address where the frame is routed; else null
 *   station    of a frame that is bridged: mac and port of its destination, port null: unknown;
 * else null nodes      of lane user: [{"node", "next"}, ...] in the order in which they had the
 * frame result     sent, dropped, kernel or punted; reason (a name) unless sent outputs [{"port",
 * "queue", "bytes"}, ...]: what leaves; queue null: the driver's choice Returns a new reference, or
 * NULL with err set. Thread: control. */
json_t *shunt_explain_request(struct shunt_explain *explain, const json_t *request,
			      struct shunt_err *err);

#endif
