// SPDX-License-Identifier: BSD-2-Clause
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "show/show.h"
#include "base/netns.h"
#include "notice/coverage.h"
#include "notice/mtu.h"
#include "notice/rename.h"
#include "notice/share.h"
#include "show/json.h"
#include "notice/tags.h"
#include "port/counters.h"
#include "device/ntuple.h"
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

	return json_pack("{s:s, s:s, s:b, s:b, s:I, s:s, s:b}", "driver_mode",
			 shunt_driver_mode_name(config->driver_mode), "copy_mode",
			 shunt_copy_mode_name(config->copy_mode), "require_zerocopy",
			 config->require_zerocopy, "busy_poll",
			 engine->config->poll == SHUNT_POLL_busy, "queues",
			 (json_int_t)config->queues, "metadata", config->metadata ? "auto" : "off",
			 "transparent", shunt_config_is_transparent(engine->config, port->index));
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
static void set_share(json_t *row, const struct shunt_port *port)
{
	json_t *shares = json_array(), *warnings = json_array();
	struct shunt_share share;
	struct shunt_err text;
	unsigned q;

	for (q = 0; q < shunt_share_queues(port); q++) {
		json_t *of_queue;

		shunt_share_read(port, q, &share);
		if (!(share.kernel + share.forwarded))
			continue;
		of_queue = json_pack("{s:i, s:I, s:I}", "queue", (int)q, "kernel",
				     (json_int_t)share.kernel, "forwarded",
				     (json_int_t)share.forwarded);
		set_ratio(of_queue, "share", share.kernel, share.kernel + share.forwarded);
		set_text(of_queue, "most",
			 share.reason < 0 ? NULL : shunt_steer_reason_name((unsigned)share.reason));
		json_array_append_new(shares, of_queue);
		if (!share.is_large)
			continue;
		shunt_share_sentence(port, q, &share, &text);
		json_array_append_new(warnings, json_string(text.msg));
	}
	if (shunt_rename_sentence(port, &text))
		json_array_append_new(warnings, json_string(text.msg));
	if (shunt_coverage_sentence(port, &text))
		json_array_append_new(warnings, json_string(text.msg));
	if (shunt_tags_sentence(port, &text))
		json_array_append_new(warnings, json_string(text.msg));
	if (shunt_mtu_sentence(port, &text))
		json_array_append_new(warnings, json_string(text.msg));
	json_object_set_new(row, "kernel_share", shares);
	json_object_set_new(row, "warnings", warnings);
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
			    json_pack("{s:I, s:b, s:b, s:b, s:b}", "id", (json_int_t)info.prog_id,
				      "dispatcher", info.dispatcher, "external", info.external,
				      "watched", info.watched, "suspended", info.suspended));
}

static void set_device(json_t *row, const struct shunt_engine *engine,
		       const struct shunt_port *port, const struct agreed *a)
{
	struct shunt_steer_counters sum;
	json_t *in_use = json_object();
	bool is_known = a->zerocopy_cnt + a->copy_cnt > 0;
	const uint32_t mtu = shunt_netdev_mtu(port->name);
	const uint8_t *m = port->netdev.mac;

	set_u64(row, "ifindex", port->netdev.ifindex);
	set_text(row, "driver", *port->netdev.driver ? port->netdev.driver : NULL);
	json_object_set_new(
		row, "mac",
		json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]));
	set_u64(row, "mtu", mtu ? mtu : port->netdev.mtu);
	set_u64(row, "queues_of_device", shunt_coverage_queues(port));
	json_object_set_new(row, "requested", requested_json(engine, port));
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
	json_object_set_new(in_use, "metadata", shunt_show_metadata(port));
	json_object_set_new(in_use, "ntuple", ntuple_json(port));
	json_object_set_new(in_use, "tags_taken_off", json_boolean(shunt_tags_are_taken(port)));
	json_object_set_new(row, "in_use", in_use);
	if (port->xdp) {
		shunt_steer_counters_of_port(port, &sum);
		json_object_set_new(row, "lanes", lanes_json(&sum));
		set_u64(row, "csum_finished", sum.csum_finished);
		set_share(row, port);
	}
}

static json_t *port_json(const struct shunt_engine *engine, const struct shunt_port *port)
{
	struct agreed a = {.need_wakeup = true, .busy_poll = true};
	json_t *row = json_object(), *queues = json_array();
	unsigned q;

	for (q = 0; q < port->queue_cnt; q++)
		json_array_append_new(queues, queue_json(engine, port, q, &a));
	set_text(row, "name", port->name);
	set_text(row, "kind", shunt_port_kind_name(port->config->kind));
	set_u64(row, "index", port->index);
	set_u64(row, "queues_served", port->queue_cnt);
	if (port->config->kind == SHUNT_PORT_XSK)
		set_device(row, engine, port, &a);
	json_object_set_new(row, "total", totals_json(port));
	json_object_set_new(row, "queues", queues);
	return row;
}

json_t *shunt_show_ports(const struct shunt_engine *engine)
{
	json_t *rows = json_array(), *answer;
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++)
		json_array_append_new(rows, port_json(engine, &engine->ports[i]));
	answer = timed("ports", rows);
	set_u64(answer, "netns", shunt_netns_number());
	return answer;
}
