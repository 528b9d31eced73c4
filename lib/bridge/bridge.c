// SPDX-License-Identifier: BSD-2-Clause
#include "bridge/bridge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "bridge/follow.h"
#include "bridge/table.h"
#include "bridge/brlink.h"

/* --- for the engine --------------------------------------------------------------------------- */

void shunt_bridge_params(struct shunt_bridge *b, unsigned worker, struct shunt_bridge_params *out)
{
	unsigned i;

	*out = (struct shunt_bridge_params){
		.macs = b->macs,
		.masks = &b->masks,
		.vlans = b->vlans.told,
		.learn = &b->learns[worker],
	};
	memcpy(out->bridge, b->bridge_of, sizeof(out->bridge));
	for (i = 0; i < b->bridge_cnt; i++) {
		out->members[i] = b->bridges[i].members;
		out->over |= (uint64_t) !!b->bridges[i].ifindex << i;
	}
}

/* Of a port that rules judge, what is bridged is the kernel's, too: they may judge that. */
static void route_and_switch(const struct shunt_bridge *b, unsigned port,
			     struct shunt_steer_cfg *cfg)
{
	if (cfg->mode != SHUNT_STEER_MODE_LAYER3)
		return;
	cfg->switches = shunt_bridge_leaves_tags(b, port) ? SHUNT_STEER_SWITCHES_UNTAGGED
							  : SHUNT_STEER_SWITCHES_ALL;
	memcpy(cfg->mac2, b->ports->at[port].netdev.mac, sizeof(cfg->mac2));
}

void shunt_bridge_steer(const struct shunt_bridge *b, unsigned port, struct shunt_steer_cfg *cfg)
{
	const struct shunt_bridge_one *one = &b->bridges[b->bridge_of[port]];

	cfg->in_port = port;
	cfg->bridge = b->bridge_of[port] + 1u;
	if (one->is_routed) {
		route_and_switch(b, port, cfg);
		return;
	}
	if (shunt_config_mode(b->ports->config, port) == SHUNT_FORWARD_MIX) {
		cfg->mode = SHUNT_STEER_MODE_MIX;
	} else if (one->ifindex) {
		cfg->mode = shunt_bridge_leaves_tags(b, port) ? SHUNT_STEER_MODE_BRIDGE_UNTAGGED
							      : SHUNT_STEER_MODE_BRIDGE;
		memcpy(cfg->mac2, one->mac, 6);
	} else {
		cfg->mode = SHUNT_STEER_MODE_XCONNECT;
	}
}

bool shunt_bridge_is_over(const struct shunt_bridge *b, unsigned port)
{
	const struct shunt_bridge_one *one = &b->bridges[b->bridge_of[port]];

	return one->ifindex && one->members >> port & 1;
}

bool shunt_bridge_routes(const struct shunt_bridge *b, unsigned port)
{
	return shunt_bridge_is_over(b, port) && b->bridges[b->bridge_of[port]].is_routed;
}

uint32_t shunt_bridge_ifindex(const struct shunt_bridge *b, unsigned port)
{
	return shunt_bridge_is_over(b, port) ? b->bridges[b->bridge_of[port]].ifindex : 0;
}

bool shunt_bridge_leaves_tags(const struct shunt_bridge *b, unsigned port)
{
	return __atomic_load_n(&b->masks.untagged, __ATOMIC_RELAXED) >> port & 1;
}

bool shunt_bridge_is_alone(const struct shunt_bridge *b, unsigned port)
{
	const struct shunt_bridge_one *one = &b->bridges[b->bridge_of[port]];

	return !one->ifindex && one->members && (unsigned)__builtin_ctzll(one->members) == port;
}

/* --- made and unmade -------------------------------------------------------------------------- */

static void set_kernel(struct shunt_bridge_one *one, const struct shunt_brlink *kernel)
{
	one->ifindex = kernel->ifindex;
	memcpy(one->mac, kernel->mac, 6);
	memcpy(one->name, kernel->name, sizeof(one->name));
	one->age_s = kernel->age_s;
	one->filters_vlans = kernel->filters_vlans;
	one->vlan_type_be = kernel->vlan_type_be;
}

