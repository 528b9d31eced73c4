// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "gen.h"
#include "measure/rng.h"

/* Without a field that varies, flows are told apart by source port, so many of
 * them, and beyond that by source address. */
#define PORT_CNT 16384

/* The same flow has the same value in every run of the same seed. */
static uint32_t value(const struct gen_field *f, uint32_t flow, uint64_t seed)
{
	uint64_t rng = seed ^ (uint64_t)flow << 32;

	if (f->cnt <= 1)
		return f->first;
	shunt_rng_next(&rng);
	return f->first + (f->is_random ? (uint32_t)shunt_rng_below(&rng, f->cnt) : flow % f->cnt);
}

static bool is_varied(const struct gen_send_opts *o)
{
	return o->src.cnt > 1 || o->dst.cnt > 1 || o->sport.cnt > 1 || o->dport.cnt > 1;
}

static uint32_t flow_count(const struct gen_send_opts *o)
{
	const struct gen_field *const fields[] = {&o->src, &o->dst, &o->sport, &o->dport};
	uint32_t n = 1;

	if (o->flows)
		return o->flows;
	for (unsigned i = 0; i < SHUNT_ARRAY_LEN(fields); i++) {
		if (fields[i]->cnt > 1 && fields[i]->is_random)
			return SHUNT_GEN_FLOW_MAX;
		n = SHUNT_MAX(n, fields[i]->cnt);
	}
	return SHUNT_MIN(n, SHUNT_GEN_FLOW_MAX);
}

int gen_flows_make(struct gen_plan *plan, struct shunt_err *err)
{
	const struct gen_send_opts *o = plan->opts;
	const bool varied = is_varied(o);

	plan->flow_cnt = flow_count(o);
	plan->flows = calloc(plan->flow_cnt, sizeof(*plan->flows));
	if (!plan->flows)
		return shunt_err_set(err, ENOMEM, "no memory for %u flows", plan->flow_cnt);
	for (uint32_t i = 0; i < plan->flow_cnt; i++) {
		const uint32_t src = value(&o->src, i, o->seed + 1) + (varied ? 0 : i / PORT_CNT);
		const uint32_t dst = value(&o->dst, i, o->seed + 2);
		const uint32_t sport =
			value(&o->sport, i, o->seed + 3) + (varied ? 0 : i % PORT_CNT);
		const uint32_t dport = value(&o->dport, i, o->seed + 4);

		plan->flows[i] = shunt_gen_flow_make(src, dst, (uint16_t)sport, (uint16_t)dport);
	}
	return 0;
}
