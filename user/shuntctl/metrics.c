// SPDX-License-Identifier: BSD-2-Clause
/* All samples of a family stand together in the format, but come from many rows: each family
 * collects its own text, and they are written one after the other at the end. */
#include "metrics.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "metrics_families.h"

enum family {
#define X(name, type, help) FAMILY_##name,
	METRICS_FAMILIES(X)
#undef X
		FAMILY_CNT
};

static const struct {
	const char *name, *type, *help;
} families[FAMILY_CNT] = {
#define X(name, type, help) {"shunt_" #name, #type, help},
	METRICS_FAMILIES(X)
#undef X
};

struct texts {
	struct {
		FILE *file;
		char *text;
		size_t len;
	} of[FAMILY_CNT];
};

static void print_label(FILE *f, const char *value)
{
	for (; *value; value++) {
		if (*value == '\n') {
			fputs("\\n", f);
			continue;
		}
		if (*value == '"' || *value == '\\')
			fputc('\\', f);
		fputc(*value, f);
	}
}

/* One sample; suffix is for histograms; then label and value by turns, up to NULL. A value that
 * is no number or truth was not measured. */
static void sample(struct texts *t, enum family family, const char *suffix, const json_t *value,
		   ...)
{
	FILE *f = t->of[family].file;
	const char *label, *sep = "{";
	va_list labels;

	if (!json_is_number(value) && !json_is_boolean(value))
		return;
	fprintf(f, "%s%s", families[family].name, suffix);
	va_start(labels, value);
	while ((label = va_arg(labels, const char *))) {
		const char *text = va_arg(labels, const char *);

		fprintf(f, "%s%s=\"", sep, label);
		print_label(f, text ? text : "");
		fputc('"', f);
		sep = ",";
	}
	va_end(labels);
	fputs(*sep == ',' ? "} " : " ", f);
	if (json_is_real(value))
		fprintf(f, "%.9g\n", json_real_value(value));
	else
		fprintf(f, "%lld\n",
			json_is_boolean(value) ? (long long)json_is_true(value)
					       : (long long)json_integer_value(value));
}

