// SPDX-License-Identifier: BSD-2-Clause
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "show/show.h"
#include "base/netns.h"
#include "notice/notice.h"
#include "port/kernel_part.h"
#include "base/json.h"
#include "port/counters.h"
#include "device/ntuple.h"
#include "io/xsk.h"
#include "steer/steer.h"

/* What the queues of a port agree on. */
struct agreed {
	unsigned zerocopy_cnt, copy_cnt;
	bool need_wakeup, busy_poll;
};

static const char *copy_mode(const struct agreed *a)
{
	if (a->zerocopy_cnt && a->copy_cnt)
		return "mixed";
	return a->zerocopy_cnt ? "zerocopy" : a->copy_cnt ? "copy" : NULL;
}

static void set_in_use(json_t *row, const struct shunt_queue *queue, struct agreed *a)
{
	struct shunt_xsk_in_use in_use;

	if (shunt_xsk_in_use(queue, &in_use)) {
		set_text(row, "copy_mode", NULL);
		set_text(row, "need_wakeup", NULL);
		set_text(row, "busy_poll", NULL);
		set_text(row, "multi_buffer", NULL);
		return;
	}
	a->zerocopy_cnt += in_use.zerocopy;
	a->copy_cnt += !in_use.zerocopy;
	a->need_wakeup &= in_use.need_wakeup;
	a->busy_poll &= in_use.busy_poll;
	set_text(row, "copy_mode", in_use.zerocopy ? "zerocopy" : "copy");
	json_object_set_new(row, "need_wakeup", json_boolean(in_use.need_wakeup));
	json_object_set_new(row, "busy_poll", json_boolean(in_use.busy_poll));
	json_object_set_new(row, "multi_buffer", json_boolean(in_use.multi_buffer));
}

static json_t *queue_json(const struct shunt_engine *engine, const struct shunt_port *port,
			  unsigned q, struct agreed *a)
{
	const struct shunt_queue *queue = port->queues[q];
	json_t *row = json_object();

	set_u64(row, "queue", queue->index);
	set_u64(row, "worker", engine->worker_cnt ? q % engine->worker_cnt : 0);
	if (port->config->kind == SHUNT_PORT_XSK)
		set_in_use(row, queue, a);
#define X(name, help) set_u64(row, #name, shunt_counter_read(&queue->stats.name));
	SHUNT_QUEUE_COUNTERS(X)
#undef X
	return row;
}

