// SPDX-License-Identifier: BSD-2-Clause
/* Checks values against each other. Every check writes the place as the file names it, such as
 * ports[1].name. From the place the loader finds the line. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "config/check.h"
#include "config/key.h"

struct check {
	const struct shunt_config *config;
	struct shunt_config_where *where;
	struct shunt_err *err;
};

#define AT(c, ...) snprintf((c)->where->path, sizeof((c)->where->path), __VA_ARGS__)

/* Checks each key's own range. at: the place of the keys, with a dot behind, or "". */
static int check_keys(const struct check *c, const struct shunt_key *key, const void *base,
		      const char *at)
{
	int ret = 0;

	for (; key->name && !ret; key++) {
		AT(c, "%s%s", at, key->name);
		ret = shunt_key_check(key, base, c->err);
	}
	return ret;
}

static int check_xsk(const struct check *c, unsigned i)
{
	const struct shunt_port_config *p = &c->config->ports[i];

	AT(c, "ports[%u].name", i);
	if (strlen(p->name) >= IFNAMSIZ)
		return shunt_err_set(c->err, EINVAL,
				     "port %s has a name of %zu characters, "
				     "expected a device name of at most %d",
				     p->name, strlen(p->name), IFNAMSIZ - 1);
	AT(c, "ports[%u].copy_mode", i);
	if (p->require_zerocopy && p->copy_mode == SHUNT_COPY_COPY)
		return shunt_err_set(c->err, EINVAL,
				     "port %s requires zero-copy and has copy_mode copy, "
				     "expected auto or zerocopy",
				     p->name);
	AT(c, "ports[%u].driver_mode", i);
	if (p->driver_mode == SHUNT_DRIVER_GENERIC &&
	    (p->require_zerocopy || p->copy_mode == SHUNT_COPY_ZEROCOPY))
		return shunt_err_set(c->err, EINVAL,
				     "port %s asks for zero-copy and has driver_mode generic, "
				     "expected native: generic has no zero-copy",
				     p->name);
	return 0;
}

static int check_name(const struct check *c, unsigned i)
{
	const char *name = c->config->ports[i].name;

	AT(c, "ports[%u].name", i);
	if (!*name || name[strcspn(name, " \t\n/,=")] || !strcmp(name, ".") || !strcmp(name, ".."))
		return shunt_err_set(c->err, EINVAL,
				     "port name is '%s', expected one without "
				     "blank, slash, comma or '='",
				     name);
	if ((unsigned)shunt_config_find_port(c->config, name) != i)
		return shunt_err_set(c->err, EINVAL, "port %s is named twice, expected once", name);
	return 0;
}

static int check_port(const struct check *c, unsigned i)
{
	const struct shunt_port_config *p = &c->config->ports[i];
	char at[32];
	int ret = check_name(c, i);

	if (ret)
		return ret;
	snprintf(at, sizeof(at), "ports[%u].", i);
	ret = check_keys(c, shunt_port_keys, p, at);
	if (ret) {
		shunt_err_prefix(c->err, "port %s: ", p->name);
		return ret;
	}
	if (p->kind == SHUNT_PORT_XSK)
		return check_xsk(c, i);
	AT(c, "ports[%u]", i);
	if (p->kind == SHUNT_PORT_PCAP && !*p->pcap_in && !*p->pcap_out)
		return shunt_err_set(c->err, EINVAL,
				     "port %s is of kind pcap and has no file, expected in (to "
				     "read) or out (to write)",
				     p->name);
	return 0;
}

static int check_next_hop(const struct check *c, unsigned i, unsigned side)
{
	const struct shunt_pair_config *pair = &c->config->pairs[i];
	const char *name = c->config->ports[pair->port[side]].name;
	static const uint8_t none[6];

	AT(c, "forward[%u].next_hop", pair->entry);
	if (!memcmp(pair->next_hop[side], none, 6))
		return shunt_err_set(c->err, EINVAL,
				     "mode %s has no next hop behind port %s, expected its MAC "
				     "address in next_hop",
				     shunt_forward_mode_name(pair->mode), name);
	if (pair->next_hop[side][0] & 1)
		return shunt_err_set(c->err, EINVAL,
				     "next_hop behind port %s is a multicast MAC address, "
				     "expected a unicast one",
				     name);
	return 0;
}

