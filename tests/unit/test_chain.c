// SPDX-License-Identifier: BSD-2-Clause
/* Packets over several frames: made, copied, cloned, sent and dropped, and every frame back. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "graph/nodes.h"
#include "io/chain.h"
#include "io/mem.h"
#include "measure/rng.h"

#define FRAMES 128
#define ROOM   (2048 - 256) /* bytes that a frame holds behind the headroom */
#define LONG   9014
#define SEED   0x63686169ULL

static struct shunt_pool pool;
static struct shunt_err err;
static uint8_t bytes[65553], got[65553];

static void init(void)
{
	uint64_t state = SEED;
	unsigned i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)shunt_rng_next(&state);
	cr_assert_eq(shunt_pool_init(&pool, FRAMES, 2048, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_pool_link(&pool, &err), 0, "%s", err.msg);
}

static void fini(void)
{
	shunt_pool_fini(&pool);
}

/* All frames of the pool are free, each once. */
static void expect_whole(void)
{
	uint8_t seen[FRAMES] = {0};
	unsigned i;

	cr_assert_eq(pool.free_cnt, FRAMES);
	cr_assert_eq(shunt_pool_audit(&pool, seen), 0);
	for (i = 0; i < FRAMES; i++)
		cr_assert_eq(seen[i], 1, "frame %u", i);
}

Test(chain, every_length_around_the_edges, .init = init, .fini = fini)
{
	static const uint32_t lens[] = {1,	  60,	    ROOM - 1,	  ROOM,
					ROOM + 1, 2 * ROOM, 2 * ROOM + 1, SHUNT_CHAIN_MAX * ROOM};
	struct shunt_pkt pkt = {.port = 3, .adj = 7}, copy;
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(lens); i++) {
		const uint32_t frames = (lens[i] + ROOM - 1) / ROOM;

		cr_assert(shunt_chain_put(&pool, &pkt, 256, bytes, lens[i]), "%u", lens[i]);
		cr_assert_eq(pool.free_cnt, FRAMES - frames);
		cr_assert_eq(shunt_chain_is(&pool, &pkt), frames > 1);
		cr_assert(shunt_chain_clone(&pool, &pkt, &copy));
		cr_assert(copy.port == 3 && copy.adj == 7 && copy.len == lens[i]);
		shunt_pool_free_pkts(&pool, &pkt, 1);
		memset(got, 0, sizeof(got));
		shunt_chain_copy(&pool, &copy, got);
		cr_assert_eq(memcmp(got, bytes, lens[i]), 0, "%u", lens[i]);
		cr_assert_eq(got[lens[i]], 0, "no byte more");
		shunt_pool_free_pkts(&pool, &copy, 1);
		expect_whole();
	}
}

Test(chain, all_or_nothing, .init = init, .fini = fini)
{
	struct shunt_pkt pkt = {0}, copy, rest[FRAMES];
	unsigned n = 0;

	cr_assert_not(shunt_chain_put(&pool, &pkt, 256, bytes, SHUNT_CHAIN_MAX * ROOM + 1),
		      "more pieces than the kernel sends");
	expect_whole();
	cr_assert(shunt_chain_put(&pool, &pkt, 256, bytes, LONG));
	while (shunt_chain_put(&pool, &rest[n], 256, bytes, 60))
		n++;
	shunt_pool_free_pkts(&pool, rest + n - 5, 5);
	n -= 5;
	cr_assert_not(shunt_chain_clone(&pool, &pkt, &copy), "five frames for six pieces");
	cr_assert_eq(pool.free_cnt, 5);
	shunt_pool_free_pkts(&pool, rest, n);
	shunt_pool_free_pkts(&pool, &pkt, 1);
	expect_whole();
}

Test(chain, cut_packets, .init = init, .fini = fini)
{
	struct shunt_pkt pkt = {0}, copy;

	cr_assert(shunt_chain_put(&pool, &pkt, 256, bytes, LONG));
	pkt.len = ROOM + 5;
	shunt_chain_copy(&pool, &pkt, got);
	cr_assert_eq(memcmp(got, bytes, ROOM + 5), 0);
	cr_assert(shunt_chain_clone(&pool, &pkt, &copy));
	cr_assert_eq(pool.free_cnt, FRAMES - 6 - 2, "the clone has what is left");
	shunt_pool_free_pkts(&pool, &pkt, 1);
	shunt_pool_free_pkts(&pool, &copy, 1);
	expect_whole();
}

