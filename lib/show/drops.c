// SPDX-License-Identifier: BSD-2-Clause
/* One table, in the order in which a frame meets the places: the device, the steering program, the
 * redirect to another device, the AF_XDP socket, the graph. More than one place may count a frame:
 * a driver counts as rx_dropped what its socket refused. So there is no sum over places. */
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "device/link_stats.h"
#include "lane/redirects.h"
#include "show/show.h"
#include "base/json.h"
#include "port/counters.h"
#include "graph/loss.h"
#include "io/xsk.h"
#include "steer/steer.h"

/* Of what is counted by port alone: the bond or bridge that was configured in its place. */
static const char *device_of(const struct shunt_port *port)
{
	if (!port || port->config->kind != SHUNT_PORT_XSK)
		return NULL;
	return *port->config->master ? port->config->master : port->name;
}

/* lost: the frame is gone. Otherwise it is the kernel's, or none was lost. */
static json_t *row_json(const char *where, const struct shunt_port *port, const char *name,
			uint64_t count, bool lost, const char *help)
{
	json_t *row = json_object();

	set_text(row, "where", where);
	set_text(row, "port", port ? port->name : NULL);
	set_text(row, "device", device_of(port));
	set_text(row, "name", name);
	set_u64(row, "count", count);
	json_object_set_new(row, "lost", json_boolean(lost));
	set_text(row, "help", help);
	return row;
}

static void add_link(json_t *rows, const struct shunt_port *port)
{
	struct rtnl_link_stats64 stats;

	if (shunt_link_stats(port->netdev.ifindex, &stats, NULL))
		return;
#define X(field, help) \
	json_array_append_new(rows, row_json("nic", port, #field, stats.field, true, help));
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
		row = row_json("steer", port, shunt_steer_reason_name(reason), sum.packets[reason],
			       lane == SHUNT_LANE_DROP, shunt_steer_reason_help(reason));
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

		json_array_append_new(rows, row_json("redirect", port, shunt_xdp_fail_name(reason),
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
#define X(field, help)                                                             \
	row = row_json("xsk", port, #field, stats.field, !is_event(#field), help); \
	set_u64(row, "queue", queue->index);                                       \
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

/* --- what workers lose ------------------------------------------------------------------------ */

/* A worker's losses at one time: the lines of devices that are there, and what else is counted by
 * reason alone. */
struct lost {
	struct {
		uint64_t key, count;
	} lines[SHUNT_LOSS_LINES];
	unsigned cnt;
	uint64_t rest[SHUNT_LOSS_KIND_CNT][SHUNT_LOSS_REASONS];
};

static int by_key(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A device that is gone has no name, and another may have had the same one. */
static void collect(const struct shunt_losses *losses, struct lost *out)
{
	char name[IF_NAMESIZE];
	unsigned i, kind;

	memset(out, 0, sizeof(*out));
	for (kind = 0; kind < SHUNT_LOSS_KIND_CNT; kind++)
		for (i = 0; i < SHUNT_LOSS_REASONS; i++)
			out->rest[kind][i] = shunt_counter_read(&losses->rest[kind][i]);
	for (i = 0; i < SHUNT_LOSS_LINES; i++) {
		/* Pairs with the store in graph/loss.c. */
		const uint64_t key = __atomic_load_n(&losses->lines[i].key, __ATOMIC_ACQUIRE);
		const uint64_t count = shunt_counter_read(&losses->lines[i].count);
		const struct shunt_loss loss = shunt_loss_of(key);

		if (!key)
			continue;
		if (loss.ifindex && !if_indextoname(loss.ifindex, name)) {
			out->rest[loss.kind][loss.reason] += count;
			continue;
		}
		out->lines[out->cnt].key = key;
		out->lines[out->cnt++].count = count;
	}
	qsort(out->lines, out->cnt, sizeof(out->lines[0]), by_key);
}

static void add_loss(json_t *rows, const struct shunt_worker *w, const struct shunt_port *port,
		     const struct shunt_loss *loss, uint64_t count)
{
	static const char *const where[SHUNT_LOSS_KIND_CNT] = {
		[SHUNT_LOSS_PUNT] = "punt",
		[SHUNT_LOSS_PUNT_LIMITED] = "punt-limited",
		[SHUNT_LOSS_PUNT_FAILED] = "punt-failed",
	};
	const enum shunt_drop drop = (enum shunt_drop)loss->reason;
	const enum shunt_punt punt = (enum shunt_punt)loss->reason;
	char name[IF_NAMESIZE];
	json_t *row;

	if (loss->kind == SHUNT_LOSS_DROP)
		row = row_json(shunt_drop_where(drop), port, shunt_drop_name(drop), count, true,
			       shunt_drop_help(drop));
	else
		row = row_json(where[loss->kind], port, shunt_punt_name(punt), count,
			       loss->kind != SHUNT_LOSS_PUNT, shunt_punt_help(punt));
	if (loss->ifindex)
		set_text(row, "device", if_indextoname(loss->ifindex, name));
	if (loss->kind == SHUNT_LOSS_PUNT)
		set_text(row, "lane", "kernel");
	set_u64(row, "worker", w->opts.id);
	json_array_append_new(rows, row);
}

/* The two drop reasons punt_limited and punt_failed are the sums of the punts of these kinds. */
static void add_reasons(json_t *rows, const struct shunt_worker *w, const struct lost *lost,
			bool has_punts)
{
	struct shunt_loss loss = {.kind = SHUNT_LOSS_DROP};
	unsigned reason, kind;

	for (reason = SHUNT_DROP_none + 1; reason < SHUNT_DROP_CNT; reason++) {
		loss.reason = (uint8_t)reason;
		add_loss(rows, w, NULL, &loss, lost->rest[SHUNT_LOSS_DROP][reason]);
	}
	for (reason = SHUNT_PUNT_none + 1; has_punts && reason < SHUNT_PUNT_CNT; reason++) {
		loss.reason = (uint8_t)reason;
		for (kind = SHUNT_LOSS_PUNT; kind < SHUNT_LOSS_KIND_CNT; kind++) {
			loss.kind = (uint8_t)kind;
			add_loss(rows, w, NULL, &loss, lost->rest[kind][reason]);
		}
	}
}

/* lines: those of devices, which become more, into another array. */
static void add_worker(json_t *rows, json_t *lines, const struct shunt_engine *engine,
		       const struct shunt_worker *w, struct lost *lost)
{
	unsigned i;

	collect(&w->graph.losses, lost);
	add_reasons(rows, w, lost, engine->router != NULL);
	for (i = 0; i < lost->cnt; i++) {
		const struct shunt_loss loss = shunt_loss_of(lost->lines[i].key);

		add_loss(lines, w, &engine->ports.at[loss.port], &loss, lost->lines[i].count);
	}
}

json_t *shunt_show_drops(const struct shunt_show *show)
{
	const struct shunt_engine *engine = show->engine;
	json_t *rows = json_array(), *lines = json_array();
	struct lost *lost = malloc(sizeof(*lost));
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++)
		add_port(rows, engine, &engine->ports.at[i]);
	for (i = 0; lost && i < engine->worker_cnt; i++)
		add_worker(rows, lines, engine, engine->workers[i], lost);
	json_array_extend(rows, lines);
	json_decref(lines);
	if (!lost) {
		json_decref(rows);
		return NULL;
	}
	free(lost);
	return timed("drops", rows);
}
