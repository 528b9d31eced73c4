// SPDX-License-Identifier: BSD-2-Clause
#include "view.h"

#include "base/bytes.h"
#include "config/yaml.h"
#include "table.h"

#define ROWS(out, rows, columns, indent) \
	shuntctl_table_rows(out, rows, columns, SHUNT_ARRAY_LEN(columns), indent)

void shuntctl_view_workers(FILE *out, const json_t *object, const struct shuntctl_view_opts *opts)
{
	static const struct shuntctl_column columns[] = {
		{"worker", "worker"},
		{">tid", "tid"},
		{">cpu-asked", "cpu_requested"},
		{">cpu-in-use", "cpu_in_use"},
		{"poll", "poll"},
		{">batch", "batch"},
		{">queues", "queues"},
		{">frames", "frames"},
		{"pages", "pages"},
		{">packets", "packets"},
		{">turns", "turns"},
		{">empty-turns", "empty_turns"},
		{">sleeps", "sleeps"},
		{">hangs", "hangs"},
		{">heartbeat-age-ns", "heartbeat_age_ns"},
	};

	(void)opts;
	ROWS(out, json_object_get(object, "workers"), columns, 0);
}

void shuntctl_view_notices(FILE *out, const json_t *object, const struct shuntctl_view_opts *opts)
{
	static const struct shuntctl_column columns[] = {
		{"notice", "name"},
		{"port", "port"},
		{">queue", "queue"},
		{">worker", "worker"},
		{"what to know and do", "text"},
	};

	(void)opts;
	ROWS(out, json_object_get(object, "notices"), columns, 0);
}

void shuntctl_view_ledger(FILE *out, const json_t *object, const struct shuntctl_view_opts *opts)
{
	static const struct shuntctl_column columns[] = {
		{"worker", "worker"},
		{">pool", "pool"},
		{">fill", "fill"},
		{">driver-rx", "driver_rx"},
		{">rx", "rx"},
		{">tx", "tx"},
		{">driver-tx", "driver_tx"},
		{">completion", "completion"},
		{">sum", "sum"},
		{">total", "total"},
		{"balanced", "balanced"},
		{"error", "error"},
	};
	const json_t *rows = json_object_get(object, "ledger");
	json_t *row;
	bool has_error = false;
	size_t i;

	(void)opts;
	json_array_foreach (rows, i, row)
		has_error |= json_object_get(row, "error") != NULL;
	shuntctl_table_rows(out, rows, columns, SHUNT_ARRAY_LEN(columns) - !has_error, 0);
}

void shuntctl_view_macs(FILE *out, const json_t *object, const struct shuntctl_view_opts *opts)
{
	static const struct shuntctl_column columns[] = {
		{"mac", "mac"},	  {"bridge", "bridge"}, {"kernel-bridge", "kernel_bridge"},
		{"port", "port"}, {"static", "static"}, {">age-s", "age_s"},
	};
	const json_t *counters = json_object_get(object, "counters");
	const char *name;
	json_t *value;

	(void)opts;
	if (!counters) {
		fputs("no bridge: no port forwards by MAC addresses\n", out);
		return;
	}
	ROWS(out, json_object_get(object, "macs"), columns, 0);
	fprintf(out, "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " entries;",
		json_integer_value(json_object_get(object, "entries")),
		json_integer_value(json_object_get(object, "max")));
	json_object_foreach ((json_t *)counters, name, value)
		fprintf(out, " %s %" JSON_INTEGER_FORMAT, name, json_integer_value(value));
	fputc('\n', out);
}

void shuntctl_view_rules(FILE *out, const json_t *object, const struct shuntctl_view_opts *opts)
{
	static const struct shuntctl_column columns[] = {{">order", "order"},
							 {"lane", "lane"},
							 {"rule", "rule"},
							 {">packets", "packets"},
							 {">bytes", "bytes"}};
	const bool is_counted = json_is_true(json_object_get(object, "counted"));
	const json_t *rows = json_object_get(object, "rules");
	const json_t *matched = json_object_get(object, "matched");

	(void)opts;
	if (!json_array_size(rows)) {
		fputs("no rules: every frame is steered by its port's default\n", out);
		return;
	}
	shuntctl_table_rows(out, rows, columns, SHUNT_ARRAY_LEN(columns) - (is_counted ? 0 : 2), 0);
	fprintf(out,
		"matched packets: user %" JSON_INTEGER_FORMAT ", kernel %" JSON_INTEGER_FORMAT
		", drop %" JSON_INTEGER_FORMAT ", xdp %" JSON_INTEGER_FORMAT "\n",
		json_integer_value(json_object_get(matched, "user")),
		json_integer_value(json_object_get(matched, "kernel")),
		json_integer_value(json_object_get(matched, "drop")),
		json_integer_value(json_object_get(matched, "xdp")));
}

