// SPDX-License-Identifier: BSD-2-Clause
/* The engine at work: started, serviced, refreshed. */
#include "base/clock.h"
#include "bridge/bridge.h"
#include "engine/devices.h"
#include "engine/engine.h"
#include "engine/follower.h"
#include "firewall/firewall.h"
#include "lane/detours.h"
#include "lane/judged.h"
#include "lane/lanes.h"
#include "router/router.h"

static int set_locals(struct shunt_engine *engine, struct shunt_err *err)
{
	const struct shunt_locals *l = &engine->locals;
	unsigned i;
	int ret = 0;

	for (i = 0; i < engine->ports.cnt && !ret; i++)
		if (engine->ports.at[i].xdp)
			ret = shunt_xdp_set_locals(engine->ports.at[i].xdp, l->ip4_be, l->ip4_cnt,
						   l->ip6, l->ip6_cnt, err);
	return ret;
}

static int refresh_locals(struct shunt_engine *engine, struct shunt_err *err)
{
	struct shunt_locals now;
	int ret = shunt_locals_query(&now, err);

	if (ret)
		return ret;
	if (shunt_locals_equal(&now, &engine->locals)) {
		shunt_locals_fini(&now);
		return 0;
	}
	shunt_locals_fini(&engine->locals);
	engine->locals = now;
	return set_locals(engine, err);
}

static void tick_stats(struct shunt_engine *engine)
{
	struct shunt_work_counts work;
	unsigned i;

	shunt_engine_work(engine, &work);
	for (i = 0; i < engine->ports.cnt; i++)
		shunt_port_stats_tick(&engine->ports.at[i], &work);
}

/* What no event tells of. */
static void look_at_firewall(struct shunt_engine *engine)
{
	if (!engine->firewall)
		return;
	shunt_firewall_ask(engine->firewall, SHUNT_FIREWALL_LOOKS, SHUNT_FIREWALL_ALL);
	if (!shunt_guard_try(engine->ports.guard))
		return;
	if (shunt_firewall_put(engine->firewall, SHUNT_FIREWALL_LOOKS))
		shunt_lanes_bar_judged(&engine->lanes);
	shunt_guard_leave(engine->ports.guard);
}

static void end_approved(struct shunt_engine *engine)
{
	bool are_through = true;
	unsigned i;

	for (i = 0; i < engine->worker_cnt; i++)
		are_through &=
			shunt_worker_is_through(engine->workers[i], engine->config->ring_size);
	shunt_lanes_end_approved(&engine->lanes, are_through);
}

int shunt_engine_refresh(struct shunt_engine *engine, struct shunt_err *err)
{
	bool is_new;
	int ret = 0;

	shunt_engine_follow_names(engine);
	tick_stats(engine);
	shunt_lanes_look_for_bulk(&engine->lanes);
	if (engine->bridge)
		shunt_bridge_tell(engine->bridge);
	if (engine->router)
		shunt_router_tell(engine->router);
	else
		ret = refresh_locals(engine, err);
	if (ret)
		return ret;
	look_at_firewall(engine);
	end_approved(engine);
	is_new = shunt_engine_follow_devices(engine);
	return shunt_lanes_follow(&engine->lanes, is_new, err);
}

int shunt_engine_service(struct shunt_engine *engine, struct shunt_err *err)
{
	struct shunt_follower_news news = {.error = 0};
	const bool is_new = shunt_engine_follow_told(engine);
	int ret = 0;

	if (engine->follower)
		shunt_follower_take(engine->follower, &news);
	if (news.are_tells)
		shunt_bridge_tell(engine->bridge);
	if (news.are_addrs_new)
		ret = refresh_locals(engine, err);
	if (!ret && (news.are_lanes_due || is_new))
		ret = shunt_lanes_follow(&engine->lanes, is_new, err);
	if (!ret && news.error)
		*err = news.err;
	return ret ? ret : news.error;
}

int shunt_engine_fd(const struct shunt_engine *engine)
{
	return engine->events_fd;
}

static int start_workers(struct shunt_engine *engine, struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < engine->worker_cnt && !ret; i++)
		ret = shunt_worker_start(engine->workers[i], err);
	return ret;
}

int shunt_engine_start(struct shunt_engine *engine, struct shunt_err *err)
{
	int ret = engine->router ? shunt_router_load(engine->router, err) : 0;

	if (!ret && engine->follower)
		ret = shunt_follower_start(engine->follower, err);
	if (!ret)
		ret = shunt_firewall_start(engine->firewall, err);
	if (!ret)
		ret = refresh_locals(engine, err);
	if (ret)
		return ret;
	shunt_lanes_choose(&engine->lanes);
	ret = start_workers(engine, err);
	if (!ret)
		ret = shunt_lanes_open_gates(&engine->lanes, err);
	if (ret)
		return ret;
	shunt_lane_detours_prune(&engine->lanes);
	ret = shunt_lanes_follow(&engine->lanes, false, err);
	if (ret)
		return ret;
	engine->started_ns = shunt_clock_ns();
	engine->lanes.is_started = true;
	return 0;
}

/* The watch is told while the thread may still ask the kernel for it. */
static int enter_worker(void *arg, struct shunt_err *err)
{
	const struct shunt_engine_entry *entry = arg;
	const struct shunt_ports *ports = &entry->engine->ports;
	unsigned i;

	for (i = 0; i < ports->cnt; i++)
		if (ports->at[i].xdp)
			shunt_xdp_watch_worker(ports->at[i].xdp, entry->id,
					       entry->engine->config->worker_cnt);
	return entry->enter(entry->arg, err);
}

void shunt_engine_on_worker(struct shunt_engine *engine, int (*enter)(void *, struct shunt_err *),
			    void *arg)
{
	unsigned i;

	for (i = 0; i < engine->worker_cnt; i++) {
		engine->entries[i] = (struct shunt_engine_entry){engine, i, enter, arg};
		engine->workers[i]->opts.enter = enter_worker;
		engine->workers[i]->opts.enter_arg = &engine->entries[i];
	}
}
