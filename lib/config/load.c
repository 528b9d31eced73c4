// SPDX-License-Identifier: BSD-2-Clause
/* From the file to the configuration. A function that fails has written the place of the fault to
 * where, or its line to line. err has the sentence without the place. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mac.h"
#include "config/check.h"
#include "config/key.h"
#include "config/yaml.h"

#define FOUND_MAX 48 /* of the file's text in a message */

struct load {
	const struct shunt_yaml *yaml;
	struct shunt_config *config;
	struct shunt_config_where where;
	unsigned line; /* 0: that of where */
	struct shunt_err *err;
};

#define AT(l, ...) snprintf((l)->where.path, sizeof((l)->where.path), __VA_ARGS__)

static const char *named(const char *path)
{
	return *path ? path : "the file";
}

/* The file's own text, made safe and short for a message. */
static const char *safe(const char *text, char buf[FOUND_MAX])
{
	size_t i;

	for (i = 0; text[i] && i + 4 < FOUND_MAX; i++)
		buf[i] = iscntrl((unsigned char)text[i]) ? '?' : text[i];
	snprintf(buf + i, FOUND_MAX - i, "%s", text[i] ? "..." : "");
	return buf;
}

/* The key does not take what is at where. */
static int unexpected(const struct load *l, const char *expected)
{
	static const char *const kinds[] = {"nothing", "a text with a zero byte", "a list",
					    "a mapping"};
	const char *path = l->where.path, *text = shunt_yaml_text(l->yaml, path);
	char buf[FOUND_MAX];

	if (text && *text)
		return shunt_err_set(l->err, EINVAL, "%s is '%s', expected %s", named(path),
				     safe(text, buf), expected);
	return shunt_err_set(l->err, EINVAL, "%s is %s, expected %s", named(path),
			     text ? "empty" : kinds[shunt_yaml_kind(l->yaml, path)], expected);
}

static int unknown_key(const struct load *l, const char *map, const char *name,
		       const struct shunt_key *keys)
{
	char expected[SHUNT_KEY_EXPECTED_MAX] = "", found[FOUND_MAX];
	size_t used = 0;
	unsigned i;

	for (i = 0; keys[i].name && used < sizeof(expected); i++)
		used += (size_t)snprintf(expected + used, sizeof(expected) - used, "%s%s",
					 i ? ", " : "", keys[i].name);
	return shunt_err_set(l->err, EINVAL, "unknown key '%s'%s%s, expected one of %s",
			     safe(name, found), *map ? " in " : "", map, expected);
}

/* Each key of a mapping must be in the table, and be given once. */
static int check_names(struct load *l, const char *map, const struct shunt_key *keys)
{
	const unsigned cnt = shunt_yaml_count(l->yaml, map);
	const char *name, *other;
	unsigned i, k, line;

	for (i = 0; i < cnt; i++) {
		name = shunt_yaml_key(l->yaml, map, i, &l->line);
		if (!name)
			return shunt_err_set(l->err, EINVAL, "a key is not text, expected a word");
		if (!shunt_key_find(keys, name))
			return unknown_key(l, map, name, keys);
		for (k = 0; k < i; k++) {
			other = shunt_yaml_key(l->yaml, map, k, &line);
			if (!strcmp(other, name))
				return shunt_err_set(l->err, EINVAL,
						     "%s%s%s is given twice, expected once (first "
						     "in line %u)",
						     map, *map ? "." : "", name, line);
		}
	}
	l->line = 0;
	return 0;
}

/* A list must have as many entries as the key allows, texts where the key says so. */
static int check_list(struct load *l, const struct shunt_key *key)
{
	const struct shunt_config_where list = l->where;
	const unsigned cnt = shunt_yaml_count(l->yaml, list.path);
	char expected[SHUNT_KEY_EXPECTED_MAX];
	unsigned i;

	if (key->is_map)
		return 0;
	if (shunt_yaml_kind(l->yaml, list.path) != SHUNT_YAML_LIST)
		return unexpected(l, "a list");
	if (cnt < key->min || cnt > key->max)
		return shunt_err_set(l->err, EINVAL, "%s has %u entries, expected %u to %u",
				     list.path, cnt, key->min, key->max);
	snprintf(expected, sizeof(expected), "text of 1 to %u characters", key->text_max);
	for (i = 0; i < cnt && key->text_max; i++) {
		const char *text;

		AT(l, "%.64s[%u]", list.path, i);
		text = shunt_yaml_text(l->yaml, l->where.path);
		if (!text || !*text || strlen(text) > key->text_max)
			return unexpected(l, expected);
	}
	return 0;
}

