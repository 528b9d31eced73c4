// SPDX-License-Identifier: BSD-2-Clause
#include "args_port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mac.h"

/* Where one word's values go. */
struct port_word {
	struct shunt_port_config *port;
	uint8_t *next_hop;
	bool has_next_hop;
	struct shunt_err *err; /* for those who have more to say than what is expected */
};

static int set_u32(uint32_t *out, const char *text)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || v > UINT32_MAX)
		return -EINVAL;
	*out = (uint32_t)v;
	return 0;
}

static int set_bool(bool *out, const char *text)
{
	*out = !strcmp(text, "true") || !strcmp(text, "yes");
	return *out || !strcmp(text, "false") || !strcmp(text, "no") ? 0 : -EINVAL;
}

static int set_text(char *out, size_t len, const char *text)
{
	return *text && (size_t)snprintf(out, len, "%s", text) < len ? 0 : -EINVAL;
}

static int set_kind(struct port_word *w, const char *v)
{
	int kind = shunt_port_kind_parse(v);

	w->port->kind = kind < 0 ? SHUNT_PORT_XSK : (enum shunt_port_kind)kind;
	return kind < 0 ? kind : 0;
}

static int set_driver_mode(struct port_word *w, const char *v)
{
	int mode = shunt_driver_mode_parse(v);

	w->port->driver_mode = mode < 0 ? SHUNT_DRIVER_NATIVE : (enum shunt_driver_mode)mode;
	return mode < 0 ? mode : 0;
}

static int set_copy_mode(struct port_word *w, const char *v)
{
	int mode = shunt_copy_mode_parse(v);

	w->port->copy_mode = mode < 0 ? SHUNT_COPY_AUTO : (enum shunt_copy_mode)mode;
	return mode < 0 ? mode : 0;
}

static int set_next_hop(struct port_word *w, const char *v)
{
	w->has_next_hop = true;
	return shunt_mac_parse(v, w->next_hop);
}

static int set_ntuple(struct port_word *w, const char *v)
{
	return shunt_config_add_filter(w->port, v, w->err);
}

#define SETTER(key, expression)                                  \
	static int set_##key(struct port_word *w, const char *v) \
	{                                                        \
		return expression;                               \
	}
SETTER(queues, set_u32(&w->port->queues, v))
SETTER(spread, set_bool(&w->port->spread, v))
SETTER(size, set_u32(&w->port->mem_frame_bytes, v))
SETTER(flows, set_u32(&w->port->mem_flows, v))
SETTER(copy, set_bool(&w->port->mem_copy, v))
SETTER(in, set_text(w->port->pcap_in, sizeof(w->port->pcap_in), v))
SETTER(out, set_text(w->port->pcap_out, sizeof(w->port->pcap_out), v))
SETTER(repeat, set_bool(&w->port->pcap_repeat, v))
SETTER(require_zerocopy, set_bool(&w->port->require_zerocopy, v))

#define ALL    ~0u
#define XSK    (1u << SHUNT_PORT_XSK)
#define MEM    (1u << SHUNT_PORT_MEM)
#define PCAP   (1u << SHUNT_PORT_PCAP)
#define NUMBER "a whole number"
#define BOOL   "true or false"
#define A_FILE "a file's name of at most 255 characters"

static const struct port_key {
	const char *name;
	unsigned kinds; /* which kinds of port it is for */
	int (*set)(struct port_word *w, const char *value);
	const char *expected; /* NULL: set says it itself */
} port_keys[] = {
	{"kind", ALL, set_kind, "xsk, mem or pcap"},
	{"next_hop", ALL, set_next_hop, "a MAC address as 02:00:00:00:00:01"},
	{"driver_mode", XSK, set_driver_mode, "native or generic"},
	{"copy_mode", XSK, set_copy_mode, "auto, zerocopy or copy"},
	{"require_zerocopy", XSK, set_require_zerocopy, BOOL},
	{"queues", XSK, set_queues, NUMBER},
	{"spread", XSK, set_spread, BOOL},
	{"ntuple", XSK, set_ntuple, NULL},
	{"size", MEM, set_size, NUMBER},
	{"flows", MEM, set_flows, NUMBER},
	{"copy", MEM, set_copy, BOOL},
	{"in", PCAP, set_in, A_FILE},
	{"out", PCAP, set_out, A_FILE},
	{"repeat", PCAP, set_repeat, BOOL},
};

static const struct port_key *find_key(const char *name)
{
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(port_keys); i++)
		if (!strcmp(port_keys[i].name, name))
			return &port_keys[i];
	return NULL;
}

/* One key=value; *kinds narrows to the kinds that every key so far is for. */
static int parse_setting(struct port_word *w, char *setting, unsigned *kinds, struct shunt_err *err)
{
	const char *name = w->port->name;
	char *value = strchr(setting, '=');
	const struct port_key *key;
	int ret;

	if (!value)
		return shunt_err_set(err, EINVAL, "port %s has '%s', expected KEY=VALUE", name,
				     setting);
	*value++ = 0;
	key = find_key(setting);
	if (!key)
		return shunt_err_set(err, EINVAL,
				     "port %s has an unknown key '%s', expected one of "
				     "kind, next_hop or those of its kind, see shuntd.yaml(5)",
				     name, setting);
	ret = key->set(w, value);
	if (ret && !key->expected) {
		shunt_err_prefix(err, "port %s: ", name);
		return ret;
	}
	if (ret)
		return shunt_err_set(err, EINVAL, "port %s: %s is '%s', expected %s", name, setting,
				     value, key->expected);
	*kinds &= key->kinds;
	return 0;
}

static int parse_port(struct shunt_config *config, char *word, uint8_t *next_hop,
		      enum shunt_forward_mode mode, struct shunt_err *err)
{
	struct port_word w = {.next_hop = next_hop, .err = err};
	char *rest = word, *name = strsep(&rest, ","), *setting;
	unsigned kinds = ALL;
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
