// SPDX-License-Identifier: BSD-2-Clause
/* The bridge node: where frames go, what is learned, that floods keep bytes and frames. */
#include <criterion/criterion.h>
#include <string.h>

#include "fake_port.h"
#include "graph/nodes.h"
#include "io/chain.h"
#include "measure/rng.h"

#define PORTS  5
#define FRAMES 512
#define SEED   0x6272316eULL

static struct shunt_pool pool;
static struct fake_port fakes[PORTS];
static struct shunt_queue *queues[SHUNT_PORT_MAX];
static struct shunt_graph graph;
static struct shunt_err err;
static struct shunt_mac_table *macs;
static struct shunt_learn learn;
static struct shunt_bridge_masks masks;
static const char *const port_names[PORTS] = {"a", "b", "c", "d", "e"};
static const uint32_t max_lens[PORTS] = {1518, 1518, 1518, 1518, 1518};

static unsigned punted_cnt;

/* In the place of a way to the kernel. */
static unsigned punt(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	unsigned i;

	(void)next;
	for (i = 0; i < cnt; i++)
		cr_assert_eq(pkts[i].reason, SHUNT_PUNT_bridge);
	punted_cnt += cnt;
	shunt_graph_set_reason(pkts, cnt, SHUNT_DROP_to_host);
	return node->graph->drop_node;
}

static const struct shunt_node_type punt_type = {
	.name = "punt", .help = "counts what the kernel would get", .fn = punt};

/* Ports 0 to 2 are bridge 0, ports 3 and 4 are bridge 1. */
static void start(bool can_punt, uint64_t over)
{
	struct shunt_bridge_params params = {
		.bridge = {0, 0, 0, 1, 1}, .members = {0x7, 0x18}, .over = over};

	punted_cnt = 0;
	cr_assert_eq(shunt_pool_init(&pool, FRAMES, 2048, &err), 0);
	cr_assert_eq(shunt_mac_create(&macs, 1000, SEED, &err), 0);
	cr_assert_eq(shunt_learn_init(&learn, &err), 0);
	masks = (struct shunt_bridge_masks){.forwarding = 0x1f, .learning = 0x1f, .flooding = 0x1f};
	params.macs = macs;
	params.learn = &learn;
	params.masks = &masks;
	fake_ports_init(fakes, queues, PORTS, &pool);
	shunt_graph_init(&graph, &pool, queues, PORTS);
	cr_assert_eq(shunt_graph_add(&graph, &shunt_node_bridge, NULL, &params, &err), 0);
	if (can_punt)
		cr_assert_eq(shunt_graph_add(&graph, &punt_type, NULL, NULL, &err), 1);
	cr_assert_eq(shunt_graph_seal(&graph, port_names, max_lens, &err), 0, "%s", err.msg);
	graph.now_ns = 1000000;
}

static void init(void)
{
	start(false, 0);
}

/* Bridge 0 has one of the kernel's beneath. */
static void init_over(void)
{
	start(true, 1);
}

static void fini(void)
{
	shunt_graph_fini(&graph);
	shunt_learn_fini(&learn);
	shunt_mac_destroy(macs);
	shunt_pool_fini(&pool);
}

/* What the control thread does with what it is told. Returns how many messages. */
static unsigned service(void)
{
	struct shunt_told told;
	unsigned cnt = 0;

	shunt_learn_hush(&learn);
	for (; shunt_learn_take(&learn, &told); cnt++)
		shunt_mac_learn(macs, told.key, told.port);
	return cnt;
}

/* Station n is 02:00:00:00:00:n; 0xff is broadcast. */
static void write_mac(uint8_t *at, uint8_t station)
{
	memset(at, station == 0xff ? 0xff : 0, 6);
	if (station == 0xff)
		return;
	at[0] = 2;
	at[5] = station;
}

static struct shunt_pkt packet(uint8_t dst, uint8_t src, uint16_t port, uint32_t user)
{
	struct shunt_pkt pkt;
	uint64_t addr = 0;
	uint8_t *data;
	unsigned i;

