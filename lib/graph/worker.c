// SPDX-License-Identifier: BSD-2-Clause
/* The data side of a worker: its turn, and how it waits. Starting, stopping and
 * asking it is in worker_control.c. */
#include "graph/worker.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include <urcu-qsbr.h>

#include "base/clock.h"

/* Ends of sleeps that no packet ended: the heartbeat of an idle worker, and how soon it looks again
 * for what no descriptor tells. */
#define SLEEP_MAX_MS 100
#define SLEEP_MIN_MS 1

/* Packets after which a queue sends, though more come. A kick is a system call and an interrupt of
 * the driver's, some 2,000 instructions with igb. Fewer: each packet pays more of a kick. More:
 * the first packet waits longer than a NAPI poll takes. */
#define FLUSH_EVERY  256

/* --- a turn ----------------------------------------------------------------------------------- */

static inline uint64_t lap(struct shunt_worker *w, enum shunt_stage stage, uint64_t since,
			   const bool sampled)
{
	uint64_t now;

	if (!sampled)
		return since;
	now = shunt_clock_cycles();
	shunt_counter_add(&w->stats.sampled_cycles[stage], now - since);
	return now;
}

static unsigned drop_late(struct shunt_worker *w, unsigned n)
{
	shunt_graph_set_reason(w->pkts, n, SHUNT_DROP_late);
	if (w->graph.taps)
		shunt_tap_show(&w->graph.taps, &w->pool,
			       &(struct shunt_tap_batch){.place = SHUNT_TAP_DROPPED}, w->pkts, n);
	shunt_graph_drop(&w->graph, w->pkts, n, SHUNT_PORT_MAX);
	shunt_pool_free_pkts(&w->pool, w->pkts, n);
	return n;
}

/* What came before the worker was taken for hung, now that it is at work again, and nothing of what
 * came since. */
static __attribute__((noinline)) unsigned receive_late(struct shunt_worker *w,
						       struct shunt_queue *queue)
{
	const unsigned late = queue->ops->late(queue);
	const unsigned n = queue->ops->rx(queue, w->pkts, SHUNT_MIN(late, w->opts.batch));

	queue->is_late = n < late;
	return n ? drop_late(w, n) : 0;
}

static inline unsigned serve(struct shunt_worker *w, unsigned i, uint64_t *clock,
			     const bool sampled)
{
	struct shunt_queue *queue = w->rx_queues[i];
	unsigned n;

	if (unlikely(queue->is_late))
		return receive_late(w, queue);
	n = queue->ops->rx(queue, w->pkts, w->opts.batch);
	*clock = lap(w, SHUNT_STAGE_RX, *clock, sampled);
	if (!n)
		return 0;
	if (unlikely(shunt_queue_is_overtaken(queue)))
		return drop_late(w, n);
	if (unlikely(w->graph.taps) && !queue->is_steered)
		shunt_tap_show(&w->graph.taps, &w->pool,
			       &(struct shunt_tap_batch){.place = SHUNT_TAP_ARRIVED,
							 .queue = queue->index},
			       w->pkts, n);
	shunt_counter_add(&w->stats.batch[n], 1);
	shunt_graph_run(&w->graph, w->entry[i], w->pkts, n);
	*clock = lap(w, SHUNT_STAGE_GRAPH, *clock, sampled);
	return n;
}

/* One body; `sampled` is a constant in each caller, so that an ordinary turn has
 * no clock in it. */
static inline unsigned turn(struct shunt_worker *w, const bool sampled)
{
	uint64_t clock = sampled ? shunt_clock_cycles() : 0;
	bool is_full = false, has_more;
	unsigned total = 0, i;

	for (i = 0; i < w->rx_queue_cnt; i++)
		w->rx_queues[i]->ops->reclaim(w->rx_queues[i]);
	clock = lap(w, SHUNT_STAGE_RECLAIM, clock, sampled);
	for (i = 0; i < w->rx_queue_cnt; i++) {
		const unsigned n = serve(w, i, &clock, sampled);

		is_full |= n == w->opts.batch;
		total += n;
	}
	/* behind a full batch there is another */
	w->unflushed += total;
	has_more = is_full && w->unflushed < FLUSH_EVERY;
	if (!has_more)
		w->unflushed = 0;
	for (i = 0; i < w->rx_queue_cnt; i++) {
		w->rx_queues[i]->has_more = has_more;
		w->rx_queues[i]->ops->flush(w->rx_queues[i]);
	}
	if (unlikely(w->graph.flush_due))
		shunt_graph_flush(&w->graph);
	lap(w, SHUNT_STAGE_FLUSH, clock, sampled);
	return total;
}

static uint64_t io_node_cycles(const struct shunt_graph *graph)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < graph->node_cnt; i++)
		if (graph->nodes[i].type->is_io)
			sum += graph->nodes[i].stats.sampled_cycles;
	return sum;
}

/* The stages of a turn that received nothing belong to c_busy, which has the
 * whole turn; they are taken out of the samples again. */
