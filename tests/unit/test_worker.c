// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake_port.h"
#include "graph/nodes.h"
#include "graph/worker.h"
#include "wait.h"

#define PORTS  2
#define FRAMES 1024

static struct shunt_worker *worker;
static struct fake_port fakes[PORTS];
static struct shunt_pair_params pairs;
static struct shunt_err err;

static void build(struct shunt_worker_opts opts)
{
	static const char *const names[PORTS] = {"a", "b"};
	static const uint32_t max_lens[PORTS] = {1518, 1518};
	unsigned i;

	worker = aligned_alloc(64, (sizeof(*worker) + 63) & ~63UL);
	cr_assert(worker);
	memset(worker, 0, sizeof(*worker));
	cr_assert_eq(shunt_worker_init(worker, &opts, &err), 0, "%s", err.msg);
	cr_assert_eq(shunt_pool_init(&worker->pool, FRAMES, 2048, &err), 0, "%s", err.msg);
	for (i = 0; i < PORTS; i++) {
		fake_port_init(&fakes[i], &worker->pool, (uint16_t)i);
		cr_assert_eq(shunt_worker_add_queue(worker, &fakes[i].queue), 0);
	}
	pairs.out_port[0] = 1;
	pairs.out_port[1] = 0;
	shunt_graph_init(&worker->graph, &worker->pool, worker->queues, PORTS);
	shunt_graph_add(&worker->graph, &shunt_node_xconnect, NULL, &pairs, &err);
	cr_assert_eq(shunt_graph_seal(&worker->graph, names, max_lens, &err), 0, "%s", err.msg);
}

static void fini(void)
{
	shunt_worker_stop(worker, WAIT_MS);
	shunt_worker_fini(worker);
	free(worker);
}

static const struct shunt_worker_opts ordinary = {.cpu = -1, .batch = 32, .poll = SHUNT_POLL_spin};

/* --- the turn --------------------------------------------------------------------------------- */

Test(worker, one_turn_takes_a_batch_of_each_queue, .fini = fini)
{
	unsigned i;

	build(ordinary);
	fakes[0].arriving = 40;
	fakes[1].arriving = 5;
	cr_assert_eq(shunt_worker_turn(worker), 37);
	cr_assert(fakes[1].sent_cnt == 32 && fakes[0].sent_cnt == 5);
	cr_assert_eq(shunt_worker_turn(worker), 8);
	cr_assert_eq(shunt_worker_turn(worker), 0);
	for (i = 0; i < 40; i++)
		cr_assert_eq(*(uint32_t *)fakes[1].sent[i].bytes, i, "in order");
	for (i = 0; i < PORTS; i++)
		cr_assert(fakes[i].reclaims == 3 && fakes[i].flushes == 3,
			  "every turn ends with a flush");
	cr_assert_eq(worker->stats.turns, 3);
	cr_assert_eq(worker->stats.empty_turns, 1);
	cr_assert_eq(worker->stats.packets, 45);
	cr_assert(worker->stats.batch[32] == 1 && worker->stats.batch[8] == 1 &&
		  worker->stats.batch[5] == 1 && !worker->stats.batch[0]);
}

/* Of 256 packets in full batches the last is sent with the others at the latest, and of fewer,
 * too, by the turn that finds no full batch. */
Test(worker, full_batches_are_sent_together, .fini = fini)
{
	build(ordinary);
	fakes[0].arriving = 3 * 32;
	for (unsigned i = 1; i <= 3; i++) {
		cr_assert_eq(shunt_worker_turn(worker), 32);
		cr_assert(fakes[1].flushes == i && fakes[1].waits == i);
	}
	cr_assert_eq(shunt_worker_turn(worker), 0);
	cr_assert(fakes[1].flushes == 4 && fakes[1].waits == 3);
	fakes[0].arriving = 16 * 32;
	for (unsigned i = 1; i <= 16; i++)
		shunt_worker_turn(worker);
	cr_assert(fakes[1].flushes == 20 && fakes[1].waits == 3 + 14, "twice not: %u",
		  fakes[1].waits);
}

