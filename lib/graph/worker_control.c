// SPDX-License-Identifier: BSD-2-Clause
/* The control side of a worker: made, started, asked, stopped, audited. */
#include "graph/worker.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* How often an audit looks while the kernel gives frames back. */
#define AUDIT_LOOKS 100

static const char *const poll_names[] = {
#define X(name, help) #name,
	SHUNT_POLL_MODES(X)
#undef X
};

const char *shunt_poll_mode_name(enum shunt_poll_mode mode)
{
	return (unsigned)mode < SHUNT_ARRAY_LEN(poll_names) ? poll_names[mode] : "?";
}

int shunt_poll_mode_parse(const char *name)
{
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(poll_names); i++)
		if (!strcmp(name, poll_names[i]))
			return (int)i;
	return -EINVAL;
}

const char *shunt_stage_name(enum shunt_stage stage)
{
	static const char *const names[] = {"reclaim", "rx", "graph", "flush"};

	return (unsigned)stage < SHUNT_ARRAY_LEN(names) ? names[stage] : "?";
}

/* --- made and unmade -------------------------------------------------------------------------- */

int shunt_worker_init(struct shunt_worker *w, const struct shunt_worker_opts *opts,
		      struct shunt_err *err)
{
	uint64_t hz = shunt_clock_hz();

	memset(w, 0, sizeof(*w));
	w->opts = *opts;
	w->idle_cycles = hz / 1000000 * opts->idle_us;
	w->beat_cycles = hz / 1000;
	w->sample_due = 1;
	w->turn_end = shunt_clock_cycles();
	w->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (w->wake_fd < 0)
		return shunt_err_set(err, errno, "worker %u: eventfd: %s", opts->id,
				     strerror(errno));
	w->pollfds[0] = (struct pollfd){.fd = w->wake_fd, .events = POLLIN};
	w->pollfd_cnt = 1;
	return 0;
}

int shunt_worker_add_queue(struct shunt_worker *w, struct shunt_queue *queue)
{
	if (w->rx_queue_cnt == SHUNT_WORKER_QUEUE_MAX)
		return -ENOSPC;
	w->rx_queues[w->rx_queue_cnt++] = queue;
	if (!w->queues[queue->port])
		w->queues[queue->port] = queue;
	if (queue->fd >= 0)
		w->pollfds[w->pollfd_cnt++] = (struct pollfd){.fd = queue->fd, .events = POLLIN};
	return 0;
}

void shunt_worker_fini(struct shunt_worker *w)
{
	unsigned i;

	shunt_graph_fini(&w->graph);
	/* The first socket registered the UMEM that the others share: last. */
	for (i = w->rx_queue_cnt; i-- > 0;)
		w->rx_queues[i]->ops->close(w->rx_queues[i]);
	w->rx_queue_cnt = 0;
	shunt_pool_fini(&w->pool);
	if (w->wake_fd > 0)
		close(w->wake_fd);
	w->wake_fd = -1;
}

/* --- started and stopped ---------------------------------------------------------------------- */

/* Between shunt_worker_start and the new thread, until that has entered. */
struct start {
	struct shunt_worker *worker;
	sem_t entered;
	int ret;
	struct shunt_err err;
};

static void *thread_main(void *arg)
{
	struct start *start = arg;
	struct shunt_worker *w = start->worker;
	char name[16];
	int ret;

	/* By the thread itself: another thread's name is a file, which may be out of reach. */
	snprintf(name, sizeof(name), "shunt-w%u", w->opts.id);
	pthread_setname_np(pthread_self(), name);
	ret = w->opts.enter ? w->opts.enter(w->opts.enter_arg, &start->err) : 0;
	start->ret = ret;
	/* Before the semaphore: the control thread reads it as soon as it goes on. */
	w->tid = gettid();
	sem_post(&start->entered);
	if (ret)
		return NULL;
	shunt_worker_loop(w);
	return NULL;
}

static int refuse_cpu(unsigned id, int cpu, struct shunt_err *err)
{
	return shunt_err_set(err, EINVAL,
			     "worker %u: CPU %d is not there or not allowed; see nproc and "
			     "taskset -p $$",
			     id, cpu);
}

