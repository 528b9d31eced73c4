/* SPDX-License-Identifier: BSD-2-Clause */
/* The worker: a pinned thread that runs to completion. One turn takes a batch
 * from each of its queues through the graph, flushes, and decides how to wait.
 * Everything that it touches per packet is its own: pool, queues, graph, counters.
 *
 * Measured from the inside (Gallenmüller et al., ANCS 2015, section 3): the
 * clock is read once a turn; turns that received nothing are c_busy, the others
 * are split into c_io (reclaim, receive, transmit, flush) and c_task (all other
 * nodes) by timing every stage of one turn in SHUNT_SAMPLE_EVERY.
 *
 *   shunt_worker_start(worker, &err);
 *   shunt_worker_ledger(worker, &ledger, 200);
 *   shunt_worker_stop(worker, 5000);
 */
#ifndef SHUNT_GRAPH_WORKER_H
#define SHUNT_GRAPH_WORKER_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "graph/graph.h"
#include "io/queue.h"

/* One working turn in 32 is timed stage by stage. Every turn would cost 20 to 25
 * cycles a stage, 3 a packet at a batch of 32; one in 1000 would need seconds
 * of a slow trickle to say anything. */
#define SHUNT_SAMPLE_EVERY 32

/* shunt_poll_mode_name returns a static string, "?" out of range.
 * shunt_poll_mode_parse returns the mode or -EINVAL. Thread: any. */
const char *shunt_poll_mode_name(enum shunt_poll_mode mode);
int shunt_poll_mode_parse(const char *name);

#define SHUNT_WORKER_QUEUE_MAX 256 /* queues of one worker, over all ports */

enum shunt_stage {
	SHUNT_STAGE_RECLAIM,
	SHUNT_STAGE_RX,
	SHUNT_STAGE_GRAPH, /* the nodes, transmit included; see each node's own cycles */
	SHUNT_STAGE_FLUSH,
	SHUNT_STAGE_CNT
};

/* shunt_stage_name returns "reclaim", "rx", "graph" or "flush". Thread: any. */
const char *shunt_stage_name(enum shunt_stage stage);

/* One writer, the worker; read with shunt_counter_read. Cycles are ticks of
 * shunt_clock_cycles. */
struct shunt_worker_stats {
	uint64_t turns;
	uint64_t empty_turns;
	uint64_t packets;
	uint64_t busy_cycles;  /* in turns that received nothing, sleep not counted */
	uint64_t work_cycles;  /* in turns that received something */
	uint64_t sleep_cycles; /* in poll(2) */
	uint64_t sleeps;
	uint64_t sampled_turns;
	uint64_t sampled_packets;
	uint64_t sampled_cycles[SHUNT_STAGE_CNT];
	uint64_t sampled_tx_cycles;	     /* in transmit and drop nodes: I/O, not task */
	uint64_t batch[SHUNT_BATCH_MAX + 1]; /* receives by packets received, empty ones excluded */
	uint64_t
		heartbeat_ns; /* CLOCK_MONOTONIC of the latest turn, kept within 1 ms while awake */
};

struct shunt_worker_opts {
	unsigned id;
	int cpu;	/* -1: not pinned */
	unsigned batch; /* 1..SHUNT_BATCH_MAX */
	enum shunt_poll_mode poll;
	uint32_t idle_us; /* adaptive: sleep after so long without a packet */
	/* Called in the worker's thread before its first turn, e.g. to give up rights;
	 * NULL for none. With -errno and err set the worker does not start. */
	int (*enter)(void *arg, struct shunt_err *err);
	void *enter_arg;
};

struct shunt_worker {
	/* per packet */
	struct shunt_pool pool;
	struct shunt_graph graph;
	/* per turn */
	struct shunt_queue *rx_queues[SHUNT_WORKER_QUEUE_MAX]; /* dense: the queues it serves */
	uint16_t entry[SHUNT_WORKER_QUEUE_MAX]; /* graph entry node of each of them */
	unsigned rx_queue_cnt;
	bool stop; /* control sets it, and adds one to request */
	uint32_t request;
	uint32_t answer; /* the latest request that a turn's end has answered */
	struct shunt_worker_opts opts;
	unsigned sample_due;  /* working turns until one is timed */
	unsigned unflushed;   /* packets since all queues were to send */
	uint64_t idle_cycles; /* opts.idle_us in ticks */
	uint64_t beat_cycles; /* a millisecond in ticks */
	uint64_t turn_end;    /* ticks at the end of the latest turn */
	uint64_t last_work;   /* ticks at the end of the latest turn with packets */
	uint64_t last_beat;
	struct shunt_worker_stats stats SHUNT_CACHE_ALIGNED;
	struct shunt_pkt pkts[SHUNT_BATCH_MAX] SHUNT_CACHE_ALIGNED; /* the batch */
	/* per sleep */
	struct pollfd pollfds[SHUNT_WORKER_QUEUE_MAX + 1]; /* wake_fd, then the sockets */
	unsigned pollfd_cnt;
	int wake_fd; /* eventfd that ends a sleep */
	/* control */
	struct shunt_queue *queues[SHUNT_PORT_MAX]; /* by port index: where it transmits */
	pthread_t thread;
	int tid;
	bool running;
	struct shunt_ledger ledger;	       /* valid once answer == request */
	uint64_t seen_turns, seen_empty_turns; /* by the latest shunt_worker_is_through */
};