	memset(&pkt, 0xa5, sizeof(pkt));
	cr_assert_eq(shunt_pool_alloc(&pool, &addr, 1), 1);
	pkt.addr = addr + 256;
	pkt.len = 64;
	pkt.port = port;
	pkt.user = user;
	data = pool.mem + pkt.addr;
	for (i = 0; i < 64; i++)
		data[i] = (uint8_t)(i * 31 + user);
	write_mac(data, dst);
	write_mac(data + 6, src);
	return pkt;
}

static void send_one(uint8_t dst, uint8_t src, uint16_t port)
{
	struct shunt_pkt pkt = packet(dst, src, port, 0);

	shunt_graph_run(&graph, 0, &pkt, 1);
	cr_assert_eq(pool.free_cnt, FRAMES, "a frame is missing");
}

/* Ports on which the last frame came out, a bit each; each at most once. */
static unsigned sent(void)
{
	unsigned mask = 0, i;

	for (i = 0; i < PORTS; i++) {
		cr_assert_leq(fakes[i].sent_cnt, 1);
		mask |= fakes[i].sent_cnt << i;
		fakes[i].sent_cnt = 0;
	}
	return mask;
}

Test(bridge, floods_learns_and_forwards, .init = init, .fini = fini)
{
	send_one(2, 1, 0);
	cr_assert_eq(sent(), 0x6, "unknown: all but the port it came from, none of bridge 1");
	cr_assert_eq(service(), 1);
	send_one(1, 2, 1);
	cr_assert_eq(sent(), 0x1, "known");
	service();
	send_one(2, 1, 0);
	cr_assert_eq(sent(), 0x2);
	send_one(0xff, 1, 0);
	cr_assert_eq(sent(), 0x6, "broadcast");
	send_one(1, 3, 0);
	cr_assert_eq(sent(), 0, "never back");
	cr_assert_eq(graph.drops[SHUNT_DROP_same_port], 1);
	send_one(1, 9, 3);
	cr_assert_eq(sent(), 0x10, "another bridge does not know the station");
	cr_assert_eq(learn.stats.floods, 3);
	cr_assert_eq(learn.stats.unknown, 2);
}

Test(bridge, follows_a_station_that_moves, .init = init, .fini = fini)
{
	send_one(2, 1, 0);
	service();
	sent();
	send_one(2, 1, 2);
	cr_assert_eq(service(), 1, "the move is told");
	sent();
	send_one(1, 2, 1);
	cr_assert_eq(sent(), 0x4);
	send_one(2, 1, 2);
	service();
	sent();
	graph.now_ns += 1000000;
	send_one(2, 1, 2);
	cr_assert_eq(service(), 0, "and then known");
}

/* A thousand moves a second are nothing; a million cost the data path no more than the limit. */
Test(bridge, moves_are_bounded, .init = init, .fini = fini)
{
	unsigned i, told;

	for (i = 0; i < 10000; i++) {
		send_one(0xff, (uint8_t)(i % 200), (uint16_t)(i % 3));
		sent();
	}
	told = service();
	cr_assert_eq(told, SHUNT_LEARN_PER_MS, "one millisecond's");
	cr_assert_eq(learn.stats.told, told);
	cr_assert_gt(learn.stats.limited, 0);
	graph.now_ns += 1000000;
	send_one(0xff, 201, 0);
	cr_assert_eq(service(), 1, "the next millisecond");
}

Test(bridge, tells_of_a_station_once_a_millisecond, .init = init, .fini = fini)
{
	unsigned i;

	for (i = 0; i < 100; i++) {
		send_one(0xff, 1, 0);
		sent();
	}
	cr_assert_eq(service(), 1);
}

Test(bridge, full_table_floods, .init = init, .fini = fini)
{
	unsigned i;

	for (i = 0; i < 1000; i++)
		shunt_mac_learn(macs, 0x100000000000ULL + i, 1);
	send_one(2, 1, 0);
	service();
	sent();
	send_one(1, 2, 1);
	cr_assert_eq(sent(), 0x5);
}