static int set_beneath(struct shunt_bridge *b, struct shunt_bridge_one *one,
		       const struct shunt_brlink *kernel, const struct shunt_group_config *group,
		       struct shunt_err *err)
{
	if (group->mode == SHUNT_FORWARD_MIX)
		return shunt_err_set(err, EINVAL,
				     "mode mix: %s is a port of the kernel's bridge %s, which "
				     "routes nothing that comes in there; ip link set %s nomaster",
				     b->ports->at[group->port[0]].name, kernel->name,
				     b->ports->at[group->port[0]].name);
	set_kernel(one, kernel);
	return 0;
}

/* All ports of the group are ports of one bridge of the kernel's, or none is. */
static int look_beneath(struct shunt_bridge *b, struct shunt_bridge_one *one,
			const struct shunt_brlinks *links, const struct shunt_group_config *group,
			struct shunt_err *err)
{
	const struct shunt_brlink *first = NULL;
	unsigned i;

	for (i = 0; i < group->port_cnt; i++) {
		const struct shunt_port *port = &b->ports->at[group->port[i]];
		const struct shunt_brlink *link = shunt_brlinks_at(links, port->netdev.ifindex);
		const struct shunt_brlink *master =
			link ? shunt_brlinks_at(links, link->master) : NULL;

		first = i ? first : master;
		if (master != first)
			return shunt_err_set(err, EINVAL,
					     "%s belongs to %s and %s to %s, expected the ports of "
					     "one bridge or of none; see ip link set DEVICE master",
					     port->name, master ? master->name : "no bridge",
					     b->ports->at[group->port[0]].name,
					     first ? first->name : "no bridge");
	}
	return first && first->is_bridge ? set_beneath(b, one, first, group, err) : 0;
}

static void add_port(struct shunt_bridge *b, unsigned bridge, unsigned port)
{
	b->bridges[bridge].members |= 1ULL << port;
	b->bridge_of[port] = (uint8_t)bridge;
}

static int add_group(struct shunt_bridge *b, const struct shunt_brlinks *links,
		     const struct shunt_group_config *group, struct shunt_err *err)
{
	const unsigned bridge = b->bridge_cnt;
	unsigned i;

	if (bridge == SHUNT_BRIDGE_MAX)
		return shunt_err_set(err, E2BIG, "more than %d bridges", SHUNT_BRIDGE_MAX);
	for (i = 0; i < group->port_cnt; i++)
		add_port(b, bridge, group->port[i]);
	b->bridge_cnt++;
	return look_beneath(b, &b->bridges[bridge], links, group, err);
}

/* The number of the routed bridge with that ifindex, which is made where there is none. */
static int find_routed(struct shunt_bridge *b, const struct shunt_brlink *kernel,
		       struct shunt_err *err)
{
	unsigned i;

	for (i = 0; i < b->bridge_cnt; i++)
		if (b->bridges[i].is_routed && b->bridges[i].ifindex == kernel->ifindex)
			return (int)i;
	if (i == SHUNT_BRIDGE_MAX)
		return shunt_err_set(err, E2BIG, "more than %d bridges", SHUNT_BRIDGE_MAX);
	set_kernel(&b->bridges[i], kernel);
	b->bridges[i].is_routed = true;
	b->bridge_cnt++;
	return (int)i;
}

/* Of a group of mode route, the ports for which a bridge's name stood. */
static int add_routed(struct shunt_bridge *b, const struct shunt_brlinks *links,
		      const struct shunt_group_config *group, struct shunt_err *err)
{
	unsigned i;
	int bridge;

	for (i = 0; i < group->port_cnt; i++) {
		const struct shunt_port *port = &b->ports->at[group->port[i]];
		const struct shunt_brlink *link = shunt_brlinks_at(links, port->netdev.ifindex);
		const struct shunt_brlink *master =
			link ? shunt_brlinks_at(links, link->master) : NULL;

		if (!port->config->is_bridged || !master || !master->is_bridge)
			continue;
		bridge = find_routed(b, master, err);
		if (bridge < 0)
			return bridge;
		add_port(b, (unsigned)bridge, port->index);
	}
	return 0;
}

static int add_groups(struct shunt_bridge *b, const struct shunt_brlinks *links,
		      struct shunt_err *err)
{
	const struct shunt_config *config = b->ports->config;
	unsigned i;
	int ret = 0;

