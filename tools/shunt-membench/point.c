// SPDX-License-Identifier: BSD-2-Clause
/* `shunt-membench point`: one point of an experiment. A worker in its own thread, as in shuntd,
 * forwards between two in-memory ports, behind the task emulator, packets that arrive at a rate. It
 * prints what the worker counted in a window of time as one JSON object. */
#include "point.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "paced.h"
#include "rig.h"

#define WORKERS_MAX 64

struct point {
	double pps; /* a worker */
	double seconds, warm_up;
	unsigned batch, ring, size, flows;
	int mode, poll;
	uint64_t cycles;
	unsigned psi; /* 0: constant rate */
	double nu;
	const char *list;
	bool copy, has_latency;
	int cpus[WORKERS_MAX];
	unsigned cpu_cnt;
};

struct snapshot {
	struct shunt_worker_stats worker;
	struct bench_paced_stats link;
	uint64_t sent;
	uint64_t at;
	uint64_t cpu_ns; /* that the worker had */
};

static void usage(FILE *out)
{
	fputs("usage: shunt-membench point [OPTIONS]\n\n"
	      "One measurement of a worker on in-memory ports, as a JSON object:\n"
	      "  --rate PPS      packets arriving a second and worker; 0: always enough (0)\n"
	      "  --psi N         in bursts of 1 to N packets, by Zipf's law, instead of evenly; 1 is\n"
	      "                  plain Poisson\n"
	      "  --nu X          P(a burst of j) ~ 1/j^X (0.701)\n"
	      "  --cycles N      the task: cycles spent on each packet (0)\n"
	      "  --list BYTES    the task: a step through a random list, also 64K, 8M (none)\n"
	      "  --batch N       1 to 256 (64)\n"
	      "  --ring N        packets that wait, more are lost (512)\n"
	      "  --size BYTES    frame without FCS, 60 to 1514 (60)\n"
	      "  --flows N       different frames (16)\n"
	      "  --mode MODE     xconnect, macrewrite (xconnect)\n"
	      "  --copy          copy frames in and out, as a driver without zero-copy\n"
	      "  --poll MODE     spin, adaptive (spin)\n"
	      "  --latency       measure it, at some cycles a packet\n"
	      "  --seconds S     how long (0.1), after --warm-up S (0.02)\n"
	      "  --cpu LIST      a worker on each of these CPUs, as 0,1 (one, anywhere)\n",
	      out);
}

static int bad(const char *option, const char *text)
{
	fprintf(stderr, "shunt-membench: --%s '%s' is out of range; see point --help\n", option,
		text);
	return -EINVAL;
}

static int number(const char *option, const char *text, double min, double max, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return *end || end == text || !(*value >= min && *value <= max) ? bad(option, text) : 0;
}

static int parse_cpus(struct point *point, const char *text)
{
	char *end;

	do {
		long cpu = strtol(text, &end, 10);

		if (end == text || cpu < 0 || cpu > 4095 || point->cpu_cnt == WORKERS_MAX ||
		    (*end && *end != ','))
			return bad("cpu", text);
		point->cpus[point->cpu_cnt++] = (int)cpu;
		text = end + 1;
	} while (*end);
	return 0;
}

static const struct option options[] = {
	{"rate", 1, NULL, 'r'},	   {"cycles", 1, NULL, 'c'},  {"list", 1, NULL, 'l'},
	{"batch", 1, NULL, 'b'},   {"ring", 1, NULL, 'R'},    {"size", 1, NULL, 's'},
	{"flows", 1, NULL, 'f'},   {"mode", 1, NULL, 'm'},    {"copy", 0, NULL, 'C'},
	{"poll", 1, NULL, 'p'},	   {"latency", 0, NULL, 'L'}, {"seconds", 1, NULL, 'S'},
	{"warm-up", 1, NULL, 'w'}, {"cpu", 1, NULL, 'u'},     {"psi", 1, NULL, 'P'},
	{"nu", 1, NULL, 'n'},	   {"help", 0, NULL, 'h'},    {0},
};

static int take_number(struct point *p, int c, const char *name, const char *text)
{
	static const struct {
		int option;
		double min, max;
	} ranges[] = {{'r', 0, 1e10},  {'c', 0, 1e9},	{'b', 1, SHUNT_BATCH_MAX}, {'R', 1, 65536},
		      {'s', 60, 1514}, {'f', 1, 65536}, {'S', 0.001, 3600},	   {'w', 0, 60},
		      {'P', 1, 4096},  {'n', 0, 100}};
	double value = 0;
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(ranges) && ranges[i].option != c; i++)
		;
	if (i == SHUNT_ARRAY_LEN(ranges) ||
	    number(name, text, ranges[i].min, ranges[i].max, &value))
		return -EINVAL;
	switch (c) {
	case 'r':
		p->pps = value;
		break;
	case 'c':
		p->cycles = (uint64_t)value;
		break;
	case 'b':
		p->batch = (unsigned)value;
		break;
	case 'R':
		p->ring = (unsigned)value;
		break;
	case 's':
		p->size = (unsigned)value;
		break;
	case 'f':
		p->flows = (unsigned)value;
		break;
	case 'S':
		p->seconds = value;
		break;
	case 'P':
		p->psi = (unsigned)value;
		break;
	case 'n':
		p->nu = value;
		break;
	default:
		p->warm_up = value;
	}
	return 0;
}

