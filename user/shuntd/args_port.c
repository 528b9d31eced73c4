// SPDX-License-Identifier: BSD-2-Clause
#include "args_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mac.h"
#include "config/key.h"

/* Where one word's values go. */
struct port_word {
	struct shunt_port_config *port;
	uint8_t *next_hop;
	bool has_next_hop;
};

/* One key=value. */
static int set(struct port_word *w, const struct shunt_key *key, const char *name,
	       const char *value, struct shunt_err *err)
{
	char expected[SHUNT_KEY_EXPECTED_MAX] = "a MAC address as 02:00:00:00:00:01";
	int ret;

	if (key && key->type == SHUNT_KEY_LIST) {
		ret = shunt_config_add_filter(w->port, value, err);
		if (ret)
			shunt_err_prefix(err, "port %s: ", w->port->name);
		return ret;
	}
	if (key) {
		ret = shunt_key_parse(key, value, w->port);
		shunt_key_expected(key, true, expected);
	} else {
		w->has_next_hop = true;
		ret = shunt_mac_parse(value, w->next_hop);
	}
	if (!ret)
		return 0;
	return shunt_err_set(err, EINVAL, "port %s: %s is '%s', expected %s", w->port->name, name,
			     value, expected);
}

/* *kinds narrows to the kinds that every key so far is for. */
static int parse_setting(struct port_word *w, char *setting, unsigned *kinds, struct shunt_err *err)
{
	const char *name = w->port->name;
	char *value = strchr(setting, '=');
	const struct shunt_key *key;

	if (!value)
		return shunt_err_set(err, EINVAL, "port %s has '%s', expected KEY=VALUE", name,
				     setting);
	*value++ = 0;
	key = shunt_key_find(shunt_port_keys, setting);
	if (key ? !strcmp(setting, "name") : strcmp(setting, "next_hop") != 0)
		return shunt_err_set(err, EINVAL,
				     "port %s has an unknown key '%s', expected one of "
				     "kind, next_hop or those of its kind, see shuntd.yaml(5)",
				     name, setting);
	if (key && key->kinds)
		*kinds &= key->kinds;
	return set(w, key, setting, value, err);
}

static int parse_port(struct shunt_config *config, char *word, uint8_t *next_hop,
		      enum shunt_forward_mode mode, struct shunt_err *err)
{
	struct port_word w = {.next_hop = next_hop};
	char *rest = word, *name = strsep(&rest, ","), *setting;
	unsigned kinds = ~0u;
	int ret = shunt_config_add_port(config, name, err);

	if (ret < 0)
		return ret;
	w.port = &config->ports[ret];
	while ((setting = strsep(&rest, ","))) {
		int bad = parse_setting(&w, setting, &kinds, err);

		if (bad)
			return bad;
	}
	if (!(kinds & 1u << w.port->kind))
		return shunt_err_set(err, EINVAL,
				     "port %s is of kind %s and has a key of another "
				     "kind",
				     name, shunt_port_kind_name(w.port->kind));
	if (w.has_next_hop && (mode == SHUNT_FORWARD_XCONNECT || !shunt_forward_mode_is_pair(mode)))
		return shunt_err_set(err, EINVAL,
				     "port %s has a next_hop, expected with macrewrite "
				     "and static3 only",
				     name);
	return ret;
}

/* parse_port on a copy of the word, which it cuts up. */
static int parse_word(struct shunt_config *config, const char *text, uint8_t *next_hop,
		      enum shunt_forward_mode mode, struct shunt_err *err)
{
	char *word = strdup(text);
	int ret;

	if (!word)
		return shunt_err_set(err, ENOMEM, "no memory for port %s", text);
	ret = parse_port(config, word, next_hop, mode, err);
	free(word);
	return ret;
}

static int parse_pair(struct shunt_config *config, enum shunt_forward_mode mode, char **words,
		      struct shunt_err *err)
{
	struct shunt_pair_config pair = {.mode = mode};
	unsigned side;
	int ret;

	for (side = 0; side < 2; side++) {
		ret = parse_word(config, words[side], pair.next_hop[side], mode, err);
		if (ret < 0)
			return ret;
		pair.port[side] = (unsigned)ret;
	}
	return shunt_config_add_pair(config, &pair, err);
}

int shuntd_args_pairs(struct shunt_config *config, enum shunt_forward_mode mode, char **words,
		      unsigned cnt, struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	for (i = 0; !ret && i + 1 < cnt; i += 2)
		ret = parse_pair(config, mode, words + i, err);
	return ret;
}

int shuntd_args_group(struct shunt_config *config, enum shunt_forward_mode mode, char **words,
		      unsigned cnt, struct shunt_err *err)
{
	struct shunt_group_config group = {.mode = mode};
	uint8_t unused[6];
	unsigned i;
	int ret;

	if (!cnt)
		return shunt_err_set(err, EINVAL, "%s has no port, expected one or more",
				     shunt_forward_mode_name(mode));
	for (i = 0; i < cnt; i++) {
		ret = parse_word(config, words[i], unused, mode, err);
		if (ret < 0)
			return ret;
		group.port[group.port_cnt++] = (unsigned)ret;
	}
	return shunt_config_add_group(config, &group, err);
}