static int check_pair(const struct check *c, unsigned i, uint8_t *used)
{
	const struct shunt_pair_config *pair = &c->config->pairs[i];
	unsigned side;
	int ret = 0;

	for (side = 0; side < 2; side++) {
		unsigned port = pair->port[side];

		AT(c, "forward[%u].ports[%u]", pair->entry, side);
		if (port >= c->config->port_cnt)
			return shunt_err_set(c->err, EINVAL, "pair %u has port %u of %u", i, port,
					     c->config->port_cnt);
		if (used[port]++)
			return shunt_err_set(c->err, EINVAL,
					     "port %s is in two pairs, expected one: its frames "
					     "can leave by one port only",
					     c->config->ports[port].name);
	}
	for (side = 0; pair->mode != SHUNT_FORWARD_XCONNECT && side < 2 && !ret; side++)
		ret = check_next_hop(c, i, side);
	return ret;
}

static int check_group(const struct check *c, unsigned i, uint8_t *used)
{
	const struct shunt_group_config *group = &c->config->groups[i];
	unsigned k;

	for (k = 0; k < group->port_cnt; k++) {
		unsigned port = group->port[k];

		AT(c, "forward[%u].ports[%u]", group->entry, k);
		if (port >= c->config->port_cnt)
			return shunt_err_set(c->err, EINVAL, "group %u has port %u of %u", i, port,
					     c->config->port_cnt);
		if (used[port]++)
			return shunt_err_set(c->err, EINVAL,
					     "port %s is named twice under forward, expected once: "
					     "a port has one mode",
					     c->config->ports[port].name);
		if (group->mode != SHUNT_FORWARD_BRIDGE &&
		    c->config->ports[port].kind != SHUNT_PORT_XSK)
			return shunt_err_set(c->err, EINVAL,
					     "port %s is of kind %s, expected a network device: "
					     "mode %s follows the kernel, which knows only devices",
					     c->config->ports[port].name,
					     shunt_port_kind_name(c->config->ports[port].kind),
					     shunt_forward_mode_name(group->mode));
		AT(c, "ports[%u].driver_mode", port);
		if (c->config->ports[port].driver_mode == SHUNT_DRIVER_GENERIC)
			return shunt_err_set(
				c->err, EINVAL,
				"port %s: driver_mode is generic, expected native: "
				"packets that mode %s hands back to the kernel would come to "
				"a generic program again, without end",
				c->config->ports[port].name, shunt_forward_mode_name(group->mode));
	}
	return 0;
}

/* Lane xdp needs network devices, and has no nodes. */
static int check_lane(const struct check *c, unsigned entry, unsigned port)
{
	const struct shunt_config *config = c->config;

	if (shunt_config_lane(config, port) != SHUNT_REQUEST_XDP)
		return 0;
	AT(c, "forward[%u].lane", entry);
	if (config->ports[port].kind != SHUNT_PORT_XSK)
		return shunt_err_set(c->err, EINVAL,
				     "lane is xdp and port %s is of kind %s, expected a network "
				     "device: no other kind has lane xdp",
				     config->ports[port].name,
				     shunt_port_kind_name(config->ports[port].kind));
	if (config->front_cnt)
		return shunt_err_set(c->err, EINVAL,
				     "lane is xdp and node %s is configured, expected lane user: "
				     "frames pass nodes in lane user only",
				     config->fronts[0]);
	return 0;
}

static int check_transparent_mode(const struct check *c, unsigned entry,
				  enum shunt_forward_mode mode, bool is_transparent)
{
	AT(c, "forward[%u].transparent", entry);
	if (!is_transparent || mode == SHUNT_FORWARD_XCONNECT)
		return 0;
	return shunt_err_set(c->err, EINVAL,
			     "transparent is given for mode %s, expected with xconnect only: the "
			     "other modes read frames",
			     shunt_forward_mode_name(mode));
}

/* A transparent cross-connect excludes what reads frames and what keeps some. */
static int check_transparent(const struct check *c, unsigned i)
{
	const struct shunt_pair_config *pair = &c->config->pairs[i];
	const char *a = c->config->ports[pair->port[0]].name;
	const char *b = c->config->ports[pair->port[1]].name;

	int ret = check_transparent_mode(c, pair->entry, pair->mode, pair->is_transparent);

	if (ret || !pair->is_transparent)
		return ret;
	if (c->config->rule_cnt)
		return shunt_err_set(c->err, EINVAL,
				     "%s and %s are connected transparently and there are rules, "
				     "expected only one of both: rules read frames, a transparent "
				     "cross-connect reads none",
				     a, b);
	if (pair->lane == SHUNT_REQUEST_KERNEL)
		return shunt_err_set(c->err, EINVAL,
				     "%s and %s are connected transparently and their lane is "
				     "kernel, expected auto, user or xdp: the kernel forwards "
				     "nothing between them",
				     a, b);
	return 0;
}

