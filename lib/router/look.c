// SPDX-License-Identifier: BSD-2-Clause
/* The settings under /proc/sys/net that say what the kernel does with packets to be forwarded. No
 * message tells when they change. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "mirror/bridge.h"
#include "mirror/space.h"
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

/* Whether rules ask for a packet's source or mark. */
static bool is_choosy(const struct shunt_router *router)
{
	const struct shunt_mirror_table *table =
		router->mirror ? shunt_mirror_table(router->mirror) : NULL;

	return table && table->choosy_cnt && !table->are_rules_ignored;
}

/* Without rp_filter: only a route of type local that was made by hand makes the kernel's answer
 * another than its list of addresses does; and a rule may lead what comes from a prefix elsewhere
 * (mirror/fib_space.c). */
static enum shunt_source_check unfiltered(const struct shunt_router *router)
{
	const struct shunt_mirror_table *table =
		router->mirror ? shunt_mirror_table(router->mirror) : NULL;

	return table && (table->has_custom_locals || is_choosy(router)) ? SHUNT_SOURCE_NOT_LOCAL
									: SHUNT_SOURCE_ANY;
}

/* fib_validate_source: what the kernel asks of a source on the device. */
static enum shunt_source_check read_source_check(const struct shunt_router *router, const char *dev)
{
	return read_rp_filter(dev) > 0 ? SHUNT_SOURCE_RPF : unfiltered(router);
}

/* By which space each family's packets go that come in by a device; -1: only the kernel knows. */
struct spaces {
	int of[SHUNT_MIRROR_IP_CNT];
	/* Sources are looked up as if packets came in by what they leave by, but for the VRF, which
	 * is their own (__fib_validate_source). */
	bool is_far;
};

static struct spaces spaces_of(const struct shunt_router *router,
			       const struct shunt_mirror_link *link)
{
	const struct shunt_mirror_table *table;
	struct spaces spaces = {.of = {0, 0}};
	unsigned ip;

	if (!link)
		return spaces;
	table = shunt_mirror_table(router->mirror);
	for (ip = 0; ip < SHUNT_MIRROR_IP_CNT; ip++)
		spaces.of[ip] = shunt_mirror_space_of_device(table, (enum shunt_mirror_ip)ip, link);
	spaces.is_far =
		!table->are_rules_ignored && table->policy_cnt && !shunt_mirror_vrf(table, link);
	return spaces;
}

/* By which device packets come in by a port: by itself, or by the bond or the bridge that it is a
 * member of. */
struct owner {
	const char *name;
	uint32_t ifindex;
	uint32_t vlan;	 /* of a bridge that filters VLANs (struct shunt_tables_cfg) */
	uint16_t exit;	 /* that leads back there (shunt_devices_exit) */
	bool is_foreign; /* it is another device's, which is not followed */
	bool is_silent;	 /* what becomes of its packets only the kernel knows */
	struct spaces spaces;
};

static bool is_member(const struct shunt_device *device, unsigned port)
{
	unsigned i;

	for (i = 0; i < device->member_cnt; i++)
		if (device->members[i] == port)
			return true;
	return false;
}

static void own_by_master(const struct shunt_router *router, unsigned at, uint32_t master,
			  struct owner *out)
{
	const uint32_t number = shunt_mirror_above(router->mirror, master);
	const struct shunt_device *device = shunt_devices_at(router->devices, number);

	out->exit = (uint16_t)(shunt_device_is_port(device) ? at : SHUNT_ADJ_TAGGED + number);
	out->is_foreign = !number;
	out->is_silent = !number || !is_member(device, at) ||
			 (device->tag_cnt && device->policy != SHUNT_DEVICE_BY_STATION);
}

/* The device that what arrives untagged comes in by; 0: none. */
static uint32_t find_master(const struct shunt_mirror_table *table,
			    const struct shunt_mirror_link *port, uint32_t *vlan)
{
	const struct shunt_mirror_link *master = shunt_mirror_link_get(table, port->info.master);

	if (!master || !shunt_mirror_is_bridge(&master->info))
		return port->info.master;
	return shunt_mirror_bridge_untagged(table, port, master, vlan);
}

/* Its bridge would not hear of stations: it joined one while shuntd runs. */
static bool is_unheard(const struct shunt_mirror_table *table, const struct shunt_port *port,
		       const struct shunt_mirror_link *link)
{
	const struct shunt_mirror_link *master = shunt_mirror_link_get(table, link->info.master);

	return master && shunt_mirror_is_bridge(&master->info) && !port->config->is_bridged;
}

