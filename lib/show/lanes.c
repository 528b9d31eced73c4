// SPDX-License-Identifier: BSD-2-Clause
#include "lane/lane.h"
#include "show/show.h"
#include "show/json.h"
#include "steer/steer.h"

/* What every lane did and cost. */
static json_t *counts_json(const struct shunt_engine *engine, const struct shunt_port *port)
{
	json_t *lanes = json_object(), *row;
	unsigned lane;

	for (lane = 0; lane < SHUNT_LANE_CNT; lane++) {
		row = shunt_lane_stats_json(engine, port, (enum shunt_lane)lane);
		json_object_set_new(row, "share_pct",
				    shunt_lane_share_is_in_force(port)
					    ? json_integer(port->share.percent[lane])
					    : json_null());
		json_object_set_new(lanes, shunt_steer_lane_name(lane), row);
	}
	return lanes;
}

/* What steers now: the choice, or what somebody set by hand in its place. */
static const char *in_use(const struct shunt_engine *engine, const struct shunt_port *port)
{
	int lane = port->lane.in_use;

	if (shunt_lane_share_is_in_force(port))
		lane = shunt_lane_share_whole(&port->share, shunt_lane_share_has_xdp(engine, port));
	return lane < 0 ? "shared" : shunt_steer_lane_name((unsigned)lane);
}

static json_t *port_json(const struct shunt_engine *engine, const struct shunt_port *port)
{
	const struct shunt_lane_choice *lane = &port->lane;
	json_t *row = json_object();

	set_text(row, "port", port->name);
	set_text(row, "mode",
		 shunt_forward_mode_name(
			 (enum shunt_forward_mode)shunt_config_mode(engine->config, port->index)));
	json_object_set_new(row, "transparent",
			    json_boolean(shunt_config_is_transparent(engine->config, port->index)));
	set_text(row, "requested", shunt_lane_request_name(lane->requested));
	set_text(row, "in_use", in_use(engine, port));
	set_text(row, "why",
		 shunt_lane_share_is_in_force(port)
			 ? "set by shuntctl lane set, until lane set PORT auto"
			 : lane->why);
	json_object_set_new(row, "suspended", json_boolean(lane->is_suspended));
	set_u64(row, "changes", lane->change_cnt);
	json_object_set_new(row, "xdp_transmit",
			    port->xdp ? json_boolean(lane->has_xdp_transmit) : json_null());
	json_object_set_new(row, "xdp_transmit_confirmed", json_boolean(lane->is_confirmed));
	json_object_set_new(row, "lanes", port->xdp ? counts_json(engine, port) : json_null());
	return row;
}

json_t *shunt_show_lanes(const struct shunt_engine *engine)
{
	json_t *rows = json_array();
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++)
		json_array_append_new(rows, port_json(engine, &engine->ports[i]));
	return timed("lanes", rows);
}