/* Cycles per packet over the worker's life, Gallenmüller et al.'s split. Negative
 * where nothing was measured yet. */
struct shunt_worker_costs {
	double c_io;   /* reclaim, receive, transmit and drop nodes, flush */
	double c_task; /* the other nodes */
	double c_busy; /* turns that received nothing */
};

/* shunt_worker_costs computes the split from the counters so far, shunt_worker_stats_costs from
 * any, such as what was counted between two looks. Thread: control. */
struct shunt_worker_costs shunt_worker_costs(const struct shunt_worker *worker);
struct shunt_worker_costs shunt_worker_stats_costs(const struct shunt_worker_stats *stats);

/* shunt_worker_turn does one turn and returns the packets received. For
 * benchmarks and tests that drive a worker without a thread.
 * Thread: owner worker. */
unsigned shunt_worker_turn(struct shunt_worker *worker);

/* shunt_worker_init prepares a zeroed worker: opts, an empty graph, the wake-up.
 * Then the caller sets up pool, opens queues (shunt_worker_add_queue) and builds
 * the graph. Returns 0 or -errno with err set. Thread: control. */
int shunt_worker_init(struct shunt_worker *worker, const struct shunt_worker_opts *opts,
		      struct shunt_err *err);

/* shunt_worker_add_queue gives the worker an open queue; its packets enter the
 * graph at node 0 unless worker->entry says otherwise, and the first queue of a
 * port is where the worker transmits. The worker closes it, and frees its meta. Returns 0, -ENOSPC.
 * Thread: control, before start. */
int shunt_worker_add_queue(struct shunt_worker *worker, struct shunt_queue *queue);

/* shunt_worker_fini closes the queues and frees graph and pool of a stopped
 * worker. Thread: control. */
void shunt_worker_fini(struct shunt_worker *worker);

/* shunt_worker_drain does turns, receiving nothing, until every transmitted
 * frame came back or timeout_ms passed. Returns 0 or -ETIMEDOUT. Thread:
 * control, the worker being stopped. */
int shunt_worker_drain(struct shunt_worker *worker, unsigned timeout_ms);

/* shunt_worker_audit looks at every frame of a stopped worker: each must be in
 * exactly one place, and those in no ring must be the ones that the ledger has
 * with the driver. Looks again while the kernel gives frames back. Returns 0, -EBADMSG with err
 * set, or -ENOMEM. Thread: control, the worker being stopped. */
int shunt_worker_audit(const struct shunt_worker *worker, struct shunt_err *err);

/* shunt_worker_loop takes turns and waits as opts.poll says until stop is set;
 * shunt_worker_answer answers a ledger request. Thread: owner worker. */
void shunt_worker_loop(struct shunt_worker *worker);
void shunt_worker_answer(struct shunt_worker *worker);

/* shunt_worker_check_cpu returns 0 where this thread may run on cpu (-1: any), else -EINVAL with
 * err set, for worker number id. Thread: control. */
int shunt_worker_check_cpu(unsigned id, int cpu, struct shunt_err *err);

/* shunt_worker_start runs the worker in a thread of its own, pinned to
 * opts.cpu. Returns 0 or -errno with err set. Thread: control. */
int shunt_worker_start(struct shunt_worker *worker, struct shunt_err *err);

/* shunt_worker_stop ends the thread after its current turn and joins it; legal
 * when it never ran. Returns 0, or -ETIMEDOUT: the worker hangs, and what it uses must stay
 * until the process ends. Thread: control. */
int shunt_worker_stop(struct shunt_worker *worker, unsigned timeout_ms);

/* shunt_worker_ledger asks the worker for its ledger, taken between two turns
 * (or takes it, when the worker is not running). Returns 0, or -ETIMEDOUT when it did
 * not answer within timeout_ms. Thread: control. */
int shunt_worker_ledger(struct shunt_worker *worker, struct shunt_ledger *out, unsigned timeout_ms);

/* shunt_worker_is_through says whether the worker took all that its queues held at the call before:
 * since then it has found them empty, or has turned as often as a ring has places. Thread: control.
 */
bool shunt_worker_is_through(struct shunt_worker *worker, unsigned ring_size);

#endif