static struct owner owner_of(const struct shunt_router *router, unsigned at)
{
	const struct shunt_port *port = &router->ports->at[at];
	struct owner owner = {.name = port->name,
			      .ifindex = (uint32_t)port->netdev.ifindex,
			      .exit = (uint16_t)at};
	const struct shunt_mirror_table *table;
	const struct shunt_mirror_link *link;

	if (!router->mirror || !port->xdp || !shunt_ports_routes(router->ports, at))
		return owner;
	table = shunt_mirror_table(router->mirror);
	link = shunt_mirror_link_get(table, owner.ifindex);
	if (link && link->info.master && !shunt_mirror_vrf(table, link) &&
	    shunt_ports_mode(router->ports, at) == SHUNT_FORWARD_ROUTE) {
		const uint32_t master = find_master(table, link, &owner.vlan);

		if (master)
			own_by_master(router, at, master, &owner);
		else /* what is tagged may be followed */
			owner.is_silent = true;
		if (is_unheard(table, port, link))
			owner.is_foreign = owner.is_silent = true;
		link = shunt_mirror_link_get(table, master);
	}
	if (!link)
		return owner;
	owner.name = link->info.name;
	owner.ifindex = link->info.ifindex;
	owner.spaces = spaces_of(router, link);
	return owner;
}

static void look_at_mtu6(struct shunt_router *router, const struct owner *owner)
{
	int mtu6 = read_conf("ipv6", owner->name, "mtu");

	if (router->mirror && owner->ifindex && mtu6 > 0)
		shunt_mirror_set_mtu6(router->mirror, owner->ifindex, (uint32_t)mtu6);
}

/* --- devices above ports ---------------------------------------------------------------------- */

/* In a tick: some hundred microseconds. */
#define ABOVE_BUDGET 32

static void read_ip6(struct shunt_router *router, struct shunt_mirror_link *link)
{
	const int mtu6 = read_conf("ipv6", link->info.name, "mtu");

	link->has_ip6 = read_conf("ipv6", link->info.name, "disable_ipv6") == 0;
	if (mtu6 > 0)
		shunt_mirror_set_mtu6(router->mirror, link->info.ifindex, (uint32_t)mtu6);
}

/* What no message tells of, of some of them. */
static void look_at_some(struct shunt_router *router)
{
	const struct shunt_mirror_store *links = &shunt_mirror_table(router->mirror)->links;
	unsigned budget;

	for (budget = ABOVE_BUDGET; budget; budget--) {
		struct shunt_mirror_link *link;

		router->above_at = shunt_mirror_store_next(links, router->above_at);
		if (!router->above_at)
			return;
		link = shunt_mirror_store_at(links, router->above_at);
		if (shunt_mirror_above(router->mirror, link->info.ifindex))
			read_ip6(router, link);
	}
}

/* What is the same for all devices of a look. */
struct common {
	int rp_filter; /* net.ipv4.conf.all */
	enum shunt_source_check unfiltered;
	bool is_ip4, is_ip6; /* may be forwarded at all */
};

static struct common look_at_all(const struct shunt_router *router)
{
	const bool follows = router->is_following;

	return (struct common){
		.rp_filter = read_conf("ipv4", "all", "rp_filter"),
		.unfiltered = unfiltered(router),
		.is_ip4 = follows,
		.is_ip6 = follows && !router->is_ip6_off,
	};
}

static uint32_t above_flags(const struct shunt_router *router, const struct common *common,
			    const struct shunt_mirror_link *link)
{
	const struct spaces spaces = spaces_of(router, link);
	const bool is_filtered = SHUNT_MAX(common->rp_filter, (int)link->rp_filter) > 0;
	uint32_t flags = is_filtered					? SHUNT_TABLES_RPF4
			 : common->unfiltered == SHUNT_SOURCE_NOT_LOCAL ? SHUNT_TABLES_NO_LOCAL
									: 0;

	if (flags && spaces.is_far)
		flags |= SHUNT_TABLES_FAR;
	if (common->is_ip4 && link->forwarding[SHUNT_MIRROR_IP4] > 0 &&
	    spaces.of[SHUNT_MIRROR_IP4] >= 0)
		flags |= SHUNT_TABLES_IP4 | (uint32_t)spaces.of[SHUNT_MIRROR_IP4]
						    << SHUNT_TABLES_SPACE4_SHIFT;
	if (common->is_ip6 && link->has_ip6 && spaces.of[SHUNT_MIRROR_IP6] >= 0)
		flags |= SHUNT_TABLES_IP6 | (uint32_t)spaces.of[SHUNT_MIRROR_IP6]
						    << SHUNT_TABLES_SPACE6_SHIFT;
	return flags & (SHUNT_TABLES_IP4 | SHUNT_TABLES_IP6) ? flags : 0;
}

