// SPDX-License-Identifier: BSD-2-Clause
/* The forwarding tables alone: how long a lookup takes over a full Internet table, what the table
 * weighs, how fast it is loaded and changed. */
#include "bench.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "fib/fib4.h"
#include "fib/fib6.h"
#include "traffic/bgp.h"
#include "measure/rng.h"

#define BATCH  256u
#define NH_CNT 64u

/* A table of one family; what is the other's is NULL. */
struct lab {
	struct bench *bench;
	bool is6;
	uint32_t route_cnt, dest_cnt, update_cnt;
	struct shunt_bgp4 *routes4;
	struct shunt_bgp6 *routes6;
	uint32_t *dests4; /* for "random": 4 MiB of addresses, of IPv6 8, read in order */
	uint8_t (*dests6)[16];
	struct shunt_fib4 *fib4;
	struct shunt_fib6 *fib6;
};

typedef uint64_t (*lookup_fn)(const struct lab *lab, uint32_t at);

static int generate4(struct lab *lab)
{
	int ret = -ENOMEM;

	lab->routes4 = calloc(lab->route_cnt, sizeof(*lab->routes4));
	lab->dests4 = calloc(lab->dest_cnt, sizeof(*lab->dests4));
	if (lab->routes4 && lab->dests4)
		ret = shunt_bgp4_generate(lab->routes4, lab->route_cnt, NH_CNT, lab->bench->seed);
	if (!ret)
		shunt_bgp4_dests(lab->routes4, lab->route_cnt, lab->dests4, lab->dest_cnt,
				 lab->bench->seed);
	return ret;
}

static int generate6(struct lab *lab)
{
	int ret = -ENOMEM;

	lab->routes6 = calloc(lab->route_cnt, sizeof(*lab->routes6));
	lab->dests6 = calloc(lab->dest_cnt, sizeof(*lab->dests6));
	if (lab->routes6 && lab->dests6)
		ret = shunt_bgp6_generate(lab->routes6, lab->route_cnt, NH_CNT, lab->bench->seed);
	if (!ret)
		shunt_bgp6_dests(lab->routes6, lab->route_cnt, lab->dests6, lab->dest_cnt,
				 lab->bench->seed);
	return ret;
}

/* Puts route i into the table, or takes it out. */
static int change(struct lab *lab, uint32_t i, bool in, struct shunt_err *err)
{
	const struct shunt_bgp6 *r;
	uint64_t addr[2];
	uint32_t addr4;

	if (!lab->is6) {
		addr4 = htonl(lab->routes4[i].addr);
		return in ? shunt_fib4_add(lab->fib4, addr4, lab->routes4[i].len,
					   lab->routes4[i].nh, err)
			  : shunt_fib4_del(lab->fib4, addr4, lab->routes4[i].len, err);
	}
	r = &lab->routes6[i];
	addr[0] = htobe64(r->hi);
	addr[1] = htobe64(r->lo);
	return in ? shunt_fib6_add(lab->fib6, (const uint8_t *)addr, r->len, r->nh, err)
		  : shunt_fib6_del(lab->fib6, (const uint8_t *)addr, r->len, err);
}

static uint64_t bulk(const struct lab *lab, uint32_t at)
{
	uint32_t nh[BATCH];

	if (lab->is6)
		shunt_fib6_lookup_bulk(lab->fib6, &lab->dests6[at], nh, BATCH);
	else
		shunt_fib4_lookup_bulk(lab->fib4, &lab->dests4[at], nh, BATCH);
	return nh[0] + nh[BATCH - 1];
}

/* Singly: each lookup waits for the one before it (nh >> 31 is 0), so nothing overlaps. */
static uint64_t single(const struct lab *lab, uint32_t at)
{
	uint32_t nh = 0, i;

	if (lab->is6)
		for (i = at; i < at + BATCH; i++)
			nh = shunt_fib6_lookup(lab->fib6, lab->dests6[i + (nh >> 31)]);
	else
		for (i = at; i < at + BATCH; i++)
			nh = shunt_fib4_lookup(lab->fib4, lab->dests4[i] ^ (nh >> 31));
	return nh;
}

static const struct {
	const char *mode;
	lookup_fn fn;
} lookups[] = {{"bulk", bulk}, {"single", single}};

/* Records runs[cnt] as fibN.what. Takes over params. */
static void add(const struct lab *lab, const char *what, json_t *params, const char *unit,
		const double *runs, unsigned cnt)
{
	char name[32];

	snprintf(name, sizeof(name), "fib%d.%s", lab->is6 ? 6 : 4, what);
	json_object_set_new(params, "routes", json_integer(lab->route_cnt));
	bench_add(lab->bench, name, params, unit, runs, cnt);
}

static double time_lookups(const struct lab *lab, lookup_fn fn, bool repeated)
{
	uint64_t start, sum = 0;
	uint32_t i;

	start = shunt_clock_cycles();
	for (i = 0; i < lab->dest_cnt; i += BATCH)
		sum += fn(lab, repeated ? 0 : i);
	start = shunt_clock_cycles() - start;
	__asm__ volatile("" ::"r"(sum));
	return (double)start / lab->dest_cnt;
}