Test(bridge, refuses_what_no_bridge_forwards, .init = init, .fini = fini)
{
	static const uint8_t reserved[6] = {0x01, 0x80, 0xc2, 0, 0, 0x0e};
	struct shunt_pkt pkt = packet(2, 1, 0, 0);

	memcpy(pool.mem + pkt.addr, reserved, 6);
	shunt_graph_run(&graph, 0, &pkt, 1);
	cr_assert_eq(graph.drops[SHUNT_DROP_reserved_group], 1);
	pkt = packet(2, 1, 0, 0);
	memcpy(pool.mem + pkt.addr, reserved, 6);
	pool.mem[pkt.addr + 5] = 0x10;
	shunt_graph_run(&graph, 0, &pkt, 1);
	cr_assert_eq(sent(), 0x6, "01:80:c2:00:00:10 is an ordinary group");
	service();
	send_one(2, 0xff, 0);
	pkt = packet(2, 1, 0, 0);
	memset(pool.mem + pkt.addr + 6, 0, 6);
	shunt_graph_run(&graph, 0, &pkt, 1);
	cr_assert_eq(graph.drops[SHUNT_DROP_bad_source], 2);
	cr_assert_eq(service(), 0, "and learns nothing from them");
	cr_assert_eq(sent(), 0);
	shunt_mac_set(macs, 0x070000000002ULL, SHUNT_MAC_HOST, true);
	send_one(7, 1, 0);
	cr_assert_eq(graph.drops[SHUNT_DROP_to_host], 1);
	cr_assert_eq(pool.free_cnt, FRAMES);
}

Test(bridge, respects_spanning_tree, .init = init, .fini = fini)
{
	masks.forwarding = 0x1b; /* not port 2 */
	masks.learning = 0x1b;
	send_one(2, 1, 0);
	cr_assert_eq(sent(), 0x2);
	service();
	send_one(1, 3, 2);
	cr_assert_eq(sent(), 0);
	cr_assert_eq(service(), 0, "blocking");
	masks.learning = 0x1f;
	send_one(1, 3, 2);
	cr_assert_eq(sent(), 0);
	cr_assert_eq(service(), 1, "learning");
	send_one(3, 1, 0);
	cr_assert_eq(sent(), 0);
	cr_assert_eq(graph.drops[SHUNT_DROP_port_blocked], 3, "known, but not there yet");
	masks.forwarding = 0x1;
	send_one(0xff, 1, 0);
	cr_assert_eq(graph.drops[SHUNT_DROP_no_output], 1, "a flood that reaches nobody");
}

Test(bridge, leaves_ports_to_the_kernel, .init = init, .fini = fini)
{
	masks.kernels = 0x1;
	send_one(2, 1, 0);
	cr_assert_eq(sent(), 0);
	cr_assert_eq(graph.drops[SHUNT_DROP_to_host], 1, "it would be the kernel's");
	cr_assert_eq(service(), 0, "the worker learns it");
	send_one(1, 2, 1);
	cr_assert_eq(sent(), 0x5, "what comes in elsewhere");
}

