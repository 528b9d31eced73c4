// SPDX-License-Identifier: BSD-2-Clause
/* The graph as such: which nodes run, in which order, and that every packet ends exactly
 * once. Its nodes here do as each packet's `user` says. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fake_port.h"
#include "graph/nodes.h"
#include "measure/rng.h"

#define PORTS  3
#define FRAMES 512

static struct shunt_pool pool;
static struct fake_port fakes[PORTS];
static struct shunt_queue *queues[SHUNT_PORT_MAX];
static struct shunt_graph graph;
static struct shunt_err err;
static const char *const port_names[PORTS] = {"a", "b", "c"};
static const uint32_t max_lens[PORTS] = {1518, 1518, 1518};

/* What a test node does with a packet; the seed makes it one function per graph. */
struct wiring {
	uint64_t seed;
	unsigned fan_out;	     /* different next nodes of one node, at most */
	bool whole;		     /* says a common next node as such */
	uint16_t to[SHUNT_NODE_MAX]; /* fixed next node, 0: random */
};

static struct wiring wiring;
static unsigned ran[SHUNT_NODE_MAX], ran_cnt;

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t state = a ^ b << 40 ^ c << 20;

	return shunt_rng_next(&state);
}

/* Where node `at` sends packet `user`: a node with a higher index. */
static unsigned next_of(unsigned at, uint32_t user)
{
	unsigned span = graph.node_cnt - 1 - at;
	uint64_t way = mix(wiring.seed, at, user) % wiring.fan_out;

	if (wiring.to[at])
		return wiring.to[at];
	return at + 1 + (unsigned)(mix(wiring.seed, at, 1000 + way) % span);
}

static unsigned reason_of(uint32_t user)
{
	return 1 + user % (SHUNT_DROP_CNT - 1);
}

static unsigned spread(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
		       uint16_t *next)
{
	bool same = true;
	unsigned i;

	ran[ran_cnt++] = node->index;
	for (i = 0; i < cnt; i++) {
		next[i] = (uint16_t)next_of(node->index, pkts[i].user);
		pkts[i].reason = (uint8_t)reason_of(pkts[i].user);
		same &= next[i] == next[0];
	}
	return same && wiring.whole ? next[0] : SHUNT_NEXT_EACH;
}

static const struct shunt_node_type spread_type = {.name = "spread", .fn = spread};

static void build(unsigned nodes)
{
	char name[16];
	unsigned i;

	cr_assert_eq(shunt_pool_init(&pool, FRAMES, 2048, &err), 0);
	fake_ports_init(fakes, queues, PORTS, &pool);
	shunt_graph_init(&graph, &pool, queues, PORTS);
	for (i = 0; i < nodes; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		cr_assert_eq(shunt_graph_add(&graph, &spread_type, name, NULL, &err), (int)i);
	}
	cr_assert_eq(shunt_graph_seal(&graph, port_names, max_lens, &err), 0, "%s", err.msg);
	wiring = (struct wiring){.seed = 1, .fan_out = 1};
	ran_cnt = 0;
}

static void fini(void)
{
	shunt_graph_fini(&graph);
	shunt_pool_fini(&pool);
}

/* Runs packets user 0..cnt-1 from node 0. */
static void run(unsigned cnt)
{
	struct shunt_pkt pkts[SHUNT_BATCH_MAX];
	uint64_t addr = 0;
	unsigned i;

	memset(pkts, 0, sizeof(pkts));
	for (i = 0; i < cnt; i++) {
		cr_assert_eq(shunt_pool_alloc(&pool, &addr, 1), 1);
		pkts[i].addr = addr;
		pkts[i].len = 64;
		pkts[i].user = i;
	}
	ran_cnt = 0;
	shunt_graph_run(&graph, 0, pkts, cnt);
}

static unsigned whole_pool(void)
{
	uint8_t seen[FRAMES] = {0};
	unsigned once = 0, i;

	cr_assert_eq(shunt_pool_audit(&pool, seen), 0);
	for (i = 0; i < FRAMES; i++)
		once += seen[i] == 1;
	return once;
}

