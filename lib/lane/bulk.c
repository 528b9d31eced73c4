// SPDX-License-Identifier: BSD-2-Clause
#include "lane/lanes.h"

#include "base/clock.h"
#include "device/driver.h"
#include "device/link_stats.h"
#include "port/counters.h"
#include "steer/steer.h"

/* Whether the program could go. It keeps the other end from TSO. */
static bool could_go(const struct shunt_port *port)
{
	const struct shunt_lane_facts *f = &port->lane.facts;

	return f->is_device && f->requested == SHUNT_REQUEST_AUTO && !f->is_pinned &&
	       f->has_fallback && !f->is_generic && shunt_driver_of(port->netdev.driver)->is_pair;
}

static void read_program(const struct shunt_port *port, struct shunt_lane_bulk_counts *out)
{
	struct shunt_steer_counters sum;

	shunt_port_counters(port, &sum);
	out->packets = shunt_steer_counters_lane(&sum, SHUNT_LANE_XDP) +
		       shunt_steer_counters_lane(&sum, SHUNT_LANE_USER);
	out->segments = sum.csum_segments;
}

static void read_device(const struct shunt_port *port, struct shunt_lane_bulk_counts *out)
{
	struct rtnl_link_stats64 stats;

	if (shunt_link_stats(port->netdev.ifindex, &stats, NULL))
		return;
	out->packets = stats.rx_packets;
	out->bytes = stats.rx_bytes;
}

static void look_at(struct shunt_port *port)
{
	struct shunt_lane_bulk_counts now = port->bulk.latest;

	if (port->bulk.is_seen)
		read_device(port, &now);
	else
		read_program(port, &now);
	shunt_lane_bulk_tick(&port->bulk, &now, port->mtu, shunt_clock_ns());
}

void shunt_lanes_look_for_bulk(struct shunt_lanes *lanes)
{
	unsigned i;

	for (i = 0; i < lanes->ports->cnt; i++) {
		struct shunt_port *port = &lanes->ports->at[i];

		if (could_go(port))
			look_at(port);
		else
			port->bulk = (struct shunt_lane_bulk){0};
	}
}
