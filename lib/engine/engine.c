// SPDX-License-Identifier: BSD-2-Clause
/* The engine as a whole: made and unmade. run.c starts and refreshes it, ports.c has its ports,
 * worker.c its workers. */
#include "engine/engine.h"

#include <errno.h>
#include <jansson.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bridge/bridge.h"
#include "engine/devices.h"
#include "engine/follower.h"
#include "engine/ports.h"
#include "engine/worker.h"
#include "firewall/firewall.h"
#include "firewall/origin.h"
#include "helper/helper.h"
#include "lane/facts.h"
#include "lane/redirects.h"
#include "lane/lanes.h"
#include "router/router.h"
#include "veth/puntdev.h"
#include "xdp/death.h"
#include "xdp/delegate.h"
#include "xdp/flow_count.h"

/* Teardown waits so long for frames in flight to be transmitted. */
#define DRAIN_MS 1000

/* And so long for a worker to end its turn. With less, a worker that gets no CPU, or is in a driver
 * that resets, is taken for hung. With more, a successor or a service manager that waits for the
 * end gives up. */
#define STOP_MS	 5000

/* --- made and unmade -------------------------------------------------------------------------- */

static int check_ports(const struct shunt_config *config, struct shunt_err *err)
{
	if (!config->port_cnt || config->port_cnt > SHUNT_PORT_MAX)
		return shunt_err_set(err, EINVAL, "%u ports configured; 1 to %u can be served",
				     config->port_cnt, SHUNT_PORT_MAX);
	return 0;
}

bool shunt_engine_punts(const struct shunt_engine *engine)
{
	return engine->punts;
}

/* A program looks stations up from its first frame on, so the bridge must be there before it. */
static bool routes_over_bridge(const struct shunt_config *config)
{
	unsigned i;

	for (i = 0; i < config->port_cnt; i++)
		if (config->ports[i].is_bridged)
			return true;
	return false;
}

static int open_bridge(struct shunt_engine *engine, struct shunt_err *err)
{
	int ret;

	if (!shunt_config_uses(engine->config, SHUNT_FORWARD_MIX) &&
	    !shunt_config_uses(engine->config, SHUNT_FORWARD_BRIDGE) &&
	    !routes_over_bridge(engine->config))
		return 0;
	ret = shunt_bridge_create(&engine->bridge, &engine->ports, err);
	if (ret)
		return ret;
	engine->lanes.bridge = engine->bridge;
	shunt_engine_follow_devices(engine);
	shunt_bridge_inherit(engine->bridge, engine->stations);
	return shunt_lanes_prepare_crossing(&engine->lanes, true, err);
}

/* `firewall: manage` is about what mode route forwards. Of a bond connections are known by the
 * bond; of a bridge by its port, and the bridge is what rules see. */
static unsigned add_managed(const struct shunt_engine *engine, unsigned port, int *ifindexes,
			    unsigned cnt)
{
	const struct shunt_port_config *config = engine->ports.at[port].config;

	if (!*config->master || config->is_bridged)
		ifindexes[cnt++] = engine->ports.at[port].netdev.ifindex;
	if (*config->master)
		ifindexes[cnt++] = (int)if_nametoindex(config->master);
	return cnt;
}

static int manage_firewall(struct shunt_engine *engine, struct shunt_err *err)
{
	int ifindexes[2 * SHUNT_PORT_MAX];
	unsigned i, cnt = 0;

	for (i = 0; i < engine->ports.cnt; i++)
		if (engine->ports.at[i].xdp &&
		    shunt_ports_mode(&engine->ports, i) == SHUNT_FORWARD_ROUTE)
			cnt = add_managed(engine, i, ifindexes, cnt);
	if (!cnt || engine->config->firewall != SHUNT_FIREWALL_MANAGE)
		return 0;
	return shunt_firewall_manage(engine->firewall, ifindexes, cnt, err);
}