static unsigned sampled_turn(struct shunt_worker *w)
{
	struct shunt_worker_stats *stats = &w->stats;
	uint64_t before[SHUNT_STAGE_CNT];
	unsigned total, i;

	for (i = 0; i < SHUNT_STAGE_CNT; i++)
		before[i] = stats->sampled_cycles[i];
	w->graph.sampling = true;
	total = turn(w, true);
	w->graph.sampling = false;
	if (total) {
		shunt_counter_add(&stats->sampled_turns, 1);
		shunt_counter_add(&stats->sampled_packets, total);
		__atomic_store_n(&stats->sampled_tx_cycles, io_node_cycles(&w->graph),
				 __ATOMIC_RELAXED);
		w->sample_due = SHUNT_SAMPLE_EVERY;
		return total;
	}
	for (i = 0; i < SHUNT_STAGE_CNT; i++)
		__atomic_store_n(&stats->sampled_cycles[i], before[i], __ATOMIC_RELAXED);
	return 0;
}

static void beat_queues(struct shunt_worker *w, bool is_asleep)
{
	unsigned i;

	for (i = 0; i < w->rx_queue_cnt; i++)
		if (w->rx_queues[i]->ops->beat)
			w->rx_queues[i]->ops->beat(w->rx_queues[i], w->graph.now_ns, is_asleep);
}

static void beat(struct shunt_worker *w, uint64_t now)
{
	w->last_beat = now;
	w->graph.now_ns = shunt_clock_ns();
	__atomic_store_n(&w->stats.heartbeat_ns, w->graph.now_ns, __ATOMIC_RELAXED);
	beat_queues(w, false);
}

unsigned shunt_worker_turn(struct shunt_worker *w)
{
	struct shunt_worker_stats *stats = &w->stats;
	uint64_t now, start = w->turn_end;
	unsigned total;

	if (unlikely(!w->sample_due)) {
		total = sampled_turn(w);
	} else {
		total = turn(w, false);
		w->sample_due -= !!total;
	}
	now = shunt_clock_cycles();
	w->turn_end = now;
	shunt_counter_add(&stats->turns, 1);
	if (total) {
		shunt_counter_add(&stats->work_cycles, now - start);
		shunt_counter_add(&stats->packets, total);
		w->last_work = now;
	} else {
		shunt_counter_add(&stats->busy_cycles, now - start);
		shunt_counter_add(&stats->empty_turns, 1);
	}
	if (unlikely(now - w->last_beat > w->beat_cycles))
		beat(w, now);
	return total;
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* What no descriptor tells: frames come back to the pool, or the kernel takes what it left. */
static bool must_look_again(const struct shunt_worker *w)
{
	bool is_due = !w->pool.free_cnt;
	unsigned i;

	for (i = 0; i < w->rx_queue_cnt; i++)
		is_due |= w->rx_queues[i]->has_unsent;
	return is_due;
}

/* Sleeps until a queue has a packet, control wants something, or the time is up. */
static void sleep_in_poll(struct shunt_worker *w)
{
	struct pollfd *fds = w->pollfds;
	uint64_t start = w->turn_end, drained;

	beat_queues(w, true);
	urcu_qsbr_thread_offline();
	poll(fds, w->pollfd_cnt, must_look_again(w) ? SLEEP_MIN_MS : SLEEP_MAX_MS);
	urcu_qsbr_thread_online();
	if (fds[0].revents && read(w->wake_fd, &drained, sizeof(drained)) < 0)
		drained = 0; /* another wake-up took it */
	w->turn_end = shunt_clock_cycles();
	shunt_counter_add(&w->stats.sleep_cycles, w->turn_end - start);
	shunt_counter_add(&w->stats.sleeps, 1);
	beat(w, w->turn_end);
}

static void busy_poll(struct shunt_worker *w)
{
	unsigned i;

	for (i = 0; i < w->rx_queue_cnt; i++)
		if (w->rx_queues[i]->ops->busy_poll)
			w->rx_queues[i]->ops->busy_poll(w->rx_queues[i]);
}

static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void wait(struct shunt_worker *w, unsigned received)
{
	switch (w->opts.poll) {
	case SHUNT_POLL_busy:
		busy_poll(w);
		return;
	case SHUNT_POLL_spin:
		if (!received)
			relax();
		return;
	case SHUNT_POLL_adaptive:
		if (!received && w->turn_end - w->last_work > w->idle_cycles)
			sleep_in_poll(w);
		return;
	default:
		if (!received)
			sleep_in_poll(w);
	}
}

void shunt_worker_loop(struct shunt_worker *w)
{
	urcu_qsbr_register_thread();
	w->turn_end = w->last_work = shunt_clock_cycles();
	/* A worker that hangs in its first turn is found as well. */
	beat(w, w->turn_end);
	while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
		unsigned received = shunt_worker_turn(w);

		/* pairs with shunt_worker_ledger */
		if (unlikely(__atomic_load_n(&w->request, __ATOMIC_ACQUIRE) != w->answer))
			shunt_worker_answer(w);
		/* nothing of this turn is held: what control replaced may be freed */
		urcu_qsbr_quiescent_state();
		wait(w, received);
	}
	urcu_qsbr_unregister_thread();
}