Test(graph, a_straight_line_moves_nothing, .fini = fini)
{
	unsigned i;

	build(3);
	wiring.whole = true;
	wiring.to[0] = 1;
	wiring.to[1] = 2;
	wiring.to[2] = graph.tx_node[1];
	run(256);
	cr_assert_eq(ran_cnt, 3);
	cr_assert_eq(fakes[1].sent_cnt, 256);
	for (i = 0; i < 256; i++)
		cr_assert_eq(fakes[1].sent[i].user, i, "in order");
	for (i = 0; i < 3; i++)
		cr_assert(graph.nodes[i].stats.packets == 256 && graph.nodes[i].stats.batches == 1);
	cr_assert_eq(whole_pool(), FRAMES);
}

/* Even packets take 0-1-3, odd ones 0-2-3: node 3 gets both in one batch. */
static unsigned split(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	unsigned i;

	(void)node;
	for (i = 0; i < cnt; i++)
		next[i] = (uint16_t)(1 + pkts[i].user % 2);
	return SHUNT_NEXT_EACH;
}

Test(graph, split_and_merge, .fini = fini)
{
	unsigned i;

	build(4);
	graph.nodes[0].fn = split;
	wiring.whole = true;
	wiring.to[1] = wiring.to[2] = 3;
	wiring.to[3] = graph.tx_node[2];
	run(255);
	cr_assert(ran_cnt == 3 && ran[0] == 1 && ran[1] == 2 && ran[2] == 3, "lowest first");
	cr_assert_eq(graph.nodes[1].stats.packets, 128);
	cr_assert_eq(graph.nodes[2].stats.packets, 127);
	cr_assert(graph.nodes[3].stats.packets == 255 && graph.nodes[3].stats.batches == 1);
	cr_assert_eq(fakes[2].sent_cnt, 255);
	for (i = 0; i < 255; i++)
		cr_assert_eq(fakes[2].sent[i].user, i < 128 ? 2 * i : 2 * (i - 128) + 1,
			     "each branch keeps its order");
	cr_assert_eq(whole_pool(), FRAMES);
}

static unsigned keep_odd(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt,
			 uint16_t *next)
{
	unsigned i;

	for (i = 0; i < cnt; i++) {
		next[i] = pkts[i].user % 2 ? SHUNT_NEXT_NONE : node->graph->tx_node[0];
		if (pkts[i].user % 2)
			shunt_pool_free_pkts(node->graph->pool, &pkts[i], 1);
	}
	return SHUNT_NEXT_EACH;
}

Test(graph, a_node_may_keep_packets, .fini = fini)
{
	build(1);
	graph.nodes[0].fn = keep_odd;
	run(100);
	cr_assert_eq(fakes[0].sent_cnt, 50);
	run(1);
	cr_assert_eq(fakes[0].sent_cnt, 51);
	cr_assert_eq(whole_pool(), FRAMES);
}

static uint64_t lost(struct shunt_loss loss)
{
	unsigned i;

	for (i = 0; i < SHUNT_LOSS_LINES; i++)
		if (graph.losses.lines[i].key == shunt_loss_key(&loss))
			return graph.losses.lines[i].count;
	return 0;
}

Test(graph, a_full_ring_drops_the_tail_and_says_so, .fini = fini)
{
	build(1);
	wiring.to[0] = graph.tx_node[0];
	fakes[0].room = 10;
	run(64);
	cr_assert_eq(fakes[0].sent_cnt, 10);
	cr_assert_eq(fakes[0].sent[9].user, 9, "the first ten");
	cr_assert_eq(graph.drops[SHUNT_DROP_tx_ring_full], 54);
	fakes[0].room = 0;
	run(64);
	cr_assert_eq(graph.drops[SHUNT_DROP_tx_ring_full], 118);
	cr_assert_eq(lost((struct shunt_loss){.reason = SHUNT_DROP_tx_ring_full}), 118,
		     "at the port that they were to leave by");
	cr_assert_eq(whole_pool(), FRAMES);
}

