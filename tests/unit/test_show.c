// SPDX-License-Identifier: BSD-2-Clause
/* The objects of a running engine on in-memory ports, which needs no rights. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "engine/engine.h"
#include "show/show.h"

static struct shunt_config config;
static struct shunt_engine *engine;
static struct shunt_show show;

static void setup(void)
{
	const struct shunt_pair_config pair = {.port = {0, 1}};
	struct shunt_err err = {""};
	int i;

	shunt_config_init(&config);
	for (i = 0; i < 2; i++) {
		cr_assert_eq(shunt_config_add_port(&config, i ? "null1" : "null0", &err), i);
		config.ports[i].kind = SHUNT_PORT_MEM;
	}
	cr_assert_eq(shunt_config_add_pair(&config, &pair, &err), 0);
	cr_assert_eq(shunt_config_add_rule(&config, "proto tcp dport 22 lane kernel", &err), 0);
	config.batch = 32;
	cr_assert_eq(shunt_engine_create(&engine, &config, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_engine_attach(engine, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_engine_open(engine, &err), 0, "%s", err.msg);
	show.engine = engine;
	cr_assert_eq(shunt_notices_create(&show.notices, engine, &err), 0, "%s", err.msg);
}

static void teardown(void)
{
	struct shunt_err err = {""};

	shunt_notices_destroy(show.notices);
	cr_expect_eq(shunt_engine_destroy(engine, &err), 0, "%s", err.msg);
	shunt_config_fini(&config);
}

TestSuite(show, .init = setup, .fini = teardown, .timeout = 120);

static json_t *ask(const char *object)
{
	json_t *request = json_pack("{s:s, s:s}", "cmd", "show", "object", object), *result;
	struct shunt_err err = {""};

	result = shunt_show_request(&show, request, &err);
	json_decref(request);
	cr_assert(result, "%s: %s", object, err.msg);
	return result;
}

static json_t *first(json_t *result, const char *key)
{
	return json_array_get(json_object_get(result, key), 0);
}

static json_int_t number(const json_t *object, const char *key)
{
	cr_assert(json_is_integer(json_object_get(object, key)), "%s is no integer", key);
	return json_integer_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	cr_assert(s, "%s is no text", key);
	return s;
}

static void start(void)
{
	struct shunt_err err = {""};

	cr_assert_eq(shunt_engine_start(engine, &err), 0, "%s", err.msg);
	while (shunt_counter_read(&engine->workers[0]->stats.sampled_packets) < 1000)
		;
}

Test(show, requests_that_ask_nothing)
{
	static const struct {
		const char *request, *sentence;
	} bad[] = {
		{"{}", "cmd is 'missing', expected show, route, lane or audit"},
		{"{\"cmd\": 3}", "cmd is 'missing', expected show, route, lane or audit"},
		{"{\"cmd\": \"stop\"}", "cmd is 'stop', expected show, route, lane or audit"},
		{"{\"cmd\": \"show\"}",
		 "object is 'missing', expected one of ports lanes notices workers runtime "
		 "drops ledger rules nodes devices routes neighbours flows mirror macs config"},
		{"{\"cmd\": \"show\", \"object\": \"port\"}",
		 "object is 'port', expected one of ports lanes notices workers runtime drops ledger rules nodes "
		 "devices routes neighbours flows mirror macs config"},
	};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(bad); i++) {
		json_t *request = json_loads(bad[i].request, 0, NULL);
		struct shunt_err err = {""};

		cr_expect_null(shunt_show_request(&show, request, &err));
		cr_expect_str_eq(err.msg, bad[i].sentence);
		json_decref(request);
	}
}

/* Before the first packet there is nothing to divide by: null, not 0. */
Test(show, what_was_not_measured_is_null)
{
	json_t *result = ask("runtime"), *worker = first(result, "workers");

	cr_expect_eq(number(worker, "packets"), 0);
	cr_expect(json_is_null(json_object_get(worker, "c_io")));
	cr_expect(json_is_null(json_object_get(worker, "c_task")));
	cr_expect(json_is_null(json_object_get(worker, "c_busy")));
	cr_expect(json_is_null(json_object_get(json_object_get(worker, "batch"), "mean")));
	cr_expect(json_is_null(json_object_get(first(worker, "nodes"), "cycles_per_packet")));
	json_decref(result);
	result = ask("workers");
	worker = first(result, "workers");
	cr_expect(json_is_false(json_object_get(worker, "running")));
	cr_expect(json_is_null(json_object_get(worker, "tid")));
	json_decref(result);
}

