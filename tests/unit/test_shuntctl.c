// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "../../user/shuntctl/metrics.h"
#include "../../user/shuntctl/rates.h"
#include "../../user/shuntctl/table.h"
#include "../../user/shuntctl/words.h"
#include "base/bytes.h"

static const struct shuntctl_word words[] = {
	{"rules", ""}, {"runtime", ""}, {"run", ""}, {"ports", ""}};

static int find(const char *word, struct shunt_err *err)
{
	return shuntctl_words_find(words, SHUNT_ARRAY_LEN(words), word, "object", err);
}

Test(shuntctl, words_may_be_shortened)
{
	struct shunt_err err = {""};

	cr_expect_eq(find("p", &err), 3);
	cr_expect_eq(find("ports", &err), 3);
	cr_expect_eq(find("ru", &err), -EINVAL);
	cr_expect_str_eq(err.msg, "object 'ru' could be any of rules, runtime, run");
	cr_expect_eq(find("run", &err), 2, "a whole name counts though it starts another");
	cr_expect_eq(find("runt", &err), 1);
	cr_expect_eq(find("x", &err), -EINVAL);
	cr_expect_str_eq(err.msg, "unknown object 'x', expected one of rules, runtime, run, ports");
	cr_expect_eq(find("", &err), -EINVAL);
	cr_expect_eq(find("portss", &err), -EINVAL);
}

Test(shuntctl, tables_are_aligned)
{
	static const struct shuntctl_column columns[] = {
		{"name", "name"}, {">count", "count"}, {">mean", "mean"}, {"fine", "fine"}};
	json_t *rows = json_loads("[{\"name\":\"a\",\"count\":5,\"mean\":null,\"fine\":true},"
				  "{\"name\":\"longer\",\"count\":123456,\"mean\":31.25}]",
				  0, NULL);
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	shuntctl_table_rows(f, rows, columns, SHUNT_ARRAY_LEN(columns), 2);
	fclose(f);
	cr_expect_str_eq(text, "  name     count   mean  fine\n"
			       "  a            5      -  yes\n"
			       "  longer  123456  31.25  -\n");
	free(text);
	json_decref(rows);
}

Test(shuntctl, a_table_without_rows_is_nothing)
{
	static const struct shuntctl_column columns[] = {{"name", "name"}};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	shuntctl_table_rows(f, NULL, columns, 1, 0);
	fclose(f);
	cr_expect_str_eq(text, "");
	free(text);
}

static struct shuntctl_snapshot snapshot(double sec, int packets, int drops)
{
	json_int_t now = (json_int_t)(sec * 1e9);
	struct shuntctl_snapshot s = {
		.ports = json_pack("{s:I, s:[{s:s, s:{s:i, s:i, s:I, s:i}, s:{s:i}}]}", "time_ns",
				   now, "ports", "name", "eth1", "total", "rx_packets", packets,
				   "tx_packets", 0, "rx_bytes", (json_int_t)100 * packets,
				   "tx_bytes", 0, "lanes", "kernel", 7),
		.drops = json_pack("{s:I, s:[{s:s, s:i, s:b}, {s:s, s:i, s:b}]}", "time_ns", now,
				   "drops", "name", "lost", "count", drops, "lost", 1, "name",
				   "passed", "count", drops, "lost", 0),
		.runtime = json_pack(
			"{s:I, s:i, s:[{s:i, s:i, s:i, s:i, s:i, s:i, s:{s:i, s:i}, "
			"s:[{s:s, s:i}, {s:s, s:i}]}]}",
			"time_ns", now, "cycles_hz", 1000, "workers", "worker", 0, "packets",
			packets, "sampled_packets", packets / 10, "sampled_tx_cycles", packets / 5,
			"busy_cycles", 3 * packets, "sleep_cycles", packets ? 500 : 0, "batch",
			"packets", packets, "receives", packets / 32, "stages", "name", "rx",
			"sampled_cycles", packets, "name", "graph", "sampled_cycles", packets / 2),
	};

	cr_assert(s.ports && s.drops && s.runtime);
	return s;
}

static double real(const json_t *object, const char *key)
{
	cr_assert(json_is_real(json_object_get(object, key)), "%s is no real", key);
	return json_real_value(json_object_get(object, key));
}