Test(graph, one_packet_takes_every_way_alone, .fini = fini)
{
	unsigned i;

	build(2);
	for (i = 0; i < PORTS; i++) {
		wiring.to[0] = 1;
		wiring.to[1] = graph.tx_node[i];
		run(1);
		cr_assert_eq(fakes[i].sent_cnt, 1);
	}
	wiring.to[1] = graph.drop_node;
	run(1);
	cr_assert_eq(graph.drops[reason_of(0)], 1);
	cr_assert_eq(whole_pool(), FRAMES);
}

/* What became of one packet when it went alone through the same wiring. */
struct naive_end {
	uint64_t way; /* a digest of the nodes it went through */
	unsigned node;
};

static struct naive_end naive_walk(uint32_t user, unsigned *visits)
{
	struct naive_end end = {0, 0};

	while (graph.nodes[end.node].type == &spread_type) {
		visits[end.node]++;
		end.way = mix(end.way, end.node, 0);
		end.node = next_of(end.node, user);
	}
	visits[end.node]++;
	return end;
}

static void check_port(unsigned port, const struct naive_end *ends, uint64_t seed)
{
	const struct fake_port *fake = &fakes[port];
	unsigned i, j;

	for (i = 0; i < fake->sent_cnt; i++) {
		const struct naive_end *end = &ends[fake->sent[i].user];

		cr_assert_eq(end->node, graph.tx_node[port], "seed %llu: packet %u on port %u",
			     (unsigned long long)seed, fake->sent[i].user, port);
		for (j = 0; j < i; j++)
			cr_assert(fake->sent[j].user != fake->sent[i].user &&
					  (ends[fake->sent[j].user].way != end->way ||
					   fake->sent[j].user < fake->sent[i].user),
				  "seed %llu: packets that go the same way keep their order",
				  (unsigned long long)seed);
	}
}

static void check_random(uint64_t seed, unsigned cnt)
{
	unsigned visits[SHUNT_NODE_MAX] = {0}, i;
	uint64_t naive_drops[SHUNT_DROP_CNT] = {0};
	struct naive_end ends[SHUNT_BATCH_MAX];
	unsigned sent = 0;

	for (i = 0; i < cnt; i++) {
		ends[i] = naive_walk(i, visits);
		if (ends[i].node == graph.drop_node)
			naive_drops[reason_of(i)]++;
	}
	run(cnt);
	for (i = 0; i < PORTS; i++) {
		check_port(i, ends, seed);
		sent += fakes[i].sent_cnt;
	}
	for (i = 0; i < SHUNT_DROP_CNT; i++) {
		cr_assert_eq(graph.drops[i], naive_drops[i], "seed %llu reason %u",
			     (unsigned long long)seed, i);
		sent += (unsigned)naive_drops[i];
	}
	cr_assert_eq(sent, cnt, "seed %llu: every packet ends", (unsigned long long)seed);
	for (i = 0; i < graph.node_cnt; i++) {
		cr_assert_eq(graph.nodes[i].stats.packets, visits[i], "seed %llu node %u",
			     (unsigned long long)seed, i);
		cr_assert_eq(graph.nodes[i].stats.batches, !!visits[i],
			     "seed %llu: node %u runs once", (unsigned long long)seed, i);
	}
	cr_assert_eq(whole_pool(), FRAMES, "seed %llu", (unsigned long long)seed);
}

Test(graph, random_wirings_as_the_oracle, .fini = fini)
{
	uint64_t seed, rng;

	for (seed = 1; seed <= 300; seed++) {
		rng = seed;
		/* 124 nodes and the four ends fill a graph: both words of the mask */
		build(1 + (unsigned)shunt_rng_below(&rng, 124));
		wiring.seed = shunt_rng_next(&rng);
		wiring.fan_out = 1 + (unsigned)shunt_rng_below(&rng, 6);
		wiring.whole = shunt_rng_next(&rng) & 1;
		check_random(seed, 1 + (unsigned)shunt_rng_below(&rng, SHUNT_BATCH_MAX));
		fini();
	}
}