static json_t *totals_json(const struct shunt_port *port)
{
	json_t *total = json_object();

#define X(name, help)                                                            \
	{                                                                        \
		uint64_t sum = 0;                                                \
		for (unsigned q = 0; q < port->queue_cnt; q++)                   \
			sum += shunt_counter_read(&port->queues[q]->stats.name); \
		set_u64(total, #name, sum);                                      \
	}
	SHUNT_QUEUE_COUNTERS(X)
#undef X
	return total;
}

static json_t *requested_json(const struct shunt_engine *engine, const struct shunt_port *port)
{
	const struct shunt_port_config *config = port->config;

	return json_pack("{s:s, s:s, s:b, s:b, s:I, s:b}", "driver_mode",
			 shunt_driver_mode_name(config->driver_mode), "copy_mode",
			 shunt_copy_mode_name(config->copy_mode), "require_zerocopy",
			 config->require_zerocopy, "busy_poll",
			 engine->config->poll == SHUNT_POLL_busy, "queues",
			 (json_int_t)config->queues, "transparent",
			 shunt_config_is_transparent(engine->config, port->index));
}

static json_t *lanes_json(const struct shunt_steer_counters *sum)
{
	json_t *lanes = json_object();
	unsigned lane;

	for (lane = 0; lane < SHUNT_LANE_CNT; lane++)
		set_u64(lanes, shunt_steer_lane_name(lane),
			shunt_steer_counters_lane(sum, (enum shunt_lane)lane));
	return lanes;
}

/* What the kernel has of each queue where anything arrived, served or not. */
static json_t *kernel_parts_json(const struct shunt_port *port, unsigned queues_now)
{
	const unsigned cnt = shunt_port_queues_counted(port, queues_now);
	struct shunt_kernel_part part;
	json_t *rows = json_array(), *row;
	unsigned q;

	for (q = 0; q < cnt; q++) {
		shunt_kernel_part_read(port, q, &part);
		if (!(part.kernel + part.forwarded))
			continue;
		row = json_pack("{s:i, s:I, s:I}", "queue", (int)q, "kernel",
				(json_int_t)part.kernel, "forwarded", (json_int_t)part.forwarded);
		set_ratio(row, "part", part.kernel, part.kernel + part.forwarded);
		set_text(row, "most",
			 part.reason < 0 ? NULL : shunt_steer_reason_name((unsigned)part.reason));
		json_array_append_new(rows, row);
	}
	return rows;
}

static bool takes_tags_off(const json_t *notices)
{
	const json_t *row;
	size_t i;

	json_array_foreach (notices, i, row)
		if (!strcmp(json_string_value(json_object_get(row, "name")),
			    shunt_notice_name(SHUNT_NOTICE_tags)))
			return true;
	return false;
}

/* Each filter that was asked for, with the place where it stands, null where it does not. */
static json_t *ntuple_json(const struct shunt_port *port)
{
	const struct shunt_port_config *config = port->config;
	struct shunt_ntuple *table = config->filter_cnt ? malloc(sizeof(*table)) : NULL;
	int fd = table ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
	json_t *rows = json_array();
	char text[SHUNT_FILTER_TEXT_MAX];
	unsigned i;

	if (fd < 0 || shunt_ntuple_read(fd, port->name, table)) {
		free(table);
		table = NULL;
	}
	for (i = 0; i < config->filter_cnt; i++) {
		const int at =
			table ? shunt_ntuple_find(fd, port->name, table, &config->filters[i]) : -1;

		shunt_filter_print(&config->filters[i], text, sizeof(text));
		json_array_append_new(rows, json_pack("{s:s, s:o}", "filter", text, "location",
						      at < 0 ? json_null() : json_integer(at)));
	}
	if (fd >= 0)
		close(fd);
	free(table);
	return rows;
}

static void set_program(json_t *row, json_t *in_use, const struct shunt_port *port)
{
	struct shunt_err err = {""};
	struct shunt_xdp_info info;

	if (shunt_xdp_info(port->xdp, &info, &err)) {
		set_text(in_use, "driver_mode", NULL);
		json_object_set_new(row, "program",
				    json_pack("{s:n, s:s}", "id", "error", err.msg));
		return;
	}
	set_text(in_use, "driver_mode", info.suspended ? "none" : shunt_xdp_mode_name(info.in_use));
	json_object_set_new(row, "program",
			    json_pack("{s:I, s:b, s:b, s:b, s:b, s:b}", "id",
				      (json_int_t)info.prog_id, "dispatcher", info.dispatcher,
				      "external", info.external, "reads_tags", info.reads_tags,
				      "watched", info.watched, "suspended", info.suspended));
}

static void set_device(json_t *row, const struct shunt_show *show, const struct shunt_port *port,
		       const struct agreed *a)
{
	const unsigned queues_now = shunt_port_queues_now(port);
	json_t *notices = shunt_show_notices_of(show, (int)port->index);
	struct shunt_steer_counters sum;
	json_t *in_use = json_object();
	bool is_known = a->zerocopy_cnt + a->copy_cnt > 0;
	const uint32_t mtu = shunt_netdev_mtu(port->name);

	set_u64(row, "ifindex", port->netdev.ifindex);
	set_text(row, "driver", *port->netdev.driver ? port->netdev.driver : NULL);
	json_object_set_new(row, "mac", shunt_show_mac(port->netdev.mac));
	set_u64(row, "mtu", mtu ? mtu : port->netdev.mtu);
	set_u64(row, "queues_of_device", queues_now);
	json_object_set_new(row, "requested", requested_json(show->engine, port));
	if (port->xdp)
		set_program(row, in_use, port);
	set_text(in_use, "copy_mode", copy_mode(a));
	json_object_set_new(in_use, "need_wakeup",
			    is_known ? json_boolean(a->need_wakeup) : json_null());
	json_object_set_new(in_use, "busy_poll",
			    is_known ? json_boolean(a->busy_poll) : json_null());
	set_u64(in_use, "queues", port->queue_cnt);
	json_object_set_new(in_use, "multi_buffer", json_boolean(port->multi_buffer));
	set_u64(in_use, "frames_per_packet", port->packet_frames);
	set_text(in_use, "mtu_limit", *port->mtu_limit ? port->mtu_limit : NULL);
	json_object_set_new(in_use, "ntuple", ntuple_json(port));
	json_object_set_new(in_use, "tags_taken_off", json_boolean(takes_tags_off(notices)));
	json_object_set_new(row, "in_use", in_use);
	if (port->xdp) {
		shunt_port_counters(port, &sum);
		json_object_set_new(row, "lanes", lanes_json(&sum));
		set_u64(row, "csum_finished", sum.csum_finished);
		json_object_set_new(row, "kernel_parts", kernel_parts_json(port, queues_now));
	}
	json_object_set_new(row, "notices", notices);
}

static json_t *port_json(const struct shunt_show *show, const struct shunt_port *port)
{
	struct agreed a = {.need_wakeup = true, .busy_poll = true};
	json_t *row = json_object(), *queues = json_array();
	unsigned q;

	for (q = 0; q < port->queue_cnt; q++)
		json_array_append_new(queues, queue_json(show->engine, port, q, &a));
	set_text(row, "name", port->name);
	set_text(row, "kind", shunt_port_kind_name(port->config->kind));
	set_u64(row, "index", port->index);
	set_u64(row, "queues_served", port->queue_cnt);
	if (port->config->kind == SHUNT_PORT_XSK)
		set_device(row, show, port, &a);
	json_object_set_new(row, "total", totals_json(port));
	json_object_set_new(row, "queues", queues);
	return row;
}

json_t *shunt_show_ports(const struct shunt_show *show)
{
	const struct shunt_engine *engine = show->engine;
	json_t *rows = json_array(), *answer;
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++)
		json_array_append_new(rows, port_json(show, &engine->ports.at[i]));
	answer = timed("ports", rows);
	set_u64(answer, "netns", shunt_netns_number());
	return answer;
}
