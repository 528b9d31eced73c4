// SPDX-License-Identifier: BSD-2-Clause
#include "base/bytes.h"
#include "table.h"
#include "view.h"

static const char *text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "-";
}

static json_int_t number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static const char *place(const json_t *program)
{
	if (json_is_true(json_object_get(program, "suspended")))
		return "off the device while everything is the kernel's";
	return json_is_true(json_object_get(program, "dispatcher")) ? "under libxdp's dispatcher"
								    : "alone on the device";
}

static void print_program(FILE *out, const json_t *port)
{
	const json_t *program = json_object_get(port, "program");
	const char *error = json_string_value(json_object_get(program, "error"));

	if (!program)
		return;
	if (error)
		fprintf(out, "  program: %s\n", error);
	else
		fprintf(out, "  program: id %" JSON_INTEGER_FORMAT ", %s, attached by %s\n",
			number(program, "id"), place(program),
			json_is_true(json_object_get(program, "external")) ? "somebody else"
									   : "shuntd");
}

static void print_modes(FILE *out, const json_t *port)
{
	static const char *const headers[] = {"", "requested", "in use"};
	static const char *const keys[][2] = {{"driver mode", "driver_mode"},
					      {"copy mode", "copy_mode"},
					      {"need wakeup", "need_wakeup"},
					      {"busy poll", "busy_poll"}};
	const json_t *requested = json_object_get(port, "requested");
	const json_t *in_use = json_object_get(port, "in_use");
	struct shuntctl_table t;
	unsigned i;

	shuntctl_table_init(&t, headers, 3);
	for (i = 0; i < SHUNT_ARRAY_LEN(keys); i++) {
		shuntctl_table_cell(&t, "%s", keys[i][0]);
		shuntctl_table_value(&t, json_object_get(requested, keys[i][1]));
		shuntctl_table_value(&t, json_object_get(in_use, keys[i][1]));
	}
	shuntctl_table_cell(&t, "queues");
	if (number(requested, "queues"))
		shuntctl_table_cell(&t, "%" JSON_INTEGER_FORMAT, number(requested, "queues"));
	else
		shuntctl_table_cell(&t, "all");
	shuntctl_table_cell(&t, "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT,
			    number(port, "queues_served"), number(port, "queues_of_device"));
	shuntctl_table_print(&t, out, 2);
	shuntctl_table_fini(&t);
}

static void print_lanes(FILE *out, const json_t *port)
{
	json_t *lanes = json_object_get(port, "lanes"), *packets;
	const char *lane, *comma = "";

	if (!lanes)
		return;
	fputs("  packets by lane: ", out);
	json_object_foreach (lanes, lane, packets) {
		fprintf(out, "%s%s %" JSON_INTEGER_FORMAT, comma, lane,
			json_integer_value(packets));
		comma = ", ";
	}
	if (number(port, "csum_finished"))
		fprintf(out, "; checksums finished: %" JSON_INTEGER_FORMAT,
			number(port, "csum_finished"));
	fputc('\n', out);
}

static void print_transparent(FILE *out, const json_t *port)
{
	if (json_is_true(json_object_get(json_object_get(port, "requested"), "transparent")))
		fputs("  transparent: every frame crosses, none that arrives here reaches this host\n",
		      out);
}

static void print_share(FILE *out, const json_t *port)
{
	const char *comma = "";
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(port, "kernel_parts"), i, row) {
		fprintf(out, "%s%" JSON_INTEGER_FORMAT ": %.1f %%",
			*comma ? comma : "  kernel's share by queue: ", number(row, "queue"),
			100 * json_number_value(json_object_get(row, "part")));
		comma = ", ";
	}
	if (*comma)
		fputc('\n', out);
	json_array_foreach (json_object_get(port, "notices"), i, row)
		fprintf(out, "  warning: %s\n", json_string_value(json_object_get(row, "text")));
}

/* Jumbo frames: how many frames the port's longest packet takes, and the largest MTU. */
static void print_frames(FILE *out, const json_t *port)
{
	const json_t *in_use = json_object_get(port, "in_use");
	const char *limit = json_string_value(json_object_get(in_use, "mtu_limit"));

	if (!limit)
		return;
	fprintf(out, "  frames of a packet: %" JSON_INTEGER_FORMAT "; %s\n",
		number(in_use, "frames_per_packet"), limit);
}

static void print_ntuple(FILE *out, const json_t *port)
{
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(json_object_get(port, "in_use"), "ntuple"), i, row) {
		const json_t *location = json_object_get(row, "location");

		fprintf(out, "  ntuple filter: %s", text(row, "filter"));
		if (json_is_integer(location))
			fprintf(out, " (at location %" JSON_INTEGER_FORMAT ")\n",
				json_integer_value(location));
		else
			fputs(" (not on the device)\n", out);
	}
}

static void print_queues(FILE *out, const json_t *port, bool is_device)
{
	static const struct shuntctl_column columns[] = {
		{"queue", "queue"},
		{"worker", "worker"},
#define X(name, help) {">" #name, #name},
		SHUNT_QUEUE_COUNTERS(X)
#undef X
			{"copy_mode", "copy_mode"},
	};

	shuntctl_table_rows(out, json_object_get(port, "queues"), columns,
			    SHUNT_ARRAY_LEN(columns) - !is_device, 2);
}

static void print_port(FILE *out, const json_t *port)
{
	const json_t *requested = json_object_get(port, "requested");

	fprintf(out, "port %s: kind %s", text(port, "name"), text(port, "kind"));
	if (requested)
		fprintf(out,
			", driver %s, ifindex %" JSON_INTEGER_FORMAT
			", mac %s, mtu %" JSON_INTEGER_FORMAT,
			text(port, "driver"), number(port, "ifindex"), text(port, "mac"),
			number(port, "mtu"));
	fputc('\n', out);
	if (requested)
		print_modes(out, port);
	print_program(out, port);
	print_frames(out, port);
	print_ntuple(out, port);
	print_transparent(out, port);
	print_lanes(out, port);
	print_share(out, port);
	print_queues(out, port, requested != NULL);
}

void shuntctl_view_ports(FILE *out, const json_t *object, const struct shuntctl_view_opts *opts)
{
	json_t *port;
	size_t i;

	(void)opts;
	json_array_foreach (json_object_get(object, "ports"), i, port)
		print_port(out, port);
}
