// SPDX-License-Identifier: BSD-2-Clause
/* The forwarder without kernel I/O: two in-memory ports, one worker, the turn that
 * shuntd's threads run. What is left is shunt's own cost per packet. */
#include "bench.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "rig.h"

#define PACKETS (4u << 20) /* a run: 20 ms to 100 ms */

static double cycles_per_packet(struct shunt_worker *worker, uint64_t packets)
{
	uint64_t done = 0, start = shunt_clock_cycles();

	while (done < packets)
		done += shunt_worker_turn(worker);
	return (double)(shunt_clock_cycles() - start) / (double)done;
}

static int measure(struct bench *bench, const char *name, enum shunt_forward_mode mode,
		   unsigned batch, uint32_t size, bool copy)
{
	const uint64_t packets = bench->quick ? PACKETS / 16 : PACKETS;
	struct shunt_engine *engine = NULL;
	struct shunt_config config;
	struct shunt_err err;
	double runs[BENCH_RUN_CNT];
	unsigned i;
	int ret;

	shunt_config_init(&config);
	config.batch = batch;
	ret = bench_pair(&config, mode, size, 1, copy, &err);
	if (!ret)
		ret = shunt_engine_create(&engine, &config, &err);
	if (!ret)
		ret = shunt_engine_attach(engine, &err);
	if (!ret)
		ret = shunt_engine_open(engine, &err);
	if (ret) {
		fprintf(stderr, "shunt-membench: %s: %s\n", name, err.msg);
	} else {
		cycles_per_packet(engine->workers[0], packets / 4); /* warm up */
		for (i = 0; i < BENCH_RUN_CNT; i++)
			runs[i] = cycles_per_packet(engine->workers[0], packets);
		bench_add(bench, name,
			  json_pack("{s:i, s:i, s:b}", "batch", (int)batch, "size", (int)size,
				    "copy", copy),
			  "cycles/packet", runs, BENCH_RUN_CNT);
	}
	shunt_engine_destroy(engine, NULL);
	shunt_config_fini(&config);
	return ret;
}

int bench_mem(struct bench *bench)
{
	static const unsigned batches[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
	unsigned i, copy;
	int ret = 0;

	for (copy = 0; copy < 2; copy++) {
		for (i = 0; i < SHUNT_ARRAY_LEN(batches) && !ret; i++)
			ret = measure(bench, "mem.xconnect", SHUNT_FORWARD_XCONNECT, batches[i], 64,
				      copy);
		for (i = 0; i < SHUNT_ARRAY_LEN(batches) && !ret; i++)
			ret = measure(bench, "mem.macrewrite", SHUNT_FORWARD_MACREWRITE, batches[i],
				      64, copy);
	}
	return ret;
}