/* Only the kernel knows which CPUs are allowed: one is tried. */
int shunt_worker_check_cpu(unsigned id, int cpu, struct shunt_err *err)
{
	cpu_set_t before, wanted;
	int ret;

	if (cpu < 0 || sched_getaffinity(0, sizeof(before), &before))
		return 0;
	CPU_ZERO(&wanted);
	CPU_SET(cpu, &wanted);
	ret = sched_setaffinity(0, sizeof(wanted), &wanted);
	sched_setaffinity(0, sizeof(before), &before);
	return ret ? refuse_cpu(id, cpu, err) : 0;
}

int shunt_worker_start(struct shunt_worker *w, struct shunt_err *err)
{
	struct start start = {.worker = w, .err = {""}};
	pthread_attr_t attr;
	cpu_set_t cpus;
	int ret;

	pthread_attr_init(&attr);
	CPU_ZERO(&cpus);
	if (w->opts.cpu >= 0) {
		CPU_SET(w->opts.cpu, &cpus);
		pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	}
	w->stop = false;
	/* the first heartbeat is waited for from now on */
	__atomic_store_n(&w->stats.heartbeat_ns, shunt_clock_ns(), __ATOMIC_RELAXED);
	sem_init(&start.entered, 0, 0);
	ret = pthread_create(&w->thread, &attr, thread_main, &start);
	pthread_attr_destroy(&attr);
	if (ret == EINVAL && w->opts.cpu >= 0)
		return refuse_cpu(w->opts.id, w->opts.cpu, err);
	if (ret)
		return shunt_err_set(err, ret, "worker %u: cannot start a thread: %s", w->opts.id,
				     strerror(ret));
	while (sem_wait(&start.entered))
		; /* a signal */
	sem_destroy(&start.entered);
	if (start.ret) {
		pthread_join(w->thread, NULL);
		return shunt_err_set(err, -start.ret, "worker %u: %s", w->opts.id, start.err.msg);
	}
	w->running = true;
	return 0;
}

static void wake(struct shunt_worker *w)
{
	uint64_t one = 1;

	if (write(w->wake_fd, &one, sizeof(one)) < 0)
		return; /* the counter is at its limit: the worker is being woken already */
}

int shunt_worker_stop(struct shunt_worker *w, unsigned timeout_ms)
{
	const uint64_t until_ns = shunt_clock_ns() + timeout_ms * 1000000ULL;
	const struct timespec until = {.tv_sec = (time_t)(until_ns / SHUNT_NS_PER_SEC),
				       .tv_nsec = (long)(until_ns % SHUNT_NS_PER_SEC)};

	if (!w->running)
		return 0;
	__atomic_store_n(&w->stop, true, __ATOMIC_RELEASE);
	wake(w);
	if (pthread_clockjoin_np(w->thread, NULL, CLOCK_MONOTONIC, &until))
		return -ETIMEDOUT;
	w->running = false;
	return 0;
}

/* --- asked ------------------------------------------------------------------------------------ */

static void take_ledger(const struct shunt_worker *w, struct shunt_ledger *out)
{
	unsigned i;

	*out = (struct shunt_ledger){.total = w->pool.total, .pool = w->pool.free_cnt};
	for (i = 0; i < w->rx_queue_cnt; i++)
		w->rx_queues[i]->ops->ledger(w->rx_queues[i], out);
}

void shunt_worker_answer(struct shunt_worker *w)
{
	uint32_t request = __atomic_load_n(&w->request, __ATOMIC_ACQUIRE);

	take_ledger(w, &w->ledger);
	__atomic_store_n(&w->answer, request, __ATOMIC_RELEASE);
}