static int check_lanes(const struct check *c)
{
	const struct shunt_config *config = c->config;
	unsigned i, k;
	int ret = 0;

	for (i = 0; i < config->pair_cnt && !ret; i++) {
		ret = check_transparent(c, i);
		for (k = 0; k < 2 && !ret; k++)
			ret = check_lane(c, config->pairs[i].entry, config->pairs[i].port[k]);
	}
	for (i = 0; i < config->group_cnt && !ret; i++) {
		const struct shunt_group_config *group = &config->groups[i];

		ret = check_transparent_mode(c, group->entry, group->mode, group->is_transparent);
		for (k = 0; k < group->port_cnt && !ret; k++)
			ret = check_lane(c, group->entry, group->port[k]);
	}
	return ret;
}

static int check_pairs(const struct check *c)
{
	uint8_t used[SHUNT_PORT_MAX] = {0};
	unsigned i;
	int ret = 0;

	for (i = 0; i < c->config->pair_cnt && !ret; i++)
		ret = check_pair(c, i, used);
	for (i = 0; i < c->config->group_cnt && !ret; i++)
		ret = check_group(c, i, used);
	for (i = 0; i < c->config->port_cnt && !ret; i++) {
		AT(c, "ports[%u]", i);
		if (!used[i])
			ret = shunt_err_set(c->err, EINVAL,
					    "port %s is in no entry of forward, expected one",
					    c->config->ports[i].name);
	}
	return ret;
}

static int check_workers(const struct check *c)
{
	const struct shunt_config *config = c->config;
	unsigned i, j;

	AT(c, "workers");
	if (config->worker_cnt < 1 || config->worker_cnt > SHUNT_WORKER_MAX)
		return shunt_err_set(c->err, EINVAL, "workers is %u, expected 1 to %d",
				     config->worker_cnt, SHUNT_WORKER_MAX);
	for (i = 0; i < config->worker_cnt; i++) {
		int cpu = config->worker_cpus[i];

		AT(c, "workers.cpus[%u]", i);
		if (cpu < -1 || cpu >= CPU_SETSIZE)
			return shunt_err_set(c->err, EINVAL,
					     "workers.cpus[%u] is %d, expected 0 to "
					     "%d, or -1 for not pinned",
					     i, cpu, CPU_SETSIZE - 1);
		for (j = 0; cpu >= 0 && j < i; j++)
			if (config->worker_cpus[j] == cpu)
				return shunt_err_set(c->err, EINVAL,
						     "CPU %d is given to two workers, "
						     "expected one",
						     cpu);
	}
	return 0;
}

static int check_rest(const struct check *c)
{
	const struct shunt_config *config = c->config;

	AT(c, "external");
	if (config->external && config->replace)
		return shunt_err_set(c->err, EINVAL,
				     "external and replace are both given, expected only one: "
				     "external leaves the device's program there");
	AT(c, "capture");
	if (config->capture == SHUNT_CAPTURE_GROUP && !*config->group)
		return shunt_err_set(c->err, EINVAL,
				     "capture is group and no group is named, expected its name "
				     "in group");
	AT(c, "control");
	if (*config->control_path && *config->control_path != '/')
		return shunt_err_set(c->err, EINVAL,
				     "control is '%s', expected a path that starts "
				     "with /, or none",
				     config->control_path);
	return 0;
}

int shunt_config_check_at(const struct shunt_config *config, struct shunt_config_where *where,
			  struct shunt_err *err)
{
	const struct check c = {.config = config, .where = where, .err = err};
	unsigned i;
	int ret;

	AT(&c, "forward");
	if (!config->pair_cnt && !config->group_cnt)
		return shunt_err_set(err, EINVAL,
				     "no pair of ports is given, expected at least "
				     "one: nothing would be forwarded");
	ret = check_keys(&c, shunt_config_keys, config, "");
	for (i = 0; !ret && i < config->port_cnt; i++)
		ret = check_port(&c, i);
	if (!ret)
		ret = check_pairs(&c);
	if (!ret)
		ret = check_lanes(&c);
	if (!ret)
		ret = check_workers(&c);
	return ret ? ret : check_rest(&c);
}

int shunt_config_check(const struct shunt_config *config, struct shunt_err *err)
{
	struct shunt_config_where where;

	return shunt_config_check_at(config, &where, err);
}
