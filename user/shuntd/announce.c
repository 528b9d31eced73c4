// SPDX-License-Identifier: BSD-2-Clause
#include "announce.h"

#include <stdio.h>

#include "io/xsk.h"
#include "lane/lanes.h"
#include "steer/steer.h"

void shuntd_announce_lanes(struct shunt_engine *engine)
{
	char why[sizeof(struct shunt_err) + 80];
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++) {
		struct shunt_port *port = &engine->ports.at[i];
		const struct shunt_port_lane *lane = &port->lane;

		if (!shunt_lanes_take_new(port) ||
		    (!lane->change_cnt && lane->choice.reason == SHUNT_LANE_REASON_asked))
			continue;
		shunt_lanes_print(&engine->lanes, port, why, sizeof(why));
		fprintf(stderr, "shuntd: %s: lane %s (%s): %s\n", port->name,
			shunt_steer_lane_name(lane->choice.lane),
			shunt_lane_request_name(lane->facts.requested), why);
	}
}

void shuntd_announce_notice(void *engine_arg, const struct shunt_notice *notice)
{
	const struct shunt_engine *engine = engine_arg;

	if (notice->key)
		fprintf(stderr, "shuntd: warning: %s\n", notice->text.msg);
	else if (notice->port >= 0)
		fprintf(stderr, "shuntd: %s: %s\n", engine->ports.at[notice->port].name,
			shunt_notice_over(notice->kind));
	else if (notice->worker >= 0)
		fprintf(stderr, "shuntd: worker %d: %s\n", notice->worker,
			shunt_notice_over(notice->kind));
	else
		fprintf(stderr, "shuntd: %s\n", shunt_notice_over(notice->kind));
}

void shuntd_announce_left(const char *port, const char *bridge, const char *why)
{
	fprintf(stderr, "shuntd: warning: %s, a port of %s, stays the kernel's: %s\n", port, bridge,
		why);
}

void shuntd_announce_start(const struct shunt_config *config)
{
	unsigned i;

	for (i = 0; i < config->pair_cnt; i++)
		if (config->pairs[i].is_transparent)
			fprintf(stderr,
				"shuntd: %s and %s are connected transparently: every frame "
				"crosses, what is for this host and LLDP or LACP too\n",
				config->ports[config->pairs[i].port[0]].name,
				config->ports[config->pairs[i].port[1]].name);
	fprintf(stderr, "shuntd: forwarding on %u ports with %u worker%s, batch %u, poll %s\n",
		config->port_cnt, config->worker_cnt, config->worker_cnt > 1 ? "s" : "",
		config->batch, shunt_poll_mode_name(config->poll));
}

void shuntd_announce_ports(const struct shunt_engine *engine)
{
	struct shunt_xsk_in_use in_use;
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++) {
		const struct shunt_port *port = &engine->ports.at[i];

		if (!port->xdp || shunt_xsk_in_use(port->queues[0], &in_use))
			continue;
		fprintf(stderr, "shuntd: %s: driver %s, %s mode, %s, %u of %u queues\n", port->name,
			*port->netdev.driver ? port->netdev.driver : "unknown",
			shunt_driver_mode_name(port->config->driver_mode),
			in_use.zerocopy ? "zerocopy" : "copy", port->queue_cnt,
			port->netdev.queue_cnt);
	}
}