/* Late packets of a few batches are dropped, and none that came behind them, in the same turn or
 * not. */
Test(worker, late_packets_alone_are_dropped, .fini = fini)
{
	static const unsigned cnts[] = {0, 1, 31, 32, 33, 64, 100};
	unsigned i, dropped = 0;

	build(ordinary);
	for (i = 0; i < SHUNT_ARRAY_LEN(cnts); i++) {
		const unsigned serial = fakes[0].serial;

		fakes[1].sent_cnt = 0;
		fakes[0].arriving = cnts[i] + 3;
		fakes[0].late = cnts[i];
		fakes[0].queue.is_late = true;
		while (fakes[0].arriving)
			shunt_worker_turn(worker);
		dropped += cnts[i];
		cr_assert_eq(fakes[1].sent_cnt, 3, "%u late ones", cnts[i]);
		cr_assert_eq(memcmp(fakes[1].sent[0].bytes, &(unsigned){serial + cnts[i]}, 4), 0);
		cr_assert_not(fakes[0].queue.is_late);
		cr_assert_eq(worker->graph.drops[SHUNT_DROP_late], dropped);
	}
}

Test(worker, batch_of_one_and_of_256, .fini = fini)
{
	struct shunt_worker_opts opts = ordinary;

	opts.batch = 1;
	build(opts);
	fakes[0].arriving = 3;
	cr_assert_eq(shunt_worker_turn(worker), 1);
	cr_assert_eq(worker->stats.batch[1], 1);
	fini();
	opts.batch = SHUNT_BATCH_MAX;
	build(opts);
	fakes[0].arriving = 300;
	cr_assert_eq(shunt_worker_turn(worker), 256);
	cr_assert_eq(shunt_worker_turn(worker), 44);
	cr_assert(worker->stats.batch[256] == 1 && worker->stats.batch[44] == 1);
	cr_assert_eq(fakes[1].sent_cnt, 300);
}

/* --- what is measured ------------------------------------------------------------------------- */

Test(worker, costs_are_split, .fini = fini)
{
	struct shunt_worker_costs costs;
	unsigned i;

	build(ordinary);
	costs = shunt_worker_costs(worker);
	cr_assert(costs.c_io < 0 && costs.c_task < 0 && costs.c_busy < 0, "nothing measured");
	for (i = 0; i < 3 * SHUNT_SAMPLE_EVERY + 3; i++) {
		fakes[0].arriving = 10;
		fakes[0].sent_cnt = fakes[1].sent_cnt = 0;
		shunt_worker_turn(worker);
		shunt_worker_turn(worker); /* an empty one */
	}
	cr_assert_eq(worker->stats.packets, 10 * i);
	cr_assert(worker->stats.sampled_turns >= 3 && worker->stats.sampled_turns <= 5,
		  "%llu turns", (unsigned long long)worker->stats.sampled_turns);
	cr_assert_eq(worker->stats.sampled_packets, 10 * worker->stats.sampled_turns,
		     "empty turns are no sample");
	costs = shunt_worker_costs(worker);
	cr_assert(costs.c_io > 0 && costs.c_task >= 0 && costs.c_busy > 0);
	cr_assert(worker->stats.work_cycles && worker->stats.busy_cycles);
	cr_assert_eq(worker->stats.sleep_cycles, 0);
}

static uint64_t slow_cycles; /* that slow() has taken */

/* A node that takes a while: its cycles are c_task, not c_io. */
static unsigned slow(struct shunt_node *node, struct shunt_pkt *pkts, unsigned cnt, uint16_t *next)
{
	uint64_t start = shunt_clock_cycles(), now = start;

	(void)pkts;
	(void)next;
	while (now < start + cnt * 20000ULL)
		now = shunt_clock_cycles();
	slow_cycles += now - start;
	return node->graph->tx_node[1];
}

