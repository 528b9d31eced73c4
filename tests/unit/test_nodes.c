// SPDX-License-Identifier: BSD-2-Clause
/* What the nodes make of packets: the bytes, and the reasons. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "fake_port.h"
#include "graph/nodes.h"

#define PORTS  3
#define FRAMES 512

static struct shunt_pool pool;
static struct fake_port fakes[PORTS];
static struct shunt_queue *queues[SHUNT_PORT_MAX];
static struct shunt_graph graph;
static struct shunt_err err;
static struct shunt_pair_params pairs;
static const char *const port_names[PORTS] = {"a", "b", "c"};
static uint64_t macs[PORTS];
static uint32_t max_lens[PORTS] = {1518, 1518, 1518};

static const uint8_t next_mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
static const uint8_t own_mac[6] = {0x06, 0xaa, 0xbb, 0xcc, 0xdd, 0xee};

/* Ports 0 and 1 are a pair, port 2 has no partner; what enters on 0 is rewritten
 * to next_mac and own_mac, on 1 to all 01 and all 02. */
static void build(const struct shunt_node_type *type)
{
	cr_assert_eq(shunt_pool_init(&pool, FRAMES, 2048, &err), 0);
	memset(pairs.out_port, 0xff, sizeof(pairs.out_port));
	pairs.out_port[0] = 1;
	pairs.out_port[1] = 0;
	memcpy(pairs.dst_mac[0], next_mac, 6);
	memcpy(&macs[1], own_mac, 6);
	memset(pairs.dst_mac[1], 1, 6);
	memset(&macs[0], 2, 6);
	pairs.macs = macs;
	fake_ports_init(fakes, queues, PORTS, &pool);
	shunt_graph_init(&graph, &pool, queues, PORTS);
	cr_assert_eq(shunt_graph_add(&graph, type, NULL, &pairs, &err), 0);
	cr_assert_eq(shunt_graph_seal(&graph, port_names, max_lens, &err), 0, "%s", err.msg);
}

static void fini(void)
{
	shunt_graph_fini(&graph);
	shunt_pool_fini(&pool);
}

static struct shunt_pkt packet(const void *bytes, uint32_t len, uint16_t port)
{
	struct shunt_pkt pkt;
	uint64_t addr = 0;

	memset(&pkt, 0xa5, sizeof(pkt));
	cr_assert_eq(shunt_pool_alloc(&pool, &addr, 1), 1);
	pkt.addr = addr + 256;
	pkt.len = len;
	pkt.port = port;
	memcpy(pool.mem + pkt.addr, bytes, SHUNT_MIN(len, 64u));
	return pkt;
}

static void run_one(const void *bytes, uint32_t len, uint16_t port)
{
	struct shunt_pkt pkt = packet(bytes, len, port);

	shunt_graph_run(&graph, 0, &pkt, 1);
	cr_assert_eq(pool.free_cnt, FRAMES);
}

/* The last thing sent on a port. */
static const struct fake_sent *last(unsigned port)
{
	cr_assert(fakes[port].sent_cnt, "nothing was sent on port %u", port);
	return &fakes[port].sent[--fakes[port].sent_cnt];
}

static void expect_nothing_sent(void)
{
	unsigned i;

	for (i = 0; i < PORTS; i++)
		cr_assert_eq(fakes[i].sent_cnt, 0);
}

static void random_bytes(uint8_t *bytes, unsigned len)
{
	unsigned i;

	for (i = 0; i < len; i++)
		bytes[i] = (uint8_t)(i * 37 + 11);
}

/* --- xconnect --------------------------------------------------------------------------------- */

Test(nodes, xconnect_changes_nothing, .fini = fini)
{
	uint8_t frame[64];

	build(&shunt_node_xconnect);
	random_bytes(frame, sizeof(frame));
	run_one(frame, 64, 0);
	cr_assert_arr_eq(last(1)->bytes, frame, 64);
	run_one(frame, 64, 1);
	cr_assert_arr_eq(last(0)->bytes, frame, 64);
	run_one(frame, 14, 1); /* the shortest there is */
	cr_assert_eq(last(0)->len, 14);
}

Test(nodes, no_output_is_said, .fini = fini)
{
	static const struct shunt_node_type *const types[] = {
		&shunt_node_xconnect, &shunt_node_macrewrite, &shunt_node_static3};
	uint8_t frame[64] = {0};
	unsigned i;

	for (i = 0; i < 3; i++) {
		build(types[i]);
		run_one(frame, 64, 2);
		expect_nothing_sent();
		cr_assert_eq(graph.drops[SHUNT_DROP_no_output], 1, "%s", types[i]->name);
		fini();
	}
}

/* --- macrewrite ------------------------------------------------------------------------------- */