static int take(struct point *p, int c, const char *name, const char *text)
{
	switch (c) {
	case 'l':
		p->list = text;
		return 0;
	case 'm':
		p->mode = shunt_forward_mode_parse(text);
		return p->mode == SHUNT_FORWARD_XCONNECT || p->mode == SHUNT_FORWARD_MACREWRITE
			       ? 0
			       : bad(name, text);
	case 'p':
		p->poll = shunt_poll_mode_parse(text);
		return p->poll == SHUNT_POLL_spin || p->poll == SHUNT_POLL_adaptive
			       ? 0
			       : bad(name, text);
	case 'C':
		p->copy = true;
		return 0;
	case 'L':
		p->has_latency = true;
		return 0;
	case 'u':
		return parse_cpus(p, text);
	default:
		return take_number(p, c, name, text);
	}
}

/* --- building --------------------------------------------------------------------------------- */

static int add_task(struct shunt_config *config, const struct point *point, struct shunt_err *err)
{
	char text[128];

	if (!point->cycles && !point->list)
		return 0;
	snprintf(text, sizeof(text), "emulate,cycles=%llu%s%s", (unsigned long long)point->cycles,
		 point->list ? ",list=" : "", point->list ? point->list : "");
	return shunt_config_add_front(config, text, err);
}

static int configure(struct shunt_config *config, const struct point *point, struct shunt_err *err)
{
	static const int anywhere = -1;
	int ret;

	shunt_config_init(config);
	config->batch = point->batch;
	config->poll = (enum shunt_poll_mode)point->poll;
	ret = bench_pair(config, (enum shunt_forward_mode)point->mode, point->size, point->flows,
			 point->copy, err);
	if (!ret)
		ret = add_task(config, point, err);
	if (!ret)
		ret = shunt_config_set_workers(config, point->cpu_cnt ? point->cpus : &anywhere,
					       point->cpu_cnt ? point->cpu_cnt : 1, err);
	return ret ? ret : shunt_config_check(config, err);
}

/* --- measuring -------------------------------------------------------------------------------- */