/* The variants take turns within a run, so that noise on the machine meets both. */
static void measure_lookups(const struct lab *lab, bool repeated)
{
	double runs[SHUNT_ARRAY_LEN(lookups)][BENCH_RUN_CNT];
	unsigned r, i;

	for (r = 0; r < BENCH_RUN_CNT; r++)
		for (i = 0; i < SHUNT_ARRAY_LEN(lookups); i++) {
			time_lookups(lab, lookups[i].fn, repeated); /* the other's lines go */
			runs[i][r] = time_lookups(lab, lookups[i].fn, repeated);
		}
	for (i = 0; i < SHUNT_ARRAY_LEN(lookups); i++)
		add(lab, "lookup",
		    json_pack("{s:s, s:s}", "mode", lookups[i].mode, "pattern",
			      repeated ? "repeated" : "random"),
		    "cycles/lookup", runs[i], BENCH_RUN_CNT);
}

static void destroy(struct lab *lab)
{
	shunt_fib4_destroy(lab->fib4);
	shunt_fib6_destroy(lab->fib6);
	lab->fib4 = NULL;
	lab->fib6 = NULL;
}

static int load(struct lab *lab)
{
	struct shunt_err err;
	uint32_t i;
	int ret = lab->is6 ? shunt_fib6_create(&lab->fib6, 0, &err)
			   : shunt_fib4_create(&lab->fib4, 0, &err);

	for (i = 0; i < lab->route_cnt && !ret; i++)
		ret = change(lab, i, true, &err);
	if (ret)
		fprintf(stderr, "shunt-membench: %s\n", err.msg);
	return ret;
}

static int measure_load(struct lab *lab)
{
	double runs[BENCH_RUN_CNT];
	uint64_t start;
	unsigned r;
	int ret;

	for (r = 0; r < BENCH_RUN_CNT; r++) {
		destroy(lab);
		start = shunt_clock_ns();
		ret = load(lab);
		if (ret)
			return ret;
		runs[r] = (double)(shunt_clock_ns() - start) / 1e9;
	}
	add(lab, "load", json_object(), "s", runs, BENCH_RUN_CNT);
	return 0;
}

/* A withdrawal and an announcement of a random route, as a BGP session's churn. */
static void measure_update(struct lab *lab)
{
	uint64_t rng = lab->bench->seed, start;
	double runs[BENCH_RUN_CNT];
	unsigned i, k, route;

	for (k = 0; k < BENCH_RUN_CNT; k++) {
		start = shunt_clock_ns();
		for (i = 0; i < lab->update_cnt; i++) {
			route = shunt_rng_below(&rng, lab->route_cnt);
			change(lab, route, false, NULL);
			change(lab, route, true, NULL);
		}
		runs[k] = 2e9 * lab->update_cnt / (double)(shunt_clock_ns() - start);
	}
	add(lab, "update", json_object(), "updates/s", runs, BENCH_RUN_CNT);
}

static void report_bytes(const struct lab *lab, const char *part, size_t bytes)
{
	double per = (double)bytes / lab->route_cnt;

	add(lab, "bytes_per_route", json_pack("{s:s}", "part", part), "bytes/route", &per, 1);
}

static int measure(struct lab *lab)
{
	struct shunt_fib_bytes bytes;
	int ret = measure_load(lab);

	if (ret)
		return ret;
	measure_update(lab);
	if (lab->is6)
		shunt_fib6_bytes(lab->fib6, &bytes);
	else
		shunt_fib4_bytes(lab->fib4, &bytes);
	report_bytes(lab, "lookup", bytes.lookup);
	report_bytes(lab, "lookup+idle", bytes.lookup + bytes.idle);
	report_bytes(lab, "all", bytes.committed);
	bench_print_pages();
	measure_lookups(lab, false);
	measure_lookups(lab, true);
	return 0;
}

static int bench_table(struct bench *bench, bool is6, uint32_t route_cnt)
{
	struct lab lab = {.bench = bench,
			  .is6 = is6,
			  .route_cnt = route_cnt,
			  .dest_cnt = is6 ? 1u << 19 : 1u << 20,
			  .update_cnt = bench->quick ? 1000
					: is6	     ? 50000
						     : 100000};
	int ret = is6 ? generate6(&lab) : generate4(&lab);

	if (!ret)
		ret = measure(&lab);
	destroy(&lab);
	free(lab.routes4);
	free(lab.routes6);
	free(lab.dests4);
	free(lab.dests6);
	return ret;
}

int bench_fib(struct bench *bench)
{
	int ret = bench_table(bench, false, 1000);

	if (!ret && !bench->quick)
		ret = bench_table(bench, false, 1000000);
	if (!ret)
		ret = bench_table(bench, true, 1000);
	if (!ret && !bench->quick)
		ret = bench_table(bench, true, 200000);
	return ret;
}