Test(chain, without_links_one_frame_is_all, .fini = fini)
{
	struct shunt_pkt pkt = {0};

	cr_assert_eq(shunt_pool_init(&pool, FRAMES, 2048, &err), 0, "%s", err.msg);
	cr_assert_not(shunt_chain_put(&pool, &pkt, 256, bytes, ROOM + 1));
	cr_assert(shunt_chain_put(&pool, &pkt, 256, bytes, ROOM));
	pkt.flags = SHUNT_PKT_CHAINED; /* undefined in such a pool */
	cr_assert_not(shunt_chain_is(&pool, &pkt));
	shunt_pool_free_pkts(&pool, &pkt, 1);
	expect_whole();
}

/* --- through a graph -------------------------------------------------------------------------- */

static struct shunt_queue *queues[SHUNT_PORT_MAX];
static struct shunt_graph graph;

/* Two memory ports whose packets are short and long in turn, cross-connected. */
static void build(uint32_t max_len)
{
	static const uint8_t *const set[2] = {bytes, bytes};
	static const uint32_t lens[2] = {64, LONG};
	static const char *const names[2] = {"a", "b"};
	static uint32_t max_lens[2] = {UINT32_MAX};
	struct shunt_pair_params params = {.out_port = {1, 0}};
	struct shunt_mem_opts opts = {.frames = set, .lens = lens, .frame_cnt = 2};

	max_lens[1] = max_len;
	for (opts.port = 0; opts.port < 2; opts.port++)
		cr_assert_eq(shunt_mem_open(&queues[opts.port], &pool, &opts, &err), 0, "%s",
			     err.msg);
	shunt_graph_init(&graph, &pool, queues, 2);
	cr_assert_eq(shunt_graph_add(&graph, &shunt_node_xconnect, NULL, &params, &err), 0);
	cr_assert_eq(shunt_graph_seal(&graph, names, max_lens, &err), 0, "%s", err.msg);
}

static void unbuild(void)
{
	queues[0]->ops->close(queues[0]);
	queues[1]->ops->close(queues[1]);
	shunt_graph_fini(&graph);
	shunt_pool_fini(&pool);
}

Test(chain, through_memory_ports, .init = init, .fini = unbuild)
{
	struct shunt_pkt pkts[8];
	unsigned turn, i;

	build(UINT32_MAX);
	for (turn = 0; turn < 100; turn++) {
		cr_assert_eq(queues[0]->ops->rx(queues[0], pkts, 8), 8);
		for (i = 0; i < 8; i++) {
			cr_assert_eq(pkts[i].len, i % 2 ? LONG : 64);
			shunt_chain_copy(&pool, &pkts[i], got);
			cr_assert_eq(memcmp(got, bytes, pkts[i].len), 0);
		}
		shunt_graph_run(&graph, 0, pkts, 8);
		expect_whole();
	}
	cr_assert_eq(queues[1]->stats.tx_packets, 800);
	cr_assert_eq(queues[1]->stats.tx_bytes, 400 * (64 + LONG));
}

Test(chain, drops_count_packets, .init = init, .fini = unbuild)
{
	struct shunt_pkt pkts[8];

	build(1518);
	cr_assert_eq(queues[0]->ops->rx(queues[0], pkts, 8), 8);
	shunt_graph_run(&graph, 0, pkts, 8);
	cr_assert_eq(graph.drops[SHUNT_DROP_too_big], 4);
	cr_assert_eq(queues[1]->stats.tx_packets, 4);
	expect_whole();
}

Test(chain, memory_port_when_frames_are_short, .init = init, .fini = unbuild)
{
	struct shunt_pkt pkts[FRAMES];
	unsigned n;

	build(UINT32_MAX);
	/* 7 frames a pair of packets: 18 pairs, and a short one more */
	n = queues[0]->ops->rx(queues[0], pkts, FRAMES);
	cr_assert_eq(n, 37);
	cr_assert_eq(pool.free_cnt, FRAMES - 18 * 7 - 1);
	shunt_pool_free_pkts(&pool, pkts, n);
	expect_whole();
}