static void look_at_aboves(struct shunt_router *router)
{
	const struct shunt_mirror_store *links;
	struct shunt_mirror_link *link;
	struct common common;
	uint32_t idx = 0, number;

	if (!router->mirror || !router->devices->runs.live_cnt)
		return;
	common = look_at_all(router);
	links = &shunt_mirror_table(router->mirror)->links;
	while ((idx = shunt_mirror_store_next(links, idx))) {
		link = shunt_mirror_store_at(links, idx);
		number = shunt_mirror_above(router->mirror, link->info.ifindex);
		if (!number)
			continue;
		if (!link->mtu6) /* new */
			read_ip6(router, link);
		shunt_devices_set_flags(router->devices, number,
					above_flags(router, &common, link));
	}
	look_at_some(router);
}

static bool is_following(const struct shunt_router *router)
{
	struct shunt_mirror_stats stats;

	if (!router->mirror)
		return false;
	shunt_mirror_stats(router->mirror, &stats);
	return stats.state == SHUNT_MIRROR_following;
}

bool shunt_router_is_current(const struct shunt_router *router)
{
	return router->is_following == is_following(router);
}

void shunt_router_look(struct shunt_router *router)
{
	const struct shunt_ports *ports = router->ports;
	/* The kernel's ip6_forward() asks this one alone. A device's own means something else. */
	const int ip6_forwarding = read_conf("ipv6", "all", "forwarding");
	const bool ip6 = ip6_forwarding > 0;
	uint64_t ip4_off = 0, foreign = 0, diverted = 0, spaced = 0;
	unsigned i;

	router->is_following = is_following(router);
	router->is_ip6_off = !ip6_forwarding;
	for (i = 0; i < ports->cnt; i++) {
		struct shunt_port_live *live = &router->live[i];
		const struct owner owner = owner_of(router, i);
		const int space4 = owner.spaces.of[SHUNT_MIRROR_IP4];
		const int space6 = owner.spaces.of[SHUNT_MIRROR_IP6];
		const char *name = owner.name;
		bool is_router =
			shunt_ports_routes(ports, i) && router->is_following && !owner.is_silent;
		const int ip4_forwarding = read_conf("ipv4", name, "forwarding");
		bool ip4 = is_router && ip4_forwarding > 0;
		bool has_ip6 = is_router && ip6 && read_conf("ipv6", name, "disable_ipv6") == 0;

		ip4_off |= (uint64_t)!ip4_forwarding << i;
		foreign |= (uint64_t)owner.is_foreign << i;
		spaced |= (uint64_t)(space4 > 0 || space6 > 0 || is_choosy(router)) << i;
		/* what is above a port goes on, whatever becomes of its own packets */
		diverted |= (uint64_t)((space4 < 0 || space6 < 0) && !router->devices->cnts[i])
			    << i;
		look_at_mtu6(router, &owner);
		__atomic_store_n(&live->own, owner.exit, __ATOMIC_RELAXED);
		__atomic_store_n(&live->vlan, owner.vlan, __ATOMIC_RELAXED);
		__atomic_store_n(&live->space4, SHUNT_MAX(space4, 0), __ATOMIC_RELAXED);
		__atomic_store_n(&live->is_far4, owner.spaces.is_far, __ATOMIC_RELAXED);
		__atomic_store_n(&live->space6, SHUNT_MAX(space6, 0), __ATOMIC_RELAXED);
		__atomic_store_n(&live->ip4, ip4 && space4 >= 0, __ATOMIC_RELAXED);
		__atomic_store_n(&live->ip6, has_ip6 && space6 >= 0, __ATOMIC_RELAXED);
		__atomic_store_n(&live->rpf4, read_source_check(router, name), __ATOMIC_RELAXED);
	}
	router->ip4_off = ip4_off;
	router->foreign = foreign;
	router->diverted = diverted;
	router->spaced = spaced;
	look_at_aboves(router);
}