Test(show, runtime_of_a_running_engine)
{
	json_t *result, *worker, *batch, *total;
	double c_io, stages = 0;
	json_t *stage;
	size_t i;

	start();
	result = ask("runtime");
	worker = first(result, "workers");
	batch = json_object_get(worker, "batch");
	total = json_object_get(result, "total");
	cr_expect_gt(number(result, "cycles_hz"), 1000000);
	cr_expect_gt(number(worker, "packets"), 0);
	cr_expect_float_eq(json_real_value(json_object_get(batch, "mean")), 32, 1e-9);
	cr_expect_eq(number(first(batch, "sizes"), "packets"), 32);
	cr_expect_eq(json_array_size(json_object_get(batch, "sizes")), 1);
	cr_expect_eq(number(total, "packets"), number(worker, "packets"), "one worker is all");
	c_io = json_real_value(json_object_get(worker, "c_io"));
	json_array_foreach (json_object_get(worker, "stages"), i, stage)
		stages += json_real_value(json_object_get(stage, "cycles_per_packet"));
	cr_expect_float_eq(c_io + json_real_value(json_object_get(worker, "c_task")), stages, 1e-6,
			   "c_io and c_task are all stages");
	cr_expect_eq(json_array_size(json_object_get(worker, "nodes")), 4);
	json_decref(result);
}

Test(show, ports_count_what_moved)
{
	json_t *result, *port, *queue;

	start();
	result = ask("ports");
	cr_assert_eq(json_array_size(json_object_get(result, "ports")), 2);
	cr_expect_gt(number(result, "time_ns"), 0);
	port = first(result, "ports");
	queue = first(port, "queues");
	cr_expect_str_eq(text(port, "name"), "null0");
	cr_expect_str_eq(text(port, "kind"), "mem");
	cr_expect_eq(number(port, "queues_served"), 1);
	cr_expect_null(json_object_get(port, "in_use"), "a mem port has no modes");
	cr_expect_gt(number(queue, "rx_packets"), 0);
	cr_expect_geq(number(json_object_get(port, "total"), "rx_packets"), 1);
	cr_expect_eq(number(queue, "worker"), 0);
	json_decref(result);
}

Test(show, the_ledger_balances_while_packets_move)
{
	static const char *const places[] = {"pool", "fill",	  "driver_rx", "rx",
					     "tx",   "driver_tx", "completion"};
	json_int_t sum = 0;
	json_t *result, *row;
	unsigned i;

	start();
	/* a worker that waits for a processor does not answer at once */
	while (json_is_null(json_object_get(first(result = ask("ledger"), "ledger"), "balanced")))
		json_decref(result);
	row = first(result, "ledger");
	for (i = 0; i < SHUNT_ARRAY_LEN(places); i++)
		sum += number(row, places[i]);
	cr_expect_eq(sum, number(row, "sum"));
	cr_expect_eq(sum, number(row, "total"));
	cr_expect(json_is_true(json_object_get(row, "balanced")));
	json_decref(result);
}

Test(show, a_worker_that_does_not_answer)
{
	json_t *result, *row;

	/* Running as far as the control side knows, and without a thread to answer. */
	engine->workers[0]->running = true;
	result = ask("ledger");
	engine->workers[0]->running = false;
	row = first(result, "ledger");
	cr_expect(json_is_null(json_object_get(row, "balanced")));
	cr_expect_str_eq(text(row, "error"), "the worker did not answer within 200 ms");
	json_decref(result);
}

Test(show, every_own_drop_reason_is_there_once)
{
	static const char *const names[] = {
#define X(name, where, help) #name,
		SHUNT_DROPS(X)
#undef X
	};
	json_t *result = ask("drops"), *rows = json_object_get(result, "drops"), *row;
	size_t i;

	cr_assert_eq(json_array_size(rows), SHUNT_ARRAY_LEN(names) - 1, "all but none");
	json_array_foreach (rows, i, row) {
		cr_expect_str_eq(text(row, "name"), names[i + 1]);
		cr_expect_eq(number(row, "count"), 0);
		cr_expect_eq(number(row, "worker"), 0);
		cr_expect(json_is_true(json_object_get(row, "lost")));
	}
	json_decref(result);
}

Test(show, rules_nodes_config_workers)
{
	json_t *result = ask("rules");

	cr_expect_str_eq(text(first(result, "rules"), "rule"), "proto tcp dport 22 lane kernel");
	cr_expect_str_eq(text(first(result, "rules"), "lane"), "kernel");
	cr_expect_eq(number(first(result, "rules"), "order"), 1);
	json_decref(result);
	result = ask("nodes");
	cr_expect_str_eq(text(first(result, "nodes"), "name"), "xconnect");
	json_decref(result);
	result = ask("config");
	cr_expect_eq(number(result, "batch"), 32);
	json_decref(result);
	start();
	result = ask("workers");
	cr_expect_eq(number(first(result, "workers"), "batch"), 32);
	cr_expect_gt(number(first(result, "workers"), "tid"), 0);
	cr_expect_geq(number(first(result, "workers"), "heartbeat_age_ns"), 0);
	json_decref(result);
}