Test(graph, sampling_measures_the_nodes_that_ran, .fini = fini)
{
	build(3);
	wiring.to[0] = 2;
	wiring.to[2] = graph.tx_node[0];
	graph.sampling = true;
	run(7);
	graph.sampling = false;
	run(5);
	cr_assert_eq(graph.nodes[0].stats.sampled_packets, 7);
	cr_assert_gt(graph.nodes[0].stats.sampled_cycles, 0);
	cr_assert_eq(graph.nodes[1].stats.sampled_packets, 0);
	cr_assert_eq(graph.nodes[2].stats.packets, 12);
}

Test(graph, find_names_and_ends, .fini = fini)
{
	build(2);
	cr_assert_eq(shunt_graph_find(&graph, "n1"), 1);
	cr_assert_eq(shunt_graph_find(&graph, "tx:b"), graph.tx_node[1]);
	cr_assert_eq(shunt_graph_find(&graph, "drop"), graph.drop_node);
	cr_assert_eq(shunt_graph_find(&graph, "nosuch"), -ENOENT);
	cr_assert_eq(shunt_graph_tx_or_drop(&graph, 2), graph.tx_node[2]);
	cr_assert_eq(shunt_graph_tx_or_drop(&graph, PORTS), graph.drop_node);
	cr_assert_eq(shunt_graph_tx_or_drop(&graph, SHUNT_NEXT_NONE), graph.drop_node);
}

Test(graph, no_room_is_said, .fini = fini)
{
	unsigned i;

	cr_assert_eq(shunt_pool_init(&pool, FRAMES, 2048, &err), 0);
	shunt_graph_init(&graph, &pool, queues, 0);
	for (i = 0; i < SHUNT_NODE_MAX; i++)
		cr_assert_eq(shunt_graph_add(&graph, &spread_type, NULL, NULL, &err), (int)i);
	cr_assert_eq(shunt_graph_add(&graph, &spread_type, "extra", NULL, &err), -ENOSPC);
	cr_assert(strstr(err.msg, "extra") && strstr(err.msg, "128"), "%s", err.msg);
	cr_assert_eq(shunt_graph_seal(&graph, port_names, max_lens, &err), -ENOSPC);
}

static int init_fails(struct shunt_node *node, const void *params, struct shunt_err *e)
{
	(void)params;
	return shunt_err_set(e, ENOMEM, "node %s cannot", node->name);
}

Test(graph, a_node_that_cannot_start_fails_the_seal, .fini = fini)
{
	const struct shunt_node_type type = {.name = "bad", .fn = spread, .init = init_fails};

	cr_assert_eq(shunt_pool_init(&pool, FRAMES, 2048, &err), 0);
	shunt_graph_init(&graph, &pool, queues, 0);
	shunt_graph_add(&graph, &spread_type, NULL, NULL, &err);
	shunt_graph_add(&graph, &type, NULL, NULL, &err);
	cr_assert_eq(shunt_graph_seal(&graph, port_names, max_lens, &err), -ENOMEM);
	cr_assert_str_eq(err.msg, "node bad cannot");
	shunt_graph_fini(&graph); /* what was begun is freed, once */
}

Test(graph, every_reason_has_a_name_and_help)
{
	unsigned i;

	for (i = 0; i < SHUNT_DROP_CNT; i++)
		cr_assert(*shunt_drop_name(i) && *shunt_drop_help(i) &&
			  (!i || *shunt_drop_where(i)));
	cr_assert_str_eq(shunt_drop_name(SHUNT_DROP_CNT), "?");
	cr_assert_str_eq(shunt_drop_where(SHUNT_DROP_CNT), "?");
	cr_assert_str_eq(shunt_drop_help(SHUNT_DROP_CNT), "?");
}
