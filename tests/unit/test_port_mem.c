// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "io/mem.h"
#include "traffic/traffic.h"

#define FRAMES 64

static struct shunt_pool pool;
static struct shunt_queue *queue;
static struct shunt_err err;
static uint8_t a[60], b[65], c[1518];
static const uint8_t *const set[3] = {a, b, c};
static const uint32_t lens[3] = {sizeof(a), sizeof(b), sizeof(c)};

static void open_port(bool copy, uint64_t limit)
{
	struct shunt_mem_opts opts = {.port = 5,
				      .queue = 2,
				      .copy = copy,
				      .frames = set,
				      .lens = lens,
				      .frame_cnt = 3,
				      .limit = limit};

	memset(a, 0xaa, sizeof(a));
	memset(b, 0xbb, sizeof(b));
	memset(c, 0xcc, sizeof(c));
	cr_assert_eq(shunt_pool_init(&pool, FRAMES, 2048, &err), 0);
	cr_assert_eq(shunt_mem_open(&queue, &pool, &opts, &err), 0, "%s", err.msg);
}

static void fini(void)
{
	if (queue)
		queue->ops->close(queue);
	shunt_pool_fini(&pool);
}

/* Packet number `at` of the replay; with copy its bytes are those of its turn in
 * the set. */
static void expect_packet(const struct shunt_pkt *pkt, unsigned at)
{
	const uint8_t *data = pool.mem + pkt->addr;

	cr_assert_eq(pkt->port, 5);
	cr_assert_eq(pkt->len, lens[at % 3], "packet %u", at);
	cr_assert_eq(pkt->addr % 2048, 256);
	cr_assert_eq(memcmp(data, set[at % 3], pkt->len), 0, "packet %u", at);
}

Test(port_mem, copy_replays_the_set_in_turn_for_ever, .fini = fini)
{
	struct shunt_pkt pkts[10];
	unsigned round, i, at = 0;

	open_port(true, 0);
	for (round = 0; round < 50; round++) {
		cr_assert_eq(queue->ops->rx(queue, pkts, 10), 10);
		for (i = 0; i < 10; i++) {
			expect_packet(&pkts[i], at++);
			memset(pool.mem + pkts[i].addr, 0, 64); /* a node writes */
		}
		cr_assert_eq(queue->ops->tx(queue, pkts, 10), 10);
		cr_assert_eq(pool.free_cnt, FRAMES, "what is sent is free again");
	}
	cr_assert_eq(queue->stats.rx_packets, 500);
	cr_assert_eq(queue->stats.rx_batches, 50);
	cr_assert_eq(queue->stats.tx_packets, 500);
	cr_assert_eq(queue->stats.tx_completed, 500);
	cr_assert_eq(queue->stats.rx_bytes, queue->stats.tx_bytes);
	cr_assert_eq(queue->stats.rx_bytes, 166 * (60 + 65 + 1518) + 60 + 65);
}

Test(port_mem, without_copy_every_frame_carries_one_of_the_set, .fini = fini)
{
	struct shunt_pkt pkts[FRAMES];
	unsigned i, j;

	open_port(false, 0);
	cr_assert_eq(queue->ops->rx(queue, pkts, FRAMES), FRAMES);
	for (i = 0; i < FRAMES; i++) {
		for (j = 0; j < 3 && memcmp(pool.mem + pkts[i].addr, set[j], 60); j++)
			;
		cr_assert_lt(j, 3, "frame %u", i);
	}
	cr_assert_eq(queue->ops->tx(queue, pkts, FRAMES), FRAMES);
}

Test(port_mem, empty_pool_receives_nothing, .fini = fini)
{
	struct shunt_pkt pkts[FRAMES + 1];

	open_port(true, 0);
	cr_assert_eq(queue->ops->rx(queue, pkts, FRAMES + 1), FRAMES);
	cr_assert_eq(queue->ops->rx(queue, pkts + FRAMES, 1), 0);
	cr_assert_eq(queue->ops->tx(queue, pkts, 1), 1);
	cr_assert_eq(queue->ops->rx(queue, pkts, 4), 1);
}

Test(port_mem, limit_ends_the_replay, .fini = fini)
{
	struct shunt_pkt pkts[FRAMES];

	open_port(true, 7);
	cr_assert_eq(queue->ops->rx(queue, pkts, 5), 5);
	cr_assert_eq(queue->ops->rx(queue, pkts + 5, 5), 2);
	cr_assert_eq(queue->ops->rx(queue, pkts + 7, 5), 0);
}

Test(port_mem, refuses_what_it_cannot_replay)
{
	static const uint32_t bad_lens[] = {13, 1519, 0};
	struct shunt_mem_opts opts = {.frames = set, .frame_cnt = 1};
	unsigned i;

	cr_assert_eq(shunt_pool_init(&pool, FRAMES, 2048, &err), 0);
	for (i = 0; i < 3; i++) {
		opts.lens = &bad_lens[i];
		cr_assert_eq(shunt_mem_open(&queue, &pool, &opts, &err), -EINVAL);
		cr_assert(strstr(err.msg, "14 to 1518"), "%s", err.msg);
	}
	opts.frame_cnt = 0;
	cr_assert_eq(shunt_mem_open(&queue, &pool, &opts, &err), -EINVAL);
	cr_assert(strstr(err.msg, "at least one"), "%s", err.msg);
	cr_assert_null(queue);
	shunt_pool_fini(&pool);
}

/* The frames that benchmarks and mem ports use: right checksums, as many flows as
 * asked for. */
Test(port_mem, traffic_is_valid)
{
	static const uint32_t sizes[] = {60, 61, 64, 1513, 1514};
	struct shunt_traffic traffic;
	unsigned s, i, j;

	for (s = 0; s < 5; s++) {
		cr_assert_eq(shunt_traffic_init(&traffic, sizes[s], 100), 0);
		cr_assert_eq(traffic.frame_cnt, 100);
		for (i = 0; i < 100; i++) {
			const uint8_t *ip = traffic.frames[i] + 14;
			uint32_t sum = 0;

			cr_assert_eq(traffic.lens[i], sizes[s]);
			for (j = 0; j < 20; j += 2)
				sum += (uint32_t)ip[j] << 8 | ip[j + 1];
			cr_assert_eq((sum & 0xffff) + (sum >> 16), 0xffff);
			cr_assert_eq(ip[2] << 8 | ip[3], (int)sizes[s] - 14);
			for (j = 0; j < i; j++)
				cr_assert_neq(memcmp(traffic.frames[j] + 26, ip + 12, 12), 0,
					      "flows %u and %u are one", i, j);
		}
		shunt_traffic_fini(&traffic);
	}
	shunt_traffic_fini(&traffic);
	cr_assert_eq(shunt_traffic_init(&traffic, 59, 1), -EINVAL);
	cr_assert_eq(shunt_traffic_init(&traffic, 1515, 1), -EINVAL);
	cr_assert_eq(shunt_traffic_init(&traffic, 60, 0), -EINVAL);
}
