// SPDX-License-Identifier: BSD-2-Clause
/* shunt-membench: experiments on parts of shunt, in memory, no network needed. */
#include "bench.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "point.h"

static const struct bench_experiment experiments[] = {
	{"mem", "the whole forwarder on in-memory ports, batch 1 to 256", bench_mem},
	{"ip", "the router on in-memory ports, random destinations", bench_ip},
	{"bridge", "the learning bridge on in-memory ports, and its table", bench_bridge},
	{"fib", "route lookup, updates and memory, IPv4 and IPv6", bench_fib},
	{"mirror", "from the kernel's routes to forwarding, by netlink (root)", bench_mirror},
	{"capture", "what a capture costs a worker, by its filter", bench_capture},
};

static void usage(FILE *out)
{
	unsigned i;

	fprintf(out, "Usage: shunt-membench [--json FILE] [--seed N] [--quick] EXPERIMENT...|all\n"
		     "       shunt-membench point|access [--help]   one measurement, as JSON\n\n");
	for (i = 0; i < SHUNT_ARRAY_LEN(experiments); i++)
		fprintf(out, "  %-8s %s\n", experiments[i].name, experiments[i].help);
	fprintf(out, "\nCycles are TSC ticks; each figure is the median of %d runs.\n",
		BENCH_RUN_CNT);
}

static int run(struct bench *bench, const char *name)
{
	unsigned i, found = 0;

	for (i = 0; i < SHUNT_ARRAY_LEN(experiments); i++) {
		if (strcmp(name, "all") && strcmp(name, experiments[i].name))
			continue;
		found++;
		if (experiments[i].run(bench))
			return 1;
	}
	if (!found)
		fprintf(stderr, "shunt-membench: no experiment is called %s; see --help\n", name);
	return found ? 0 : 2;
}

static int save(const struct bench *bench, const char *path)
{
	if (!path || !json_dump_file(bench->results, path, JSON_INDENT(1) | JSON_REAL_PRECISION(6)))
		return 0;
	fprintf(stderr, "shunt-membench: cannot write %s\n", path);
	return 1;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", required_argument, NULL, 'j'}, {"seed", required_argument, NULL, 's'},
		{"quick", no_argument, NULL, 'q'},	{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},	{0},
	};
	struct bench bench = {.results = json_array(), .seed = 1};
	const char *path = NULL;
	int c, ret = 0;

	if (argc > 1 && !strcmp(argv[1], "point"))
		return bench_point(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "access"))
		return bench_access(argc - 1, argv + 1);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'j')
			path = optarg;
		else if (c == 's')
			bench.seed = strtoull(optarg, NULL, 0);
		else if (c == 'q')
			bench.quick = 1;
		else if (c == 'V')
			return puts("shunt-membench " SHUNT_VERSION) < 0;
		else
			return usage(c == 'h' ? stdout : stderr), c == 'h' ? 0 : 2;
	}
	if (optind == argc)
		return usage(stderr), 2;
	for (; optind < argc && !ret; optind++)
		ret = run(&bench, argv[optind]);
	if (!ret)
		ret = save(&bench, path);
	json_decref(bench.results);
	return ret;
}
