// SPDX-License-Identifier: BSD-2-Clause
#include "firewall/firewall.h"
#include "lane/judged.h"
#include "lane/share.h"
#include "base/json.h"
#include "show/show.h"
#include "steer/steer.h"

static void set_ns(json_t *row, const char *key, double ns)
{
	json_object_set_new(row, key, ns < 0 ? json_null() : json_real(ns));
}

/* What a lane did and cost: the quotients of the latest full second, null where not measured. */
static json_t *lane_json(const struct shunt_port *port, const struct shunt_lane_counts *now,
			 enum shunt_lane lane)
{
	const struct shunt_port_stats *s = &port->stats;
	const uint64_t ns = s->before.at_ns ? s->latest.at_ns - s->before.at_ns : 0;
	json_t *row = json_object();
	double latency_ns, cpu_ns;

	set_u64(row, "packets", now->packets[lane]);
	set_u64(row, "bytes", now->bytes[lane]);
	set_ratio(row, "pps", (s->latest.packets[lane] - s->before.packets[lane]) * 1000000000, ns);
	set_ratio(row, "bps", (s->latest.bytes[lane] - s->before.bytes[lane]) * 8000000000, ns);
	shunt_port_stats_cost(s, lane, &latency_ns, &cpu_ns);
	set_ns(row, "latency_ns", latency_ns);
	set_ns(row, "cpu_ns_per_packet", cpu_ns);
	return row;
}

static json_t *counts_json(const struct shunt_engine *engine, const struct shunt_port *port)
{
	json_t *lanes = json_object(), *row;
	struct shunt_lane_counts now;
	struct shunt_work_counts work;
	unsigned lane;

	shunt_engine_work(engine, &work);
	now = shunt_port_stats_read(port, &work);
	for (lane = 0; lane < SHUNT_LANE_CNT; lane++) {
		row = lane_json(port, &now, (enum shunt_lane)lane);
		json_object_set_new(row, "share_pct",
				    shunt_lanes_share_is_in_force(port)
					    ? json_integer(port->share.percent[lane])
					    : json_null());
		json_object_set_new(lanes, shunt_steer_lane_name(lane), row);
	}
	return lanes;
}

/* What steers now: the choice, or a share in its place. */
static const char *in_use(const struct shunt_engine *engine, const struct shunt_port *port)
{
	int lane = port->lane.choice.lane;

	if (shunt_lanes_share_is_in_force(port))
		lane = shunt_lane_share_whole(&port->share,
					      shunt_lanes_share_has_xdp(&engine->lanes, port));
	return lane < 0 ? "shared" : shunt_steer_lane_name((unsigned)lane);
}

/* Why, for programs and for people. */
static void set_reason(json_t *row, const struct shunt_engine *engine,
		       const struct shunt_port *port)
{
	static const struct shunt_lane_words none;
	enum shunt_lane_reason reason = port->lane.choice.reason;
	char why[sizeof(struct shunt_err) + 80];

	if (shunt_lanes_share_is_in_force(port)) {
		reason = SHUNT_LANE_REASON_share;
		shunt_lane_reason_print(reason, &none, why, sizeof(why));
	} else {
		shunt_lanes_print(&engine->lanes, port, why, sizeof(why));
	}
	set_text(row, "reason", shunt_lane_reason_name(reason));
	set_text(row, "why", why);
}

/* What the program asks for connections that the host's rules have approved; NULL: these do not
 * judge the port's frames, or leave it none. */
static const char *approved_by(const struct shunt_port *port)
{
	if (!port->lane.facts.asks_flows)
		return NULL;
	return shunt_xdp_asks_flows(port->xdp) == SHUNT_FLOW_ASKS_FLOWTABLE ? "flowtable"
									    : "connection";
}

static json_t *port_json(const struct shunt_engine *engine, const struct shunt_port *port)
{
	const struct shunt_lane_facts *f = &port->lane.facts;
	json_t *row = json_object();

	set_text(row, "port", port->name);
	set_text(row, "mode",
		 shunt_forward_mode_name(shunt_ports_mode(&engine->ports, port->index)));
	set_text(row, "firewall",
		 shunt_lanes_asks_firewall(&engine->lanes, port->index)
			 ? shunt_firewall_mode_name(engine->config->firewall)
			 : NULL);
	set_text(row, "approved_by", approved_by(port));
	json_object_set_new(row, "transparent",
			    json_boolean(shunt_config_is_transparent(engine->config, port->index)));
	set_text(row, "requested", shunt_lane_request_name(f->requested));
	set_text(row, "in_use", in_use(engine, port));
	set_reason(row, engine, port);
	json_object_set_new(row, "suspended", json_boolean(f->is_suspended));
	set_u64(row, "changes", port->lane.change_cnt);
	json_object_set_new(row, "xdp_transmit", port->xdp ? json_boolean(f->takes) : json_null());
	json_object_set_new(row, "xdp_transmit_confirmed", json_boolean(f->is_confirmed));
	json_object_set_new(row, "lanes", port->xdp ? counts_json(engine, port) : json_null());
	return row;
}

/* How often the firewall was asked about: after events, and every second. */
static json_t *answers_json(const struct shunt_firewall *firewall)
{
	json_t *row;

	if (!firewall)
		return json_null();
	row = json_object();
	set_u64(row, "followed", shunt_firewall_answers(firewall, SHUNT_FIREWALL_FOLLOWS));
	set_u64(row, "looked", shunt_firewall_answers(firewall, SHUNT_FIREWALL_LOOKS));
	return row;
}

/* shunt's own table of nftables; null: `firewall` is not manage, or no port is of mode route. */
static json_t *managed_json(const struct shunt_firewall *firewall)
{
	struct shunt_managed managed;
	json_t *row;

	if (!shunt_firewall_managed(firewall, &managed))
		return json_null();
	row = json_object();
	set_text(row, "state", shunt_managed_state_name(managed.state));
	set_text(row, "why", *managed.why.msg ? managed.why.msg : NULL);
	set_u64(row, "changes", managed.change_cnt);
	return row;
}

json_t *shunt_show_lanes(const struct shunt_show *show)
{
	const struct shunt_engine *engine = show->engine;
	json_t *rows = json_array(), *result;
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++)
		json_array_append_new(rows, port_json(engine, &engine->ports.at[i]));
	result = timed("lanes", rows);
	json_object_set_new(result, "firewall_answers", answers_json(engine->firewall));
	json_object_set_new(result, "managed", managed_json(engine->firewall));
	return result;
}
