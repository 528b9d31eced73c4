// SPDX-License-Identifier: BSD-2-Clause
/* From the file's structure to the configuration. A function that fails has put
 * the place of the fault into where, and only the sentence into err. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mac.h"
#include "config/file.h"

struct load {
	const struct shunt_yaml *yaml;
	const struct config_file *file;
	struct shunt_config *config;
	struct shunt_config_where *where;
	struct shunt_err *err;
};

#define AT(l, ...) snprintf((l)->where->path, sizeof((l)->where->path), __VA_ARGS__)

/* A key that means nothing for the port's kind is a misunderstanding. */
static int check_port_keys(const struct load *l, unsigned i)
{
	const struct config_file_port *port = &l->file->ports[i];
	const struct config_port_key *k;

	for (k = shunt_config_port_keys; k->key; k++) {
		AT(l, "ports[%u].%s", i, k->key);
		if (!(k->kinds & 1u << port->kind) && shunt_yaml_has(l->yaml, l->where->path))
			return shunt_err_set(l->err, EINVAL,
					     "port %s is of kind %s and has the key %s, which "
					     "belongs to another kind",
					     port->name, shunt_port_kind_name(port->kind), k->key);
	}
	return 0;
}

static int load_filters(const struct load *l, unsigned i, struct shunt_port_config *out)
{
	const struct config_file_port *in = &l->file->ports[i];
	unsigned k;
	int ret = 0;

	for (k = 0; k < in->ntuple_cnt && !ret; k++) {
		AT(l, "ports[%u].ntuple[%u]", i, k);
		ret = shunt_config_add_filter(out, in->ntuple[k], l->err);
	}
	return ret;
}

static int load_port(const struct load *l, unsigned i)
{
	const struct config_file_port *in = &l->file->ports[i];
	struct shunt_port_config *out;
	int ret;

	ret = check_port_keys(l, i);
	if (ret)
		return ret;
	AT(l, "ports[%u].name", i);
	ret = shunt_config_add_port(l->config, in->name, l->err);
	if (ret < 0)
		return ret;
	out = &l->config->ports[ret];
	out->kind = in->kind;
	out->driver_mode = in->driver_mode;
	out->copy_mode = in->copy_mode;
	out->require_zerocopy = in->require_zerocopy;
	out->queues = in->queues;
	out->spread = in->spread;
	out->mem_frame_bytes = in->size ? *in->size : out->mem_frame_bytes;
	out->mem_flows = in->flows ? *in->flows : out->mem_flows;
	out->mem_copy = in->copy;
	out->pcap_repeat = in->repeat;
	snprintf(out->pcap_in, sizeof(out->pcap_in), "%s", in->in ? in->in : "");
	snprintf(out->pcap_out, sizeof(out->pcap_out), "%s", in->out ? in->out : "");
	return load_filters(l, i, out);
}

static int load_next_hops(const struct load *l, const struct config_file_forward *in, unsigned i,
			  struct shunt_pair_config *pair)
{
	unsigned side;

	AT(l, "forward[%u].next_hop", i);
	if (in->next_hop_cnt &&
	    (in->mode == SHUNT_FORWARD_XCONNECT || !shunt_forward_mode_is_pair(in->mode)))
		return shunt_err_set(l->err, EINVAL,
				     "next_hop is given for mode %s, expected "
				     "with macrewrite and static3 only",
				     shunt_forward_mode_name(in->mode));
	for (side = 0; side < in->next_hop_cnt; side++) {
		AT(l, "forward[%u].next_hop[%u]", i, side);
		if (shunt_mac_parse(in->next_hop[side], pair->next_hop[side]))
			return shunt_err_set(l->err, EINVAL,
					     "next_hop is '%s', expected a MAC "
					     "address as 02:00:00:00:00:01",
					     in->next_hop[side]);
	}
	return 0;
}

static int load_pair(const struct load *l, const struct config_file_forward *in, unsigned i,
		     const struct shunt_group_config *group)
{
	struct shunt_pair_config pair = {
		.mode = in->mode, .lane = in->lane, .is_transparent = in->transparent};
	int ret;

	AT(l, "forward[%u].ports", i);
	if (group->port_cnt != 2)
		return shunt_err_set(l->err, EINVAL, "mode %s has %u ports, expected two",
				     shunt_forward_mode_name(in->mode), group->port_cnt);
	pair.port[0] = group->port[0];
	pair.port[1] = group->port[1];
	ret = load_next_hops(l, in, i, &pair);
	return ret ? ret : shunt_config_add_pair(l->config, &pair, l->err);
}

