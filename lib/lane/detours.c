// SPDX-License-Identifier: BSD-2-Clause
#include "lane/detours.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "helper/helper.h"
#include "lane/redirects.h"
#include "veth/detour.h"

void shunt_lane_detours_open(struct shunt_lanes *lanes)
{
	struct shunt_err ignored;
	bool is_wanted = false;
	unsigned i;

	for (i = 0; i < lanes->ports->cnt; i++) {
		struct shunt_port *port = &lanes->ports->at[i];
		const struct shunt_lane_facts *f = &port->lane.facts;

		is_wanted |= f->is_device && !f->has_fallback &&
			     (f->crosses || f->requested == SHUNT_REQUEST_AUTO ||
			      f->requested == SHUNT_REQUEST_XDP);
		/* of the daemon before, which hands over, or has died */
		if (port->xdp && (lanes->ports->config->takeover || f->crosses))
			port->detour.ifindex = shunt_detour_find(port->netdev.ifindex);
	}
	if (is_wanted)
		shunt_detours_open(&lanes->detours, &ignored);
}

static bool can_have(const struct shunt_lanes *lanes, const struct shunt_port *to)
{
	const struct shunt_lane_facts *f = &to->lane.facts;

	return lanes->detours && f->is_device && !f->is_gone && !f->takes;
}

bool shunt_lane_detours_can(const struct shunt_lanes *lanes, const struct shunt_port *to)
{
	return can_have(lanes, to) && !shunt_backoff_was_refused(&to->detour.backoff);
}

/* Whether a port would be in lane xdp with that detour. Its lane may be another meanwhile. */
static bool is_missed(const struct shunt_lanes *lanes, const struct shunt_port *to)
{
	unsigned i;

	for (i = 0; i < lanes->ports->cnt && can_have(lanes, to); i++) {
		const struct shunt_lane_facts *from = &lanes->ports->at[i].lane.facts;

		if (shunt_lane_wants_detour(from, to->index) &&
		    !shunt_lane_takes(from, &to->lane.facts))
			return true;
	}
	return false;
}

/* Those of the widest port: frames may come in on as many CPUs. */
static uint32_t queues_of(const struct shunt_ports *ports)
{
	uint32_t queues = 1;
	unsigned i;

	for (i = 0; i < ports->cnt; i++)
		queues = SHUNT_MAX(queues, ports->at[i].netdev.queue_cnt);
	return queues;
}

/* One that is there is made to fit. */
static int make(struct shunt_lanes *lanes, const struct shunt_port *port, struct shunt_err *err)
{
	const unsigned far = (unsigned)port->netdev.ifindex;
	const uint32_t queues = queues_of(lanes->ports);

	return lanes->helper ? shunt_helper_detour_open(lanes->helper, far, port->mtu, queues, err)
			     : shunt_detour_open(lanes->detours, far, port->mtu, queues, err);
}

static void follow_mtu(struct shunt_lanes *lanes, struct shunt_port *port)
{
	if (port->detour.mtu != port->mtu)
		make(lanes, port, NULL);
	port->detour.mtu = port->mtu;
}

static bool open_one(struct shunt_lanes *lanes, struct shunt_port *port)
{
	struct shunt_port_detour *detour = &port->detour;
	const int ret = make(lanes, port, &detour->err);

	detour->is_own = ret > 0;
	detour->ifindex = ret > 0 ? (unsigned)ret : 0;
	detour->mtu = port->mtu;
	if (ret < 0)
		shunt_backoff_refused(&detour->backoff, shunt_clock_ns());
	else
		detour->backoff = (struct shunt_backoff){0};
	port->lane.facts.has_no_detour = ret < 0;
	port->lane.facts.can_detour = ret >= 0;
	shunt_lane_redirects_set_detour(lanes, port);
	return ret > 0;
}

bool shunt_lane_detours_follow(struct shunt_lanes *lanes, const struct shunt_lane_choice *choices)
{
	bool is_refused = false;
	unsigned i;

	for (i = 0; i < lanes->ports->cnt; i++) {
		struct shunt_port *port = &lanes->ports->at[i];

		if (!choices[i].has_detour)
			continue;
		if (port->detour.is_own)
			follow_mtu(lanes, port);
		else
			is_refused |= !open_one(lanes, port);
	}
	return is_refused;
}

bool shunt_lane_detours_retry(struct shunt_lanes *lanes)
{
	const uint64_t now_ns = shunt_clock_ns();
	bool is_any_open = false;
	unsigned i;

	for (i = 0; i < lanes->ports->cnt; i++) {
		struct shunt_port *port = &lanes->ports->at[i];

		if (shunt_backoff_was_refused(&port->detour.backoff) &&
		    shunt_backoff_is_due(&port->detour.backoff, now_ns) && is_missed(lanes, port))
			is_any_open |= open_one(lanes, port);
	}
	return is_any_open;
}

static void remove_one(struct shunt_lanes *lanes, struct shunt_port *port)
{
	if (lanes->helper)
		shunt_helper_detour_close(lanes->helper, (unsigned)port->netdev.ifindex, NULL);
	else if (port->detour.is_own)
		shunt_detour_close(lanes->detours, port->netdev.ifindex);
	else /* the daemon's before */
		shunt_detour_clean(port->netdev.ifindex, NULL);
	port->detour.is_own = false;
	port->detour.ifindex = 0;
	shunt_lane_redirects_set_detour(lanes, port);
}

void shunt_lane_detours_prune(struct shunt_lanes *lanes)
{
	unsigned i;

	for (i = 0; i < lanes->ports->cnt; i++) {
		struct shunt_port *port = &lanes->ports->at[i];

		if (port->detour.ifindex && !port->lane.choice.has_detour)
			remove_one(lanes, port);
	}
}

void shunt_lane_detours_close(struct shunt_lanes *lanes, bool hands_over)
{
	unsigned i;

	for (i = 0; lanes->ports && i < lanes->ports->cnt && !hands_over; i++)
		if (lanes->ports->at[i].detour.is_own)
			remove_one(lanes, &lanes->ports->at[i]);
	shunt_detours_close(lanes->detours);
	lanes->detours = NULL;
}