static int load_key(struct load *l, const struct shunt_key *key, void *base)
{
	const char *text = shunt_yaml_text(l->yaml, l->where.path);
	char expected[SHUNT_KEY_EXPECTED_MAX];

	if (key->type == SHUNT_KEY_LIST)
		return check_list(l, key);
	if (text && !shunt_key_parse(key, text, base))
		return 0;
	shunt_key_expected(key, false, expected);
	return unexpected(l, expected);
}

/* Loads the scalars of the mapping at map into their members at base, and checks its lists. */
static int load_map(struct load *l, const char *map, const struct shunt_key *keys, void *base)
{
	const struct shunt_key *missing = NULL;
	int ret;

	AT(l, "%s", map);
	if (shunt_yaml_kind(l->yaml, map) != SHUNT_YAML_MAP)
		return unexpected(l, "a mapping (key: value)");
	ret = check_names(l, map, keys);
	for (; keys->name && !ret; keys++) {
		AT(l, "%s%s%s", map, *map ? "." : "", keys->name);
		if (shunt_yaml_kind(l->yaml, l->where.path))
			ret = load_key(l, keys, base);
		else if (keys->must && !missing)
			missing = keys;
	}
	if (ret || !missing)
		return ret;
	AT(l, "%s", map);
	return shunt_err_set(l->err, EINVAL, "%s has no %s, expected one", named(map),
			     missing->name);
}

/* A key of another kind would have no effect: it is a mistake. */
static int check_kind(struct load *l, const char *map, const struct shunt_port_config *port)
{
	const struct shunt_key *key;

	for (key = shunt_port_keys; key->name; key++) {
		AT(l, "%s.%s", map, key->name);
		if (!shunt_key_is_of(key, port->kind) && shunt_yaml_kind(l->yaml, l->where.path))
			return shunt_err_set(l->err, EINVAL,
					     "port %s is of kind %s and has the key %s, which "
					     "belongs to another kind",
					     port->name, shunt_port_kind_name(port->kind),
					     key->name);
	}
	return 0;
}

/* The text of a list's entry. load_map has checked that it is text. */
static const char *entry(struct load *l, const char *list, unsigned i)
{
	AT(l, "%.64s[%u]", list, i);
	return shunt_yaml_text(l->yaml, l->where.path);
}

static int load_filters(struct load *l, const char *map, struct shunt_port_config *out)
{
	char list[48];
	unsigned i;
	int ret = 0;

	snprintf(list, sizeof(list), "%s.ntuple", map);
	for (i = 0; i < shunt_yaml_count(l->yaml, list) && !ret; i++)
		ret = shunt_config_add_filter(out, entry(l, list, i), l->err);
	return ret;
}

static int load_port(struct load *l, unsigned i)
{
	struct shunt_port_config in = {0}, *out;
	char map[32];
	int ret;

	snprintf(map, sizeof(map), "ports[%u]", i);
	shunt_key_default(shunt_port_keys, &in);
	ret = load_map(l, map, shunt_port_keys, &in);
	if (!ret)
		ret = check_kind(l, map, &in);
	if (ret)
		return ret;
	AT(l, "%s.name", map);
	ret = shunt_config_add_port(l->config, in.name, l->err);
	if (ret < 0)
		return ret;
	out = &l->config->ports[ret];
	*out = in;
	return load_filters(l, map, out);
}

static int load_next_hops(struct load *l, const char *map, struct shunt_pair_config *pair)
{
	const struct shunt_key *key = shunt_key_find(shunt_forward_keys, "next_hop");
	char list[48];
	unsigned side, cnt;

	snprintf(list, sizeof(list), "%s.next_hop", map);
	cnt = shunt_yaml_count(l->yaml, list);
	AT(l, "%s", list);
	if (cnt && !shunt_key_is_of(key, pair->mode))
		return shunt_err_set(l->err, EINVAL,
				     "next_hop is given for mode %s, expected "
				     "with macrewrite and static3 only",
				     shunt_forward_mode_name(pair->mode));
	for (side = 0; side < cnt; side++) {
		const char *text = entry(l, list, side);

		if (shunt_mac_parse(text, pair->next_hop[side]))
			return shunt_err_set(l->err, EINVAL,
					     "next_hop is '%s', expected a MAC "
					     "address as 02:00:00:00:00:01",
					     text);
	}
	return 0;
}

static int load_pair(struct load *l, const char *map, const struct shunt_group_config *group,
		     struct shunt_pair_config *pair)
{
	int ret;