	for (i = 0; i < config->group_cnt && !ret; i++) {
		const struct shunt_group_config *group = &config->groups[i];

		ret = group->mode == SHUNT_FORWARD_ROUTE ? add_routed(b, links, group, err)
							 : add_group(b, links, group, err);
	}
	return ret;
}

/* The kernel says what its bridges' ports may do. All others may forward, learn and flood. */
static void open_unbridged(struct shunt_bridge *b)
{
	unsigned i;

	for (i = 0; i < b->bridge_cnt; i++)
		if (!b->bridges[i].ifindex)
			b->masks.forwarding |= b->bridges[i].members;
	b->masks.learning = b->masks.flooding = b->masks.forwarding;
}

static bool has_beneath(const struct shunt_bridge *b)
{
	unsigned i;

	for (i = 0; i < b->bridge_cnt; i++)
		if (b->bridges[i].ifindex)
			return true;
	return false;
}

static int open_kernel(struct shunt_bridge *b, struct shunt_err *err)
{
	char name[IFNAMSIZ];
	int ret = shunt_fdb_create(&b->fdb, &shunt_bridge_fdb_ops, b, err);

	if (ret || shunt_ports_any_routes(b->ports))
		return ret;
	shunt_puntdev_name(name);
	return shunt_puntdev_open(&b->puntdev, name, err);
}

static int watch(struct shunt_bridge *b, int fd, struct shunt_err *err)
{
	struct epoll_event event = {.events = EPOLLIN};

	if (!epoll_ctl(b->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return 0;
	return shunt_err_set(err, errno, "bridge: epoll_ctl: %s", strerror(errno));
}

static int open_events(struct shunt_bridge *b, struct shunt_err *err)
{
	unsigned cnt = b->ports->config->worker_cnt;
	int ret = 0;

	b->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	b->learns = aligned_alloc(SHUNT_CACHELINE, cnt * sizeof(*b->learns));
	if (!b->learns || b->epoll_fd < 0)
		return shunt_err_set(err, ENOMEM, "bridge: not enough memory");
	while (b->learn_cnt < cnt && !ret) {
		struct shunt_learn *learn = &b->learns[b->learn_cnt];

		ret = shunt_learn_init(learn, err);
		if (ret)
			return ret;
		b->learn_cnt++;
		ret = watch(b, learn->fd, err);
	}
	return ret || !b->fdb ? ret : watch(b, shunt_fdb_fd(b->fdb), err);
}

static int open_all(struct shunt_bridge *b, struct shunt_err *err)
{
	struct shunt_brlinks links;
	uint64_t seed;
	int ret = shunt_brlinks_query(&links, err);

	if (ret)
		return ret;
	ret = add_groups(b, &links, err);
	shunt_brlinks_fini(&links);
	if (ret)
		return ret;
	open_unbridged(b);
	shunt_bridge_set_age(b);
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed = shunt_clock_ns();
	ret = shunt_bridge_open_table(b, seed, err);
	if (!ret && has_beneath(b))
		ret = open_kernel(b, err);
	return ret ? ret : open_events(b, err);
}

int shunt_bridge_create(struct shunt_bridge **out, const struct shunt_ports *ports,
			struct shunt_err *err)
{
	struct shunt_bridge *b = calloc(1, sizeof(*b));
	int ret;

	*out = NULL;
	if (!b)
		return shunt_err_set(err, ENOMEM, "bridge: not enough memory");
	b->ports = ports;
	b->epoll_fd = -1;
	ret = open_all(b, err);
	if (ret) {
		shunt_bridge_destroy(b);
		return ret;
	}
	*out = b;
	return 0;
}

void shunt_bridge_destroy(struct shunt_bridge *b)
{
	if (!b)
		return;
	while (b->learn_cnt)
		shunt_learn_fini(&b->learns[--b->learn_cnt]);
	if (b->epoll_fd >= 0)
		close(b->epoll_fd);
	free(b->learns);
	shunt_fdb_destroy(b->fdb);
	shunt_puntdev_close(b->puntdev);
	shunt_mac_destroy(b->macs);
	shunt_xdp_macs_close(b->xdp_macs);
	free(b);
}