/* Between other modes' ports the kernel would forward nothing. */
static int open_firewall(struct shunt_engine *engine, struct shunt_err *err)
{
	int ifindexes[SHUNT_PORT_MAX], ret;
	unsigned i, cnt = 0;

	for (i = 0; i < engine->ports.cnt; i++)
		if (engine->ports.at[i].xdp && (shunt_ports_routes(&engine->ports, i) ||
						shunt_ports_bridges(&engine->ports, i)))
			ifindexes[cnt++] = engine->ports.at[i].netdev.ifindex;
	if (!cnt)
		return 0;
	ret = shunt_firewall_create(&engine->firewall, ifindexes, cnt, err);
	engine->lanes.firewall = engine->firewall;
	if (!ret && shunt_origin_create(&engine->lanes.origin))
		ret = shunt_err_set(err, ENOMEM, "engine: not enough memory");
	return ret ? ret : manage_firewall(engine, err);
}

/* The router, and what it or the bridge punts with. */
static int open_router(struct shunt_engine *engine, struct shunt_err *err)
{
	if (shunt_ports_any_routes(&engine->ports)) {
		const int ret = shunt_router_create(&engine->router, &engine->ports, err);

		if (ret)
			return ret;
		engine->lanes.router = engine->router;
	}
	if (!engine->router && !(engine->bridge && engine->bridge->puntdev))
		return 0;
	engine->punts = calloc(engine->config->worker_cnt, sizeof(*engine->punts));
	if (!engine->punts)
		return shunt_err_set(err, ENOMEM, "engine: not enough memory");
	return 0;
}

static int make_ports(struct shunt_engine *engine, struct shunt_config *config)
{
	struct shunt_port *at = calloc(config->port_cnt, sizeof(*at));
	unsigned i;

	if (!at)
		return -ENOMEM;
	engine->ports.config = config;
	engine->ports.at = at;
	engine->ports.cnt = config->port_cnt;
	engine->ports.guard = &engine->guard;
	for (i = 0; i < config->port_cnt; i++) {
		at[i].config = &config->ports[i];
		memcpy(at[i].name, config->ports[i].name, sizeof(at[i].name));
		at[i].index = i;
		at[i].promisc_fd = -1;
	}
	return 0;
}

static int allocate(struct shunt_engine *engine, struct shunt_config *config, struct shunt_err *err)
{
	engine->config = config;
	engine->frame_size = config->frame_size ? config->frame_size : SHUNT_FRAME_SIZE_MIN;
	engine->workers = calloc(config->worker_cnt, sizeof(*engine->workers));
	engine->umems = calloc(config->worker_cnt, sizeof(*engine->umems));
	engine->entries = calloc(config->worker_cnt, sizeof(*engine->entries));
	if (!engine->workers || !engine->umems || !engine->entries || make_ports(engine, config) ||
	    shunt_guard_init(&engine->guard))
		return shunt_err_set(err, ENOMEM, "engine: not enough memory");
	return 0;
}

int shunt_engine_create(struct shunt_engine **out, struct shunt_config *config,
			struct shunt_err *err)
{
	struct shunt_engine *engine;
	int ret = check_ports(config, err);

	if (ret)
		return ret;
	engine = calloc(1, sizeof(*engine));
	if (!engine)
		return shunt_err_set(err, ENOMEM, "engine: not enough memory");
	engine->links_fd = engine->events_fd = -1;
	ret = allocate(engine, config, err);
	if (!ret)
		ret = shunt_engine_open_ports(engine, err);
	if (ret)
		goto fail;
	ret = shunt_engine_check_workers(engine, err);
	if (ret)
		goto fail;
	shunt_lanes_open(&engine->lanes, &engine->ports);
	shunt_engine_follow_devices(engine);
	ret = shunt_lanes_prepare_crossing(&engine->lanes, false, err);
	if (ret)
		goto fail;
	*out = engine;
	return 0;
fail:
	shunt_engine_destroy(engine, NULL);
	return ret;
}

static void open_death(struct shunt_engine *engine)
{
	struct shunt_xdp *ports[SHUNT_PORT_MAX];
	unsigned i, cnt = 0;

	for (i = 0; i < engine->ports.cnt; i++)
		if (engine->ports.at[i].xdp)
			ports[cnt++] = engine->ports.at[i].xdp;
	if (cnt)
		shunt_xdp_death_open(&engine->death, ports, cnt, &engine->death_err);
}