void shuntctl_view_nodes(FILE *out, const json_t *object, const struct shuntctl_view_opts *opts)
{
	static const struct shuntctl_column columns[] = {{"worker", "worker"},
							 {"node", "name"},
							 {">packets", "packets"},
							 {">batches", "batches"},
							 {"what it does", "help"}};

	(void)opts;
	ROWS(out, json_object_get(object, "nodes"), columns, 0);
}

void shuntctl_view_config(FILE *out, const json_t *object, const struct shuntctl_view_opts *opts)
{
	(void)opts;
	shunt_yaml_print(out, object);
}

static void print_samples(FILE *out, const json_t *rows)
{
	static const char *const headers[] = {"where", "reason", "port", ">age-s", "last packet"};
	struct shuntctl_table t;
	json_t *row;
	size_t i;

	shuntctl_table_init(&t, headers, SHUNT_ARRAY_LEN(headers));
	json_array_foreach (rows, i, row) {
		shuntctl_table_value(&t, json_object_get(row, "where"));
		shuntctl_table_value(&t, json_object_get(row, "name"));
		shuntctl_table_value(&t, json_object_get(row, "port"));
		shuntctl_table_cell(&t, "%.3f",
				    json_number_value(json_object_get(row, "age_ns")) / 1e9);
		shuntctl_table_value(&t, json_object_get(row, "packet"));
	}
	fputs(i ? "\n" : "no packet was lost or left to the kernel meanwhile\n", out);
	shuntctl_table_print(&t, out, 0);
	shuntctl_table_fini(&t);
}

void shuntctl_view_drops(FILE *out, const json_t *object, const struct shuntctl_view_opts *opts)
{
	static const struct shuntctl_column columns[] = {
		{"where", "where"},  {"port", "port"},	    {"device", "device"},
		{">queue", "queue"}, {">worker", "worker"}, {"lane", "lane"},
		{"reason", "name"},  {">count", "count"},   {"lost", "lost"},
		{"meaning", "help"},
	};
	const json_t *rows = json_object_get(object, "drops");
	json_t *shown = json_array(), *row;
	size_t i, hidden;

	json_array_foreach (rows, i, row)
		if (opts->all || json_integer_value(json_object_get(row, "count")))
			json_array_append(shown, row);
	ROWS(out, shown, columns, 0);
	hidden = json_array_size(rows) - json_array_size(shown);
	if (hidden)
		fprintf(out, "%zu reasons at 0 are not shown (-a shows them)\n", hidden);
	json_decref(shown);
	if (json_object_get(object, "samples"))
		print_samples(out, json_object_get(object, "samples"));
}

/* --- runtime ---------------------------------------------------------------------------------- */

static void print_costs(FILE *out, const json_t *row)
{
	static const char *const headers[] = {
		">c_io", ">c_task", ">c_busy", ">sampled-packets", ">packets", ">batch-mean"};
	static const char *const keys[] = {"c_io", "c_task", "c_busy", "sampled_packets",
					   "packets"};
	struct shuntctl_table t;
	unsigned i;

	shuntctl_table_init(&t, headers, SHUNT_ARRAY_LEN(headers));
	for (i = 0; i < SHUNT_ARRAY_LEN(keys); i++)
		shuntctl_table_value(&t, json_object_get(row, keys[i]));
	shuntctl_table_value(&t, json_object_get(json_object_get(row, "batch"), "mean"));
	shuntctl_table_print(&t, out, 2);
	shuntctl_table_fini(&t);
}

