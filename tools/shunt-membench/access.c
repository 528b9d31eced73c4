// SPDX-License-Identifier: BSD-2-Clause
/* `shunt-membench access`: how long one step through a random list takes, by its size: the access
 * time of the cache level, or of the memory, that holds it. The list is the emulate node's own. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "graph/nodes.h"
#include "bench.h"
#include "point.h"

#define RUNS_MAX 101

static void usage(FILE *out)
{
	fputs("usage: shunt-membench access [--list BYTES] [--runs N] [--ms N]\n\n"
	      "Cycles that a step through a random cyclic list takes: N runs of so many\n"
	      "milliseconds each, after one round trip, as a JSON object.\n",
	      out);
}

static double steps(struct shunt_node *node, struct shunt_pkt *pkt, uint64_t cycles)
{
	uint64_t start = shunt_clock_cycles(), now = start, cnt = 0;

	while (now - start < cycles) {
		node->fn(node, pkt, SHUNT_BATCH_MAX, NULL);
		cnt += SHUNT_BATCH_MAX;
		now = shunt_clock_cycles();
	}
	return (double)(now - start) / (double)cnt;
}

/* Once around, or long enough: pages are mapped, the caches hold what they can. */
static void warm_up(struct shunt_node *node, struct shunt_pkt *pkt, const char *list)
{
	uint64_t bytes = strtoull(list, NULL, 10), left;
	char unit = list[strlen(list) - 1];

	bytes <<= unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
	for (left = bytes / SHUNT_CACHELINE; left > SHUNT_BATCH_MAX; left -= SHUNT_BATCH_MAX)
		node->fn(node, pkt, SHUNT_BATCH_MAX, NULL);
}

static int measure(const char *list, unsigned runs, unsigned ms)
{
	struct shunt_graph *graph = calloc(1, sizeof(*graph));
	struct shunt_pkt pkt = {0};
	struct shunt_pool pool = {0};
	struct shunt_err err;
	json_t *cycles = json_array();
	char text[SHUNT_NODE_TEXT_MAX];
	unsigned i;
	int ret = 1;

	snprintf(text, sizeof(text), "list=%s", list);
	if (!graph)
		return 1;
	shunt_graph_init(graph, &pool, NULL, 0);
	if (shunt_node_emulate.check(text, &err) ||
	    shunt_graph_add(graph, &shunt_node_emulate, NULL, text, &err) < 0 ||
	    shunt_graph_seal(graph, NULL, NULL, &err)) {
		fprintf(stderr, "shunt-membench: %s\n", err.msg);
	} else {
		warm_up(&graph->nodes[0], &pkt, list);
		for (i = 0; i < runs; i++)
			json_array_append_new(cycles,
					      json_real(steps(&graph->nodes[0], &pkt,
							      shunt_clock_hz() / 1000 * ms)));
		json_dumpf(json_pack("{s:I, s:O}", "cycles_hz", (json_int_t)shunt_clock_hz(),
				     "cycles", cycles),
			   stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
		putchar('\n');
		ret = 0;
	}
	json_decref(cycles);
	shunt_graph_fini(graph);
	free(graph);
	return ret;
}

int bench_access(int argc, char **argv)
{
	static const struct option options[] = {{"list", 1, NULL, 'l'},
						{"runs", 1, NULL, 'r'},
						{"ms", 1, NULL, 'm'},
						{"help", 0, NULL, 'h'},
						{0}};
	const char *list = "32K";
	int c, runs = 7, ms = 5;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'l')
			list = optarg;
		else if (c == 'r')
			runs = atoi(optarg);
		else if (c == 'm')
			ms = atoi(optarg);
		else
			return usage(c == 'h' ? stdout : stderr), c == 'h' ? 0 : 2;
	}
	if (optind < argc || runs < 1 || runs > RUNS_MAX || ms < 1 || ms > 10000)
		return usage(stderr), 2;
	return measure(list, (unsigned)runs, (unsigned)ms);
}
