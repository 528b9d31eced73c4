// SPDX-License-Identifier: BSD-2-Clause
#include "lane/detours.h"

#include "base/bytes.h"
#include "lane/lane.h"
#include "lane/redirects.h"
#include "veth/detour.h"

void shunt_detours_prepare(struct shunt_engine *engine)
{
	struct shunt_err ignored;
	bool is_wanted = false;
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++) {
		struct shunt_port *port = &engine->ports[i];
		const enum shunt_lane_request lane = shunt_config_lane(engine->config, i);

		is_wanted |= port->xdp && !port->has_fallback &&
			     (lane == SHUNT_REQUEST_AUTO || lane == SHUNT_REQUEST_XDP);
		if (port->xdp && engine->config->takeover)
			port->detour_ifindex = shunt_detour_find(port->netdev.ifindex);
	}
	if (is_wanted && shunt_detours_open(&engine->detours, &ignored))
		engine->detours = NULL;
}

static bool can_have(const struct shunt_engine *engine, const struct shunt_port *to)
{
	return engine->detours && to->xdp && !to->lane.is_gone && !to->lane.has_xdp_transmit;
}

bool shunt_detours_can(const struct shunt_engine *engine, const struct shunt_port *to)
{
	return can_have(engine, to) && !to->has_no_detour;
}

static bool can_need(const struct shunt_engine *engine, const struct shunt_port *from,
		     const struct shunt_port *to)
{
	return from->xdp && !from->has_fallback &&
	       shunt_config_reaches(engine->config, from->index, to->index) &&
	       !shunt_lane_takes_frames(from, to);
}

static bool is_needed(const struct shunt_engine *engine, const struct shunt_port *to)
{
	unsigned i;

	for (i = 0; i < engine->port_cnt && shunt_detours_can(engine, to); i++)
		if (engine->ports[i].lane.in_use == SHUNT_LANE_XDP &&
		    can_need(engine, &engine->ports[i], to))
			return true;
	return false;
}

/* By a port whose lane would be xdp then; it may be another meanwhile. */
static bool is_missed(const struct shunt_engine *engine, const struct shunt_port *to)
{
	unsigned i;

	for (i = 0; i < engine->port_cnt && can_have(engine, to); i++)
		if (can_need(engine, &engine->ports[i], to))
			return true;
	return false;
}

static void follow_mtu(struct shunt_port *port)
{
	if (port->detour_mtu != port->mtu)
		shunt_detour_set_mtu(port->netdev.ifindex, port->mtu);
	port->detour_mtu = port->mtu;
}

/* Of the widest port: on as many CPUs may frames for this one come in. */
static uint32_t queues_of(const struct shunt_engine *engine)
{
	uint32_t queues = 1;
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++)
		queues = SHUNT_MAX(queues, engine->ports[i].netdev.queue_cnt);
	return queues;
}

static int open_one(struct shunt_engine *engine, struct shunt_port *port)
{
	const int ret = shunt_detour_open(engine->detours, port->netdev.ifindex, port->mtu,
					  queues_of(engine), &port->detour_err);

	port->has_detour = ret > 0;
	port->has_no_detour = ret < 0;
	if (port->has_no_detour)
		shunt_retry_refused(&port->detour_retry);
	else
		port->detour_retry = (struct shunt_retry){0};
	port->detour_ifindex = ret > 0 ? (unsigned)ret : 0;
	port->detour_mtu = port->mtu;
	shunt_redirects_set_detour(engine, port);
	return ret;
}

bool shunt_detours_follow(struct shunt_engine *engine)
{
	bool is_refused = false;
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++) {
		struct shunt_port *port = &engine->ports[i];

		if (!is_needed(engine, port))
			continue;
		if (port->has_detour)
			follow_mtu(port);
		else
			is_refused |= open_one(engine, port) < 0;
	}
	return is_refused;
}

bool shunt_detours_retry(struct shunt_engine *engine)
{
	bool is_any_open = false;
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++) {
		struct shunt_port *port = &engine->ports[i];

		if (port->has_no_detour && shunt_retry_is_due(&port->detour_retry) &&
		    is_missed(engine, port))
			is_any_open |= open_one(engine, port) > 0;
	}
	return is_any_open;
}

static void remove_one(struct shunt_engine *engine, struct shunt_port *port)
{
	if (port->has_detour)
		shunt_detour_close(engine->detours, port->netdev.ifindex);
	else /* the daemon's before */
		shunt_detour_clean(port->netdev.ifindex, NULL);
	port->has_detour = false;
	port->detour_ifindex = 0;
	shunt_redirects_set_detour(engine, port);
}

void shunt_detours_prune(struct shunt_engine *engine)
{
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++)
		if (engine->ports[i].detour_ifindex && !is_needed(engine, &engine->ports[i]))
			remove_one(engine, &engine->ports[i]);
}

void shunt_detours_end(struct shunt_engine *engine)
{
	unsigned i;

	for (i = 0; i < engine->port_cnt && !engine->hands_over; i++)
		if (engine->ports[i].has_detour)
			remove_one(engine, &engine->ports[i]);
	shunt_detours_close(engine->detours);
	engine->detours = NULL;
}
