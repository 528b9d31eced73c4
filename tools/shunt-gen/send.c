// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "device/link_stats.h"
#include "gen.h"

/* How often the controller looks whether it is time to stop. */
#define LOOK_S	    0.005
/* Longer than any set-up takes: nothing sent by then means that nothing will be. */
#define START_S	    10
#define PROGRESS_S  1
/* Until threads begin together: the slowest way is set up in 25 ms. */
#define TOGETHER_NS 50000000
/* Some drivers' counters are up to a second behind. */
#define COUNTER_S   1.5

struct crew {
	struct gen_plan plan;
	struct gen_sender *senders;
	unsigned cnt;
	uint64_t shown_ns, shown;
};

/* Behind its time, a generator may run at 5/4 of its rate until it is even again,
 * and send what 50 us would have held at once: a kernel that forwards 64 frames
 * within the sender's call takes 30 us. More would be bursts that fill a
 * receiver's ring of 256 at 5 Mpps; less, and 5 Mpps are not reached. A schedule
 * has bursts of its own and is kept as it is. */
static struct shunt_gen_pace pace(double rate_pps, bool even)
{
	const double interval = rate_pps > 0 ? 1e9 * (1 << SHUNT_GEN_PACE_SHIFT) / rate_pps : 0;

	return (struct shunt_gen_pace){.interval = (uint64_t)llround(interval),
				       .catchup = even ? (uint64_t)llround(interval * 0.8) : 0,
				       .burst = 50000ULL << SHUNT_GEN_PACE_SHIFT};
}

static uint64_t state_read(const __u64 *field)
{
	return __atomic_load_n(field, __ATOMIC_ACQUIRE);
}

/* --- threads ---------------------------------------------------------------------------------- */

static void wake(int sig)
{
	(void)sig; /* only to end the kernel's call with EINTR */
}

static void *sender_main(void *arg)
{
	struct gen_sender *s = arg;
	const struct gen_send_opts *o = s->plan->opts;

	s->rc = gen_pin(o->cpu_cnt ? o->cpus[s->number % o->cpu_cnt] : -1, &s->err);
	if (!s->rc)
		s->rc = s->plan->way == GEN_PACKET ? gen_send_packet(s)
			: s->plan->way == GEN_XSK  ? gen_send_xsk(s)
						   : gen_send_xdp(s);
	s->finished = true;
	return NULL;
}

static bool is_finished(const struct crew *c)
{
	for (unsigned i = 0; i < c->cnt; i++)
		if (!c->senders[i].finished && !state_read(&c->senders[i].state->done_ns))
			return false;
	return true;
}

/* When the first frame left, 0 when none has. */
static uint64_t start_of(const struct crew *c)
{
	uint64_t first = 0;

	for (unsigned i = 0; i < c->cnt; i++) {
		const uint64_t ns = state_read(&c->senders[i].state->start_ns);

		if (ns && (!first || ns < first))
			first = ns;
	}
	return first;
}

static uint64_t sent_by(const struct crew *c)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < c->cnt; i++)
		sum += state_read(&c->senders[i].state->seq);
	return sum;
}

static void show_progress(struct crew *c, uint64_t start, uint64_t now)
{
	const struct gen_send_opts *o = c->plan.opts;
	const uint64_t sent = sent_by(c);
	const double span = (double)(now - c->shown_ns) / 1e9;
	char of[32] = "", rate[32];

	if (!c->shown_ns)
		c->shown_ns = now;
	if (!o->progress || !start || span < PROGRESS_S)
		return;
	if (o->duration_s > 0)
		snprintf(of, sizeof(of), " of %.0f", o->duration_s);
	else if (c->plan.limit)
		snprintf(of, sizeof(of), ", %.0f %%", 100.0 * (double)sent / (double)c->plan.limit);
	fprintf(stderr, "shunt-gen: %s: %.0f s%s, %llu frames, %s made\n", o->dev,
		(double)(now - start) / 1e9, of, (unsigned long long)sent,
		gen_rate_text(rate, sizeof(rate), (double)(sent - c->shown) / span));
	c->shown = sent;
	c->shown_ns = now;
}

/* Until the senders are done, their time is over, the device is gone or a signal came. Time begins
 * with the first frame, not with the set-up. */
static void watch(struct crew *c, struct gen_result *r)
{
	const struct gen_send_opts *o = c->plan.opts;
	const uint64_t begun = shunt_clock_ns();
	/* With a rate the limit ends it; this is for a sender that cannot keep up. */
	const double late = c->plan.rate_pps > 0 && c->plan.limit ? 1.02 : 1;
	const uint64_t span = (uint64_t)(o->duration_s * late * SHUNT_NS_PER_SEC);

	while (!is_finished(c)) {
		const uint64_t now = shunt_clock_ns(), start = start_of(c);
		double pause = LOOK_S;

		if (!sent_by(c) && now - begun > START_S * SHUNT_NS_PER_SEC)
			break;
		if (!gen_device_is_here(c->plan.dev.ifindex))
			break;
		if (start && span) {
			if (now >= start + span)
				break;
			pause = SHUNT_MIN(pause, (double)(start + span - now) / 1e9);
		}
		show_progress(c, start, now);
		r->signal = gen_signal_wait(pause);
		if (r->signal)
			break;
	}
}

