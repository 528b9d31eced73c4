// SPDX-License-Identifier: BSD-2-Clause
#include "paced.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bursts.h"

struct bench_paced {
	struct shunt_queue queue;
	struct shunt_queue *inner;
	struct bench_paced_opts opts;
	double per_cycle; /* packets */
	double ns_per_cycle;
	double cycles_per_packet;
	uint64_t start;	      /* cycles; 0 before the first receive */
	uint64_t taken;	      /* of those that arrived, handed out or lost */
	uint64_t batch_first; /* of the batch handed out last: its number, */
	unsigned batch_cnt;   /* its packets that were not flushed yet */
	struct bench_bursts *bursts;
	uint64_t came[SHUNT_BATCH_MAX]; /* the packets of the batch handed out last, of bursts */
	struct bench_paced_stats stats;
};

static struct bench_paced *paced_of(struct shunt_queue *queue)
{
	return shunt_container_of(queue, struct bench_paced, queue);
}

static void reclaim(struct shunt_queue *queue)
{
	struct bench_paced *paced = paced_of(queue);

	paced->inner->ops->reclaim(paced->inner);
}

static unsigned rx_endless(struct shunt_queue *queue, struct shunt_pkt *pkts, unsigned max)
{
	struct bench_paced *paced = paced_of(queue);
	unsigned n = paced->inner->ops->rx(paced->inner, pkts, max);

	shunt_counter_add(&paced->stats.arrived, n);
	return n;
}

static unsigned rx_none(struct shunt_queue *queue, struct shunt_pkt *pkts, unsigned max)
{
	(void)queue;
	(void)pkts;
	(void)max;
	return 0;
}

static unsigned rx_paced(struct shunt_queue *queue, struct shunt_pkt *pkts, unsigned max)
{
	struct bench_paced *paced = paced_of(queue);
	const uint64_t now = shunt_clock_cycles();
	uint64_t due, waiting;
	unsigned n;

	if (unlikely(!paced->start))
		paced->start = now;
	due = (uint64_t)((double)(now - paced->start) * paced->per_cycle);
	waiting = due - paced->taken;
	if (unlikely(waiting > paced->opts.ring)) {
		shunt_counter_add(&paced->stats.lost, waiting - paced->opts.ring);
		paced->taken += waiting - paced->opts.ring;
		waiting = paced->opts.ring;
	}
	__atomic_store_n(&paced->stats.arrived, due, __ATOMIC_RELAXED);
	if (!waiting)
		return 0;
	n = paced->inner->ops->rx(paced->inner, pkts, (unsigned)SHUNT_MIN(waiting, (uint64_t)max));
	paced->batch_first = paced->taken;
	paced->batch_cnt = n;
	paced->taken += n;
	return n;
}

static unsigned rx_bursts(struct shunt_queue *queue, struct shunt_pkt *pkts, unsigned max)
{
	struct bench_paced *paced = paced_of(queue);
	uint64_t arrived, lost;
	uint32_t waiting =
		bench_bursts_advance(paced->bursts, shunt_clock_cycles(), &arrived, &lost);
	unsigned n, i;

	__atomic_store_n(&paced->stats.arrived, arrived, __ATOMIC_RELAXED);
	__atomic_store_n(&paced->stats.lost, lost, __ATOMIC_RELAXED);
	if (!waiting)
		return 0;
	n = paced->inner->ops->rx(paced->inner, pkts, SHUNT_MIN(waiting, max));
	for (i = 0; i < n; i++)
		paced->came[i] = bench_bursts_take(paced->bursts);
	paced->batch_cnt = n;
	return n;
}

static void add_latency(struct bench_paced *paced, double cycles)
{
	const uint64_t ns = cycles > 0 ? (uint64_t)(cycles * paced->ns_per_cycle) : 0;

	shunt_hist_add(&paced->stats.latency_ns, ns, 1);
	shunt_counter_add(&paced->stats.latency_sum_ns, ns);
}

static void note_latency(struct bench_paced *paced)
{
	const uint64_t now = shunt_clock_cycles();
	const double first = (double)(now - paced->start) -
			     (double)(paced->batch_first + 1) * paced->cycles_per_packet;
	unsigned i;

	if (paced->bursts)
		for (i = 0; i < paced->batch_cnt; i++)
			add_latency(paced, (double)(now - paced->came[i]));
	else
		for (i = 0; i < paced->batch_cnt; i++)
			add_latency(paced, first - i * paced->cycles_per_packet);
	paced->batch_cnt = 0;
}