Test(worker, a_slow_node_is_task, .fini = fini)
{
	struct shunt_worker_costs costs;
	uint64_t sampled, start, elsewhere = 0; /* cycles of sampled turns outside the node */
	unsigned i;

	build(ordinary);
	worker->graph.nodes[0].fn = slow;
	for (i = 0; i < 2 * SHUNT_SAMPLE_EVERY; i++) {
		fakes[0].arriving = 4;
		slow_cycles = 0;
		sampled = worker->stats.sampled_turns;
		start = shunt_clock_cycles();
		shunt_worker_turn(worker);
		if (worker->stats.sampled_turns > sampled)
			elsewhere += shunt_clock_cycles() - start - slow_cycles;
	}
	costs = shunt_worker_costs(worker);
	cr_assert_geq(costs.c_task, 20000);
	cr_assert_leq(costs.c_io * (double)worker->stats.sampled_packets, (double)elsewhere);
}

/* --- ledger, drain, audit --------------------------------------------------------------------- */

static void expect_ledger(uint64_t pool, uint64_t tx)
{
	struct shunt_ledger ledger;

	cr_assert_eq(shunt_worker_ledger(worker, &ledger, 1000), 0);
	cr_assert(ledger.total == FRAMES && ledger.pool == pool && ledger.tx == tx,
		  "pool %llu tx %llu", (unsigned long long)ledger.pool,
		  (unsigned long long)ledger.tx);
	cr_assert_eq(shunt_ledger_sum(&ledger), FRAMES);
}

Test(worker, ledger_of_a_stopped_worker, .fini = fini)
{
	build(ordinary);
	expect_ledger(FRAMES, 0);
	fakes[1].holds = true;
	fakes[0].arriving = 20;
	shunt_worker_turn(worker);
	expect_ledger(FRAMES - 20, 20);
	fake_port_complete(&fakes[1], 5);
	expect_ledger(FRAMES - 15, 15);
}

/* By two turns that received nothing, or by as many as a ring has places. */
Test(worker, is_through_with_what_was_there, .fini = fini)
{
	unsigned i;

	build(ordinary);
	cr_expect_not(shunt_worker_is_through(worker, 3));
	shunt_worker_turn(worker);
	cr_expect_not(shunt_worker_is_through(worker, 3));
	shunt_worker_turn(worker);
	shunt_worker_turn(worker);
	cr_expect(shunt_worker_is_through(worker, 3));
	cr_expect_not(shunt_worker_is_through(worker, 3));
	for (i = 0; i < 4; i++) {
		cr_expect_not(shunt_worker_is_through(worker, 3));
		fakes[0].arriving = 1;
		shunt_worker_turn(worker);
	}
	for (i = 0; i < 3; i++) {
		fakes[0].arriving = 1;
		shunt_worker_turn(worker);
	}
	cr_expect(shunt_worker_is_through(worker, 3));
}

Test(worker, drain_waits_for_what_was_sent, .fini = fini)
{
	uint64_t start;

	build(ordinary);
	cr_assert_eq(shunt_worker_drain(worker, 1000), 0, "nothing to wait for");
	fakes[1].holds = true;
	fakes[0].arriving = 20;
	shunt_worker_turn(worker);
	start = shunt_clock_ns();
	cr_assert_eq(shunt_worker_drain(worker, 20), -ETIMEDOUT);
	cr_assert_geq(shunt_clock_ns() - start, 20000000);
	cr_assert_eq(shunt_worker_audit(worker, &err), 0, "%s", err.msg);
	fake_port_complete(&fakes[1], 20);
	cr_assert_eq(shunt_worker_drain(worker, 20), 0);
	cr_assert_eq(shunt_worker_audit(worker, &err), 0, "%s", err.msg);
}

/* A completion may come at any time until the socket is closed. */
Test(worker, audit_while_frames_come_back, .fini = fini)
{
	build(ordinary);
	fakes[1].holds = fakes[1].in_driver = true;
	fakes[0].arriving = 20;
	shunt_worker_turn(worker);
	cr_assert_eq(shunt_worker_audit(worker, &err), 0, "%s", err.msg);
	fakes[1].completes_in_audit = true;
	cr_assert_eq(shunt_worker_audit(worker, &err), 0, "%s", err.msg);
	expect_ledger(FRAMES, 0);
}