/* From the first frame of any thread to the last: the sum of what each reached in its own time
 * would be more than the device ever saw. n frames take n - 1 intervals. */
static void take_rate(const struct crew *c, struct gen_result *r, uint64_t now)
{
	const uint64_t start = start_of(c), sent = sent_by(c);
	uint64_t end = 0;

	for (unsigned i = 0; i < c->cnt; i++) {
		const struct shunt_gen_state *st = c->senders[i].state;
		const uint64_t done = state_read(&st->done_ns);

		end = SHUNT_MAX(end, done ? done : now);
		r->late_max_us =
			fmax(r->late_max_us, (double)(st->late_max >> SHUNT_GEN_PACE_SHIFT) / 1e3);
		r->delayed += st->delayed;
	}
	r->seconds = start && end > start ? (double)(end - start) / 1e9 : 0;
	if (sent > 1 && r->seconds > 0)
		r->offered_pps = (double)(sent - 1) / r->seconds;
}

static void stop(struct crew *c)
{
	bool left = true;

	for (unsigned i = 0; i < c->cnt; i++)
		c->senders[i].stop = true;
	/* Again and again: the first may come just before the call that it should end. */
	while (left) {
		left = false;
		for (unsigned i = 0; i < c->cnt; i++)
			if (c->senders[i].is_started && !c->senders[i].finished) {
				left = true;
				pthread_kill(c->senders[i].thread, SIGUSR1);
			}
		if (left)
			gen_signal_wait(LOOK_S);
	}
	for (unsigned i = 0; i < c->cnt; i++)
		if (c->senders[i].is_started)
			pthread_join(c->senders[i].thread, NULL);
}

/* Threads that keep a rate between them begin together: a later one catches up. */
static void set_start(struct crew *c)
{
	const uint64_t at = shunt_clock_ns() + TOGETHER_NS;

	if (c->cnt == 1 || c->plan.rate_pps <= 0)
		return;
	for (unsigned i = 0; i < c->cnt; i++)
		__atomic_store_n(&c->senders[i].state->start_ns, at, __ATOMIC_RELEASE);
}

static int start(struct crew *c, struct shunt_err *err)
{
	const struct sigaction sa = {.sa_handler = wake};

	sigaction(SIGUSR1, &sa, NULL);
	set_start(c);
	for (unsigned i = 0; i < c->cnt; i++) {
		struct gen_sender *s = &c->senders[i];
		int rc = pthread_create(&s->thread, NULL, sender_main, s);

		if (rc)
			return shunt_err_set(err, rc, "pthread_create: %s", strerror(rc));
		s->is_started = true;
	}
	return 0;
}

/* --- before and after ------------------------------------------------------------------------- */

static int open_sender(struct crew *c, unsigned i, uint16_t run)
{
	struct gen_sender *s = &c->senders[i];
	const struct gen_plan *plan = &c->plan;
	const bool even = plan->opts->arrival == SHUNT_ARRIVAL_CONSTANT && !plan->own_timing;
	int rc;

	s->plan = plan;
	s->number = i;
	s->run = (uint16_t)((run + i - 1) % 65535 + 1);
	s->limit = plan->limit / c->cnt + (i < plan->limit % c->cnt);
	s->state = &s->own_state;
	s->pace = pace(plan->rate_pps / c->cnt, even);
	if (plan->flow_cnt)
		s->own_state.flow = (uint32_t)((uint64_t)i * plan->flow_cnt / c->cnt);
	/* Threads take turns. */
	s->own_state.due = s->pace.interval * i / c->cnt;
	gen_frame_init(&s->frame, plan, s->run);
	rc = gen_schedule_make(s, &c->plan.sizes, &s->err);
	if (!rc && plan->way == GEN_XDP)
		rc = gen_send_xdp_open(s);
	if (!rc && plan->way == GEN_XSK)
		rc = gen_send_xsk_open(s);
	return rc;
}

/* Different from the last run's, and not 0, which the sink takes for none. */
static uint16_t pick_run(void)
{
	const uint64_t n = shunt_clock_ns() / 1000 + (uint64_t)getpid();

	return (uint16_t)(n % 65535 + 1);
}

/* What the device says it has sent, and what its driver counts on its own. */
struct device_counts {
	uint64_t packets, xdp_tx;
};