int shunt_worker_ledger(struct shunt_worker *w, struct shunt_ledger *out, unsigned timeout_ms)
{
	const struct timespec pause = {.tv_nsec = 100 * 1000};
	uint64_t until = shunt_clock_ns() + timeout_ms * 1000000ULL;
	uint32_t request;

	if (!w->running) {
		take_ledger(w, out);
		return 0;
	}
	request = w->request + 1;
	__atomic_store_n(&w->request, request, __ATOMIC_RELEASE);
	wake(w);
	while (__atomic_load_n(&w->answer, __ATOMIC_ACQUIRE) != request) {
		if (shunt_clock_ns() > until)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	*out = w->ledger;
	return 0;
}

/* One of two turns begins and ends after the call before. */
bool shunt_worker_is_through(struct shunt_worker *w, unsigned ring_size)
{
	const uint64_t turns = shunt_counter_read(&w->stats.turns);
	const uint64_t empty_turns = shunt_counter_read(&w->stats.empty_turns);
	const bool is_through =
		empty_turns - w->seen_empty_turns > 1 || turns - w->seen_turns > ring_size;

	w->seen_turns = turns;
	w->seen_empty_turns = empty_turns;
	return is_through;
}

struct shunt_worker_costs shunt_worker_costs(const struct shunt_worker *w)
{
	return shunt_worker_stats_costs(&w->stats);
}

struct shunt_worker_costs shunt_worker_stats_costs(const struct shunt_worker_stats *stats)
{
	struct shunt_worker_costs costs = {-1, -1, -1};
	double packets = (double)shunt_counter_read(&stats->packets);
	double sampled = (double)shunt_counter_read(&stats->sampled_packets);
	double io = (double)shunt_counter_read(&stats->sampled_tx_cycles), task;
	unsigned i;

	if (packets > 0)
		costs.c_busy = (double)shunt_counter_read(&stats->busy_cycles) / packets;
	if (sampled <= 0)
		return costs;
	task = (double)shunt_counter_read(&stats->sampled_cycles[SHUNT_STAGE_GRAPH]) - io;
	for (i = 0; i < SHUNT_STAGE_CNT; i++)
		if (i != SHUNT_STAGE_GRAPH)
			io += (double)shunt_counter_read(&stats->sampled_cycles[i]);
	costs.c_io = io / sampled;
	costs.c_task = task > 0 ? task / sampled : 0;
	return costs;
}

/* --- drained and audited ---------------------------------------------------------------------- */

int shunt_worker_drain(struct shunt_worker *w, unsigned timeout_ms)
{
	const struct timespec pause = {.tv_nsec = 1000 * 1000};
	uint64_t until = shunt_clock_ns() + timeout_ms * 1000000ULL;
	struct shunt_ledger ledger;
	unsigned i;

	for (;;) {
		for (i = 0; i < w->rx_queue_cnt; i++) {
			w->rx_queues[i]->has_more = false;
			w->rx_queues[i]->ops->flush(w->rx_queues[i]);
			w->rx_queues[i]->ops->reclaim(w->rx_queues[i]);
		}
		take_ledger(w, &ledger);
		if (!(ledger.tx + ledger.driver_tx + ledger.completion))
			return 0;
		if (shunt_clock_ns() > until)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
}

static int judge(const struct shunt_worker *w, const struct shunt_ledger *ledger,
		 const uint8_t *seen, unsigned strays, struct shunt_err *err)
{
	const unsigned long long driver = ledger->driver_rx + ledger->driver_tx;
	uint32_t doubles = 0, missing = 0, i;

	for (i = 0; i < w->pool.total; i++) {
		missing += !seen[i];
		doubles += seen[i] > 1;
	}
	if (shunt_ledger_sum(ledger) == ledger->total && !doubles && !strays && missing == driver)
		return 0;
	return shunt_err_set(
		err, EBADMSG,
		"worker %u: the ledger does not balance: %llu of %llu frames accounted "
		"for, %u in two places, %u in none (driver has %llu), %u stray "
		"addresses; please report this bug",
		w->opts.id, (unsigned long long)shunt_ledger_sum(ledger),
		(unsigned long long)ledger->total, doubles, missing, driver, strays);
}

/* One look; *moved if the kernel gave frames back meanwhile: those may be counted twice or not at
 * all. */
static int look(const struct shunt_worker *w, uint8_t *seen, bool *moved, struct shunt_err *err)
{
	struct shunt_ledger before, after;
	unsigned strays, i;

	memset(seen, 0, w->pool.total);
	take_ledger(w, &before);
	strays = shunt_pool_audit(&w->pool, seen);
	for (i = 0; i < w->rx_queue_cnt; i++)
		w->rx_queues[i]->ops->audit(w->rx_queues[i], seen);
	take_ledger(w, &after);
	*moved = memcmp(&before, &after, sizeof(before)) != 0;
	return judge(w, &after, seen, strays, err);
}

int shunt_worker_audit(const struct shunt_worker *w, struct shunt_err *err)
{
	uint8_t *seen = calloc(w->pool.total ? w->pool.total : 1, 1);
	bool moved = true;
	unsigned i;
	int ret = 0;

	if (!seen)
		return shunt_err_set(err, ENOMEM, "worker %u: not enough memory for the audit",
				     w->opts.id);
	for (i = 0; i < AUDIT_LOOKS && moved; i++) {
		ret = look(w, seen, &moved, err);
		moved = moved && ret;
	}
	free(seen);
	return ret;
}
