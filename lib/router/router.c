// SPDX-License-Identifier: BSD-2-Clause
#include "router/router.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "device/bond.h"
#include "router/tables.h"
#include "xdp/tables.h"

/* Longer than most loads take. Clients wait meanwhile. */
#define LOAD_MAX_NS    (SHUNT_NS_PER_SEC / 2)
#define SERVICE_BUDGET 1024 /* messages: a millisecond or two with the guard held */
#define TELLS_MAX      5    /* in a second, some 400 neighbours each: the rest has the next one */

/* --- tables ----------------------------------------------------------------------------------- */

static int port_of(void *ctx, uint32_t ifindex)
{
	return shunt_ports_at(((struct shunt_router *)ctx)->ports, ifindex);
}

_Static_assert(SHUNT_DEVICE_PORTS == SHUNT_PORT_MAX, "a count of devices for each port");

/* Devices above ports that do not route are the kernel's. */
static int base_of(void *ctx, uint32_t ifindex)
{
	const struct shunt_ports *ports = ((struct shunt_router *)ctx)->ports;
	const int port = shunt_ports_at(ports, ifindex);

	return port >= 0 && shunt_ports_routes(ports, (unsigned)port) ? port : -1;
}

static int open_mirror(struct shunt_router *router, struct shunt_err *err)
{
	const struct shunt_mirror_opts opts = {
		.netns_fd = -1,
		.audit_s = 60,
		.fib4 = router->fib4,
		.fib6 = router->fib6,
		.nexthops = router->nexthops,
		.counts = router->counts,
		.devices = router->devices,
		.port_of = port_of,
		.base_of = base_of,
		.order_of = shunt_bond_order,
		.port_ctx = router,
		.are_rules_ignored =
			router->ports->config->policy_routing != SHUNT_POLICY_ROUTING_FOLLOW,
		/* what sets marks judges, unless it is bypassed */
		.may_be_marked = router->ports->config->firewall == SHUNT_FIREWALL_IGNORE,
	};

	return shunt_mirror_create(&router->mirror, &opts, err);
}

/* The programs, by CPU, stand before the workers. */
static int create_counts(struct shunt_router *router, const struct shunt_arena_source *source,
			 struct shunt_err *err)
{
	const struct shunt_config *config = router->ports->config;

	if (!config->count)
		return 0;
	if (router->has_routes)
		router->first_worker = shunt_xdp_tables_cpu_cnt();
	return shunt_counts_create_on(&router->counts, router->first_worker + config->worker_cnt,
				      source, err);
}

static int create_tables(struct shunt_router *router, struct shunt_err *err)
{
	const struct shunt_arena_source *source;
	int ret = 0;

	if (shunt_ports_any_device(router->ports))
		ret = shunt_xdp_tables_create(&router->tables, err);
	if (ret)
		return ret;
	if (router->tables)
		shunt_xdp_tables_delegate(router->tables, router->ports->delegate);
	router->has_routes = router->tables && shunt_router_tables_are_wanted(router->ports);
	source = shunt_xdp_tables_source(router->tables);
	ret = shunt_devices_create_on(&router->devices, source, err);
	if (ret)
		return ret;
	/* Else lookups want huge pages. */
	source = router->has_routes ? source : NULL;
	ret = shunt_fib4_create_on(&router->fib4, source, 0, err);
	if (!ret)
		ret = shunt_fib6_create_on(&router->fib6, source, 0, err);
	if (!ret)
		ret = shunt_nexthop_create_on(&router->nexthops, source, 0, err);
	if (!ret)
		ret = create_counts(router, source, err);
	return ret ? ret : shunt_router_tables_join(router, err);
}

int shunt_router_create(struct shunt_router **out, const struct shunt_ports *ports,
			struct shunt_err *err)
{
	struct shunt_router *router = calloc(1, sizeof(*router));
	char name[IFNAMSIZ];
	int ret;

	*out = NULL;
	if (!router)
		return shunt_err_set(err, ENOMEM, "router: not enough memory");
	router->ports = ports;
	if (getrandom(&router->flow_seed, sizeof(router->flow_seed), GRND_NONBLOCK) < 0)
		router->flow_seed = shunt_clock_ns();
	shunt_puntdev_name(name);
	ret = create_tables(router, err);
	if (!ret)
		ret = shunt_puntdev_open(&router->puntdev, name, err);
	if (!ret)
		ret = shunt_neigh_use_open(&router->neigh_use, err);
	if (!ret)
		ret = open_mirror(router, err);
	if (ret) {
		shunt_router_destroy(router);
		return ret;
	}
	shunt_router_look(router);
	*out = router;
	return 0;
}

void shunt_router_destroy(struct shunt_router *router)
{
	if (!router)
		return;
	shunt_mirror_destroy(router->mirror);
	shunt_neigh_use_close(router->neigh_use);
	shunt_puntdev_close(router->puntdev);
	shunt_counts_destroy(router->counts);
	shunt_nexthop_destroy(router->nexthops);
	shunt_fib6_destroy(router->fib6);
	shunt_fib4_destroy(router->fib4);
	shunt_devices_destroy(router->devices);
	shunt_xdp_tables_destroy(router->tables);
	free(router->local4);
	free(router);
}

/* --- this host's addresses -------------------------------------------------------------------- */

static const struct shunt_mirror_addr *next_addr(const struct shunt_router *router, uint32_t *idx)
{
	const struct shunt_mirror_store *addrs = &shunt_mirror_table(router->mirror)->addrs;

	*idx = shunt_mirror_store_next(addrs, *idx);
	return *idx ? shunt_mirror_store_at(addrs, *idx) : NULL;
}