	AT(l, "%s.ports", map);
	if (group->port_cnt != 2)
		return shunt_err_set(l->err, EINVAL, "mode %s has %u ports, expected two",
				     shunt_forward_mode_name(pair->mode), group->port_cnt);
	memcpy(pair->port, group->port, sizeof(pair->port));
	ret = load_next_hops(l, map, pair);
	return ret ? ret : shunt_config_add_pair(l->config, pair, l->err);
}

static int load_forward(struct load *l, unsigned i)
{
	struct shunt_pair_config pair = {.entry = i};
	struct shunt_group_config group = {0};
	char map[32], list[48];
	unsigned k;
	int ret;

	snprintf(map, sizeof(map), "forward[%u]", i);
	snprintf(list, sizeof(list), "%s.ports", map);
	ret = load_map(l, map, shunt_forward_keys, &pair);
	if (ret)
		return ret;
	memcpy(&group, &pair, offsetof(struct shunt_group_config, port_cnt)); /* both begin alike */
	group.port_cnt = shunt_yaml_count(l->yaml, list);
	for (k = 0; k < group.port_cnt; k++) {
		const char *name = entry(l, list, k);

		ret = shunt_config_find_port(l->config, name);
		if (ret < 0)
			return shunt_err_set(l->err, EINVAL,
					     "forward names port %s, expected one "
					     "that is listed under ports",
					     name);
		group.port[k] = (unsigned)ret;
	}
	if (shunt_forward_mode_is_pair(pair.mode))
		return load_pair(l, map, &group, &pair);
	ret = load_next_hops(l, map, &pair);
	return ret ? ret : shunt_config_add_group(l->config, &group, l->err);
}

static int load_cpu(struct load *l, unsigned i, int *cpu)
{
	const char *text = entry(l, "workers.cpus", i);
	int64_t number;

	if (!text || shunt_key_number(text, INT32_MIN, INT32_MAX, &number))
		return unexpected(l, "a whole number from -2147483648 to 2147483647");
	*cpu = (int)number;
	return 0;
}

static int load_workers(struct load *l)
{
	const unsigned cpu_cnt = shunt_yaml_count(l->yaml, "workers.cpus");
	struct shunt_workers_config in = {.count = cpu_cnt ? cpu_cnt : 1};
	int cpus[SHUNT_WORKER_MAX];
	unsigned i;
	int ret;

	if (!shunt_yaml_kind(l->yaml, "workers"))
		return 0;
	ret = load_map(l, "workers", shunt_workers_keys, &in);
	for (i = 0; i < cpu_cnt && !ret; i++)
		ret = load_cpu(l, i, &cpus[i]);
	if (ret)
		return ret;
	AT(l, "workers.%s", shunt_yaml_kind(l->yaml, "workers.count") ? "count" : "cpus");
	if (cpu_cnt && in.count != cpu_cnt)
		return shunt_err_set(l->err, EINVAL,
				     "workers.count is %u and workers.cpus has %u "
				     "entries, expected the same number",
				     in.count, cpu_cnt);
	return shunt_config_set_workers(l->config, cpu_cnt ? cpus : NULL, in.count, l->err);
}

static int load_file(struct load *l)
{
	unsigned i;
	int ret = load_map(l, "", shunt_config_keys, l->config);

	for (i = 0; !ret && i < shunt_yaml_count(l->yaml, "ports"); i++)
		ret = load_port(l, i);
	for (i = 0; !ret && i < shunt_yaml_count(l->yaml, "forward"); i++)
		ret = load_forward(l, i);
	for (i = 0; !ret && i < shunt_yaml_count(l->yaml, "rules"); i++)
		ret = shunt_config_add_rule(l->config, entry(l, "rules", i), l->err);
	for (i = 0; !ret && i < shunt_yaml_count(l->yaml, "nodes"); i++)
		ret = shunt_config_add_front(l->config, entry(l, "nodes", i), l->err);
	return ret ? ret : load_workers(l);
}

int shunt_config_load(struct shunt_config *config, const char *path, struct shunt_err *err)
{
	struct load l = {.config = config, .err = err};
	struct shunt_yaml *yaml;
	int ret;

	shunt_config_init(config);
	ret = shunt_yaml_open(&yaml, path, err);
	if (ret)
		return ret;
	l.yaml = yaml;
	if (shunt_yaml_kind(yaml, ""))
		ret = load_file(&l);
	if (!ret)
		ret = shunt_config_check_at(config, &l.where, err);
	if (ret) {
		shunt_err_prefix(err, "%s:%u: ", path,
				 l.line ? l.line : shunt_yaml_line(yaml, l.where.path));
		shunt_config_fini(config);
		shunt_config_init(config);
	}
	shunt_yaml_close(yaml);
	return ret;
}
