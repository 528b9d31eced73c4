// SPDX-License-Identifier: BSD-2-Clause
/* What the kernel is set to do with packets that it would have to forward: the settings under
 * /proc/sys/net, of which no message tells. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "router/router.h"

/* -1 if there is no such setting. */
static int read_conf(const char *family, const char *dev, const char *key)
{
	char path[128];
	int value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", family, dev, key);
	file = fopen(path, "re");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

/* IN_DEV_RPFILTER: the greater of the two counts. */
static int read_rp_filter(const char *dev)
{
	int all = read_conf("ipv4", "all", "rp_filter"), own = read_conf("ipv4", dev, "rp_filter");

	return SHUNT_MAX(all, own);
}

/* fib_validate_source: what the kernel asks of a source on the device. */
static enum shunt_source_check read_source_check(const struct shunt_router *router, const char *dev)
{
	struct shunt_mirror_stats stats = {0};

	if (read_rp_filter(dev) > 0)
		return SHUNT_SOURCE_RPF;
	if (router->mirror)
		shunt_mirror_stats(router->mirror, &stats);
	return stats.custom_locals || stats.policy_rules ? SHUNT_SOURCE_NOT_LOCAL
							 : SHUNT_SOURCE_ANY;
}

/* The operator has said what of it is the kernel's. */
static bool has_rule_kernel(const struct shunt_config *config)
{
	unsigned i;

	for (i = 0; i < config->rule_cnt; i++)
		if (config->rules[i].lane == SHUNT_LANE_KERNEL)
			return true;
	return false;
}

/* Whether rules (ip rule) may lead packets of the family elsewhere than shunt's tables do. */
static bool is_diverted(const struct shunt_router *router, enum shunt_mirror_ip ip)
{
	struct shunt_mirror_stats stats = {0};

	if (router->mirror)
		shunt_mirror_stats(router->mirror, &stats);
	return stats.diverting_rules[ip] && !has_rule_kernel(router->engine->config);
}

static void look_at_mtu6(struct shunt_router *router, const struct shunt_port *port)
{
	int mtu6 = read_conf("ipv6", port->name, "mtu");

	if (router->mirror && port->xdp && mtu6 > 0)
		shunt_mirror_set_mtu6(router->mirror, (uint32_t)port->netdev.ifindex,
				      (uint32_t)mtu6);
}

static bool routes(const struct shunt_engine *engine, unsigned port)
{
	int mode = shunt_config_mode(engine->config, port);

	return mode == SHUNT_FORWARD_ROUTE || mode == SHUNT_FORWARD_MIX;
}

void shunt_router_look(struct shunt_router *router)
{
	const struct shunt_engine *engine = router->engine;
	/* ip6_forward asks this one alone; a device's own means something else. */
	bool ip6 = read_conf("ipv6", "all", "forwarding") > 0;
	bool diverted4 = is_diverted(router, SHUNT_MIRROR_IP4);
	bool diverted6 = is_diverted(router, SHUNT_MIRROR_IP6);
	unsigned i;

	router->is_diverted = diverted4 || diverted6;

	for (i = 0; i < engine->port_cnt; i++) {
		const char *name = engine->ports[i].name;
		bool is_router = routes(engine, i);
		bool ip4 = is_router && read_conf("ipv4", name, "forwarding") > 0;
		bool has_ip6 = is_router && ip6 && read_conf("ipv6", name, "disable_ipv6") == 0;

		look_at_mtu6(router, &engine->ports[i]);
		__atomic_store_n(&router->live.ip4[i], ip4 && !diverted4, __ATOMIC_RELAXED);
		__atomic_store_n(&router->live.ip6[i], has_ip6 && !diverted6, __ATOMIC_RELAXED);
		__atomic_store_n(&router->live.rpf4[i], read_source_check(router, name),
				 __ATOMIC_RELAXED);
	}
}

/* --- warnings --------------------------------------------------------------------------------- */

struct warnings {
	struct shunt_err *out;
	unsigned cnt, max;
};

#define WARN(w, ...)                                                               \
	do {                                                                       \
		if ((w)->cnt < (w)->max)                                           \
			shunt_err_set(&(w)->out[(w)->cnt++], EINVAL, __VA_ARGS__); \
	} while (0)

static void warn_port(const struct shunt_router *router, unsigned port, struct warnings *w)
{
	const char *name = router->engine->ports[port].name;

	if (!router->live.ip4[port])
		WARN(w,
		     "%s: IPv4 forwarding is off, so the kernel gets and drops what would be "
		     "routed; sysctl net.ipv4.conf.%s.forwarding=1 (or net.ipv4.ip_forward=1)",
		     name, name);
	if (router->live.rpf4[port] == SHUNT_SOURCE_RPF)
		WARN(w,
		     "%s: rp_filter is on: every source is looked up, and the kernel decides "
		     "wherever the answer is not plain; sysctl net.ipv4.conf.all.rp_filter=0 "
		     "net.ipv4.conf.%s.rp_filter=0 where it is not needed",
		     name, name);
}

unsigned shunt_router_warn(const struct shunt_router *router, struct shunt_err *out, unsigned max)
{
	struct warnings w = {.out = out, .max = max};
	struct shunt_mirror_stats stats = {0};
	unsigned i;

	if (router->mirror)
		shunt_mirror_stats(router->mirror, &stats);
	if (stats.policy_rules)
		WARN(&w,
		     "%u routing rules of this host (ip rule) lead to other tables than main; "
		     "shunt follows main and local alone%s: let the kernel have those packets by "
		     "steering rules (--rule '... lane kernel')",
		     stats.policy_rules,
		     router->is_diverted ? ", so all is the kernel's until a steering rule says "
					   "what is"
					 : "");
	if (w.cnt < max && !has_rule_kernel(router->engine->config) &&
	    shunt_bypassed_sentence(&router->bypassed, &out[w.cnt]))
		w.cnt++;
	for (i = 0; i < router->engine->port_cnt; i++)
		if (routes(router->engine, i))
			warn_port(router, i, &w);
	if (read_conf("ipv6", "all", "forwarding") == 0)
		WARN(&w, "IPv6 forwarding is off, so the kernel gets and drops what would be "
			 "routed; sysctl net.ipv6.conf.all.forwarding=1");
	return w.cnt;
}
