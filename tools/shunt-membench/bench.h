/* SPDX-License-Identifier: BSD-2-Clause */
/* What experiments share: each is one file with one function, listed in main.c. It measures,
 * and hands every figure to bench_add with the runs it comes from. */
#ifndef SHUNT_BENCH_H
#define SHUNT_BENCH_H

#include <jansson.h>
#include <stdint.h>

#define BENCH_RUN_CNT 7 /* odd: the median is one of them */

struct bench {
	json_t *results; /* array of {name, params, value, unit, min, max} */
	uint64_t seed;
	int quick; /* small and short, to see that it works */
};

struct bench_experiment {
	const char *name;
	const char *help;
	int (*run)(struct bench *bench); /* 0 or -errno, the cause said on stderr */
};

/* bench_add records the median, least and most of runs[cnt] and prints a line. It takes
 * over params, an object made with json_pack. */
void bench_add(struct bench *bench, const char *name, json_t *params, const char *unit,
	       const double *runs, unsigned cnt);

/* bench_print_pages says how much of the process is on huge pages. */
void bench_print_pages(void);

int bench_fib(struct bench *bench);
int bench_mem(struct bench *bench);
int bench_ip(struct bench *bench);
int bench_bridge(struct bench *bench);
int bench_mirror(struct bench *bench);
int bench_capture(struct bench *bench);

#endif
