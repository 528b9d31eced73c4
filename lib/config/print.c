// SPDX-License-Identifier: BSD-2-Clause
#include "config/print.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "config/key.h"
#include "config/yaml.h"

static json_t *mac_json(const uint8_t *m)
{
	return json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
}

static json_t *port_list(const char *name, const void *of)
{
	const struct shunt_port_config *p = of;
	json_t *filters = json_array();
	char text[SHUNT_FILTER_TEXT_MAX];
	unsigned i;

	(void)name; /* ntuple is the only one */
	for (i = 0; i < p->filter_cnt; i++) {
		shunt_filter_print(&p->filters[i], text, sizeof(text));
		json_array_append_new(filters, json_string(text));
	}
	return filters;
}

/* The keys of a table that are for the kind; list() has the value of those that are a LIST. */
static json_t *keys_json(const struct shunt_key *key, unsigned kind, const void *base,
			 json_t *(*list)(const char *name, const void *of), const void *of)
{
	json_t *json = json_object();

	for (; key->name; key++) {
		if (!shunt_key_is_of(key, kind))
			continue;
		json_object_set_new(json, key->name,
				    key->type == SHUNT_KEY_LIST ? list(key->name, of)
								: shunt_key_json(key, base));
	}
	return json;
}

static json_t *names_json(const struct shunt_config *config, const unsigned *port, unsigned cnt)
{
	json_t *names = json_array();
	unsigned i;

	for (i = 0; i < cnt; i++)
		json_array_append_new(names, json_string(config->ports[port[i]].name));
	return names;
}

/* An entry of forward: a pair or a group. */
struct entry {
	const struct shunt_config *config;
	const unsigned *port;
	unsigned port_cnt;
	const uint8_t (*next_hop)[6];
};

static json_t *entry_list(const char *name, const void *of)
{
	const struct entry *e = of;

	if (!strcmp(name, "ports"))
		return names_json(e->config, e->port, e->port_cnt);
	return json_pack("[o, o]", mac_json(e->next_hop[0]), mac_json(e->next_hop[1]));
}

static json_t *pair_json(const struct shunt_config *config, const struct shunt_pair_config *p)
{
	const struct entry e = {config, p->port, 2, p->next_hop};

	return keys_json(shunt_forward_keys, p->mode, p, entry_list, &e);
}

static json_t *group_json(const struct shunt_config *config, const struct shunt_group_config *g)
{
	const struct entry e = {config, g->port, g->port_cnt, NULL};

	return keys_json(shunt_forward_keys, g->mode, g, entry_list, &e);
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

static json_t *ports_json(const struct shunt_config *config)
{
	const struct shunt_port_config *p = config->ports;
	json_t *ports = json_array();

	for (; p < config->ports + config->port_cnt; p++)
		json_array_append_new(ports, keys_json(shunt_port_keys, p->kind, p, port_list, p));
	return ports;
}

static json_t *forward_json(const struct shunt_config *config)
{
	json_t *forward = json_array();
	unsigned i;

	for (i = 0; i < config->pair_cnt; i++)
		json_array_append_new(forward, pair_json(config, &config->pairs[i]));
	for (i = 0; i < config->group_cnt; i++)
		json_array_append_new(forward, group_json(config, &config->groups[i]));
	return forward;
}

static json_t *config_list(const char *name, const void *of)
{
	static const struct {
		const char *name;
		json_t *(*json)(const struct shunt_config *config);
	} lists[] = {{"ports", ports_json},
		     {"forward", forward_json},
		     {"rules", rules_json},
		     {"nodes", fronts_json},
		     {"workers", workers_json}};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(lists); i++)
		if (!strcmp(lists[i].name, name))
			return lists[i].json(of);
	return NULL;
}

json_t *shunt_config_json(const struct shunt_config *config)
{
	return keys_json(shunt_config_keys, 0, config, config_list, config);
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