Test(shuntctl, rates_are_differences_over_time)
{
	struct shuntctl_snapshot a = snapshot(1, 0, 0), b = snapshot(3, 32000000, 10);
	json_t *rates = shuntctl_rates(&a, &b);
	json_t *port = json_array_get(json_object_get(rates, "ports"), 0);
	json_t *worker = json_array_get(json_object_get(rates, "workers"), 0);
	json_t *drops = json_object_get(rates, "drops");

	cr_expect_float_eq(real(rates, "interval_s"), 2, 1e-9);
	cr_expect_float_eq(real(port, "rx_pps"), 16e6, 1e-9);
	cr_expect_float_eq(real(port, "kernel_pps"), 0, 1e-9);
	cr_expect_float_eq(real(worker, "pps"), 16e6, 1e-9);
	cr_expect_float_eq(real(worker, "batch_mean"), 32, 1e-9);
	/* Per sampled packet: rx 10, graph 5 of which transmit 2. */
	cr_expect_float_eq(real(worker, "c_io"), 12, 1e-9);
	cr_expect_float_eq(real(worker, "c_task"), 3, 1e-9);
	cr_expect_float_eq(real(worker, "c_busy"), 3, 1e-9);
	cr_expect_float_eq(real(worker, "asleep_pct"), 25, 1e-9);
	cr_assert_eq(json_array_size(drops), 1, "what the kernel got is not lost");
	cr_expect_float_eq(real(json_array_get(drops, 0), "pps"), 5, 1e-9);
	json_decref(rates);
	shuntctl_snapshot_fini(&a);
	shuntctl_snapshot_fini(&b);
}

/* Another daemon answers: counters fell, and nothing is made up. */
Test(shuntctl, rates_of_counters_that_fell_are_null)
{
	struct shuntctl_snapshot a = snapshot(1, 32000, 10), b = snapshot(2, 0, 0);
	json_t *rates = shuntctl_rates(&a, &b);
	json_t *port = json_array_get(json_object_get(rates, "ports"), 0);
	json_t *worker = json_array_get(json_object_get(rates, "workers"), 0);

	cr_expect(json_is_null(json_object_get(port, "rx_pps")));
	cr_expect(json_is_null(json_object_get(worker, "c_io")));
	cr_expect(json_is_null(json_object_get(worker, "batch_mean")));
	cr_expect_eq(json_array_size(json_object_get(rates, "drops")), 0);
	json_decref(rates);
	shuntctl_snapshot_fini(&a);
	shuntctl_snapshot_fini(&b);
}

Test(shuntctl, no_daemon_is_one_sentence)
{
	struct shunt_err err = {""};

	cr_expect_eq(shunt_client_open("/nonexistent/s", &err), -ENOENT);
	cr_expect_str_eq(err.msg,
			 "no daemon answers on /nonexistent/s: there is no such socket; is "
			 "shuntd running, or elsewhere (-s)?");
	cr_expect_eq(shunt_client_open("", &err), -EINVAL);
}

Test(shuntctl, metrics_have_base_units_and_leave_out_what_is_not_measured)
{
	json_t *objects = json_loads(
		"{\"lanes\":{\"lanes\":[{\"port\":\"a\\\"b\",\"requested\":\"auto\",\"in_use\":\"xdp\","
		"\"lanes\":{\"xdp\":{\"packets\":7,\"bytes\":420,\"latency_ns\":1500,"
		"\"cpu_ns_per_packet\":null}}}]},"
		"\"runtime\":{\"workers\":[{\"worker\":3,\"c_io\":null,\"batch\":{\"receives\":5,"
		"\"packets\":74,\"sizes\":[{\"packets\":1,\"receives\":2},{\"packets\":24,"
		"\"receives\":3}]}}]}}",
		0, NULL);
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	cr_assert(objects);
	cr_expect_eq(shuntctl_metrics_print(f, objects), 0);
	fclose(f);
	cr_expect(
		strstr(text, "\nshunt_lane_packets_total{interface=\"a\\\"b\",lane=\"xdp\"} 7\n"));
	cr_expect(strstr(
		text, "\nshunt_lane_latency_seconds{interface=\"a\\\"b\",lane=\"xdp\"} 1.5e-06\n"));
	cr_expect_not(strstr(text, "shunt_lane_cpu_seconds_per_packet"));
	cr_expect_not(strstr(text, "shunt_cycles_per_packet"));
	cr_expect(strstr(text, "# TYPE shunt_batch_packets histogram\n"
			       "shunt_batch_packets_bucket{worker=\"3\",le=\"1\"} 2\n"));
	cr_expect(strstr(text,
			 "le=\"16\"} 2\nshunt_batch_packets_bucket{worker=\"3\",le=\"32\"} 5\n"));
	cr_expect(strstr(text, "le=\"+Inf\"} 5\nshunt_batch_packets_sum{worker=\"3\"} 74\n"
			       "shunt_batch_packets_count{worker=\"3\"} 5\n"));
	free(text);
	json_decref(objects);
}
