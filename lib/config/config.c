// SPDX-License-Identifier: BSD-2-Clause
#include "config/config.h"
#include "config/key.h"
#include "graph/nodes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void shunt_config_init(struct shunt_config *config)
{
	memset(config, 0, sizeof(*config));
	shunt_key_default(shunt_config_keys, config);
	/* Without memory there are no workers. shunt_config_check refuses that. */
	shunt_config_set_workers(config, NULL, 1, NULL);
}

void shunt_config_fini(struct shunt_config *config)
{
	unsigned i;

	for (i = 0; i < config->port_cnt; i++)
		free(config->ports[i].filters);
	free(config->ports);
	free(config->pairs);
	free(config->groups);
	free(config->rules);
	free(config->worker_cpus);
	memset(config, 0, sizeof(*config));
}

/* Appends a copy of *entry. The array may move; then *array points to the new place. */
static int append(void *array, unsigned *cnt, const void *entry, size_t size, struct shunt_err *err)
{
	char *p;

	memcpy(&p, array, sizeof(p));
	p = realloc(p, (*cnt + 1) * size);
	if (!p)
		return shunt_err_set(err, ENOMEM, "no memory for the configuration");
	memcpy(array, &p, sizeof(p));
	memcpy(p + (*cnt)++ * size, entry, size);
	return 0;
}

int shunt_config_add_port(struct shunt_config *config, const char *name, struct shunt_err *err)
{
	struct shunt_port_config port = {0};
	int ret;

	if (config->port_cnt >= SHUNT_PORT_MAX)
		return shunt_err_set(err, E2BIG, "port %s is one too many, expected at most %d",
				     name, SHUNT_PORT_MAX);
	if (!*name || strlen(name) >= sizeof(port.name))
		return shunt_err_set(err, EINVAL,
				     "port name '%.80s' has %zu characters, expected "
				     "1 to %zu",
				     name, strlen(name), sizeof(port.name) - 1);
	shunt_key_default(shunt_port_keys, &port);
	snprintf(port.name, sizeof(port.name), "%s", name);
	ret = append(&config->ports, &config->port_cnt, &port, sizeof(port), err);
	return ret ? ret : (int)config->port_cnt - 1;
}

int shunt_config_add_pair(struct shunt_config *config, const struct shunt_pair_config *pair,
			  struct shunt_err *err)
{
	return append(&config->pairs, &config->pair_cnt, pair, sizeof(*pair), err);
}

int shunt_config_add_group(struct shunt_config *config, const struct shunt_group_config *group,
			   struct shunt_err *err)
{
	return append(&config->groups, &config->group_cnt, group, sizeof(*group), err);
}

static const struct shunt_pair_config *pair_of(const struct shunt_config *config, unsigned port)
{
	unsigned i;

	for (i = 0; i < config->pair_cnt; i++)
		if (config->pairs[i].port[0] == port || config->pairs[i].port[1] == port)
			return &config->pairs[i];
	return NULL;
}

static const struct shunt_group_config *group_of(const struct shunt_config *config, unsigned port)
{
	unsigned i, k;

	for (i = 0; i < config->group_cnt; i++)
		for (k = 0; k < config->groups[i].port_cnt; k++)
			if (config->groups[i].port[k] == port)
				return &config->groups[i];
	return NULL;
}

int shunt_config_mode(const struct shunt_config *config, unsigned port)
{
	const struct shunt_pair_config *pair = pair_of(config, port);
	const struct shunt_group_config *group = group_of(config, port);

	return pair ? (int)pair->mode : group ? (int)group->mode : -ENOENT;
}

int shunt_config_peer(const struct shunt_config *config, unsigned port)
{
	const struct shunt_pair_config *pair = pair_of(config, port);

	return pair ? (int)pair->port[pair->port[0] == port] : -ENOENT;
}

const uint8_t *shunt_config_next_hop(const struct shunt_config *config, unsigned port)
{
	const struct shunt_pair_config *pair = pair_of(config, port);

	if (!pair || pair->mode == SHUNT_FORWARD_XCONNECT)
		return NULL;
	return pair->next_hop[pair->port[0] == port];
}

bool shunt_config_is_transparent(const struct shunt_config *config, unsigned port)
{
	const struct shunt_pair_config *pair = pair_of(config, port);

	return pair && pair->is_transparent;
}

/* All routing ports share the kernel's tables, also ports of different groups. */
static bool are_joined(const struct shunt_config *config, unsigned a, unsigned b)
{
	const struct shunt_group_config *ga = group_of(config, a), *gb = group_of(config, b);

	return ga && gb && (ga == gb || (ga->mode == SHUNT_FORWARD_ROUTE && gb->mode == ga->mode));
}

bool shunt_config_reaches(const struct shunt_config *config, unsigned from, unsigned to)
{
	const int peer = shunt_config_peer(config, from);

	return from != to && (peer >= 0 ? peer == (int)to : are_joined(config, from, to));
}