Test(nodes, macrewrite_changes_the_addresses_alone, .fini = fini)
{
	uint8_t frame[64], want[64];

	build(&shunt_node_macrewrite);
	random_bytes(frame, sizeof(frame));
	memcpy(want, frame, 64);
	memcpy(want, next_mac, 6);
	memcpy(want + 6, own_mac, 6);
	run_one(frame, 64, 0);
	cr_assert_arr_eq(last(1)->bytes, want, 64);
	memset(want, 1, 6);
	memset(want + 6, 2, 6);
	run_one(frame, 64, 1);
	cr_assert_arr_eq(last(0)->bytes, want, 64);
	memset(&macs[0], 4, 6);
	memset(want + 6, 4, 6);
	run_one(frame, 64, 1);
	cr_assert_arr_eq(last(0)->bytes, want, 64, "the port has another address now");
}

/* --- static3 ---------------------------------------------------------------------------------- */

/* The sum of RFC 1071 over n bytes as they lie, not complemented. */
static uint16_t naive_sum(const uint8_t *bytes, unsigned n)
{
	uint32_t sum = 0;
	unsigned i;

	for (i = 0; i < n; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void put16(uint8_t *at, unsigned v)
{
	at[0] = (uint8_t)(v >> 8);
	at[1] = (uint8_t)v;
}

static void make_ip4(uint8_t *frame, uint8_t ttl, uint16_t id)
{
	static const uint8_t head[34] = {2,    0,    0,	   0,	 0, 1,	2,   0,	 0,    0, 0, 2,
					 0x08, 0x00, 0x45, 0xb8, 0, 50, 0,   0,	 0x40, 0, 0, 17,
					 0,    0,    198,  18,	 0, 1,	198, 19, 1,    2};

	random_bytes(frame, 64);
	memcpy(frame, head, sizeof(head));
	put16(frame + 18, id);
	frame[22] = ttl;
	put16(frame + 24, (uint16_t)~naive_sum(frame + 14, 20));
}

static void make_ip6(uint8_t *frame, uint8_t hops)
{
	static const uint8_t head[22] = {2, 0,	  0,	0,    0,    1, 2, 0, 0,	 0,  0,
					 2, 0x86, 0xdd, 0x6a, 0xbc, 0, 1, 0, 10, 17, 0};

	random_bytes(frame, 64);
	memcpy(frame, head, sizeof(head));
	frame[21] = hops;
}

Test(nodes, static3_is_a_router, .fini = fini)
{
	uint8_t frame[64], want[64];
	unsigned ttl;

	build(&shunt_node_static3);
	for (ttl = 2; ttl < 256; ttl++) {
		make_ip4(frame, (uint8_t)ttl, 0x1234);
		make_ip4(want, (uint8_t)(ttl - 1), 0x1234);
		memcpy(want, next_mac, 6);
		memcpy(want + 6, own_mac, 6);
		run_one(frame, 64, 0);
		cr_assert_arr_eq(last(1)->bytes, want, 64, "ttl %u", ttl);
		make_ip6(frame, (uint8_t)ttl);
		make_ip6(want, (uint8_t)(ttl - 1));
		memset(want, 1, 6);
		memset(want + 6, 2, 6);
		run_one(frame, 64, 1);
		cr_assert_arr_eq(last(0)->bytes, want, 64, "hop limit %u", ttl);
	}
}

/* Every value of the checksum field: a right one stays right, and one that is wrong
 * by d stays wrong by d, so that the receiver still sees it. */
Test(nodes, static3_checksum_for_every_value, .fini = fini)
{
	uint8_t frame[64];
	const struct fake_sent *sent;
	bool seen[65536] = {false};
	unsigned id, distinct = 0;

	build(&shunt_node_static3);
	for (id = 0; id < 65536; id++) {
		make_ip4(frame, 64, (uint16_t)id);
		distinct += !seen[frame[24] << 8 | frame[25]];
		seen[frame[24] << 8 | frame[25]] = true;
		run_one(frame, 64, 0);
		sent = last(1);
		cr_assert_eq(sent->bytes[22], 63);
		cr_assert_eq(naive_sum(sent->bytes + 14, 20), 0xffff, "id %u", id);
	}
	cr_assert_eq(distinct, 65535, "all but ffff, which no sum gives");
	for (id = 0; id < 65536; id++) {
		make_ip4(frame, 64, 7);
		put16(frame + 24, id);
		run_one(frame, 64, 0);
		sent = last(1);
		/* ones' complement: 0 and ffff are one value */
		cr_assert_eq(naive_sum(sent->bytes + 14, 20) % 0xffff,
			     naive_sum(frame + 14, 20) % 0xffff, "checksum %04x", id);
	}
}

static void expect_drop(const uint8_t *frame, uint32_t len, enum shunt_drop reason)
{
	uint64_t before = graph.drops[reason];

	run_one(frame, len, 0);
	expect_nothing_sent();
	cr_assert_eq(graph.drops[reason], before + 1, "%u bytes: not %s", len,
		     shunt_drop_name(reason));
}

Test(nodes, static3_refuses_what_it_cannot_route, .fini = fini)
{
	uint8_t frame[64];
	unsigned len;

	build(&shunt_node_static3);
	make_ip4(frame, 1, 0);
	expect_drop(frame, 64, SHUNT_DROP_not_forwardable);
	make_ip4(frame, 0, 0);
	expect_drop(frame, 64, SHUNT_DROP_not_forwardable);
	make_ip6(frame, 1);
	expect_drop(frame, 64, SHUNT_DROP_not_forwardable);
	make_ip6(frame, 0);
	expect_drop(frame, 64, SHUNT_DROP_not_forwardable);
	make_ip4(frame, 64, 0);
	put16(frame + 12, 0x0806);
	expect_drop(frame, 64, SHUNT_DROP_not_forwardable);
	for (len = 14; len < 34; len++) {
		make_ip4(frame, 64, 0);
		expect_drop(frame, len, SHUNT_DROP_truncated);
	}
	for (len = 14; len < 54; len++) {
		make_ip6(frame, 64);
		expect_drop(frame, len, SHUNT_DROP_truncated);
	}
	make_ip4(frame, 64, 0);
	run_one(frame, 34, 0);
	cr_assert_eq(last(1)->len, 34);
	make_ip6(frame, 64);
	run_one(frame, 54, 0);
	cr_assert_eq(last(1)->len, 54);
}

/* Good and bad ones at random places of a batch: the good ones leave, in order. */
Test(nodes, static3_sorts_a_mixed_batch, .fini = fini)
{
	struct shunt_pkt pkts[SHUNT_BATCH_MAX];
	uint8_t frame[64];
	unsigned i, good = 0;

	build(&shunt_node_static3);
	for (i = 0; i < SHUNT_BATCH_MAX; i++) {
		make_ip4(frame, i % 5 == 3 ? 1 : 64, (uint16_t)i);
		pkts[i] = packet(frame, i % 7 == 4 ? 20 : 64, 0);
	}
	shunt_graph_run(&graph, 0, pkts, SHUNT_BATCH_MAX);
	for (i = 0; i < SHUNT_BATCH_MAX; i++) {
		if (i % 5 == 3 || i % 7 == 4)
			continue;
		make_ip4(frame, 63, (uint16_t)i);
		cr_assert_arr_eq(fakes[1].sent[good].bytes + 12, frame + 12, 52, "packet %u", i);
		good++;
	}
	cr_assert_eq(fakes[1].sent_cnt, good);
	cr_assert_eq(graph.drops[SHUNT_DROP_truncated] + graph.drops[SHUNT_DROP_not_forwardable],
		     SHUNT_BATCH_MAX - good);
	cr_assert_eq(pool.free_cnt, FRAMES);
}

/* --- transmit --------------------------------------------------------------------------------- */

Test(nodes, too_big_for_the_output_port, .fini = fini)
{
	struct shunt_pkt pkts[5];
	uint8_t frame[64];
	unsigned i;
	static const uint32_t lens[5] = {1018, 1019, 60, 1500, 1000};

	max_lens[1] = 1018;
	build(&shunt_node_xconnect);
	for (i = 0; i < 5; i++) {
		memset(frame, (int)i, sizeof(frame));
		pkts[i] = packet(frame, lens[i], 0);
	}
	shunt_graph_run(&graph, 0, pkts, 5);
	cr_assert_eq(graph.drops[SHUNT_DROP_too_big], 2);
	cr_assert_eq(fakes[1].sent_cnt, 3);
	cr_assert(fakes[1].sent[0].len == 1018 && fakes[1].sent[1].bytes[0] == 2 &&
		  fakes[1].sent[2].len == 1000);
	memset(frame, 0, sizeof(frame));
	run_one(frame, 1500, 0);
	cr_assert_eq(graph.drops[SHUNT_DROP_too_big], 3, "a batch of which nothing is left");
	run_one(frame, 1500, 1);
	cr_assert_eq(last(0)->len, 1500, "the other way there is room");
	max_lens[0] = 1499;
	run_one(frame, 1500, 1);
	cr_assert_eq(fakes[0].sent_cnt, 0);
	run_one(frame, 1499, 1);
	cr_assert_eq(last(0)->len, 1499, "and less while it runs");
	cr_assert_eq(pool.free_cnt, FRAMES);
}
