// SPDX-License-Identifier: BSD-2-Clause
/* What a capture costs a worker: a cross-connect between two ports in memory, whose frames a tap
 * sees as in lane user, once each, when they are sent. The records are read between slices of a
 * run, not on the clock: in life another process reads them. */
#include "bench.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "graph/tap.h"
#include "rig.h"

#define PACKETS	   (4u << 20) /* a run */
#define SLICE	   8192u      /* packets; their records fit into the ring, */
#define RING_BYTES (4u << 20) /* shuntctl's */
#define SNAP_LEN   128

struct rig {
	struct shunt_engine *engine;
	struct shunt_tap *tap;	      /* NULL: nobody captures */
	struct shunt_tap_ring reader; /* of the tap's ring */
};

/* UDP, port 53 to port 53. */
static const uint8_t udp[42] = {
	2, 0,  0,  0, 0, 2,  2, 0, 0, 0,  0, 1, 8, 0, 0x45, 0, 0,  50, 0,  0, 0,
	0, 64, 17, 0, 0, 10, 0, 1, 2, 10, 0, 2, 2, 0, 53,   0, 53, 0,  30, 0, 0,
};

/* --- rig -------------------------------------------------------------------------------------- */

static int open_engine(struct rig *rig, struct shunt_config *config, uint32_t size,
		       struct shunt_err *err)
{
	struct shunt_worker *worker;
	unsigned i;
	int ret = bench_pair(config, SHUNT_FORWARD_XCONNECT, size, 1, false, err);

	if (!ret)
		ret = shunt_engine_create(&rig->engine, config, err);
	if (!ret)
		ret = shunt_engine_attach(rig->engine, err);
	if (!ret)
		ret = shunt_engine_open(rig->engine, err);
	if (ret)
		return ret;
	worker = rig->engine->workers[0];
	for (i = 0; i < worker->rx_queue_cnt; i++)
		worker->rx_queues[i]->is_steered = true;
	for (i = 0; i < worker->pool.free_cnt; i++)
		memcpy(worker->pool.mem + worker->pool.free[i] + SHUNT_FRAME_HEADROOM, udp,
		       sizeof(udp));
	return 0;
}

static struct shunt_tap *create_tap(const char *filter)
{
	struct bpf_program program = {0, NULL};
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, SNAP_LEN);
	struct shunt_tap *tap = NULL;

	if (pcap && !pcap_compile(pcap, &program, filter, 1, PCAP_NETMASK_UNKNOWN))
		tap = shunt_tap_create(*filter ? (struct sock_filter *)program.bf_insns : NULL,
				       program.bf_len);
	pcap_freecode(&program);
	if (pcap)
		pcap_close(pcap);
	return tap;
}

static int open_tap(struct rig *rig, const char *filter, struct shunt_err *err)
{
	int fd, ret;

	rig->tap = create_tap(filter);
	if (!rig->tap)
		return shunt_err_set(err, EINVAL, "no tap with the filter '%s'", filter);
	rig->tap->ports = UINT64_MAX;
	rig->tap->snap_len = SNAP_LEN;
	fd = shunt_tap_ring_make(1, RING_BYTES, err);
	if (fd < 0)
		return fd;
	ret = shunt_tap_ring_open(&rig->tap->ring, fd, 0, err);
	if (!ret)
		ret = shunt_tap_ring_open(&rig->reader, fd, 0, err);
	close(fd);
	if (!ret)
		shunt_tap_add(&rig->engine->workers[0]->graph.taps, rig->tap);
	return ret;
}

static void rig_fini(struct rig *rig)
{
	if (rig->engine && rig->engine->worker_cnt)
		rig->engine->workers[0]->graph.taps = NULL;
	if (rig->tap)
		shunt_tap_destroy(rig->tap);
	shunt_tap_ring_close(&rig->reader);
	shunt_engine_destroy(rig->engine, NULL);
}

/* --- measuring -------------------------------------------------------------------------------- */

static uint64_t drain(struct rig *rig)
{
	uint64_t cnt = 0;

	while (rig->tap && shunt_tap_ring_peek(&rig->reader)) {
		shunt_tap_ring_release(&rig->reader);
		cnt++;
	}
	return cnt;
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The middle one of so many slices: in a few of them somebody else had the processor. *shown: how
 * many of the packets were captured. */
static double cycles_per_packet(struct rig *rig, unsigned slices, double *shown)
{
	static double of[PACKETS / SLICE];
	uint64_t done = 0, records = 0;
	unsigned i;

	for (i = 0; i < slices; i++) {
		const uint64_t first = done, start = shunt_clock_cycles();

		while (done < first + SLICE)
			done += shunt_worker_turn(rig->engine->workers[0]);
		of[i] = (double)(shunt_clock_cycles() - start) / (double)(done - first);
		records += drain(rig);
	}
	*shown = (double)records / (double)done;
	qsort(of, slices, sizeof(*of), ascending);
	return of[slices / 2];
}

static int run(const struct bench *bench, struct rig *rig, double wanted,
	       double runs[BENCH_RUN_CNT], struct shunt_err *err)
{
	const unsigned slices = (bench->quick ? PACKETS / 16 : PACKETS) / SLICE;
	double shown;
	unsigned i;

	cycles_per_packet(rig, slices / 4, &shown); /* warm up */
	for (i = 0; i < BENCH_RUN_CNT; i++) {
		runs[i] = cycles_per_packet(rig, slices, &shown);
		if (shown != wanted)
			return shunt_err_set(err, EIO,
					     "of each packet %.3f were captured, not %.0f", shown,
					     wanted);
	}
	return 0;
}

static int measure(struct bench *bench, const char *name, const char *filter, double shown,
		   uint32_t size)
{
	struct shunt_config config;
	struct shunt_err err = {""};
	double runs[BENCH_RUN_CNT];
	struct rig rig = {NULL};
	int ret;

	shunt_config_init(&config);
	ret = open_engine(&rig, &config, size, &err);
	if (!ret && filter)
		ret = open_tap(&rig, filter, &err);
	if (!ret)
		ret = run(bench, &rig, shown, runs, &err);
	if (ret)
		fprintf(stderr, "shunt-membench: mem.capture: %s\n", err.msg);
	else
		bench_add(bench, "mem.capture",
			  json_pack("{s:s, s:i, s:i, s:i}", "filter", name, "size", (int)size,
				    "snap_len", SNAP_LEN, "batch", (int)config.batch),
			  "cycles/packet", runs, BENCH_RUN_CNT);
	rig_fini(&rig);
	shunt_config_fini(&config);
	return ret;
}

int bench_capture(struct bench *bench)
{
	static const uint32_t sizes[] = {64, 1514};
	unsigned i;
	int ret = 0;

	for (i = 0; i < SHUNT_ARRAY_LEN(sizes) && !ret; i++) {
		ret = measure(bench, "off", NULL, 0, sizes[i]);
		if (!ret)
			ret = measure(bench, "nothing", "tcp port 9", 0, sizes[i]);
		if (!ret)
			ret = measure(bench, "all", "", 1, sizes[i]);
	}
	return ret;
}