int shunt_engine_attach(struct shunt_engine *engine, struct shunt_err *err)
{
	int ret = open_bridge(engine, err);

	if (!ret)
		ret = open_firewall(engine, err);
	if (ret)
		return ret;
	shunt_lanes_cross(&engine->lanes);
	return shunt_engine_attach_ports(engine, err);
}

void shunt_engine_set_helper(struct shunt_engine *engine, struct shunt_helper *helper)
{
	unsigned i;

	engine->lanes.helper = helper;
	engine->ports.delegate = shunt_helper_delegate(helper);
	for (i = 0; i < engine->ports.cnt; i++)
		if (engine->ports.at[i].xdp)
			shunt_xdp_delegate(engine->ports.at[i].xdp, engine->ports.delegate);
}

static int hear(const struct shunt_engine *engine, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(engine->events_fd, EPOLL_CTL_ADD, fd, &event);
}

static int open_events(struct shunt_engine *engine, struct shunt_err *err)
{
	engine->events_fd = epoll_create1(EPOLL_CLOEXEC);
	engine->links_fd = shunt_engine_hear_devices();
	if (engine->links_fd < 0)
		return shunt_err_set(err, -engine->links_fd, "cannot hear of devices: %s",
				     strerror(-engine->links_fd));
	if (engine->events_fd < 0 || hear(engine, engine->links_fd) ||
	    (engine->follower && hear(engine, shunt_follower_fd(engine->follower))))
		return shunt_err_set(err, errno, "no descriptors or memory for events: %s",
				     strerror(errno));
	return 0;
}

static void close_events(const struct shunt_engine *engine)
{
	if (engine->links_fd >= 0)
		close(engine->links_fd);
	if (engine->events_fd >= 0)
		close(engine->events_fd);
}

int shunt_engine_open(struct shunt_engine *engine, struct shunt_err *err)
{
	int ret = open_router(engine, err);

	if (!ret) {
		shunt_lane_redirects_open(&engine->lanes);
		open_death(engine);
	}
	while (!ret && engine->worker_cnt < engine->config->worker_cnt)
		ret = shunt_engine_build_worker(engine, engine->worker_cnt, err);
	if (!ret && (engine->router || engine->bridge || engine->firewall))
		ret = shunt_follower_create(&engine->follower, engine, err);
	return ret ? ret : open_events(engine, err);
}

/* Waits until the workers have taken what was redirected to them before the programs went. A worker
 * that is late with its answer waits for a CPU. */
static void settle(struct shunt_engine *engine)
{
	const struct timespec pause = {.tv_nsec = 1000 * 1000};
	uint64_t until = shunt_clock_ns() + DRAIN_MS * 1000000ULL;
	struct shunt_ledger ledger;
	unsigned i;

	for (i = 0; i < engine->worker_cnt; i++)
		while ((shunt_worker_ledger(engine->workers[i], &ledger, 50) || ledger.rx) &&
		       shunt_clock_ns() < until)
			nanosleep(&pause, NULL);
}

void shunt_engine_hand_over(struct shunt_engine *engine)
{
	unsigned i;

	engine->hands_over = true;
	for (i = 0; i < engine->ports.cnt; i++)
		if (engine->ports.at[i].xdp)
			shunt_xdp_hand_over(engine->ports.at[i].xdp,
					    !engine->ports.at[i].lane.facts.has_fallback);
}

/* A thread hangs. What it may touch stays as it is until the process ends, which closes its
 * sockets. What would outlive the process is given back. */
static void abandon(struct shunt_engine *engine)
{
	char punt[IFNAMSIZ];
	unsigned i;

	if (engine->punts) {
		shunt_puntdev_name(punt);
		shunt_puntdev_clean(punt, NULL);
	}
	shunt_lanes_close(&engine->lanes, engine->hands_over);
	for (i = 0; i < engine->ports.cnt; i++)
		if (engine->ports.at[i].xdp)
			shunt_xdp_disown(engine->ports.at[i].xdp);
}