static void sleep_for(double seconds)
{
	struct timespec left = {.tv_sec = (time_t)seconds,
				.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

/* Counters are 64-bit words with one writer: copied word by word, all of them. */
static void copy_words(void *to, const void *from, size_t bytes)
{
	uint64_t *out = to;
	const uint64_t *in = from;
	size_t i;

	for (i = 0; i < bytes / sizeof(*out); i++)
		out[i] = shunt_counter_read(&in[i]);
}

static uint64_t cpu_ns_of(pthread_t thread)
{
	struct timespec ts;
	clockid_t clock;

	if (pthread_getcpuclockid(thread, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * SHUNT_NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static void take_snapshot(struct snapshot *shot, const struct shunt_worker *worker,
			  const struct bench_paced *paced)
{
	copy_words(&shot->worker, &worker->stats, sizeof(shot->worker));
	copy_words(&shot->link, bench_paced_stats(paced), sizeof(shot->link));
	shot->sent = shunt_counter_read(&worker->queues[1]->stats.tx_packets);
	shot->at = shunt_clock_cycles();
	shot->cpu_ns = cpu_ns_of(worker->thread);
}

static void subtract(struct snapshot *end, const struct snapshot *start)
{
	uint64_t *to = (uint64_t *)end;
	const uint64_t *from = (const uint64_t *)start;
	size_t i;

	for (i = 0; i < sizeof(*end) / sizeof(*to); i++)
		to[i] -= from[i];
}

static json_t *latency_json(const struct bench_paced_stats *link)
{
	const struct shunt_hist *hist = &link->latency_ns;
	const uint64_t cnt = shunt_hist_count(hist);
	json_t *buckets = json_array();
	unsigned i;

	for (i = 0; i < SHUNT_HIST_BUCKETS; i++)
		if (hist->bucket[i])
			json_array_append_new(buckets,
					      json_pack("[I, I]", (json_int_t)shunt_hist_floor(i),
							(json_int_t)hist->bucket[i]));
	return json_pack("{s:I, s:f, s:I, s:I, s:I, s:I, s:o}", "count", (json_int_t)cnt, "mean",
			 cnt ? (double)link->latency_sum_ns / (double)cnt : 0, "p50",
			 (json_int_t)shunt_hist_quantile(hist, 0.5), "p99",
			 (json_int_t)shunt_hist_quantile(hist, 0.99), "p999",
			 (json_int_t)shunt_hist_quantile(hist, 0.999), "max",
			 (json_int_t)shunt_hist_quantile(hist, 1.0), "buckets", buckets);
}

static json_t *worker_json(const struct snapshot *made, bool has_latency)
{
	const double seconds = (double)made->at / (double)shunt_clock_hz();
	struct shunt_worker_costs costs = shunt_worker_stats_costs(&made->worker);
	json_t *row, *batches = json_array();
	unsigned i;

	for (i = 1; i <= SHUNT_BATCH_MAX; i++)
		if (made->worker.batch[i])
			json_array_append_new(
				batches,
				json_pack("[i, I]", (int)i, (json_int_t)made->worker.batch[i]));
	row = json_pack("{s:f, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:o}", "seconds", seconds,
			"arrived", (json_int_t)made->link.arrived, "lost",
			(json_int_t)made->link.lost, "received", (json_int_t)made->worker.packets,
			"sent", (json_int_t)made->sent, "pps", (double)made->sent / seconds,
			"turns", (json_int_t)made->worker.turns, "empty_turns",
			(json_int_t)made->worker.empty_turns, "batches", batches);
	json_object_set_new(row, "c_io", costs.c_io < 0 ? json_null() : json_real(costs.c_io));
	json_object_set_new(row, "c_task", costs.c_io < 0 ? json_null() : json_real(costs.c_task));
	json_object_set_new(row, "c_busy",
			    costs.c_busy < 0 ? json_null() : json_real(costs.c_busy));
	json_object_set_new(row, "work_cycles", json_integer((json_int_t)made->worker.work_cycles));
	json_object_set_new(row, "busy_cycles", json_integer((json_int_t)made->worker.busy_cycles));
	json_object_set_new(row, "cpu_share", json_real((double)made->cpu_ns / 1e9 / seconds));
	if (has_latency)
		json_object_set_new(row, "latency_ns", latency_json(&made->link));
	return row;
}

static json_t *measure(struct shunt_engine *engine, const struct point *point,
		       struct shunt_err *err)
{
	const struct bench_paced_opts link = {.pps = point->pps,
					      .ring = point->ring,
					      .has_latency = point->has_latency,
					      .psi = point->psi,
					      .nu = point->nu};
	struct snapshot *shots = calloc(engine->worker_cnt * 2UL, sizeof(*shots));
	struct bench_paced *paced[WORKERS_MAX] = {NULL};
	json_t *rows = NULL;
	unsigned i;

	for (i = 0; shots && i < engine->worker_cnt; i++)
		if (!(paced[i] = bench_paced_lay(engine->workers[i], &link)))
			break;
	if (!shots || i < engine->worker_cnt)
		shunt_err_set(err, ENOMEM, "not enough memory");
	else if (!shunt_engine_start(engine, err)) {
		rows = json_array();
		sleep_for(point->warm_up);
		for (i = 0; i < engine->worker_cnt; i++)
			take_snapshot(&shots[2 * i], engine->workers[i], paced[i]);
		sleep_for(point->seconds);
		for (i = 0; i < engine->worker_cnt; i++)
			take_snapshot(&shots[2 * i + 1], engine->workers[i], paced[i]);
		for (i = 0; i < engine->worker_cnt; i++) {
			subtract(&shots[2 * i + 1], &shots[2 * i]);
			json_array_append_new(rows,
					      worker_json(&shots[2 * i + 1],
							  point->has_latency && point->pps > 0));
		}
	}
	free(shots);
	return rows;
}

static int run(const struct point *point)
{
	struct shunt_engine *engine = NULL;
	struct shunt_config config;
	struct shunt_err err = {""};
	json_t *rows = NULL, *result;
	int ret = configure(&config, point, &err);

	if (!ret)
		ret = shunt_engine_create(&engine, &config, &err);
	if (!ret)
		ret = shunt_engine_attach(engine, &err);
	if (!ret)
		ret = shunt_engine_open(engine, &err);
	if (!ret)
		rows = measure(engine, point, &err);
	shunt_engine_destroy(engine, NULL);
	shunt_config_fini(&config);
	if (!rows) {
		fprintf(stderr, "shunt-membench: %s\n", err.msg);
		return 1;
	}
	result =
		json_pack("{s:I, s:o}", "cycles_hz", (json_int_t)shunt_clock_hz(), "workers", rows);
	json_dumpf(result, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(result);
	return 0;
}

int bench_point(int argc, char **argv)
{
	struct point point = {.seconds = 0.1,
			      .warm_up = 0.02,
			      .batch = 64,
			      .ring = 512,
			      .size = 60,
			      .flows = 16,
			      .nu = 0.701,
			      .mode = SHUNT_FORWARD_XCONNECT,
			      .poll = SHUNT_POLL_spin};
	int c, index = 0;

	while ((c = getopt_long(argc, argv, "", options, &index)) != -1) {
		if (c == 'h')
			return usage(stdout), 0;
		if (c == '?')
			return usage(stderr), 2;
		if (take(&point, c, options[index].name, optarg))
			return 2;
	}
	if (optind < argc)
		return usage(stderr), 2;
	return run(&point);
}