static uint32_t broadcast_of(const struct shunt_mirror_addr_info *addr)
{
	uint32_t peer;

	memcpy(&peer, addr->peer, sizeof(peer));
	return peer | htonl(UINT32_MAX >> addr->len);
}

static struct shunt_local4 *collect_local4(const struct shunt_router *router)
{
	const struct shunt_mirror_addr *addr;
	struct shunt_local4 *local = NULL;
	uint32_t idx = 0, cnt = 0;
	uint32_t *list =
		calloc(2 * shunt_mirror_table(router->mirror)->addrs.cnt + 1, sizeof(*list));

	if (!list)
		return NULL;
	while ((addr = next_addr(router, &idx))) {
		if (addr->info.family != AF_INET)
			continue;
		memcpy(&list[cnt++], addr->info.local, sizeof(*list));
		if (addr->info.len < 31) /* its subnet's broadcast address (fib_add_ifaddr) */
			list[cnt++] = broadcast_of(&addr->info);
	}
	local = shunt_local4_create(list, cnt);
	free(list);
	return local;
}

/* A sum, since the order of the addresses does not count. */
static uint64_t digest_addrs(const struct shunt_router *router)
{
	const struct shunt_mirror_addr *addr;
	uint64_t digest = 1;
	uint32_t idx = 0;

	while ((addr = next_addr(router, &idx)))
		digest += shunt_mirror_hash(&addr->info, sizeof(addr->info), 0);
	return digest;
}

/* Without memory the old list stays, and the next change tries again. */
static void follow_addrs(struct shunt_router *router)
{
	struct shunt_local4 *now, *old = router->local4;
	uint64_t digest = digest_addrs(router);

	if (digest == router->addrs_digest)
		return;
	now = collect_local4(router);
	if (!now)
		return;
	router->addrs_digest = digest;
	router->are_addrs_new = true;
	__atomic_store_n(&router->local4, now, __ATOMIC_RELEASE);
	shunt_local4_retire(old);
}

/* At once, not at the next tick: shunt must not forward what rules divert now, or what comes in
 * where the kernel forwards nothing any more. */
static void follow_settings(struct shunt_router *router)
{
	const struct shunt_mirror_table *table = shunt_mirror_table(router->mirror);
	struct shunt_mirror_stats stats;

	shunt_mirror_stats(router->mirror, &stats);
	if (table->policy_changes == router->policy_changes &&
	    table->netconf_cnt == router->netconf_cnt && stats.above_changes == router->above_cnt &&
	    shunt_router_is_current(router))
		return;
	router->policy_changes = table->policy_changes;
	router->above_cnt = stats.above_changes;
	router->netconf_cnt = table->netconf_cnt;
	shunt_router_look(router);
}

bool shunt_router_take_addrs_new(struct shunt_router *router)
{
	bool are_new = router->are_addrs_new;

	router->are_addrs_new = false;
	return are_new;
}

/* --- following -------------------------------------------------------------------------------- */

int shunt_router_fd(const struct shunt_router *router)
{
	return router->mirror ? shunt_mirror_fd(router->mirror) : -1;
}

int shunt_router_timeout_ms(const struct shunt_router *router)
{
	return router->mirror ? shunt_mirror_timeout_ms(router->mirror) : -1;
}

int shunt_router_service(struct shunt_router *router, struct shunt_err *err)
{
	int ret;

	if (!router->mirror)
		return 0;
	ret = shunt_mirror_service(router->mirror, SERVICE_BUDGET, err);
	if (ret < 0) {
		shunt_mirror_destroy(router->mirror);
		router->mirror = NULL;
		shunt_router_look(router);
		shunt_router_tables_follow(router);
		return ret;
	}
	follow_addrs(router);
	follow_settings(router);
	shunt_router_tables_follow(router);
	return ret;
}

static bool is_loading(const struct shunt_router *router)
{
	struct shunt_mirror_stats stats;

	shunt_mirror_stats(router->mirror, &stats);
	return stats.state == SHUNT_MIRROR_loading;
}

int shunt_router_load(struct shunt_router *router, struct shunt_err *err)
{
	uint64_t until = shunt_clock_ns() + LOAD_MAX_NS;
	int ret = 1;

	while (ret >= 0 && (ret || is_loading(router)) && shunt_clock_ns() < until) {
		struct pollfd fd = {.fd = shunt_router_fd(router), .events = POLLIN};
		int timeout_ms = shunt_router_timeout_ms(router);

		if (!ret)
			poll(&fd, 1, timeout_ms < 0 ? 100 : SHUNT_MIN(timeout_ms, 100));
		ret = shunt_router_service(router, err);
	}
	shunt_router_look(router);
	shunt_router_tables_follow(router);
	return SHUNT_MIN(ret, 0);
}

int shunt_router_tick(struct shunt_router *router, struct shunt_err *err)
{
	shunt_router_look(router);
	shunt_router_tables_follow(router);
	return router->mirror ? 0 : open_mirror(router, err);
}

uint64_t shunt_router_current_ns(const struct shunt_router *router, uint64_t now_ns, bool is_idle)
{
	if (!router->is_following || is_idle)
		return now_ns;
	return SHUNT_MIN(shunt_mirror_current_ns(router->mirror), now_ns);
}

void shunt_router_tell(struct shunt_router *router)
{
	unsigned left = TELLS_MAX;
	bool are_more = true;

	while (are_more && left-- && shunt_guard_try(router->ports->guard)) {
		are_more =
			router->mirror && shunt_neigh_use_collect(router->neigh_use, router->mirror,
								  shunt_clock_ns());
		shunt_guard_leave(router->ports->guard);
		shunt_neigh_use_tell(router->neigh_use);
	}
}
