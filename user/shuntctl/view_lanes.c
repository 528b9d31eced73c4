// SPDX-License-Identifier: BSD-2-Clause
#include "base/bytes.h"
#include "table.h"
#include "view.h"

static const char *const lanes[] = {"user", "xdp", "kernel", "drop"};

static void print_choices(FILE *out, const json_t *rows)
{
	static const struct shuntctl_column columns[] = {{"port", "port"},
							 {"mode", "mode"},
							 {"firewall", "firewall"},
							 {"requested", "requested"},
							 {"in use", "in_use"},
							 {"reason", "reason"},
							 {"why", "why"}};

	const json_t *row;
	size_t i;

	shuntctl_table_rows(out, rows, columns, SHUNT_ARRAY_LEN(columns), 0);
	json_array_foreach (rows, i, row) {
		const char *port = json_string_value(json_object_get(row, "port"));

		if (json_is_true(json_object_get(row, "transparent")))
			fprintf(out,
				"%s is transparent: every frame crosses, none is this host's\n",
				port);
		if (json_is_true(json_object_get(row, "suspended")))
			fprintf(out,
				"%s needs no program now: it is off the device, and frames of lane "
				"kernel are not counted\n",
				port);
	}
}

static void add_lane(struct shuntctl_table *t, const json_t *port, const char *name)
{
	static const char *const keys[] = {"share_pct", "packets",    "pps",
					   "bps",	"latency_ns", "cpu_ns_per_packet"};
	const json_t *lane = json_object_get(json_object_get(port, "lanes"), name);
	size_t k;

	if (!lane)
		return;
	shuntctl_table_value(t, json_object_get(port, "port"));
	shuntctl_table_cell(t, "%s", name);
	for (k = 0; k < SHUNT_ARRAY_LEN(keys); k++)
		shuntctl_table_value(t, json_object_get(lane, keys[k]));
}

void shuntctl_view_lanes(FILE *out, const json_t *object, const struct shuntctl_view_opts *opts)
{
	static const char *const headers[] = {"port", "lane",	">share %",    ">packets",
					      ">pps", ">bit/s", ">latency ns", ">CPU ns/packet"};
	const json_t *rows = json_object_get(object, "lanes"), *row;
	struct shuntctl_table t;
	size_t i, k;

	(void)opts;
	print_choices(out, rows);
	fputc('\n', out);
	shuntctl_table_init(&t, headers, SHUNT_ARRAY_LEN(headers));
	json_array_foreach (rows, i, row)
		for (k = 0; k < SHUNT_ARRAY_LEN(lanes); k++)
			add_lane(&t, row, lanes[k]);
	shuntctl_table_print(&t, out, 0);
	shuntctl_table_fini(&t);
	fputs("packets: since the start of shuntd; pps, bit/s, latency and CPU time: the latest second.\n"
	      "user: the steering program and the worker's turn, transmit call included.\n"
	      "xdp: the steering program, without the driver's transmit. kernel, drop: not measured.\n",
	      out);
}