static int device_counts(const struct crew *c, struct device_counts *out, struct shunt_err *err)
{
	struct rtnl_link_stats64 stats;
	int rc = shunt_link_stats((unsigned)c->plan.dev.ifindex, &stats, err);

	*out = (struct device_counts){stats.tx_packets, gen_device_xdp_tx(c->plan.opts->dev)};
	return rc;
}

/* By either: a driver may count frames in one of them, or in both. */
static int device_frames(const struct crew *c, const struct device_counts *before, uint64_t *out,
			 struct shunt_err *err)
{
	struct device_counts now;
	int rc = device_counts(c, &now, err);

	if (!rc)
		*out = SHUNT_MAX(now.packets - before->packets, now.xdp_tx - before->xdp_tx);
	return rc;
}

static int read_device(const struct crew *c, struct gen_result *r,
		       const struct device_counts *before, struct shunt_err *err)
{
	const bool prompt = !strcmp(c->plan.dev.driver, "veth");
	const uint64_t until = shunt_clock_ns() + (uint64_t)(COUNTER_S * 1e9);
	int rc;

	do {
		rc = device_frames(c, before, &r->device_frames, err);
		if (rc == -ENODEV)
			return shunt_err_set(err, ENODEV,
					     "%s has gone from here: how many of the %llu frames "
					     "made it sent is not known",
					     c->plan.opts->dev, (unsigned long long)r->sent);
		if (rc || prompt || r->device_frames >= r->sent)
			return rc;
	} while (shunt_clock_ns() < until && !gen_signal_wait(0.02));
	return 0;
}

/* A capture that was not sent to its end is held against what was due until then. */
static double asked_pps(const struct gen_plan *plan, const struct gen_result *r)
{
	uint64_t due;

	if (!plan->own_timing)
		return plan->rate_pps;
	if (r->sent == plan->limit || !plan->rate_pps)
		return gen_capture_pps(&plan->capture, r->sent);
	due = gen_capture_due(&plan->capture, (uint64_t)(r->seconds * 1e9));
	return r->seconds > 0 ? (double)(due - 1) / r->seconds : 0;
}

static int run(struct crew *c, struct gen_result *r, struct shunt_err *err)
{
	struct device_counts before;
	int rc = device_counts(c, &before, err);
	uint64_t now;

	if (!rc)
		rc = start(c, err);
	if (!rc)
		watch(c, r);
	now = shunt_clock_ns();
	take_rate(c, r, now);
	stop(c);
	for (unsigned i = 0; i < c->cnt; i++) {
		const struct gen_sender *s = &c->senders[i];

		r->sent += state_read(&s->state->seq);
		r->bytes += s->state->bytes;
		if (s->rc && !rc) {
			rc = s->rc;
			*err = s->err;
		}
	}
	if (!rc && !r->sent && !r->signal)
		return shunt_err_set(err, ETIMEDOUT, "nothing was sent in %d seconds", START_S);
	r->asked_pps = asked_pps(&c->plan, r);
	return rc ? rc : read_device(c, r, &before, err);
}

static void close_all(struct crew *c)
{
	for (unsigned i = 0; i < c->cnt; i++) {
		gen_send_xdp_close(&c->senders[i]);
		gen_send_xsk_close(&c->senders[i]);
		free(c->senders[i].slots);
	}
	free(c->senders);
	gen_plan_fini(&c->plan);
}

static int report(struct crew *c, const struct gen_result *r, FILE *json)
{
	if (json) {
		json_t *j = gen_send_json(&c->plan, c->senders, r);

		gen_json_print(json, j);
		json_decref(j);
	}
	if (!c->plan.opts->json)
		gen_send_text(&c->plan, r);
	return gen_send_judge(&c->plan, r);
}

static int open_all(struct crew *c, uint16_t run, struct shunt_err *err)
{
	const unsigned threads = c->plan.opts->threads;

	c->senders = calloc(threads, sizeof(*c->senders));
	if (!c->senders)
		return shunt_err_set(err, ENOMEM, "no memory for %u threads", threads);
	c->cnt = threads;
	for (unsigned i = 0; i < threads; i++) {
		int rc = open_sender(c, i, run);

		if (rc) {
			*err = c->senders[i].err;
			return rc;
		}
	}
	return 0;
}

int gen_send(const struct gen_send_opts *opts, FILE *json, struct shunt_err *err)
{
	struct crew c = {};
	struct gen_result r = {.run = pick_run()};
	int rc = gen_plan_init(&c.plan, opts, err);

	if (!rc)
		rc = open_all(&c, r.run, err);
	if (!rc) {
		gen_signals_block();
		rc = gen_device_await(opts->dev, err);
	}
	if (!rc)
		rc = run(&c, &r, err);
	if (!rc)
		rc = report(&c, &r, json);
	close_all(&c);
	return rc;
}
