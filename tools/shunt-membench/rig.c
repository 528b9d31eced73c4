// SPDX-License-Identifier: BSD-2-Clause
#include "rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "io/mem.h"

#define PACKETS (2u << 20) /* a run: some 50 ms */

int bench_set_alloc(struct bench_set *set, uint32_t cnt)
{
	uint32_t i;

	set->cnt = cnt;
	set->bytes = calloc(cnt, BENCH_FRAME_LEN);
	set->frames = calloc(cnt, sizeof(*set->frames));
	set->lens = calloc(cnt, sizeof(*set->lens));
	if (!set->bytes || !set->frames || !set->lens)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		set->frames[i] = bench_set_at(set, i);
		set->lens[i] = BENCH_FRAME_LEN;
	}
	return 0;
}

void bench_set_fini(struct bench_set *set)
{
	free(set->bytes);
	free(set->frames);
	free(set->lens);
	memset(set, 0, sizeof(*set));
}

int bench_pair(struct shunt_config *config, enum shunt_forward_mode mode, uint32_t size,
	       uint32_t flows, bool copy, struct shunt_err *err)
{
	static const char *const names[] = {"in", "out"};
	struct shunt_pair_config pair = {.mode = mode, .port = {0, 1}};
	unsigned i;
	int at;

	for (i = 0; i < 2; i++) {
		at = shunt_config_add_port(config, names[i], err);
		if (at < 0)
			return at;
		config->ports[at].kind = SHUNT_PORT_MEM;
		config->ports[at].mem_frame_bytes = size;
		config->ports[at].mem_flows = flows;
		config->ports[at].mem_copy = copy;
		memset(pair.next_hop[i], 2, 6);
	}
	return shunt_config_add_pair(config, &pair, err);
}

static int open_port(struct shunt_worker *worker, const struct bench_set *set, uint16_t port,
		     struct shunt_err *err)
{
	const struct shunt_mem_opts opts = {.port = port,
					    .copy = port == BENCH_IN,
					    .frames = set->frames,
					    .lens = set->lens,
					    .frame_cnt = port == BENCH_IN ? set->cnt : 1};
	struct shunt_queue *queue;
	int ret = shunt_mem_open(&queue, &worker->pool, &opts, err);

	return ret ? ret : shunt_worker_add_queue(worker, queue);
}

static int build(struct shunt_worker *worker, const struct bench_set *set, unsigned batch,
		 bench_nodes_fn nodes, const void *arg, struct shunt_err *err)
{
	static const char *const names[] = {"in", "out"};
	static const uint32_t max_lens[] = {UINT32_MAX, UINT32_MAX};
	const struct shunt_worker_opts opts = {.cpu = -1, .batch = batch};
	int ret = shunt_worker_init(worker, &opts, err);

	if (!ret)
		ret = shunt_pool_init(&worker->pool, 2 * SHUNT_BATCH_MAX, 2048, err);
	if (!ret)
		ret = open_port(worker, set, BENCH_IN, err);
	if (!ret)
		ret = open_port(worker, set, BENCH_OUT, err);
	if (ret)
		return ret;
	worker->rx_queue_cnt = 1; /* nothing comes in on OUT */
	shunt_graph_init(&worker->graph, &worker->pool, worker->queues, 2);
	ret = nodes(worker, arg, err);
	return ret ? ret : shunt_graph_seal(&worker->graph, names, max_lens, err);
}

static double cycles_per_packet(struct shunt_worker *worker, uint64_t packets)
{
	uint64_t done = 0, start = shunt_clock_cycles();

	while (done < packets)
		done += shunt_worker_turn(worker);
	return (double)(shunt_clock_cycles() - start) / (double)done;
}

static int check(const struct shunt_worker *worker, struct shunt_err *err)
{
	uint64_t sent = worker->queues[BENCH_OUT]->stats.tx_packets;

	if (sent == worker->stats.packets)
		return 0;
	return shunt_err_set(err, EIO, "of %llu packets %llu came out",
			     (unsigned long long)worker->stats.packets, (unsigned long long)sent);
}

int bench_rig_run(const struct bench *bench, const struct bench_set *set, unsigned batch,
		  bench_nodes_fn nodes, const void *arg, double runs[BENCH_RUN_CNT])
{
	const uint64_t packets = bench->quick ? PACKETS / 8 : PACKETS;
	struct shunt_err err = {"not enough memory"};
	struct shunt_worker *worker =
		aligned_alloc(SHUNT_CACHELINE, (sizeof(*worker) + 63) & ~63UL);
	unsigned i;
	int ret = -ENOMEM;

	if (worker) {
		memset(worker, 0, sizeof(*worker));
		ret = build(worker, set, batch, nodes, arg, &err);
	}
	if (!ret) {
		cycles_per_packet(worker, packets / 4); /* warm up */
		for (i = 0; i < BENCH_RUN_CNT; i++)
			runs[i] = cycles_per_packet(worker, packets);
		ret = check(worker, &err);
	}
	if (ret)
		fprintf(stderr, "shunt-membench: %s\n", err.msg);
	if (worker) {
		if (worker->queues[BENCH_OUT] && worker->rx_queue_cnt == 1)
			worker->queues[BENCH_OUT]->ops->close(worker->queues[BENCH_OUT]);
		shunt_worker_fini(worker);
	}
	free(worker);
	return ret;
}