static void expect_unbalanced(const char *says)
{
	cr_assert_eq(shunt_worker_audit(worker, &err), -EBADMSG, "%s", says);
	cr_assert(strstr(err.msg, says), "%s", err.msg);
}

Test(worker, audit_finds_what_is_wrong, .fini = fini)
{
	uint64_t kept = 0;

	build(ordinary);
	cr_assert_eq(shunt_worker_audit(worker, &err), 0, "%s", err.msg);
	shunt_pool_alloc(&worker->pool, &kept, 1);
	expect_unbalanced("1 in none");
	shunt_pool_free(&worker->pool, &kept, 1);
	kept = worker->pool.free[7];
	worker->pool.free[7] = worker->pool.free[8];
	expect_unbalanced("1 in two places");
	worker->pool.free[7] = kept + 3;
	expect_unbalanced("1 stray");
	worker->pool.free[7] = kept;
	cr_assert_eq(shunt_worker_audit(worker, &err), 0, "%s", err.msg);
}

/* --- running ---------------------------------------------------------------------------------- */

static void wait_for(const uint64_t *counter, uint64_t value)
{
	wait_until(shunt_counter_read(counter) >= value);
}

static void start(enum shunt_poll_mode poll)
{
	struct shunt_worker_opts opts = ordinary;

	opts.poll = poll;
	opts.idle_us = 100;
	build(opts);
	cr_assert_eq(shunt_worker_start(worker, &err), 0, "%s", err.msg);
	cr_assert_gt(worker->tid, 0, "told before it is asked for");
}

static const enum shunt_poll_mode modes[] = {SHUNT_POLL_spin, SHUNT_POLL_busy, SHUNT_POLL_adaptive,
					     SHUNT_POLL_interrupt};

Test(worker, answers_and_stops_in_every_mode, .fini = fini)
{
	struct shunt_ledger ledger;
	unsigned i, j;

	for (i = 0; i < 4; i++) {
		start(modes[i]);
		for (j = 0; j < 20; j++) {
			cr_assert_eq(shunt_worker_ledger(worker, &ledger, WAIT_MS), 0, "%s",
				     shunt_poll_mode_name(modes[i]));
			cr_assert_eq(shunt_ledger_sum(&ledger), FRAMES);
		}
		cr_assert_eq(shunt_worker_stop(worker, WAIT_MS), 0);
		cr_assert_eq(shunt_worker_stop(worker, 0), 0, "legal again");
		if (i < 3)
			fini();
	}
}

Test(worker, sleeps_when_the_mode_says_so, .fini = fini)
{
	start(SHUNT_POLL_interrupt);
	wait_for(&worker->stats.sleeps, 2);
	cr_assert_leq(shunt_counter_read(&worker->stats.turns),
		      shunt_counter_read(&worker->stats.sleeps) + 2, "a turn for each wake-up");
	cr_assert_gt(shunt_counter_read(&worker->stats.sleep_cycles), 0);
	fini();
	start(SHUNT_POLL_adaptive);
	wait_for(&worker->stats.sleeps, 2);
	fini();
	start(SHUNT_POLL_spin);
	wait_for(&worker->stats.turns, 10000);
	cr_assert_eq(shunt_counter_read(&worker->stats.sleeps), 0);
	fini();
	start(SHUNT_POLL_busy);
	wait_for(&worker->stats.turns, 10000);
	cr_assert_eq(shunt_counter_read(&worker->stats.sleeps), 0);
	shunt_worker_stop(worker, WAIT_MS);
	cr_assert_geq(fakes[0].busy_polls, 9999, "the driver is polled each turn");
	cr_assert_eq(fakes[0].busy_polls, fakes[1].busy_polls);
}

/* A descriptor that becomes readable ends the sleep, long before the heartbeat would: a thousand
 * such sleeps would last longer than WAIT_S. */
