// SPDX-License-Identifier: BSD-2-Clause
#include "bursts.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "traffic/arrival.h"

/* 512 KiB: a prefetched stream, and at 10 Mpps of the default bursts 50 ms without repetition. */
#define BATCHES 65536u

struct batch {
	float gap; /* cycles since the one before */
	uint32_t cnt;
};

struct bench_bursts {
	struct batch batches[BATCHES];
	uint32_t at;
	double next; /* when the batch there comes; 0 before the start */
	uint64_t arrived, lost;
	uint32_t ring, head, waiting;
	uint64_t came[]; /* ring */
};

static void fill(struct bench_bursts *bursts, const struct bench_bursts_opts *opts,
		 const struct shunt_zipf *zipf)
{
	struct shunt_arrival arrival;
	double gap;
	uint32_t i = 0;

	/* The "ns" of an arrival are cycles here. */
	shunt_arrival_init(&arrival, SHUNT_ARRIVAL_COMPOUND, opts->hz / opts->pps, zipf,
			   opts->seed);
	for (i = 0; i < BATCHES; i++) {
		gap = shunt_arrival_next(&arrival);
		bursts->batches[i].gap = (float)gap;
		bursts->batches[i].cnt = arrival.left + 1;
		while (arrival.left)
			(void)shunt_arrival_next(&arrival);
	}
}

/* So many draws of heavy sizes and gaps are still off their mean by a percent: the gaps are scaled
 * so that the rate is the one asked for. */
static void scale(struct bench_bursts *bursts, double cycles_per_packet)
{
	double gaps = 0, packets = 0, factor;
	uint32_t i;

	for (i = 0; i < BATCHES; i++) {
		gaps += (double)bursts->batches[i].gap;
		packets += bursts->batches[i].cnt;
	}
	factor = packets * cycles_per_packet / gaps;
	for (i = 0; i < BATCHES; i++)
		bursts->batches[i].gap *= (float)factor;
}

struct bench_bursts *bench_bursts_create(const struct bench_bursts_opts *opts)
{
	struct bench_bursts *bursts = calloc(1, sizeof(*bursts) + opts->ring * sizeof(uint64_t));
	struct shunt_zipf zipf;

	if (!bursts || shunt_zipf_init(&zipf, opts->psi, opts->nu)) {
		free(bursts);
		return NULL;
	}
	bursts->ring = opts->ring;
	fill(bursts, opts, &zipf);
	scale(bursts, opts->hz / opts->pps);
	shunt_zipf_fini(&zipf);
	return bursts;
}

void bench_bursts_destroy(struct bench_bursts *bursts)
{
	free(bursts);
}

uint32_t bench_bursts_advance(struct bench_bursts *bursts, uint64_t now, uint64_t *arrived,
			      uint64_t *lost)
{
	if (unlikely(bursts->next == 0))
		bursts->next = (double)now + (double)bursts->batches[0].gap;
	while (bursts->next <= (double)now) {
		uint32_t cnt = bursts->batches[bursts->at].cnt, i;
		uint32_t fit = SHUNT_MIN(cnt, bursts->ring - bursts->waiting);

		for (i = 0; i < fit; i++) {
			uint32_t to = bursts->head + bursts->waiting++;

			bursts->came[to < bursts->ring ? to : to - bursts->ring] =
				(uint64_t)bursts->next;
		}
		bursts->arrived += cnt;
		bursts->lost += cnt - fit;
		bursts->at = (bursts->at + 1) % BATCHES;
		bursts->next += (double)bursts->batches[bursts->at].gap;
	}
	*arrived = bursts->arrived;
	*lost = bursts->lost;
	return bursts->waiting;
}

uint64_t bench_bursts_take(struct bench_bursts *bursts)
{
	uint64_t came = bursts->came[bursts->head];

	bursts->head = bursts->head + 1 < bursts->ring ? bursts->head + 1 : 0;
	bursts->waiting--;
	return came;
}