/* The kernel gives what is tagged to the port's VLAN devices. */
Test(bridge, leaves_tags_to_the_kernel, .init = init, .fini = fini)
{
	static const uint8_t types[][2] = {{0x81, 0}, {0x88, 0xa8}};
	struct shunt_pkt pkts[3];
	unsigned i;

	masks.kernels = masks.untagged = 0x1;
	for (i = 0; i < 3; i++)
		pkts[i] = packet(2, (uint8_t)(10 + i), 0, i);
	for (i = 0; i < 2; i++)
		memcpy(pool.mem + pkts[i].addr + 12, types[i], 2);
	shunt_graph_run(&graph, 0, pkts, 3);
	cr_assert_eq(sent(), 0x6, "what is untagged");
	cr_assert_eq(graph.drops[SHUNT_DROP_to_host], 2, "they would be the kernel's");
	cr_assert_eq(service(), 1, "its bridge learns the others, or does not");
	pkts[0] = packet(2, 20, 1, 0);
	memcpy(pool.mem + pkts[0].addr + 12, types[0], 2);
	shunt_graph_run(&graph, 0, pkts, 1);
	cr_assert_eq(sent(), 0x5, "what comes in elsewhere");
	masks.forwarding = 0x1e;
	send_one(2, 1, 0);
	cr_assert_eq(graph.drops[SHUNT_DROP_to_host], 3, "all while the port may not forward");
	masks.untagged = 0;
	masks.forwarding = 0x1f;
	send_one(2, 1, 0);
	cr_assert_eq(graph.drops[SHUNT_DROP_to_host], 4, "all is the kernel's");
	cr_assert_eq(pool.free_cnt, FRAMES);
}

Test(bridge, unknown_stations, .init = init, .fini = fini)
{
	masks.flooding = 0x1d; /* not port 1 */
	send_one(2, 1, 0);
	cr_assert_eq(sent(), 0x4);
	send_one(0xff, 1, 0);
	cr_assert_eq(sent(), 0x6, "groups all the same");
	masks.foreign = 0x1;
	send_one(2, 1, 0);
	cr_assert_eq(sent(), 0);
	cr_assert_eq(graph.drops[SHUNT_DROP_to_host], 1, "it would be the kernel's");
	send_one(2, 1, 3);
	cr_assert_eq(sent(), 0x10, "in the other bridge nothing changes");
}

/* Frames that flooding may take have an end; each copy that was not made is counted. */
Test(bridge, flood_without_frames, .init = init, .fini = fini)
{
	uint64_t taken[FRAMES];
	unsigned cnt = shunt_pool_alloc(&pool, taken, FRAMES - FRAMES / 16 - 1);
	struct shunt_pkt pkt = packet(0xff, 1, 0, 0);

	shunt_graph_run(&graph, 0, &pkt, 1);
	cr_assert_eq(learn.stats.copies_missing, 1);
	cr_assert_eq(sent(), 0x4, "the frame itself goes to the last port");
	shunt_pool_free(&pool, taken, cnt);
	cr_assert_eq(pool.free_cnt, FRAMES);
}

/* The kernel's bridge floods then, to all ports. Where there is none, nothing changes. */
Test(bridge, flood_without_frames_over_the_kernels, .init = init_over, .fini = fini)
{
	uint64_t taken[FRAMES];
	struct shunt_pkt pkt;
	unsigned cnt;

	send_one(2, 1, 0);
	cr_assert_eq(sent(), 0x6, "there are frames");
	cnt = shunt_pool_alloc(&pool, taken, FRAMES - FRAMES / 16 - 1);
	pkt = packet(2, 1, 0, 0);
	shunt_graph_run(&graph, 0, &pkt, 1);
	cr_assert_eq(sent(), 0);
	cr_assert_eq(punted_cnt, 1);
	pkt = packet(0xff, 1, 0, 0);
	shunt_graph_run(&graph, 0, &pkt, 1);
	cr_assert_eq(punted_cnt, 2);
	masks.forwarding = 0x3;
	pkt = packet(0xff, 1, 0, 0);
	shunt_graph_run(&graph, 0, &pkt, 1);
	cr_assert_eq(sent(), 0x2, "no copy is needed");
	cr_assert_eq(punted_cnt, 2);
	cr_assert_eq(learn.stats.copies_missing, 0);
	shunt_pool_free(&pool, taken, cnt);
	cr_assert_eq(pool.free_cnt, FRAMES);
}

