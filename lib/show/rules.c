// SPDX-License-Identifier: BSD-2-Clause
#include "show/show.h"
#include "base/json.h"
#include "port/counters.h"
#include "steer/rule.h"
#include "steer/steer.h"

/* Of all ports, by lane. */
static json_t *matched_json(const struct shunt_engine *engine)
{
	uint64_t user = 0, kernel = 0, drop = 0, xdp = 0;
	struct shunt_steer_counters sum;
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++) {
		shunt_port_counters(&engine->ports.at[i], &sum);
		user += sum.packets[SHUNT_STEER_RULE_USER];
		kernel += sum.packets[SHUNT_STEER_RULE_KERNEL];
		drop += sum.packets[SHUNT_STEER_RULE_DROP];
		xdp += sum.packets[SHUNT_STEER_XDP_RULE];
	}
	return json_pack("{s:I, s:I, s:I, s:I}", "user", (json_int_t)user, "kernel",
			 (json_int_t)kernel, "drop", (json_int_t)drop, "xdp", (json_int_t)xdp);
}

/* What all ports' programs counted of a rule; null where none counts. */
static void add_count(json_t *row, const struct shunt_engine *engine, unsigned rule)
{
	struct shunt_count all = {0}, one;
	bool is_counted = false;
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++) {
		if (!engine->ports.at[i].xdp ||
		    !shunt_xdp_rule_count(engine->ports.at[i].xdp, rule, &one))
			continue;
		is_counted = true;
		all.packets += one.packets;
		all.bytes += one.bytes;
	}
	set_u64_if(row, "packets", is_counted, all.packets);
	set_u64_if(row, "bytes", is_counted, all.bytes);
}

json_t *shunt_show_rules(const struct shunt_show *show)
{
	const struct shunt_engine *engine = show->engine;
	const struct shunt_config *config = engine->config;
	json_t *rows = json_array(), *result, *row;
	char text[SHUNT_RULE_TEXT_MAX];
	unsigned i;

	for (i = 0; i < config->rule_cnt; i++) {
		shunt_rule_print(&config->rules[i], text, sizeof(text));
		row = json_pack("{s:i, s:s, s:s}", "order", (int)i + 1, "rule", text, "lane",
				shunt_rule_lane_name(&config->rules[i]));
		add_count(row, engine, i);
		json_array_append_new(rows, row);
	}
	result = timed("rules", rows);
	json_object_set_new(result, "matched", matched_json(engine));
	json_object_set_new(result, "counted", json_boolean(config->count));
	return result;
}