Test(worker, a_packet_ends_a_sleep, .fini = fini)
{
	struct shunt_worker_opts opts = ordinary;
	uint64_t one = 1, sleeps;
	int fd = eventfd(0, EFD_NONBLOCK);

	opts.poll = SHUNT_POLL_interrupt;
	build(opts);
	worker->pollfds[worker->pollfd_cnt++] = (struct pollfd){.fd = fd, .events = POLLIN};
	cr_assert_eq(shunt_worker_start(worker, &err), 0, "%s", err.msg);
	wait_for(&worker->stats.sleeps, 1);
	sleeps = shunt_counter_read(&worker->stats.sleeps);
	cr_assert_eq(write(fd, &one, 8), 8);
	wait_for(&worker->stats.sleeps, sleeps + 1000);
	shunt_worker_stop(worker, WAIT_MS);
	close(fd);
}

/* What the kernel did not take is offered to it again a millisecond later, and not when the next
 * packet comes. Sleeps to the next heartbeat would make a thousand last longer than WAIT_S. */
Test(worker, what_was_not_sent_ends_a_sleep, .fini = fini)
{
	struct shunt_worker_opts opts = ordinary;
	uint64_t sleeps;

	opts.poll = SHUNT_POLL_interrupt;
	build(opts);
	fakes[1].queue.has_unsent = true;
	cr_assert_eq(shunt_worker_start(worker, &err), 0, "%s", err.msg);
	wait_for(&worker->stats.sleeps, 1);
	sleeps = shunt_counter_read(&worker->stats.sleeps);
	wait_for(&worker->stats.sleeps, sleeps + 1000);
}

Test(worker, heartbeat_goes_on_in_every_mode, .fini = fini)
{
	uint64_t first, start_ns;
	unsigned i;

	for (i = 0; i < 4; i++) {
		start_ns = shunt_clock_ns();
		start(modes[i]);
		cr_assert_geq(shunt_counter_read(&worker->stats.heartbeat_ns), start_ns,
			      "from its start on");
		first = shunt_counter_read(&worker->stats.heartbeat_ns);
		wait_for(&worker->stats.heartbeat_ns, first + 1);
		cr_assert_leq(shunt_counter_read(&worker->stats.heartbeat_ns), shunt_clock_ns());
		if (i < 3)
			fini();
	}
}

Test(worker, a_cpu_that_is_not_there)
{
	struct shunt_worker_opts opts = ordinary;

	opts.id = 3;
	opts.cpu = 1000;
	build(opts);
	cr_assert_eq(shunt_worker_start(worker, &err), -EINVAL);
	cr_assert(strstr(err.msg, "worker 3: CPU 1000"), "%s", err.msg);
	cr_assert_not(worker->running);
	shunt_worker_stop(worker, WAIT_MS);
	shunt_worker_fini(worker);
	cr_assert(fakes[0].closes == 1 && fakes[1].closes == 1);
	free(worker);
}

Test(worker, queues_have_a_limit, .fini = fini)
{
	unsigned i;

	build(ordinary);
	for (i = PORTS; i < SHUNT_WORKER_QUEUE_MAX; i++)
		cr_assert_eq(shunt_worker_add_queue(worker, &fakes[0].queue), 0);
	cr_assert_eq(shunt_worker_add_queue(worker, &fakes[0].queue), -ENOSPC);
	cr_assert_eq(worker->queues[0], &fakes[0].queue);
	worker->rx_queue_cnt = PORTS;
}

Test(worker, names_of_modes_and_stages)
{
	unsigned i;

	for (i = 0; i < SHUNT_POLL_CNT; i++)
		cr_assert_eq(shunt_poll_mode_parse(shunt_poll_mode_name(i)), (int)i);
	cr_assert_eq(shunt_poll_mode_parse("sleepy"), -EINVAL);
	cr_assert_str_eq(shunt_poll_mode_name(SHUNT_POLL_CNT), "?");
	for (i = 0; i < SHUNT_STAGE_CNT; i++)
		cr_assert_neq(*shunt_stage_name(i), '?');
	cr_assert_str_eq(shunt_stage_name(SHUNT_STAGE_CNT), "?");
}
