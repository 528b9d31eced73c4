// SPDX-License-Identifier: BSD-2-Clause
/* The forwarding tables alone: how long a lookup takes over a full Internet table, what the table
 * weighs, how fast it is loaded and changed. */
#include "bench.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "fib/fib4.h"
#include "traffic/bgp.h"
#include "measure/rng.h"

#define BATCH	 256u
#define DEST_CNT (1u << 20) /* "random": 4 MiB of addresses, read in order */
#define NH_CNT	 64u

struct lab4 {
	struct bench *bench;
	struct shunt_bgp4 *routes;
	uint32_t *dests;
	uint32_t route_cnt;
	struct shunt_fib4 *fib;
};

typedef uint64_t (*lookup4_fn)(const struct lab4 *lab, const uint32_t *dst_be);

static uint64_t fib4_bulk(const struct lab4 *lab, const uint32_t *dst_be)
{
	uint32_t nh[BATCH];

	shunt_fib4_lookup_bulk(lab->fib, dst_be, nh, BATCH);
	return nh[0] + nh[BATCH - 1];
}

/* Singly: each address is found from the answer before it, so nothing overlaps. */
static uint64_t fib4_single(const struct lab4 *lab, const uint32_t *dst_be)
{
	uint32_t nh = 0, i;

	for (i = 0; i < BATCH; i++)
		nh = shunt_fib4_lookup(lab->fib, dst_be[i] ^ (nh >> 31));
	return nh;
}

static double time_lookups(const struct lab4 *lab, lookup4_fn fn, bool repeated)
{
	uint64_t start, sum = 0;
	uint32_t i;

	start = shunt_clock_cycles();
	for (i = 0; i < DEST_CNT; i += BATCH)
		sum += fn(lab, &lab->dests[repeated ? 0 : i]);
	start = shunt_clock_cycles() - start;
	__asm__ volatile("" ::"r"(sum));
	return (double)start / DEST_CNT;
}

static const struct {
	const char *name, *mode;
	lookup4_fn fn;
} lookups4[] = {
	{"fib4.lookup", "bulk", fib4_bulk},
	{"fib4.lookup", "single", fib4_single},
};

/* The variants take turns within a run, so that noise on the machine meets all of them. */
static void measure_lookups4(const struct lab4 *lab, bool repeated)
{
	double runs[SHUNT_ARRAY_LEN(lookups4)][BENCH_RUN_CNT];
	unsigned r, i;

	for (r = 0; r < BENCH_RUN_CNT; r++)
		for (i = 0; i < SHUNT_ARRAY_LEN(lookups4); i++) {
			time_lookups(lab, lookups4[i].fn, repeated); /* the other's lines go */
			runs[i][r] = time_lookups(lab, lookups4[i].fn, repeated);
		}
	for (i = 0; i < SHUNT_ARRAY_LEN(lookups4); i++)
		bench_add(lab->bench, lookups4[i].name,
			  json_pack("{s:i, s:s, s:s}", "routes", (int)lab->route_cnt, "mode",
				    lookups4[i].mode, "pattern", repeated ? "repeated" : "random"),
			  "cycles/lookup", runs[i], BENCH_RUN_CNT);
}

static int load4(struct lab4 *lab)
{
	struct shunt_err err;
	uint32_t i;
	int ret = shunt_fib4_create(&lab->fib, 0, &err);

	for (i = 0; i < lab->route_cnt && !ret; i++)
		ret = shunt_fib4_add(lab->fib, htonl(lab->routes[i].addr), lab->routes[i].len,
				     lab->routes[i].nh, &err);
	if (ret)
		fprintf(stderr, "shunt-membench: %s\n", err.msg);
	return ret;
}

static int measure_load4(struct lab4 *lab)
{
	double runs[BENCH_RUN_CNT];
	uint64_t start;
	unsigned r;
	int ret;

	for (r = 0; r < BENCH_RUN_CNT; r++) {
		shunt_fib4_destroy(lab->fib);
		start = shunt_clock_ns();
		ret = load4(lab);
		if (ret)
			return ret;
		runs[r] = (double)(shunt_clock_ns() - start) / 1e9;
	}
	bench_add(lab->bench, "fib4.load", json_pack("{s:i}", "routes", (int)lab->route_cnt), "s",
		  runs, BENCH_RUN_CNT);
	return 0;
}

/* A withdrawal and an announcement of a random route, as a BGP session's churn. */
static void measure_update4(struct lab4 *lab)
{
	const uint32_t cnt = lab->bench->quick ? 1000 : 100000;
	uint64_t rng = lab->bench->seed, start;
	double runs[BENCH_RUN_CNT];
	const struct shunt_bgp4 *r;
	unsigned i, k;

	for (k = 0; k < BENCH_RUN_CNT; k++) {
		start = shunt_clock_ns();
		for (i = 0; i < cnt; i++) {
			r = &lab->routes[shunt_rng_below(&rng, lab->route_cnt)];
			shunt_fib4_del(lab->fib, htonl(r->addr), r->len, NULL);
			shunt_fib4_add(lab->fib, htonl(r->addr), r->len, r->nh, NULL);
		}
		runs[k] = 2e9 * cnt / (double)(shunt_clock_ns() - start);
	}
	bench_add(lab->bench, "fib4.update", json_pack("{s:i}", "routes", (int)lab->route_cnt),
		  "updates/s", runs, BENCH_RUN_CNT);
}

static void report_bytes(const struct lab4 *lab, const char *name, size_t bytes, const char *what)
{
	double per = (double)bytes / lab->route_cnt;

	bench_add(lab->bench, name,
		  json_pack("{s:i, s:s}", "routes", (int)lab->route_cnt, "part", what),
		  "bytes/route", &per, 1);
}

static int measure4(struct lab4 *lab)
{
	struct shunt_fib_bytes bytes;
	int ret = measure_load4(lab);

	if (ret)
		return ret;
	measure_update4(lab);
	shunt_fib4_bytes(lab->fib, &bytes);
	report_bytes(lab, "fib4.bytes_per_route", bytes.lookup, "lookup");
	report_bytes(lab, "fib4.bytes_per_route", bytes.lookup + bytes.idle, "lookup+idle");
	report_bytes(lab, "fib4.bytes_per_route", bytes.committed, "all");
	bench_print_pages();
	measure_lookups4(lab, false);
	measure_lookups4(lab, true);
	return 0;
}

static int bench4(struct bench *bench, uint32_t route_cnt)
{
	struct lab4 lab = {.bench = bench, .route_cnt = route_cnt};
	int ret = -1;

	lab.routes = calloc(route_cnt, sizeof(*lab.routes));
	lab.dests = calloc(DEST_CNT, sizeof(*lab.dests));
	if (lab.routes && lab.dests &&
	    !shunt_bgp4_generate(lab.routes, route_cnt, NH_CNT, bench->seed)) {
		shunt_bgp4_dests(lab.routes, route_cnt, lab.dests, DEST_CNT, bench->seed);
		ret = measure4(&lab);
	}
	shunt_fib4_destroy(lab.fib);
	free(lab.routes);
	free(lab.dests);
	return ret;
}

int bench_fib(struct bench *bench)
{
	int ret = bench4(bench, 1000);

	if (!ret && !bench->quick)
		ret = bench4(bench, 1000000);
	if (!ret)
		ret = bench_fib6(bench, 1000);
	if (!ret && !bench->quick)
		ret = bench_fib6(bench, 200000);
	return ret;
}