enum shunt_lane_request shunt_config_lane(const struct shunt_config *config, unsigned port)
{
	const struct shunt_pair_config *pair = pair_of(config, port);
	const struct shunt_group_config *group = group_of(config, port);

	return pair ? pair->lane : group ? group->lane : SHUNT_REQUEST_AUTO;
}

bool shunt_config_crosses_alone(const struct shunt_config *config, unsigned port)
{
	const struct shunt_pair_config *pair = pair_of(config, port);
	const struct shunt_group_config *group = group_of(config, port);

	if (pair)
		return pair->on_death == SHUNT_ON_DEATH_CROSS &&
		       pair->mode != SHUNT_FORWARD_STATIC3;
	return group && group->on_death == SHUNT_ON_DEATH_CROSS &&
	       group->mode != SHUNT_FORWARD_ROUTE;
}

bool shunt_config_uses(const struct shunt_config *config, enum shunt_forward_mode mode)
{
	unsigned port;

	for (port = 0; port < config->port_cnt; port++)
		if (shunt_config_mode(config, port) == (int)mode)
			return true;
	return false;
}

static int check_front(const char *text, struct shunt_err *err)
{
	const struct shunt_node_type *type = shunt_node_find_front(text);
	const char *params = shunt_node_front_text(text);
	char known[128];

	if (!type) {
		shunt_node_fronts(known, sizeof(known));
		return shunt_err_set(err, EINVAL, "'%.*s' is no front node, expected one of: %s",
				     SHUNT_MIN((int)strcspn(text, ","), 23), text, known);
	}
	if (strlen(text) >= SHUNT_NODE_TEXT_MAX)
		return shunt_err_set(err, EINVAL,
				     "node '%.40s...' has %zu characters, expected at most %u",
				     text, strlen(text), SHUNT_NODE_TEXT_MAX - 1);
	if (type->check)
		return type->check(params, err);
	if (params)
		return shunt_err_set(err, EINVAL,
				     "node %s is given '%.40s', expected its name alone: it takes "
				     "no parameters",
				     type->name, params);
	return 0;
}

int shunt_config_add_front(struct shunt_config *config, const char *text, struct shunt_err *err)
{
	int ret;

	if (config->front_cnt == SHUNT_FRONT_MAX)
		return shunt_err_set(err, E2BIG,
				     "node '%.23s' is one too many, expected at most %u", text,
				     SHUNT_FRONT_MAX);
	ret = check_front(text, err);
	if (!ret)
		snprintf(config->fronts[config->front_cnt++], sizeof(config->fronts[0]), "%s",
			 text);
	return ret;
}

int shunt_config_add_rule(struct shunt_config *config, const char *text, struct shunt_err *err)
{
	struct shunt_rule rule;
	int ret;

	if (config->rule_cnt >= SHUNT_STEER_RULES_MAX)
		return shunt_err_set(err, E2BIG,
				     "rule '%.80s' is one too many, expected at most "
				     "%d",
				     text, SHUNT_STEER_RULES_MAX);
	ret = shunt_rule_parse(text, &rule, err);
	return ret ? ret : append(&config->rules, &config->rule_cnt, &rule, sizeof(rule), err);
}

int shunt_config_add_filter(struct shunt_port_config *port, const char *text, struct shunt_err *err)
{
	struct shunt_filter filter;
	int ret;

	if (port->filter_cnt >= SHUNT_FILTER_MAX)
		return shunt_err_set(err, E2BIG,
				     "filter '%.80s' is one too many, expected at most %d a port",
				     text, SHUNT_FILTER_MAX);
	ret = shunt_filter_parse(text, &filter, err);
	return ret ? ret : append(&port->filters, &port->filter_cnt, &filter, sizeof(filter), err);
}

int shunt_config_set_workers(struct shunt_config *config, const int *cpus, unsigned cnt,
			     struct shunt_err *err)
{
	int *copy;
	unsigned i;

	if (cnt < 1 || cnt > SHUNT_WORKER_MAX)
		return shunt_err_set(err, EINVAL, "workers is %u, expected 1 to %d", cnt,
				     SHUNT_WORKER_MAX);
	copy = malloc(cnt * sizeof(*copy));
	if (!copy)
		return shunt_err_set(err, ENOMEM, "no memory for %u workers", cnt);
	for (i = 0; i < cnt; i++)
		copy[i] = cpus ? cpus[i] : -1;
	free(config->worker_cpus);
	config->worker_cpus = copy;
	config->worker_cnt = cnt;
	return 0;
}

int shunt_config_find_port(const struct shunt_config *config, const char *name)
{
	unsigned i;

	for (i = 0; i < config->port_cnt; i++)
		if (!strcmp(config->ports[i].name, name))
			return (int)i;
	return -ENOENT;
}