static void flush(struct shunt_queue *queue)
{
	struct bench_paced *paced = paced_of(queue);

	paced->inner->ops->flush(paced->inner);
	if (paced->opts.has_latency && paced->batch_cnt)
		note_latency(paced);
}

static unsigned tx(struct shunt_queue *queue, const struct shunt_pkt *pkts, unsigned cnt)
{
	struct bench_paced *paced = paced_of(queue);

	return paced->inner->ops->tx(paced->inner, pkts, cnt);
}

static void ledger(const struct shunt_queue *queue, struct shunt_ledger *out)
{
	const struct bench_paced *paced = shunt_container_of(queue, struct bench_paced, queue);

	paced->inner->ops->ledger(paced->inner, out);
}

static void audit(const struct shunt_queue *queue, uint8_t *seen)
{
	const struct bench_paced *paced = shunt_container_of(queue, struct bench_paced, queue);

	paced->inner->ops->audit(paced->inner, seen);
}

static void close_both(struct shunt_queue *queue)
{
	struct bench_paced *paced = paced_of(queue);

	paced->inner->ops->close(paced->inner);
	bench_bursts_destroy(paced->bursts);
	free(paced);
}

#define OPS(receive)                                                                            \
	{                                                                                       \
		.kind = "paced", .reclaim = reclaim, .rx = (receive), .tx = tx, .flush = flush, \
		.ledger = ledger, .audit = audit, .close = close_both                           \
	}

static const struct shunt_queue_ops paced_ops = OPS(rx_paced);
static const struct shunt_queue_ops bursts_ops = OPS(rx_bursts);
static const struct shunt_queue_ops endless_ops = OPS(rx_endless);
static const struct shunt_queue_ops silent_ops = OPS(rx_none);

static struct bench_paced *wrap(struct shunt_queue *inner, const struct shunt_queue_ops *ops,
				const struct bench_paced_opts *opts)
{
	struct bench_paced *paced = aligned_alloc(SHUNT_CACHELINE, (sizeof(*paced) + 63) & ~63UL);
	const double hz = (double)shunt_clock_hz();

	if (!paced)
		return NULL;
	memset(paced, 0, sizeof(*paced));
	paced->queue = (struct shunt_queue){.ops = ops,
					    .pool = inner->pool,
					    .port = inner->port,
					    .index = inner->index,
					    .fd = -1};
	paced->inner = inner;
	paced->opts = *opts;
	paced->per_cycle = opts->pps / hz;
	paced->ns_per_cycle = 1e9 / hz;
	paced->cycles_per_packet = opts->pps > 0 ? hz / opts->pps : 0;
	return paced;
}

/* The link's end: constant, in bursts, or never empty. NULL without memory. */
static struct bench_paced *wrap_link(struct shunt_queue *inner, const struct bench_paced_opts *opts)
{
	const struct bench_bursts_opts bursts = {.pps = opts->pps,
						 .hz = (double)shunt_clock_hz(),
						 .psi = opts->psi,
						 .nu = opts->nu,
						 .ring = opts->ring,
						 .seed = 1};
	struct bench_paced *paced;

	if (!opts->psi || opts->pps <= 0)
		return wrap(inner, opts->pps > 0 ? &paced_ops : &endless_ops, opts);
	paced = wrap(inner, &bursts_ops, opts);
	if (!paced)
		return NULL;
	paced->bursts = bench_bursts_create(&bursts);
	if (paced->bursts)
		return paced;
	free(paced);
	return NULL;
}

struct bench_paced *bench_paced_lay(struct shunt_worker *worker,
				    const struct bench_paced_opts *opts)
{
	const struct bench_paced_opts none = {0};
	struct bench_paced *first = NULL, *paced;
	unsigned i;

	for (i = 0; i < worker->rx_queue_cnt; i++) {
		if (i)
			paced = wrap(worker->rx_queues[i], &silent_ops, &none);
		else
			paced = wrap_link(worker->rx_queues[i], opts);
		if (!paced)
			return NULL;
		worker->rx_queues[i] = &paced->queue;
		first = first ? first : paced;
	}
	return first;
}

const struct bench_paced_stats *bench_paced_stats(const struct bench_paced *paced)
{
	return &paced->stats;
}