/* A packet of several frames: the copies take as many, and all of them come back. */
Test(bridge, flood_of_a_chained_packet, .init = init, .fini = fini)
{
	static uint8_t bytes[9014];
	struct shunt_pkt pkt = {.port = 0};
	unsigned port;

	cr_assert_eq(shunt_pool_link(&pool, &err), 0);
	memset(bytes, 0xff, 6);
	bytes[6] = 2;
	memset(bytes + 14, 0x5a, sizeof(bytes) - 14);
	cr_assert(shunt_chain_put(&pool, &pkt, 256, bytes, sizeof(bytes)));
	cr_assert_eq(pool.free_cnt, FRAMES - 6);
	for (port = 0; port < PORTS; port++)
		fakes[port].holds = true;
	shunt_graph_run(&graph, 0, &pkt, 1);
	cr_assert_eq(learn.stats.copies, 1);
	cr_assert_eq(pool.free_cnt, FRAMES - 12);
	for (port = 1; port < 3; port++) {
		cr_assert_eq(fakes[port].sent_cnt, 1);
		cr_assert_eq(fakes[port].sent[0].len, sizeof(bytes));
		cr_assert_eq(memcmp(fakes[port].sent[0].bytes, bytes, FAKE_FRAME), 0);
		shunt_chain_free(&pool, fakes[port].sent[0].addr);
	}
	cr_assert_eq(pool.free_cnt, FRAMES);
}

/* Batches of everything, against what a bridge is: every frame on the ports it belongs to, once,
 * byte for byte, and no frame of memory lost. */
static unsigned naive_outputs(const unsigned *where, uint8_t dst, unsigned port)
{
	unsigned all = port < 3 ? 0x7 : 0x18;

	if (dst == 0xff || where[dst] == PORTS)
		return all & ~(1u << port);
	return 1u << where[dst] & all & ~(1u << port);
}

static void check_sent(uint8_t bytes[][64], const unsigned *outputs, unsigned cnt)
{
	unsigned port, i, at;

	for (port = 0; port < PORTS; port++) {
		unsigned expected = 0;

		for (i = 0; i < cnt; i++) {
			if (!(outputs[i] >> port & 1))
				continue;
			expected++;
			for (at = 0; at < fakes[port].sent_cnt; at++)
				if (fakes[port].sent[at].user == i)
					break;
			cr_assert_lt(at, fakes[port].sent_cnt, "frame %u, port %u", i, port);
			cr_assert_arr_eq(fakes[port].sent[at].bytes, bytes[i], 64);
		}
		cr_assert_eq(fakes[port].sent_cnt, expected, "port %u", port);
		fakes[port].sent_cnt = 0;
	}
}

Test(bridge, random_batches, .init = init, .fini = fini)
{
	static uint8_t bytes[SHUNT_BATCH_MAX][64];
	struct shunt_pkt pkts[SHUNT_BATCH_MAX];
	unsigned outputs[SHUNT_BATCH_MAX], where[2][256], round, i;
	uint64_t rng = SEED;

	for (i = 0; i < 256; i++)
		where[0][i] = where[1][i] = PORTS;
	for (round = 0; round < 3000; round++) {
		unsigned cnt = 1 + (unsigned)shunt_rng_below(&rng, 100);
		uint16_t port = (uint16_t)shunt_rng_below(&rng, PORTS);
		unsigned *at = where[port >= 3];

		for (i = 0; i < cnt; i++) {
			uint8_t src = (uint8_t)(1 + shunt_rng_below(&rng, 60));
			uint8_t dst = (uint8_t)(1 + shunt_rng_below(&rng, 62));

			dst = dst > 60 ? 0xff : dst;
			pkts[i] = packet(dst, src, port, i);
			memcpy(bytes[i], pool.mem + pkts[i].addr, 64);
			outputs[i] = naive_outputs(at, dst, port);
		}
		for (i = 0; i < cnt; i++)
			at[bytes[i][11]] = port;
		shunt_graph_run(&graph, 0, pkts, cnt);
		cr_assert_eq(pool.free_cnt, FRAMES, "round %u", round);
		cr_assert_eq(learn.stats.copies_missing, 0);
		check_sent(bytes, outputs, cnt);
		service();
		graph.now_ns += 1000000;
	}
}
