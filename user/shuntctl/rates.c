// SPDX-License-Identifier: BSD-2-Clause
#include "rates.h"

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"

void shuntctl_snapshot_fini(struct shuntctl_snapshot *s)
{
	json_decref(s->ports);
	json_decref(s->runtime);
	json_decref(s->drops);
	memset(s, 0, sizeof(*s));
}

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* The difference of a counter; negative when it fell. */
static double delta(const json_t *a, const json_t *b, const char *key)
{
	return number(b, key) - number(a, key);
}

static json_t *quotient(double num, double den)
{
	return num >= 0 && den > 0 ? json_real(num / den) : json_null();
}

/* Rows are in the same order while the same daemon answers. */
static const json_t *before(const json_t *rows, size_t i)
{
	return json_array_get(rows, i);
}

static json_t *port_rates(const json_t *a, const json_t *b, double seconds)
{
	const json_t *ta = json_object_get(a, "total"), *tb = json_object_get(b, "total");
	json_t *row = json_object();

	json_object_set(row, "name", json_object_get(b, "name"));
	json_object_set_new(row, "rx_pps", quotient(delta(ta, tb, "rx_packets"), seconds));
	json_object_set_new(row, "tx_pps", quotient(delta(ta, tb, "tx_packets"), seconds));
	json_object_set_new(row, "rx_bps", quotient(8 * delta(ta, tb, "rx_bytes"), seconds));
	json_object_set_new(row, "tx_bps", quotient(8 * delta(ta, tb, "tx_bytes"), seconds));
	ta = json_object_get(a, "lanes");
	tb = json_object_get(b, "lanes");
	json_object_set_new(row, "kernel_pps",
			    tb ? quotient(delta(ta, tb, "kernel"), seconds) : json_null());
	return row;
}

static double stage_delta(const json_t *a, const json_t *b, const char *name)
{
	const json_t *sa = json_object_get(a, "stages"), *sb = json_object_get(b, "stages");
	json_t *stage;
	size_t i;

	json_array_foreach (sb, i, stage)
		if (!strcmp(json_string_value(json_object_get(stage, "name")), name))
			return delta(before(sa, i), stage, "sampled_cycles");
	return 0;
}

static json_t *worker_rates(const json_t *a, const json_t *b, double seconds, double hz)
{
	double packets = delta(a, b, "packets"), sampled = delta(a, b, "sampled_packets");
	double tx = delta(a, b, "sampled_tx_cycles");
	double io = stage_delta(a, b, "reclaim") + stage_delta(a, b, "rx") +
		    stage_delta(a, b, "flush") + tx;
	double task = SHUNT_MAX(stage_delta(a, b, "graph") - tx, 0.0);
	const json_t *ba = json_object_get(a, "batch"), *bb = json_object_get(b, "batch");
	json_t *row = json_object();

	json_object_set(row, "worker", json_object_get(b, "worker"));
	json_object_set_new(row, "pps", quotient(packets, seconds));
	json_object_set_new(row, "batch_mean",
			    quotient(delta(ba, bb, "packets"), delta(ba, bb, "receives")));
	json_object_set_new(row, "c_io", quotient(io, sampled));
	json_object_set_new(row, "c_task", quotient(task, sampled));
	json_object_set_new(row, "c_busy", quotient(delta(a, b, "busy_cycles"), packets));
	/* A sleep is counted when it ends: one that began earlier is longer than the interval. */
	json_object_set_new(
		row, "asleep_pct",
		quotient(100 * SHUNT_MIN(delta(a, b, "sleep_cycles"), seconds * hz), seconds * hz));
	return row;
}

/* What says which row of `show drops` this is. */
static bool is_same(const json_t *a, const json_t *b)
{
	static const char *const keys[] = {"where", "name", "port", "device", "queue", "worker"};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(keys); i++)
		if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i])) &&
		    (json_object_get(a, keys[i]) || json_object_get(b, keys[i])))
			return false;
	return true;
}

/* Rows become more, mostly at the end, and a device's go with it; NULL: there was none. */
static const json_t *drop_before(const json_t *rows, const json_t *now, size_t i)
{
	json_t *row = json_array_get(rows, i);
	size_t k;

	if (row && is_same(row, now))
		return row;
	json_array_foreach (rows, k, row)
		if (is_same(row, now))
			return row;
	return NULL;
}

static json_t *drop_rates(const json_t *a, const json_t *b, double seconds)
{
	double n = delta(a, b, "count");
	json_t *row;

	if (!json_is_true(json_object_get(b, "lost")) || n <= 0)
		return NULL;
	row = json_copy((json_t *)b);
	json_object_del(row, "help");
	json_object_del(row, "count");
	json_object_del(row, "lost");
	json_object_set_new(row, "pps", quotient(n, seconds));
	return row;
}

json_t *shuntctl_rates(const struct shuntctl_snapshot *a, const struct shuntctl_snapshot *b)
{
	double seconds = delta(a->ports, b->ports, "time_ns") / 1e9;
	double drop_seconds = delta(a->drops, b->drops, "time_ns") / 1e9;
	double run_seconds = delta(a->runtime, b->runtime, "time_ns") / 1e9;
	double hz = number(b->runtime, "cycles_hz");
	json_t *ports = json_array(), *workers = json_array(), *drops = json_array(), *row;
	size_t i;

	json_array_foreach (json_object_get(b->ports, "ports"), i, row)
		json_array_append_new(
			ports,
			port_rates(before(json_object_get(a->ports, "ports"), i), row, seconds));
	json_array_foreach (json_object_get(b->runtime, "workers"), i, row)
		json_array_append_new(
			workers, worker_rates(before(json_object_get(a->runtime, "workers"), i),
					      row, run_seconds, hz));
	json_array_foreach (json_object_get(b->drops, "drops"), i, row) {
		json_t *rate = drop_rates(drop_before(json_object_get(a->drops, "drops"), row, i),
					  row, drop_seconds);

		if (rate)
			json_array_append_new(drops, rate);
	}
	return json_pack("{s:f, s:o, s:o, s:o}", "interval_s", seconds, "ports", ports, "workers",
			 workers, "drops", drops);
}