static const char *word(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

/* A small number as text, for a label. */
static const char *digits(char text[24], const json_t *value)
{
	snprintf(text, 24, "%lld", (long long)json_integer_value(value));
	return text;
}

/* A time in nanoseconds as a sample in seconds; null stays null. */
static json_t *seconds(const json_t *ns)
{
	return json_is_number(ns) ? json_real(json_number_value(ns) / 1e9) : json_null();
}

static void queue_samples(struct texts *t, const char *port, const json_t *queue)
{
	static const struct {
		enum family family;
		const char *key, *direction;
	} fields[] = {
		{FAMILY_rx_packets_total, "rx_packets", NULL},
		{FAMILY_rx_bytes_total, "rx_bytes", NULL},
		{FAMILY_tx_packets_total, "tx_packets", NULL},
		{FAMILY_tx_bytes_total, "tx_bytes", NULL},
		{FAMILY_tx_completed_total, "tx_completed", NULL},
		{FAMILY_kicks_total, "rx_kicks", "rx"},
		{FAMILY_kicks_total, "tx_kicks", "tx"},
		{FAMILY_kick_errors_total, "kick_errors", NULL},
		{FAMILY_fill_starved_total, "fill_starved", NULL},
	};
	char id[24];
	unsigned i;

	digits(id, json_object_get(queue, "queue"));
	for (i = 0; i < SHUNT_ARRAY_LEN(fields); i++)
		sample(t, fields[i].family, "", json_object_get(queue, fields[i].key), "interface",
		       port, "queue", id, fields[i].direction ? "direction" : NULL,
		       fields[i].direction, NULL);
}

static void take_ports(struct texts *t, const json_t *ports)
{
	json_t *port, *queue, *one = json_integer(1);
	const json_t *in_use;
	const char *name;
	size_t i, k;

	json_array_foreach (ports, i, port) {
		name = word(port, "name");
		in_use = json_object_get(port, "in_use");
		sample(t, FAMILY_port_info, "", one, "interface", name, "kind", word(port, "kind"),
		       "driver", word(port, "driver"), "driver_mode", word(in_use, "driver_mode"),
		       "copy_mode", word(in_use, "copy_mode"), NULL);
		sample(t, FAMILY_csum_finished_total, "", json_object_get(port, "csum_finished"),
		       "interface", name, NULL);
		json_array_foreach (json_object_get(port, "queues"), k, queue)
			queue_samples(t, name, queue);
	}
	json_decref(one);
}

static void take_notices(struct texts *t, const json_t *notices)
{
	json_t *one = json_integer(1);
	const json_t *row;
	char number[24];
	size_t i;

	json_array_foreach (notices, i, row) {
		const char *about =
			json_is_null(json_object_get(row, "worker")) ? "queue" : "worker";

		if (json_is_null(json_object_get(row, about)))
			about = NULL;
		sample(t, FAMILY_notice_info, "", one, "name", word(row, "name"), "interface",
		       word(row, "port"), about,
		       about ? digits(number, json_object_get(row, about)) : NULL, NULL);
	}
	json_decref(one);
}

static void take_lanes(struct texts *t, const json_t *ports)
{
	json_t *port, *lane, *one = json_integer(1), *s;
	const char *name, *key;
	size_t i;

	json_array_foreach (ports, i, port) {
		name = word(port, "port");
		sample(t, FAMILY_lane_info, "", one, "interface", name, "requested",
		       word(port, "requested"), "in_use", word(port, "in_use"), "reason",
		       word(port, "reason"), "firewall", word(port, "firewall"), NULL);
		json_object_foreach (json_object_get(port, "lanes"), key, lane) {
			sample(t, FAMILY_lane_packets_total, "", json_object_get(lane, "packets"),
			       "interface", name, "lane", key, NULL);
			sample(t, FAMILY_lane_bytes_total, "", json_object_get(lane, "bytes"),
			       "interface", name, "lane", key, NULL);
			s = seconds(json_object_get(lane, "latency_ns"));
			sample(t, FAMILY_lane_latency_seconds, "", s, "interface", name, "lane",
			       key, NULL);
			json_decref(s);
			s = seconds(json_object_get(lane, "cpu_ns_per_packet"));
			sample(t, FAMILY_lane_cpu_seconds_per_packet, "", s, "interface", name,
			       "lane", key, NULL);
			json_decref(s);
		}
	}
	json_decref(one);
}

static void take_workers(struct texts *t, const json_t *workers)
{
	json_t *w, *age;
	char id[24];
	size_t i;

	json_array_foreach (workers, i, w) {
		digits(id, json_object_get(w, "worker"));
		sample(t, FAMILY_worker_running, "", json_object_get(w, "running"), "worker", id,
		       NULL);
		age = seconds(json_object_get(w, "heartbeat_age_ns"));
		sample(t, FAMILY_worker_heartbeat_age_seconds, "", age, "worker", id, NULL);
		json_decref(age);
		sample(t, FAMILY_worker_hangs_total, "", json_object_get(w, "hangs"), "worker", id,
		       NULL);
		sample(t, FAMILY_worker_turns_total, "", json_object_get(w, "turns"), "worker", id,
		       NULL);
		sample(t, FAMILY_worker_empty_turns_total, "", json_object_get(w, "empty_turns"),
		       "worker", id, NULL);
		sample(t, FAMILY_worker_sleeps_total, "", json_object_get(w, "sleeps"), "worker",
		       id, NULL);
		sample(t, FAMILY_worker_packets_total, "", json_object_get(w, "packets"), "worker",
		       id, NULL);
	}
}

/* Buckets at powers of two up to the largest batch. */
static void batch_samples(struct texts *t, const char *id, const json_t *batch)
{
	json_int_t cumulative = 0, size;
	json_t *row, *n;
	unsigned bound;
	char le[24];
	size_t i = 0, cnt = json_array_size(json_object_get(batch, "sizes"));

	if (!batch)
		return;
	for (bound = 1; bound <= 256; bound *= 2) {
		for (; i < cnt; i++) {
			row = json_array_get(json_object_get(batch, "sizes"), i);
			size = json_integer_value(json_object_get(row, "packets"));
			if (size > bound)
				break;
			cumulative += json_integer_value(json_object_get(row, "receives"));
		}
		n = json_integer(cumulative);
		snprintf(le, sizeof(le), "%u", bound);
		sample(t, FAMILY_batch_packets, "_bucket", n, "worker", id, "le", le, NULL);
		json_decref(n);
	}
	n = json_object_get(batch, "receives");
	sample(t, FAMILY_batch_packets, "_bucket", n, "worker", id, "le", "+Inf", NULL);
	sample(t, FAMILY_batch_packets, "_sum", json_object_get(batch, "packets"), "worker", id,
	       NULL);
	sample(t, FAMILY_batch_packets, "_count", n, "worker", id, NULL);
}

static void take_runtime(struct texts *t, const json_t *workers)
{
	static const struct {
		enum family family;
		const char *key, *label, *value;
	} fields[] = {
		{FAMILY_worker_cycles_total, "work_cycles", "state", "work"},
		{FAMILY_worker_cycles_total, "busy_cycles", "state", "busy"},
		{FAMILY_worker_cycles_total, "sleep_cycles", "state", "sleep"},
		{FAMILY_cycles_per_packet, "c_io", "part", "io"},
		{FAMILY_cycles_per_packet, "c_task", "part", "task"},
		{FAMILY_cycles_per_packet, "c_busy", "part", "busy"},
	};
	json_t *w;
	char id[24];
	size_t i, k;

	json_array_foreach (workers, i, w) {
		digits(id, json_object_get(w, "worker"));
		for (k = 0; k < SHUNT_ARRAY_LEN(fields); k++)
			sample(t, fields[k].family, "", json_object_get(w, fields[k].key), "worker",
			       id, fields[k].label, fields[k].value, NULL);
		batch_samples(t, id, json_object_get(w, "batch"));
	}
}

/* Rows of `show drops`: lost, or the kernel's now, or a ring that was found empty. */
static void take_drops(struct texts *t, const json_t *drops)
{
	enum family family;
	json_t *row, *id;
	char queue[24], worker[24];
	size_t i;

	json_array_foreach (drops, i, row) {
		family = FAMILY_ring_events_total;
		if (json_is_true(json_object_get(row, "lost")))
			family = FAMILY_drops_total;
		else if (!strcmp(word(row, "lane"), "kernel"))
			family = FAMILY_to_kernel_packets_total;
		*queue = *worker = 0;
		id = json_object_get(row, "queue");
		if (json_is_integer(id))
			digits(queue, id);
		id = json_object_get(row, "worker");
		if (json_is_integer(id))
			digits(worker, id);
		sample(t, family, "", json_object_get(row, "count"), "place", word(row, "where"),
		       "interface", word(row, "port"), "device", word(row, "device"), "queue",
		       queue, "worker", worker, "reason", word(row, "name"), NULL);
	}
}

static void take_ledger(struct texts *t, const json_t *workers)
{
	static const char *const places[] = {"pool", "fill",	  "driver_rx", "rx",
					     "tx",   "driver_tx", "completion"};
	json_t *w;
	char id[24];
	size_t i, k;

	json_array_foreach (workers, i, w) {
		digits(id, json_object_get(w, "worker"));
		for (k = 0; k < SHUNT_ARRAY_LEN(places); k++)
			sample(t, FAMILY_umem_frames, "", json_object_get(w, places[k]), "worker",
			       id, "state", places[k], NULL);
		sample(t, FAMILY_umem_balanced, "", json_object_get(w, "balanced"), "worker", id,
		       NULL);
	}
}

/* Packets of a row, and bytes, whose family is the next one. */
static void sample_counts(struct texts *t, enum family packets, const json_t *row,
			  const char *label, const char *text, const char *label2,
			  const char *text2)
{
	sample(t, packets, "", json_object_get(row, "packets"), label, text, label2, text2, NULL);
	sample(t, packets + 1, "", json_object_get(row, "bytes"), label, text, label2, text2, NULL);
}

static void take_rules(struct texts *t, const json_t *rules)
{
	json_t *row;
	char order[24];
	size_t i;

	json_array_foreach (rules, i, row) {
		digits(order, json_object_get(row, "order"));
		sample_counts(t, FAMILY_rule_packets_total, row, "order", order, "rule",
			      word(row, "rule"));
	}
}

static void take_routes(struct texts *t, const json_t *routes)
{
	char table[24];
	json_t *row;
	size_t i;

	json_array_foreach (routes, i, row) {
		digits(table, json_object_get(row, "table"));
		sample_counts(t, FAMILY_route_packets_total, row, "prefix", word(row, "prefix"),
			      "table", table);
	}
}

static void take_neighbours(struct texts *t, const json_t *neighbours)
{
	json_t *row;
	size_t i;

	json_array_foreach (neighbours, i, row)
		sample_counts(t, FAMILY_neighbour_packets_total, row, "device", word(row, "device"),
			      "address", word(row, "address"));
}

static void take_devices(struct texts *t, const json_t *devices)
{
	json_t *row;
	size_t i;

	json_array_foreach (devices, i, row)
		sample(t, FAMILY_device_followed, "",
		       strcmp(word(row, "state"), "followed") ? json_false() : json_true(),
		       "device", word(row, "device"), "port", word(row, "port"), "tags",
		       word(row, "tags"), "state", word(row, "state"), NULL);
}

static void take_mirror(struct texts *t, const json_t *mirror)
{
	static const char *const kinds[] = {"links",	   "addresses",	  "neighbours",
					    "paths",	   "ip4_routes",  "ip6_routes",
					    "host_routes", "policy_rules"};
	const char *state = json_string_value(json_object_get(mirror, "state")), *key;
	json_t *value;
	unsigned i;

	if (!state)
		return;
	sample(t, FAMILY_mirror_following, "",
	       strcmp(state, "following") ? json_false() : json_true(), NULL);
	for (i = 0; i < SHUNT_ARRAY_LEN(kinds); i++)
		sample(t, FAMILY_mirror_objects, "", json_object_get(mirror, kinds[i]), "kind",
		       kinds[i], NULL);
	json_object_foreach (json_object_get(mirror, "counters"), key, value)
		sample(t, FAMILY_mirror_events_total, "", value, "event", key, NULL);
}

int shuntctl_metrics_print(FILE *out, const json_t *objects)
{
	struct texts t = {0};
	int ret = 0;
	unsigned i;

	for (i = 0; i < FAMILY_CNT && !ret; i++) {
		t.of[i].file = open_memstream(&t.of[i].text, &t.of[i].len);
		ret = t.of[i].file ? 0 : -ENOMEM;
	}
	if (!ret) {
#define ROWS(object, rows) json_object_get(json_object_get(objects, object), rows)
		take_ports(&t, ROWS("ports", "ports"));
		take_lanes(&t, ROWS("lanes", "lanes"));
		take_rules(&t, ROWS("rules", "rules"));
		take_routes(&t, ROWS("routes", "routes"));
		take_neighbours(&t, ROWS("neighbours", "neighbours"));
		take_devices(&t, ROWS("devices", "devices"));
		take_notices(&t, ROWS("notices", "notices"));
		take_workers(&t, ROWS("workers", "workers"));
		take_runtime(&t, ROWS("runtime", "workers"));
		take_drops(&t, ROWS("drops", "drops"));
		take_ledger(&t, ROWS("ledger", "ledger"));
#undef ROWS
		take_mirror(&t, json_object_get(objects, "mirror"));
	}
	for (i = 0; i < FAMILY_CNT && t.of[i].file; i++) {
		if (fclose(t.of[i].file))
			ret = -ENOMEM;
		if (!ret && t.of[i].len)
			fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s", families[i].name,
				families[i].help, families[i].name, families[i].type, t.of[i].text);
		free(t.of[i].text);
	}
	return ret;
}