static int load_forward(const struct load *l, unsigned i)
{
	const struct config_file_forward *in = &l->file->forward[i];
	struct shunt_group_config group = {
		.mode = in->mode, .lane = in->lane, .port_cnt = in->port_cnt};
	unsigned k;
	int ret;

	for (k = 0; k < in->port_cnt; k++) {
		AT(l, "forward[%u].ports[%u]", i, k);
		ret = shunt_config_find_port(l->config, in->ports[k]);
		if (ret < 0)
			return shunt_err_set(l->err, EINVAL,
					     "forward names port %s, expected one "
					     "that is listed under ports",
					     in->ports[k]);
		group.port[k] = (unsigned)ret;
	}
	AT(l, "forward[%u].transparent", i);
	if (in->transparent && in->mode != SHUNT_FORWARD_XCONNECT)
		return shunt_err_set(l->err, EINVAL,
				     "transparent is given for mode %s, expected with xconnect "
				     "only: every other mode reads the frame",
				     shunt_forward_mode_name(in->mode));
	if (shunt_forward_mode_is_pair(in->mode))
		return load_pair(l, in, i, &group);
	ret = load_next_hops(l, in, i, NULL);
	return ret ? ret : shunt_config_add_group(l->config, &group, l->err);
}

static int load_workers(const struct load *l)
{
	const struct config_file_workers *in = l->file->workers;
	unsigned cnt;

	if (!in)
		return 0;
	AT(l, "workers.%s", in->count ? "count" : "cpus");
	cnt = in->count ? *in->count : in->cpus ? in->cpu_cnt : 1;
	if (in->cpus && cnt != in->cpu_cnt)
		return shunt_err_set(l->err, EINVAL,
				     "workers.count is %u and workers.cpus has %u "
				     "entries, expected the same number",
				     cnt, in->cpu_cnt);
	return shunt_config_set_workers(l->config, in->cpus, cnt, l->err);
}

static int load_control(const struct load *l)
{
	const char *path = l->file->control;
	struct shunt_config *config = l->config;

	if (!path)
		return 0;
	AT(l, "control");
	if (strlen(path) >= sizeof(config->control_path))
		return shunt_err_set(l->err, EINVAL,
				     "control has %zu characters, expected at most "
				     "%zu (a UNIX socket's path)",
				     strlen(path), sizeof(config->control_path) - 1);
	snprintf(config->control_path, sizeof(config->control_path), "%s",
		 strcmp(path, "none") ? path : "");
	return 0;
}

static void load_scalars(const struct load *l)
{
	const struct config_file *in = l->file;
	struct shunt_config *out = l->config;

	out->poll = in->poll ? *in->poll : out->poll;
	out->batch = in->batch ? *in->batch : out->batch;
	out->idle_us = in->idle_us ? *in->idle_us : out->idle_us;
	out->ring_size = in->ring_size ? *in->ring_size : out->ring_size;
	out->frame_size = in->frame_size ? *in->frame_size : out->frame_size;
	out->frames = in->frames ? *in->frames : out->frames;
	out->punt_rate = in->punt_rate ? *in->punt_rate : out->punt_rate;
	out->replace = in->replace;
	out->persist = in->persist;
	out->external = in->external;
	snprintf(out->user, sizeof(out->user), "%s", in->user ? in->user : "");
}

static int load_all(const struct load *l)
{
	unsigned i;
	int ret = 0;

	for (i = 0; !ret && i < l->file->port_cnt; i++)
		ret = load_port(l, i);
	for (i = 0; !ret && i < l->file->forward_cnt; i++)
		ret = load_forward(l, i);
	for (i = 0; !ret && i < l->file->rule_cnt; i++) {
		AT(l, "rules[%u]", i);
		ret = shunt_config_add_rule(l->config, l->file->rules[i], l->err);
	}
	for (i = 0; !ret && i < l->file->node_cnt; i++) {
		AT(l, "nodes[%u]", i);
		ret = shunt_config_add_front(l->config, l->file->nodes[i], l->err);
	}
	if (!ret)
		ret = load_workers(l);
	if (!ret)
		ret = load_control(l);
	if (ret)
		return ret;
	load_scalars(l);
	return shunt_config_check_at(l->config, l->where, l->err);
}

static int load_yaml(const struct shunt_yaml *yaml, struct shunt_config *config,
		     struct shunt_err *err)
{
	static const struct config_file empty;
	struct shunt_config_where where = {""};
	struct load l = {
		.yaml = yaml, .config = config, .where = &where, .file = &empty, .err = err};
	void *file;
	int ret;

	ret = shunt_yaml_load(yaml, &shunt_config_schema, &file, err);
	if (ret)
		return ret;
	l.file = file ? file : &empty;
	ret = load_all(&l);
	if (ret)
		shunt_yaml_error(yaml, where.path, err);
	shunt_yaml_free(&shunt_config_schema, file);
	return ret;
}

int shunt_config_load(struct shunt_config *config, const char *path, struct shunt_err *err)
{
	struct shunt_yaml *yaml;
	int ret;

	shunt_config_init(config);
	ret = shunt_yaml_open(&yaml, path, err);
	if (ret)
		return ret;
	ret = load_yaml(yaml, config, err);
	shunt_yaml_close(yaml);
	if (ret) {
		shunt_config_fini(config);
		shunt_config_init(config);
	}
	return ret;
}
