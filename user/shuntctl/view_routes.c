// SPDX-License-Identifier: BSD-2-Clause
#include "view.h"

#include <linux/rtnetlink.h>
#include <string.h>

#include "base/bytes.h"
#include "table.h"

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "-";
}

static json_int_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* What the route forwarded, where that is counted. */
static void print_counts(FILE *out, const json_t *route)
{
	if (json_is_integer(json_object_get(route, "packets")))
		fprintf(out, " packets %" JSON_INTEGER_FORMAT " bytes %" JSON_INTEGER_FORMAT,
			number_of(route, "packets"), number_of(route, "bytes"));
}

/* In the manner of ip-route(8): one line a route, or a line a next hop. */
static void print_route(FILE *out, const json_t *route)
{
	const json_t *hops = json_object_get(route, "next_hops");
	json_t *hop;
	size_t i;

	fprintf(out, "%s", text_of(route, "prefix"));
	if (json_array_size(hops) > 1)
		print_counts(out, route);
	json_array_foreach (hops, i, hop) {
		const char *kind = text_of(hop, "kind");

		fputs(json_array_size(hops) > 1 ? "\n        " : "", out);
		if (strcmp(kind, "rewrite") != 0)
			fprintf(out, " %s", kind);
		else
			fprintf(out, " dev %s lladdr %s mtu %" JSON_INTEGER_FORMAT,
				text_of(hop, "device"), text_of(hop, "mac"), number_of(hop, "mtu"));
		if (json_array_size(hops) > 1)
			fprintf(out, " weight %" JSON_INTEGER_FORMAT, number_of(hop, "weight"));
	}
	if (json_array_size(hops) <= 1)
		print_counts(out, route);
	if (number_of(route, "table") != RT_TABLE_MAIN)
		fprintf(out, " table %" JSON_INTEGER_FORMAT, number_of(route, "table"));
	fputc('\n', out);
}

void shuntctl_view_routes(FILE *out, const json_t *object, const struct shuntctl_view_opts *opts)
{
	const json_t *rows = json_object_get(object, "routes");
	json_int_t all;
	json_t *row;
	size_t i;

	(void)opts;
	if (!json_object_get(object, "shown")) {
		fputs("no port forwards by routes\n", out);
		return;
	}
	json_array_foreach (rows, i, row)
		print_route(out, row);
	all = number_of(object, "ip4_routes") + number_of(object, "ip6_routes");
	if (all > number_of(object, "shown"))
		fprintf(out,
			"%" JSON_INTEGER_FORMAT
			" more are not shown; shuntctl route get ADDRESS tells "
			"of any address\n",
			all - number_of(object, "shown"));
}

void shuntctl_view_route(FILE *out, const json_t *object)
{
	fprintf(out, "%s: ", text_of(object, "address"));
	print_route(out, object);
	fprintf(out, "    %s\n", text_of(object, "meaning"));
}

void shuntctl_view_devices(FILE *out, const json_t *object, const struct shuntctl_view_opts *opts)
{
	static const struct shuntctl_column columns[] = {
		{"device", "device"},	{"port", "port"}, {"tags", "tags"},
		{"state", "state"},	{"ip4", "ip4"},	  {"ip6", "ip6"},
		{"sources", "sources"}, {">mtu", "mtu"},  {">table", "table"}};

	(void)opts;
	shuntctl_table_rows(out, json_object_get(object, "devices"), columns,
			    SHUNT_ARRAY_LEN(columns), 0);
}

void shuntctl_view_neighbours(FILE *out, const json_t *object,
			      const struct shuntctl_view_opts *opts)
{
	static const struct shuntctl_column columns[] = {
		{"address", "address"}, {"device", "device"}, {"mac", "mac"},
		{"state", "state"},	{"usable", "usable"}, {">packets", "packets"},
		{">bytes", "bytes"}};
	const bool is_counted = json_is_true(json_object_get(object, "counted"));

	(void)opts;
	shuntctl_table_rows(out, json_object_get(object, "neighbours"), columns,
			    SHUNT_ARRAY_LEN(columns) - (is_counted ? 0 : 2), 0);
}

void shuntctl_view_flows(FILE *out, const json_t *object, const struct shuntctl_view_opts *opts)
{
	static const struct shuntctl_column columns[] = {{"proto", "proto"},
							 {"source", "source"},
							 {"destination", "destination"},
							 {"translated", "translated"},
							 {"answers from", "back_source"},
							 {"answers to", "back_destination"},
							 {"mark", "mark"},
							 {">packets", "packets"},
							 {">bytes", "bytes"},
							 {">back packets", "back_packets"},
							 {">back bytes", "back_bytes"}};
	const bool is_counted = json_is_true(json_object_get(object, "counted"));
	const bool is_filtered = json_is_true(json_object_get(object, "filtered"));
	const json_int_t more = number_of(object, "count") - number_of(object, "shown");

	(void)opts;
	if (json_is_null(json_object_get(object, "count"))) {
		fputs("the kernel does not tell: no connection tracking, or no right to ask\n",
		      out);
		return;
	}
	shuntctl_table_rows(out, json_object_get(object, "flows"), columns,
			    SHUNT_ARRAY_LEN(columns) - (is_counted ? 0 : 4), 0);
	fprintf(out, "%" JSON_INTEGER_FORMAT " connections in flowtables%s; %s\n",
		number_of(object, "count"), is_filtered ? " pass the filter" : "",
		is_counted ? "counted is what shunt forwarded of them"
			   : "what they carry is counted with flow_counts");
	if (more > 0)
		fprintf(out,
			"%" JSON_INTEGER_FORMAT
			" of them are not shown; conntrack -L has them, or give a filter\n",
			more);
}

void shuntctl_view_mirror(FILE *out, const json_t *object, const struct shuntctl_view_opts *opts)
{
	const json_t *counters = json_object_get(object, "counters");
	const char *name;
	json_t *value;

	(void)opts;
	if (json_is_null(json_object_get(object, "state"))) {
		fputs("no mirror: no port forwards by routes\n", out);
		return;
	}
	fprintf(out, "state: %s (%s)\n", text_of(object, "state"), text_of(object, "meaning"));
	json_object_foreach ((json_t *)object, name, value)
		if (json_is_integer(value) && strcmp(name, "time_ns") != 0)
			fprintf(out, "  %-18s %" JSON_INTEGER_FORMAT "\n", name,
				json_integer_value(value));
	fputs("counters since start:\n", out);
	json_object_foreach ((json_t *)counters, name, value)
		fprintf(out, "  %-18s %" JSON_INTEGER_FORMAT "\n", name, json_integer_value(value));
}