/* Sizes are gathered by powers of two: 256 lines would say less. */
static void print_batches(FILE *out, const json_t *batch)
{
	static const char *const headers[] = {">packets", ">receives", ">share-%"};
	json_int_t total = json_integer_value(json_object_get(batch, "receives"));
	json_t *sizes = json_object_get(batch, "sizes"), *size;
	struct shuntctl_table t;
	json_int_t low, cnt;
	size_t i;

	shuntctl_table_init(&t, headers, SHUNT_ARRAY_LEN(headers));
	for (low = 1; low <= 256; low *= 2) {
		cnt = 0;
		json_array_foreach (sizes, i, size) {
			json_int_t n = json_integer_value(json_object_get(size, "packets"));

			if (n >= low && n < 2 * low)
				cnt += json_integer_value(json_object_get(size, "receives"));
		}
		if (!cnt)
			continue;
		if (low == 1 || low == 256)
			shuntctl_table_cell(&t, "%d", (int)low);
		else
			shuntctl_table_cell(&t, "%d-%d", (int)low, (int)(2 * low - 1));
		shuntctl_table_cell(&t, "%" JSON_INTEGER_FORMAT, cnt);
		shuntctl_table_cell(&t, "%.1f", total ? 100.0 * (double)cnt / (double)total : 0);
	}
	if (t.cell_cnt)
		fputs("  batch sizes received:\n", out);
	shuntctl_table_print(&t, out, 2);
	shuntctl_table_fini(&t);
}

static void print_runtime(FILE *out, const json_t *row)
{
	static const struct shuntctl_column stages[] = {{"stage", "name"},
							{">cycles/packet", "cycles_per_packet"}};
	static const struct shuntctl_column nodes[] = {{"node", "name"},
						       {">cycles/packet", "cycles_per_packet"},
						       {">sampled-packets", "sampled_packets"},
						       {">packets", "packets"}};

	fprintf(out, "worker %" JSON_INTEGER_FORMAT " (cycles per packet)\n",
		json_integer_value(json_object_get(row, "worker")));
	print_costs(out, row);
	ROWS(out, json_object_get(row, "stages"), stages, 2);
	ROWS(out, json_object_get(row, "nodes"), nodes, 2);
	print_batches(out, json_object_get(row, "batch"));
}

void shuntctl_view_runtime(FILE *out, const json_t *object, const struct shuntctl_view_opts *opts)
{
	const json_t *rows = json_object_get(object, "workers");
	json_t *row;
	size_t i;

	(void)opts;
	fprintf(out,
		"cycle counter: %.1f MHz; one working turn in %" JSON_INTEGER_FORMAT " is timed\n",
		(double)json_integer_value(json_object_get(object, "cycles_hz")) / 1e6,
		json_integer_value(json_object_get(object, "sample_every_turns")));
	json_array_foreach (rows, i, row)
		print_runtime(out, row);
	if (json_array_size(rows) > 1) {
		fputs("all workers (cycles per packet)\n", out);
		print_costs(out, json_object_get(object, "total"));
	}
}

/* --- top -------------------------------------------------------------------------------------- */

void shuntctl_view_rates(FILE *out, const json_t *rates)
{
	static const struct shuntctl_column ports[] = {
		{"port", "name"},	 {">rx pps", "rx_pps"},	  {">tx pps", "tx_pps"},
		{">rx bit/s", "rx_bps"}, {">tx bit/s", "tx_bps"}, {">kernel pps", "kernel_pps"},
	};
	static const struct shuntctl_column workers[] = {
		{"worker", "worker"},	     {">pps", "pps"},	    {">batch-mean", "batch_mean"},
		{">c_io", "c_io"},	     {">c_task", "c_task"}, {">c_busy", "c_busy"},
		{">asleep %", "asleep_pct"},
	};
	static const struct shuntctl_column drops[] = {
		{"dropped at", "where"}, {"port", "port"},	{"device", "device"},
		{">queue", "queue"},	 {">worker", "worker"}, {"reason", "name"},
		{">pps", "pps"},
	};

	ROWS(out, json_object_get(rates, "ports"), ports, 0);
	fputc('\n', out);
	ROWS(out, json_object_get(rates, "workers"), workers, 0);
	fputc('\n', out);
	if (json_array_size(json_object_get(rates, "drops")))
		ROWS(out, json_object_get(rates, "drops"), drops, 0);
	else
		fputs("nothing was lost\n", out);
}
