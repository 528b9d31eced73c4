// SPDX-License-Identifier: BSD-2-Clause
/* One table, in the order in which a frame meets the places: the device, the steering program, the
 * redirect to another device, the AF_XDP socket, the graph. More than one place may count a frame:
 * a driver counts as rx_dropped what its socket refused. So there is no sum over places. */
#include <string.h>

#include "device/link_stats.h"
#include "lane/redirects.h"
#include "show/show.h"
#include "base/json.h"
#include "port/counters.h"
#include "graph/drop.h"
#include "io/xsk.h"
#include "steer/steer.h"

/* lost: the frame is gone. Otherwise it is the kernel's, or none was lost. */
static json_t *row_json(const char *where, const char *port, const char *name, uint64_t count,
			bool lost, const char *help)
{
	json_t *row = json_object();

	set_text(row, "where", where);
	set_text(row, "port", port);
	set_text(row, "name", name);
	set_u64(row, "count", count);
	json_object_set_new(row, "lost", json_boolean(lost));
	set_text(row, "help", help);
	return row;
}

static void add_link(json_t *rows, const struct shunt_port *port)
{
	const char *name = port->name;
	struct rtnl_link_stats64 stats;

	if (shunt_link_stats(port->netdev.ifindex, &stats, NULL))
		return;
#define X(field, help) \
	json_array_append_new(rows, row_json("nic", name, #field, stats.field, true, help));
	SHUNT_LINK_DROPS(X)
#undef X
}

static void add_steer(json_t *rows, const struct shunt_port *port)
{
	struct shunt_steer_counters sum;
	unsigned reason;

	shunt_port_counters(port, &sum);
	for (reason = 0; reason < SHUNT_STEER_REASON_CNT; reason++) {
		enum shunt_lane lane = shunt_steer_reason_lane(reason);
		json_t *row;

		if (lane == SHUNT_LANE_USER || lane == SHUNT_LANE_XDP)
			continue;
		row = row_json("steer", port->name, shunt_steer_reason_name(reason),
			       sum.packets[reason], lane == SHUNT_LANE_DROP,
			       shunt_steer_reason_help(reason));
		set_text(row, "lane", shunt_steer_lane_name(lane));
		json_array_append_new(rows, row);
	}
}

static void add_redirects(json_t *rows, const struct shunt_engine *engine,
			  const struct shunt_port *port)
{
	unsigned i;

	for (i = 0; i < SHUNT_FAIL_CNT; i++) {
		enum shunt_fail_reason reason = (enum shunt_fail_reason)i;
		uint64_t cnt = shunt_xdp_fail_read(engine->lanes.redirects, port->index, reason);

		json_array_append_new(rows,
				      row_json("redirect", port->name, shunt_xdp_fail_name(reason),
					       cnt, true, shunt_xdp_fail_help(reason)));
	}
}

static bool is_event(const char *name)
{
	return strstr(name, "ring_empty") != NULL;
}

static void add_xsk(json_t *rows, const struct shunt_port *port, const struct shunt_queue *queue)
{
	struct shunt_xsk_kernel_stats stats;
	json_t *row;

	if (shunt_xsk_kernel_stats(queue, &stats))
		return;
#define X(field, help)                                                                   \
	row = row_json("xsk", port->name, #field, stats.field, !is_event(#field), help); \
	set_u64(row, "queue", queue->index);                                             \
	json_array_append_new(rows, row);
	SHUNT_XSK_KERNEL_COUNTERS(X)
#undef X
}

static void add_port(json_t *rows, const struct shunt_engine *engine, const struct shunt_port *port)
{
	unsigned q;

	if (port->config->kind != SHUNT_PORT_XSK)
		return;
	add_link(rows, port);
	if (port->xdp)
		add_steer(rows, port);
	if (port->xdp && engine->lanes.redirects)
		add_redirects(rows, engine, port);
	for (q = 0; q < port->queue_cnt; q++)
		add_xsk(rows, port, port->queues[q]);
}

static void add_punt_row(json_t *rows, const struct shunt_worker *w, const char *where,
			 enum shunt_punt reason, const uint64_t *counters, bool lost)
{
	json_t *row =
		row_json(where, NULL, shunt_punt_name(reason),
			 shunt_counter_read(&counters[reason]), lost, shunt_punt_help(reason));

	if (!lost)
		set_text(row, "lane", "kernel");
	set_u64(row, "worker", w->opts.id);
	json_array_append_new(rows, row);
}

/* The two drop reasons punt_limited and punt_failed are the sums of the latter two. */
static void add_punts(json_t *rows, const struct shunt_worker *w)
{
	unsigned i;

	for (i = SHUNT_PUNT_none + 1; i < SHUNT_PUNT_CNT; i++) {
		enum shunt_punt reason = (enum shunt_punt)i;

		add_punt_row(rows, w, "punt", reason, w->graph.punts, false);
		add_punt_row(rows, w, "punt-limited", reason, w->graph.punts_limited, true);
		add_punt_row(rows, w, "punt-failed", reason, w->graph.punts_failed, true);
	}
}

static void add_worker(json_t *rows, const struct shunt_worker *w)
{
	unsigned i;

	for (i = SHUNT_DROP_none + 1; i < SHUNT_DROP_CNT; i++) {
		enum shunt_drop reason = (enum shunt_drop)i;
		json_t *row = row_json(shunt_drop_where(reason), NULL, shunt_drop_name(reason),
				       shunt_counter_read(&w->graph.drops[i]), true,
				       shunt_drop_help(reason));

		set_u64(row, "worker", w->opts.id);
		json_array_append_new(rows, row);
	}
}

json_t *shunt_show_drops(const struct shunt_show *show)
{
	const struct shunt_engine *engine = show->engine;
	json_t *rows = json_array();
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++)
		add_port(rows, engine, &engine->ports.at[i]);
	for (i = 0; i < engine->worker_cnt; i++)
		add_worker(rows, engine->workers[i]);
	for (i = 0; engine->router && i < engine->worker_cnt; i++)
		add_punts(rows, engine->workers[i]);
	return timed("drops", rows);
}
