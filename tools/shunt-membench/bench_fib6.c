// SPDX-License-Identifier: BSD-2-Clause
/* The IPv6 half of the experiment "fib". */
#include "bench.h"

#include <endian.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "fib/fib6.h"
#include "traffic/bgp.h"
#include "measure/rng.h"

#define BATCH	 256u
#define DEST_CNT (1u << 19) /* 8 MiB of addresses, read in order */
#define NH_CNT	 64u

struct lab6 {
	struct bench *bench;
	struct shunt_bgp6 *routes;
	uint8_t (*dests)[16];
	uint32_t route_cnt;
	struct shunt_fib6 *fib;
};

typedef uint64_t (*lookup6_fn)(const struct lab6 *lab, const uint8_t (*dst)[16]);

static uint64_t fib6_bulk(const struct lab6 *lab, const uint8_t (*dst)[16])
{
	uint32_t nh[BATCH];

	shunt_fib6_lookup_bulk(lab->fib, dst, nh, BATCH);
	return nh[0] + nh[BATCH - 1];
}

/* Singly: each lookup waits for the one before it (nh >> 31 is 0), so nothing overlaps. */
static uint64_t fib6_single(const struct lab6 *lab, const uint8_t (*dst)[16])
{
	uint32_t nh = 0, i;

	for (i = 0; i < BATCH; i++)
		nh = shunt_fib6_lookup(lab->fib, dst[i + (nh >> 31)]);
	return nh;
}

static double time_lookups(const struct lab6 *lab, lookup6_fn fn, bool repeated)
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

static void measure_lookups(const struct lab6 *lab, const char *mode, lookup6_fn fn, bool repeated)
{
	double runs[BENCH_RUN_CNT];
	unsigned r;

	time_lookups(lab, fn, repeated);
	for (r = 0; r < BENCH_RUN_CNT; r++)
		runs[r] = time_lookups(lab, fn, repeated);
	bench_add(lab->bench, "fib6.lookup",
		  json_pack("{s:i, s:s, s:s}", "routes", (int)lab->route_cnt, "mode", mode,
			    "pattern", repeated ? "repeated" : "random"),
		  "cycles/lookup", runs, BENCH_RUN_CNT);
}

static void addr_of(const struct shunt_bgp6 *r, uint8_t addr[16])
{
	uint64_t part[2] = {htobe64(r->hi), htobe64(r->lo)};

	memcpy(addr, part, sizeof(part));
}

static int load(struct lab6 *lab)
{
	struct shunt_err err;
	uint8_t addr[16];
	uint32_t i;
	int ret = shunt_fib6_create(&lab->fib, 0, &err);

	for (i = 0; i < lab->route_cnt && !ret; i++) {
		addr_of(&lab->routes[i], addr);
		ret = shunt_fib6_add(lab->fib, addr, lab->routes[i].len, lab->routes[i].nh, &err);
	}
	if (ret)
		fprintf(stderr, "shunt-membench: %s\n", err.msg);
	return ret;
}

static int measure_load(struct lab6 *lab)
{
	double runs[BENCH_RUN_CNT];
	uint64_t start;
	unsigned r;
	int ret;

	for (r = 0; r < BENCH_RUN_CNT; r++) {
		shunt_fib6_destroy(lab->fib);
		start = shunt_clock_ns();
		ret = load(lab);
		if (ret)
			return ret;
		runs[r] = (double)(shunt_clock_ns() - start) / 1e9;
	}
	bench_add(lab->bench, "fib6.load", json_pack("{s:i}", "routes", (int)lab->route_cnt), "s",
		  runs, BENCH_RUN_CNT);
	return 0;
}

static void measure_update(struct lab6 *lab)
{
	const uint32_t cnt = lab->bench->quick ? 1000 : 50000;
	uint64_t rng = lab->bench->seed, start;
	double runs[BENCH_RUN_CNT];
	const struct shunt_bgp6 *r;
	uint8_t addr[16];
	unsigned i, k;

	for (k = 0; k < BENCH_RUN_CNT; k++) {
		start = shunt_clock_ns();
		for (i = 0; i < cnt; i++) {
			r = &lab->routes[shunt_rng_below(&rng, lab->route_cnt)];
			addr_of(r, addr);
			shunt_fib6_del(lab->fib, addr, r->len, NULL);
			shunt_fib6_add(lab->fib, addr, r->len, r->nh, NULL);
		}
		runs[k] = 2e9 * cnt / (double)(shunt_clock_ns() - start);
	}
	bench_add(lab->bench, "fib6.update", json_pack("{s:i}", "routes", (int)lab->route_cnt),
		  "updates/s", runs, BENCH_RUN_CNT);
}

static void report_bytes(const struct lab6 *lab, const char *part, size_t bytes)
{
	double per = (double)bytes / lab->route_cnt;

	bench_add(lab->bench, "fib6.bytes_per_route",
		  json_pack("{s:i, s:s}", "routes", (int)lab->route_cnt, "part", part),
		  "bytes/route", &per, 1);
}

static int measure(struct lab6 *lab)
{
	struct shunt_fib_bytes bytes;
	int ret = measure_load(lab);

	if (ret)
		return ret;
	measure_update(lab);
	shunt_fib6_bytes(lab->fib, &bytes);
	report_bytes(lab, "lookup", bytes.lookup);
	report_bytes(lab, "lookup+idle", bytes.lookup + bytes.idle);
	report_bytes(lab, "all", bytes.committed);
	bench_print_pages();
	measure_lookups(lab, "bulk", fib6_bulk, false);
	measure_lookups(lab, "single", fib6_single, false);
	measure_lookups(lab, "bulk", fib6_bulk, true);
	measure_lookups(lab, "single", fib6_single, true);
	return 0;
}

int bench_fib6(struct bench *bench, uint32_t route_cnt)
{
	struct lab6 lab = {.bench = bench, .route_cnt = route_cnt};
	int ret = -1;

	lab.routes = calloc(route_cnt, sizeof(*lab.routes));
	lab.dests = calloc(DEST_CNT, sizeof(*lab.dests));
	if (lab.routes && lab.dests &&
	    !shunt_bgp6_generate(lab.routes, route_cnt, NH_CNT, bench->seed)) {
		shunt_bgp6_dests(lab.routes, route_cnt, lab.dests, DEST_CNT, bench->seed);
		ret = measure(&lab);
	}
	shunt_fib6_destroy(lab.fib);
	free(lab.routes);
	free(lab.dests);
	return ret;
}