static int stop_workers(struct shunt_engine *engine, struct shunt_err *err)
{
	unsigned i;

	for (i = 0; i < engine->worker_cnt; i++)
		if (shunt_worker_stop(engine->workers[i], STOP_MS)) {
			abandon(engine);
			return shunt_err_set(
				err, ETIMEDOUT,
				"worker %u hangs and does not stop: ended without it, and without "
				"its ledger; please report this bug (see CONTRIBUTING)",
				i);
		}
	return 0;
}

/* The workers are stopped as well as that goes. */
static int end_without_follower(struct shunt_engine *engine, struct shunt_err *err)
{
	struct shunt_err ignored;

	if (!stop_workers(engine, &ignored))
		abandon(engine);
	return shunt_err_set(err, ETIMEDOUT,
			     "what follows the kernel hangs and does not stop: ended without it; "
			     "please report this bug (see CONTRIBUTING)");
}

int shunt_engine_destroy(struct shunt_engine *engine, struct shunt_err *err)
{
	struct shunt_err ignored;
	unsigned i;
	int ret = 0, hangs;

	if (!engine)
		return 0;
	/* First: it bars ports and tells programs. */
	hangs = shunt_follower_stop(engine->follower, STOP_MS);
	shunt_xdp_death_close(engine->death);
	for (i = 0; i < engine->ports.cnt; i++)
		shunt_xdp_withdraw(engine->ports.at[i].xdp);
	if (hangs)
		return end_without_follower(engine, err);
	if (engine->started_ns) {
		shunt_xdp_quiesce();
		settle(engine);
	}
	ret = stop_workers(engine, err);
	if (ret)
		return ret;
	for (i = 0; i < engine->worker_cnt; i++) {
		struct shunt_worker *worker = engine->workers[i];

		if (engine->started_ns) {
			shunt_worker_drain(worker, DRAIN_MS);
			if (shunt_worker_audit(worker, ret ? &ignored : err))
				ret = -EBADMSG;
		}
		shunt_engine_unbuild_worker(engine, i);
	}
	/* Without zero-copy rings more ports take each other's frames. */
	for (i = 0; i < engine->ports.cnt; i++)
		shunt_lane_facts_ask_sockets(&engine->ports.at[i]);
	for (i = 0; i < engine->ports.cnt && engine->hands_over; i++)
		if (engine->ports.at[i].xdp)
			shunt_lanes_tell_ports(&engine->lanes, &engine->ports.at[i], &ignored);
	shunt_follower_destroy(engine->follower);
	close_events(engine);
	shunt_bridge_destroy(engine->bridge);
	shunt_router_destroy(engine->router);
	if (!shunt_firewall_stop(engine->firewall, STOP_MS))
		shunt_firewall_destroy(engine->firewall);
	shunt_lanes_close(&engine->lanes, engine->hands_over);
	shunt_origin_destroy(engine->lanes.origin);
	for (i = 0; i < engine->ports.cnt; i++)
		shunt_engine_close_port(&engine->ports.at[i]);
	shunt_xdp_flow_counts_destroy(engine->flow_counts);
	free(engine->punts);
	shunt_locals_fini(&engine->locals);
	json_decref(engine->stations);
	free(engine->umems);
	free(engine->entries);
	free(engine->workers);
	free(engine->ports.at);
	if (engine->ports.guard)
		shunt_guard_fini(engine->ports.guard);
	free(engine);
	return ret;
}

/* --- what it is ------------------------------------------------------------------------------- */

bool shunt_engine_has_network(const struct shunt_engine *engine)
{
	return engine->router || engine->bridge || engine->firewall;
}

bool shunt_engine_wants_tables(const struct shunt_engine *engine)
{
	return shunt_ports_any_routes(&engine->ports) && shunt_ports_any_device(&engine->ports);
}

bool shunt_engine_loads_later(const struct shunt_engine *engine)
{
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++)
		if (engine->ports.at[i].xdp && shunt_xdp_loads_later(engine->ports.at[i].xdp))
			return true;
	return false;
}
