// SPDX-License-Identifier: BSD-2-Clause
/* The task emulator: what it takes as parameters, that its list is one cycle through all lines,
 * that it never spends less than was asked for. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "config/config.h"
#include "graph/nodes.h"

static struct shunt_graph graph;
static struct shunt_pool pool;
static struct shunt_err err;
static struct shunt_pkt pkts[SHUNT_BATCH_MAX];

static struct shunt_node *build(const char *text)
{
	shunt_graph_init(&graph, &pool, NULL, 0);
	cr_assert_geq(shunt_graph_add(&graph, &shunt_node_emulate, NULL, text, &err), 0);
	cr_assert_eq(shunt_graph_seal(&graph, NULL, NULL, &err), 0, "%s", err.msg);
	return &graph.nodes[0];
}

Test(emulate, takes_a_place_in_front)
{
	static const struct {
		const char *text, *said; /* NULL: taken */
	} cases[] = {
		{"emulate,cycles=100", NULL},
		{"emulate,list=1K,cycles=0", NULL},
		{"emulate,list=1G", NULL},
		{"emulate", "what is it to do"},
		{"emulate,", "what is it to do"},
		{"emulate,cycles=", "'cycles='"},
		{"emulate,cycles=-1", "'cycles=-1'"},
		{"emulate,cycles=2G", "0 to 1000000000 cycles"},
		{"emulate,list=100", "128 to 1073741824 bytes"},
		{"emulate,list=2G", "128 to 1073741824 bytes"},
		{"emulate,list=99999999999999999999G", "128 to 1073741824 bytes"},
		{"emulate,list=1Kx", "'list=1Kx'"},
		{"emulate,sleep=3", "'sleep=3', expected cycles=NUMBER or list=BYTES"},
		{"emulat", "'emulat' is no front node"},
		{"discard,5", "takes no parameters"},
		{"emulate,cycles=1,cycles=1,cycles=1,cycles=1,cycles=1,cycles=1,cycles=1",
		 "expected at most 63"},
	};
	struct shunt_config config;
	unsigned i;
	int ret;

	for (i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		shunt_config_init(&config);
		ret = shunt_config_add_front(&config, cases[i].text, &err);
		cr_expect_eq(ret, cases[i].said ? -EINVAL : 0, "%s: %d", cases[i].text, ret);
		cr_expect(!cases[i].said || strstr(err.msg, cases[i].said), "%s: %s", cases[i].text,
			  err.msg);
		cr_expect_eq(config.front_cnt, !cases[i].said, "%s", cases[i].text);
		shunt_config_fini(&config);
	}
}

/* The node's place in the list is the first word of what it keeps; so is a line's next. */
Test(emulate, list_is_one_cycle)
{
	struct shunt_node *node = build("list=64K");
	void **const at = node->priv;
	void *const start = *at;
	unsigned step, lines = 64 * 1024 / SHUNT_CACHELINE;

	for (step = 1; step <= lines; step++) {
		node->fn(node, pkts, 1, NULL);
		cr_assert_eq((uintptr_t)*at % SHUNT_CACHELINE, 0);
		cr_assert_eq(*at == start, step == lines, "step %u of %u", step, lines);
	}
	node->fn(node, pkts, SHUNT_BATCH_MAX, NULL); /* as many at once, four times around */
	for (step = SHUNT_BATCH_MAX; step < 4 * lines; step += SHUNT_BATCH_MAX)
		node->fn(node, pkts, SHUNT_BATCH_MAX, NULL);
	cr_assert_eq(*at, start);
	shunt_graph_fini(&graph);
}

/* Also where a packet's share is less than the clock takes to read. */
Test(emulate, never_spends_less)
{
	static const struct {
		const char *text;
		uint64_t cycles;
		unsigned batch;
	} cases[] = {{"cycles=5", 5, 1},
		     {"cycles=100", 100, 1},
		     {"cycles=100", 100, 64},
		     {"cycles=3000", 3000, 256}};
	unsigned i, k;

	for (i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		struct shunt_node *node = build(cases[i].text);
		uint64_t start = shunt_clock_cycles(), spent, due;

		for (k = 0; k < 200; k++)
			node->fn(node, pkts, cases[i].batch, NULL);
		spent = shunt_clock_cycles() - start;
		due = 200 * cases[i].batch * cases[i].cycles;
		cr_expect_geq(spent, due, "%s, batch %u", cases[i].text, cases[i].batch);
		shunt_graph_fini(&graph);
	}
}
