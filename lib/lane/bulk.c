// SPDX-License-Identifier: BSD-2-Clause
#include "lane/bulk.h"

#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "device/link_stats.h"
#include "port/counters.h"
#include "lane/suspend.h"
#include "steer/steer.h"

/* Packets a second, below which nothing is to be gained: 58 Mbit/s of segments. */
#define RATE_MIN   5000
#define AGREE_MIN  2
/* Of long packets, fewer say that there are some. */
#define LONG_MIN   100
#define HOLD_MIN_S 8U
#define HOLD_MAX_S 600U
/* Ethernet header and a VLAN tag, which a device's counters may contain. */
#define L2_MAX	   18

/* Since the latest second. */
static uint64_t step(uint64_t *latest, uint64_t now)
{
	const uint64_t before = *latest;

	*latest = now;
	return now - before;
}

static bool comes_in_segments(struct shunt_port *port)
{
	struct shunt_steer_counters sum;
	uint64_t packets, segments;

	shunt_steer_counters_of_port(port, &sum);
	packets = step(&port->bulk.packet_cnt,
		       shunt_steer_counters_lane(&sum, SHUNT_LANE_XDP) +
			       shunt_steer_counters_lane(&sum, SHUNT_LANE_USER));
	segments = step(&port->bulk.segment_cnt, sum.csum_segments);
	return segments >= RATE_MIN && segments > packets / 2;
}

/* Where too little comes to tell, what was so is so. */
static bool comes_in_packets(struct shunt_port *port)
{
	struct rtnl_link_stats64 stats;
	uint64_t packets, bytes;
	bool is_long;

	if (shunt_link_stats(port->netdev.ifindex, &stats, NULL))
		return false;
	packets = step(&port->bulk.packet_cnt, stats.rx_packets);
	bytes = step(&port->bulk.byte_cnt, stats.rx_bytes);
	is_long = bytes > packets * (port->mtu + L2_MAX);
	port->bulk.is_right |= port->bulk.has_before && is_long && packets >= LONG_MIN;
	return packets >= RATE_MIN && !is_long;
}

/* What was not so is believed later and later. */
static void turn(struct shunt_bulk *bulk)
{
	if (bulk->is_seen) {
		bulk->hold_s = bulk->is_right || !bulk->hold_s
				       ? HOLD_MIN_S
				       : SHUNT_MIN(2 * bulk->hold_s, HOLD_MAX_S);
		bulk->hold_ns = shunt_clock_ns() + bulk->hold_s * 1000000000ULL;
	}
	bulk->is_seen = !bulk->is_seen;
	bulk->is_right = false;
	bulk->has_before = false; /* other counters from now on */
	bulk->agree_cnt = 0;
}

/* The program could go, and with it what keeps the other end from TSO. */
static bool could_go(const struct shunt_engine *engine, const struct shunt_port *port)
{
	return shunt_suspend_may(engine, port) && port->has_fallback &&
	       !strcmp(port->netdev.driver, "veth") &&
	       port->config->driver_mode == SHUNT_DRIVER_NATIVE;
}

void shunt_bulk_tick(struct shunt_engine *engine)
{
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++) {
		struct shunt_port *port = &engine->ports[i];
		struct shunt_bulk *bulk = &port->bulk;
		bool is_other;

		if (!could_go(engine, port)) {
			*bulk = (struct shunt_bulk){0};
			continue;
		}
		is_other = bulk->is_seen ? comes_in_packets(port) : comes_in_segments(port);
		bulk->agree_cnt = is_other && bulk->has_before ? bulk->agree_cnt + 1 : 0;
		bulk->has_before = true;
		if (bulk->agree_cnt >= AGREE_MIN && shunt_clock_ns() >= bulk->hold_ns)
			turn(bulk);
	}
}
