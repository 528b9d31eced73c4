// SPDX-License-Identifier: BSD-2-Clause
#include "config/print.h"

#include <errno.h>

#include "config/yaml.h"

static json_t *mac_json(const uint8_t *m)
{
	return json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
}

static json_t *filters_json(const struct shunt_port_config *p)
{
	json_t *filters = json_array();
	char text[SHUNT_FILTER_TEXT_MAX];
	unsigned i;

	for (i = 0; i < p->filter_cnt; i++) {
		shunt_filter_print(&p->filters[i], text, sizeof(text));
		json_array_append_new(filters, json_string(text));
	}
	return filters;
}

static json_t *port_json(const struct shunt_port_config *p)
{
	json_t *port =
		json_pack("{s:s, s:s}", "name", p->name, "kind", shunt_port_kind_name(p->kind));

	switch (p->kind) {
	case SHUNT_PORT_XSK:
		json_object_set_new(port, "driver_mode",
				    json_string(shunt_driver_mode_name(p->driver_mode)));
		json_object_set_new(port, "copy_mode",
				    json_string(shunt_copy_mode_name(p->copy_mode)));
		json_object_set_new(port, "require_zerocopy", json_boolean(p->require_zerocopy));
		json_object_set_new(port, "queues", json_integer(p->queues));
		json_object_set_new(port, "spread", json_boolean(p->spread));
		json_object_set_new(port, "ntuple", filters_json(p));
		break;
	case SHUNT_PORT_MEM:
		json_object_set_new(port, "size", json_integer(p->mem_frame_bytes));
		json_object_set_new(port, "flows", json_integer(p->mem_flows));
		json_object_set_new(port, "copy", json_boolean(p->mem_copy));
		break;
	case SHUNT_PORT_PCAP:
		if (*p->pcap_in)
			json_object_set_new(port, "in", json_string(p->pcap_in));
		if (*p->pcap_out)
			json_object_set_new(port, "out", json_string(p->pcap_out));
		json_object_set_new(port, "repeat", json_boolean(p->pcap_repeat));
		break;
	}
	return port;
}

static json_t *pair_json(const struct shunt_config *config, const struct shunt_pair_config *p)
{
	json_t *pair = json_pack("{s:s, s:s, s:[s, s]}", "mode", shunt_forward_mode_name(p->mode),
				 "lane", shunt_lane_request_name(p->lane), "ports",
				 config->ports[p->port[0]].name, config->ports[p->port[1]].name);

	if (p->mode == SHUNT_FORWARD_XCONNECT)
		json_object_set_new(pair, "transparent", json_boolean(p->is_transparent));
	else
		json_object_set_new(
			pair, "next_hop",
			json_pack("[o, o]", mac_json(p->next_hop[0]), mac_json(p->next_hop[1])));
	return pair;
}

static json_t *group_json(const struct shunt_config *config, const struct shunt_group_config *g)
{
	json_t *ports = json_array();
	unsigned i;

	for (i = 0; i < g->port_cnt; i++)
		json_array_append_new(ports, json_string(config->ports[g->port[i]].name));
	return json_pack("{s:s, s:s, s:o}", "mode", shunt_forward_mode_name(g->mode), "lane",
			 shunt_lane_request_name(g->lane), "ports", ports);
}

static json_t *fronts_json(const struct shunt_config *config)
{
	json_t *names = json_array();
	unsigned i;

	for (i = 0; i < config->front_cnt; i++)
		json_array_append_new(names, json_string(config->fronts[i]));
	return names;
}

static json_t *rules_json(const struct shunt_config *config)
{
	json_t *rules = json_array();
	char text[SHUNT_RULE_TEXT_MAX];
	unsigned i;

	for (i = 0; i < config->rule_cnt; i++) {
		shunt_rule_print(&config->rules[i], text, sizeof(text));
		json_array_append_new(rules, json_string(text));
	}
	return rules;
}

static json_t *workers_json(const struct shunt_config *config)
{
	json_t *cpus = json_array();
	unsigned i;

	for (i = 0; i < config->worker_cnt; i++)
		json_array_append_new(cpus, json_integer(config->worker_cpus[i]));
	return json_pack("{s:i, s:o}", "count", (int)config->worker_cnt, "cpus", cpus);
}

json_t *shunt_config_json(const struct shunt_config *config)
{
	json_t *ports = json_array(), *forward = json_array(), *json;
	const char *control = *config->control_path ? config->control_path : "none";
	unsigned i;

	for (i = 0; i < config->port_cnt; i++)
		json_array_append_new(ports, port_json(&config->ports[i]));
	for (i = 0; i < config->pair_cnt; i++)
		json_array_append_new(forward, pair_json(config, &config->pairs[i]));
	for (i = 0; i < config->group_cnt; i++)
		json_array_append_new(forward, group_json(config, &config->groups[i]));
	json = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:s}",
		"ports", ports, "forward", forward, "rules", rules_json(config), "nodes",
		fronts_json(config), "workers", workers_json(config), "poll",
		shunt_poll_mode_name(config->poll), "batch", (json_int_t)config->batch, "idle_us",
		(json_int_t)config->idle_us, "ring_size", (json_int_t)config->ring_size,
		"frame_size", (json_int_t)config->frame_size, "frames", (json_int_t)config->frames,
		"punt_rate", (json_int_t)config->punt_rate, "replace", config->replace, "persist",
		config->persist, "external", config->external, "control", control);
	if (*config->user)
		json_object_set_new(json, "user", json_string(config->user));
	return json;
}

int shunt_config_print(const struct shunt_config *config, FILE *out)
{
	json_t *json = shunt_config_json(config);

	if (!json)
		return -ENOMEM;
	shunt_yaml_print(out, json);
	json_decref(json);
	return 0;
}
