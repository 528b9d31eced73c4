// SPDX-License-Identifier: BSD-2-Clause
#include "config/print.h"

#include <errno.h>
#include <string.h>

#include "config/key.h"
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

static json_t *names_json(const struct shunt_config *config, const unsigned *port, unsigned cnt)
{
	json_t *names = json_array();
	unsigned i;

	for (i = 0; i < cnt; i++)
		json_array_append_new(names, json_string(config->ports[port[i]].name));
	return names;
}

/* The value of a LIST; a table of them ends with NULL. */
struct list {
	const char *name;
	json_t *value;
};

/* The keys of a table that the kind has. Takes over the references in lists. */
static json_t *keys_json(const struct shunt_key *key, unsigned kind, const void *base,
			 const struct list *lists)
{
	json_t *json = json_object();
	const struct list *list;

	for (; key->name; key++) {
		json_t *value = shunt_key_json(key, base);

		for (list = lists; list->name; list++)
			if (!strcmp(list->name, key->name))
				value = list->value;
		if (shunt_key_is_of(key, kind))
			json_object_set_new(json, key->name, value);
		else
			json_decref(value);
	}
	return json;
}

static json_t *ports_json(const struct shunt_config *config)
{
	json_t *ports = json_array();
	unsigned i;

	for (i = 0; i < config->port_cnt; i++) {
		const struct shunt_port_config *p = &config->ports[i];
		const struct list lists[] = {{"ntuple", filters_json(p)}, {NULL, NULL}};

		json_array_append_new(ports, keys_json(shunt_port_keys, p->kind, p, lists));
	}
	return ports;
}

static json_t *pair_json(const struct shunt_config *config, const struct shunt_pair_config *p)
{
	const struct list lists[] = {{"ports", names_json(config, p->port, 2)},
				     {"next_hop", json_pack("[o, o]", mac_json(p->next_hop[0]),
							    mac_json(p->next_hop[1]))},
				     {NULL, NULL}};

	return keys_json(shunt_forward_keys, p->mode, p, lists);
}

static json_t *forward_json(const struct shunt_config *config)
{
	json_t *forward = json_array();
	unsigned i;

	for (i = 0; i < config->pair_cnt; i++)
		json_array_append_new(forward, pair_json(config, &config->pairs[i]));
	for (i = 0; i < config->group_cnt; i++) {
		const struct shunt_group_config *g = &config->groups[i];
		const struct list lists[] = {{"ports", names_json(config, g->port, g->port_cnt)},
					     {NULL, NULL}};

		json_array_append_new(forward, keys_json(shunt_forward_keys, g->mode, g, lists));
	}
	return forward;
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
	const struct list lists[] = {
		{"ports", ports_json(config)},	   {"forward", forward_json(config)},
		{"rules", rules_json(config)},	   {"nodes", fronts_json(config)},
		{"workers", workers_json(config)}, {NULL, NULL}};

	return keys_json(shunt_config_keys, 0, config, lists);
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
