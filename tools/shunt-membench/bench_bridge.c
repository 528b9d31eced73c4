// SPDX-License-Identifier: BSD-2-Clause
/* The bridge without kernel I/O: frames copied in from memory, 64 bytes, sources random over one
 * half of the stations and destinations over the other, so that each packet costs two lookups
 * anywhere in the table; transmit swallows. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "graph/nodes.h"
#include "measure/rng.h"
#include "rig.h"

#define FRAME_CNT (1u << 18) /* frames in the set: 16 MiB, read in order */
#define LOOKUPS	  (1u << 18)

struct rig {
	struct shunt_mac_table *macs;
	struct shunt_learn *learn;
	struct shunt_bridge_masks masks;
	struct shunt_bridge_params params;
	uint32_t stations;
	struct bench_set set;
};

/* Stations with even numbers are on IN, the others on OUT. */
static void write_mac(uint8_t *at, uint32_t station)
{
	const uint8_t mac[6] = {0x02,
				0x16,
				(uint8_t)(station >> 24),
				(uint8_t)(station >> 16),
				(uint8_t)(station >> 8),
				(uint8_t)station};

	memcpy(at, mac, 6);
}

static uint64_t key_of(uint32_t station)
{
	uint8_t mac[6];

	write_mac(mac, station);
	return shunt_mac_key(mac, 0);
}

/* --- rig -------------------------------------------------------------------------------------- */

static void fill_frames(struct rig *rig, uint64_t seed)
{
	uint64_t rng = seed;
	uint32_t i;

	for (i = 0; i < FRAME_CNT; i++) {
		uint8_t *frame = bench_set_at(&rig->set, i);
		uint32_t pairs = rig->stations / 2;

		write_mac(frame, 2 * (uint32_t)shunt_rng_below(&rng, pairs) + 1);
		write_mac(frame + 6, 2 * (uint32_t)shunt_rng_below(&rng, pairs));
		frame[12] = 0x08;
	}
}

static int rig_init(struct rig *rig, uint32_t stations, uint64_t seed, struct shunt_err *err)
{
	uint32_t i;
	int ret;

	memset(rig, 0, sizeof(*rig));
	rig->masks = (struct shunt_bridge_masks){3, 3, 3, 0};
	rig->stations = stations;
	rig->learn = aligned_alloc(SHUNT_CACHELINE, sizeof(*rig->learn));
	if (bench_set_alloc(&rig->set, FRAME_CNT) || !rig->learn)
		return shunt_err_set(err, ENOMEM, "not enough memory");
	ret = shunt_learn_init(rig->learn, err);
	if (!ret)
		ret = shunt_mac_create(&rig->macs, SHUNT_MAC_MAX_DEFAULT, seed, err);
	for (i = 0; i < stations && !ret; i++)
		if (shunt_mac_learn(rig->macs, key_of(i), i & 1 ? BENCH_OUT : BENCH_IN) !=
		    SHUNT_MAC_NEW)
			ret = shunt_err_set(err, ENOSPC, "station %u finds no room", i);
	rig->params = (struct shunt_bridge_params){
		.macs = rig->macs, .masks = &rig->masks, .learn = rig->learn, .members = {3}};
	if (!ret)
		fill_frames(rig, seed);
	return ret;
}

static void rig_fini(struct rig *rig)
{
	shunt_mac_destroy(rig->macs);
	if (rig->learn)
		shunt_learn_fini(rig->learn);
	free(rig->learn);
	bench_set_fini(&rig->set);
}

/* --- measuring -------------------------------------------------------------------------------- */

static int add_node(struct shunt_worker *worker, const void *arg, struct shunt_err *err)
{
	const struct rig *rig = arg;
	int ret = shunt_graph_add(&worker->graph, &shunt_node_bridge, NULL, &rig->params, err);

	return SHUNT_MIN(ret, 0);
}

/* What was flooded or learned is another experiment. */
static int check(const struct rig *rig)
{
	if (!rig->learn->stats.floods && !rig->learn->stats.told)
		return 0;
	fprintf(stderr, "shunt-membench: mem.bridge: not every station was known\n");
	return -EIO;
}

static int measure(struct bench *bench, const struct rig *rig, unsigned batch)
{
	double runs[BENCH_RUN_CNT];
	int ret = bench_rig_run(bench, &rig->set, batch, add_node, rig, runs);

	if (!ret)
		ret = check(rig);
	if (!ret)
		bench_add(bench, "mem.bridge",
			  json_pack("{s:i, s:i, s:i, s:b}", "macs", (int)rig->stations, "batch",
				    (int)batch, "size", (int)BENCH_FRAME_LEN, "copy", 1),
			  "cycles/packet", runs, BENCH_RUN_CNT);
	return ret;
}

/* The table alone, in batches of 64 with the lines fetched ahead. */
static double cycles_per_lookup(const struct rig *rig, uint64_t seed)
{
	uint64_t hashes[64], rng = seed, start, sum = 0, cycles = 0;
	uint32_t done, i;

	for (done = 0; done < LOOKUPS; done += 64) {
		for (i = 0; i < 64; i++)
			hashes[i] = key_of((uint32_t)shunt_rng_below(&rng, rig->stations));
		start = shunt_clock_cycles();
		for (i = 0; i < 64; i++) {
			hashes[i] = shunt_mac_hash(rig->macs, hashes[i]);
			shunt_mac_prefetch(rig->macs, hashes[i]);
		}
		for (i = 0; i < 64; i++)
			sum += shunt_mac_lookup(rig->macs, hashes[i]);
		cycles += shunt_clock_cycles() - start;
	}
	return sum > LOOKUPS ? -1 : (double)cycles / LOOKUPS; /* ports are 0 and 1 */
}

static void measure_lookup(struct bench *bench, const struct rig *rig)
{
	double runs[BENCH_RUN_CNT];
	unsigned i;

	for (i = 0; i < BENCH_RUN_CNT; i++)
		runs[i] = cycles_per_lookup(rig, bench->seed);
	bench_add(bench, "mac.lookup", json_pack("{s:i}", "macs", (int)rig->stations),
		  "cycles/lookup", runs, BENCH_RUN_CNT);
}

int bench_bridge(struct bench *bench)
{
	static const uint32_t stations[] = {2, 1000, 100000};
	static const unsigned batches[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
	unsigned s, i;
	int ret = 0;

	for (s = 0; s < SHUNT_ARRAY_LEN(stations) && !ret; s++) {
		struct shunt_err err = {""};
		struct rig rig;

		ret = rig_init(&rig, stations[s], bench->seed, &err);
		if (ret)
			fprintf(stderr, "shunt-membench: bridge: %s\n", err.msg);
		else
			measure_lookup(bench, &rig);
		for (i = 0; i < SHUNT_ARRAY_LEN(batches) && !ret; i++)
			ret = measure(bench, &rig, batches[i]);
		rig_fini(&rig);
	}
	return ret;
}
