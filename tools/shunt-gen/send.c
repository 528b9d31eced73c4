// SPDX-License-Identifier: BSD-2-Clause
#include "gen.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"

/* How often the controller looks whether it is time to stop. */
#define LOOK_S	0.005
/* Longer than any set-up takes: nothing sent by then means that nothing will be. */
#define START_S 10

struct result {
	uint64_t sent, start_ns, end_ns;
	uint32_t device_frames;
	int signal;
	uint16_t run;
};

/* Behind its time, a generator may run at 5/4 of its rate until it is even again,
 * and send what 50 us would have held at once: a kernel that forwards 64 frames
 * within the sender's call takes 30 us. More would be bursts that fill a
 * receiver's ring of 256 at 5 Mpps; less, and 5 Mpps are not reached. */
struct shunt_gen_pace gen_pace(double rate_pps)
{
	const double interval = 1e9 * (1 << SHUNT_GEN_PACE_SHIFT) / rate_pps;

	return (struct shunt_gen_pace){.interval = (uint64_t)llround(interval),
				       .catchup = (uint64_t)llround(interval * 0.8),
				       .burst = 50000ULL << SHUNT_GEN_PACE_SHIFT};
}

int gen_pin(int cpu, struct shunt_err *err)
{
	cpu_set_t set;
	int rc;

	if (cpu < 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	rc = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	return rc ? shunt_err_set(err, rc, "--cpu %d: %s: this machine has %ld", cpu, strerror(rc),
				  sysconf(_SC_NPROCESSORS_ONLN))
		  : 0;
}

static void stop_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

void gen_signals_block(void)
{
	sigset_t set;

	stop_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int gen_signal_wait(double seconds)
{
	const struct timespec ts = {.tv_sec = (time_t)seconds,
				    .tv_nsec = (long)(fmod(seconds, 1) * 1e9)};
	sigset_t set;
	int sig;

	stop_signals(&set);
	sig = sigtimedwait(&set, NULL, &ts);
	return sig > 0 ? sig : 0;
}

static void wake(int sig)
{
	(void)sig; /* only to end the kernel's call with EINTR */
}

static void *sender_main(void *arg)
{
	struct gen_sender *s = arg;

	s->rc = gen_pin(s->opts->cpu, &s->err);
	if (!s->rc)
		s->rc = s->opts->way == GEN_PACKET ? gen_send_packet(s) : gen_send_xdp(s);
	s->finished = true;
	return NULL;
}

static uint64_t state_read(const __u64 *field)
{
	return __atomic_load_n(field, __ATOMIC_ACQUIRE);
}

/* Until the sender is done, its time is over or a signal came. Time begins with the
 * first frame, not with the set-up. */
static void watch(struct gen_sender *s, struct result *r)
{
	const uint64_t begun = shunt_clock_ns();
	/* With a rate the limit ends it; this is for a sender that cannot keep up. */
	const double late = s->opts->rate_pps > 0 && s->limit ? 1.02 : 1;
	const uint64_t span = (uint64_t)(s->opts->duration_s * late * SHUNT_NS_PER_SEC);

	while (!s->finished && !state_read(&s->state->done_ns)) {
		const uint64_t now = shunt_clock_ns(), start = state_read(&s->state->start_ns);
		double pause = LOOK_S;

		if (!start && now - begun > START_S * SHUNT_NS_PER_SEC)
			break;
		if (start && span) {
			if (now >= start + span)
				break;
			pause = SHUNT_MIN(pause, (double)(start + span - now) / 1e9);
		}
		r->signal = gen_signal_wait(pause);
		if (r->signal)
			break;
	}
}

static void read_result(const struct gen_sender *s, struct result *r)
{
	const uint64_t done = state_read(&s->state->done_ns);

	r->sent = state_read(&s->state->seq);
	r->end_ns = done ? done : shunt_clock_ns();
	r->start_ns = state_read(&s->state->start_ns);
}

static void stop(struct gen_sender *s, pthread_t thread)
{
	s->stop = true;
	/* Again and again: the first may come just before the call that it should end. */
	while (!s->finished) {
		pthread_kill(thread, SIGUSR1);
		gen_signal_wait(LOOK_S);
	}
	pthread_join(thread, NULL);
}

static int run(struct gen_sender *s, struct result *r)
{
	const struct sigaction sa = {.sa_handler = wake};
	pthread_t thread;
	int rc;

	sigaction(SIGUSR1, &sa, NULL);
	gen_signals_block();
	rc = pthread_create(&thread, NULL, sender_main, s);
	if (rc)
		return shunt_err_set(&s->err, rc, "pthread_create: %s", strerror(rc));
	watch(s, r);
	read_result(s, r);
	stop(s, thread);
	r->sent = state_read(&s->state->seq);
	if (!s->rc && !r->start_ns && !r->signal)
		return shunt_err_set(&s->err, ETIMEDOUT, "nothing was sent in %d seconds", START_S);
	return s->rc;
}

/* n frames take n - 1 intervals. */
static double rate(const struct result *r)
{
	if (r->sent < 2 || r->end_ns <= r->start_ns)
		return 0;
	return (double)(r->sent - 1) * 1e9 / (double)(r->end_ns - r->start_ns);
}

static const char *way_name(const struct gen_send_opts *o)
{
	return o->way == GEN_PACKET ? "packet" : "xdp";
}

static void print_json(const struct gen_send_opts *o, const struct result *r)
{
	json_t *j = json_pack("{s:s, s:s, s:i, s:i, s:b, s:i, s:I, s:I, s:f, s:f, s:f, s:b}",
			      "device", o->dev, "way", way_name(o), "size", (int)o->size, "flows",
			      (int)o->flows, "ipv6", o->v6, "run", (int)r->run, "sent",
			      (json_int_t)r->sent, "device_frames", (json_int_t)r->device_frames,
			      "seconds", (double)(r->end_ns - r->start_ns) / 1e9, "pps", rate(r),
			      "requested_pps", o->rate_pps, "interrupted", r->signal != 0);

	json_dumpf(j, stdout, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
	putchar('\n');
	json_decref(j);
}

static void print_text(const struct gen_send_opts *o, const struct result *r)
{
	char requested[32] = "max";

	if (o->rate_pps > 0)
		snprintf(requested, sizeof(requested), "%.6f", o->rate_pps / 1e6);
	printf("%s: requested %s Mpps, sent %.6f Mpps: %llu frames of %u bytes in %.3f s by %s%s; "
	       "the device took %u\n",
	       o->dev, requested, rate(r) / 1e6, (unsigned long long)r->sent, o->size,
	       (double)(r->end_ns - r->start_ns) / 1e9, way_name(o),
	       r->signal ? ", stopped by a signal" : "", r->device_frames);
}

static void report(const struct gen_send_opts *o, const struct result *r)
{
	if (o->json)
		print_json(o, r);
	else
		print_text(o, r);
	if (r->sent >= 1000 && r->device_frames < r->sent / 1000)
		fprintf(stderr,
			"shunt-gen: %s counts almost none of these frames: on a veth, its other end "
			"needs NAPI (an XDP program, or `ethtool -K PEER gro on`); a driver without "
			"XDP transmit needs --way packet\n",
			o->dev);
}

static uint64_t limit_of(const struct gen_send_opts *o)
{
	uint64_t by_time = 0;

	if (o->rate_pps > 0 && o->duration_s > 0)
		by_time = (uint64_t)fmax(1, round(o->rate_pps * o->duration_s));
	if (o->count && by_time)
		return SHUNT_MIN(o->count, by_time);
	return o->count ? o->count : by_time;
}

/* Different from the last run's, and not 0, which the sink takes for none. */
static uint16_t pick_run(void)
{
	const uint64_t n = shunt_clock_ns() / 1000 + (uint64_t)getpid();

	return (uint16_t)(n % 65535 + 1);
}

static int prepare(struct gen_send_opts *o, struct gen_device *d, struct shunt_err *err)
{
	int rc = gen_device_get(d, o->dev, err);

	if (rc)
		return rc;
	if (o->size > d->mtu + SHUNT_GEN_ETH_LEN)
		return shunt_err_set(err, EMSGSIZE,
				     "%s has an MTU of %u: --size is at most %u there, not %u",
				     o->dev, d->mtu, d->mtu + SHUNT_GEN_ETH_LEN, o->size);
	if (!o->have_src_mac)
		memcpy(o->src_mac, d->mac, ETH_ALEN);
	return 0;
}

int gen_send(const struct gen_send_opts *given, struct shunt_err *err)
{
	struct gen_send_opts o = *given;
	struct shunt_gen_state own_state = {};
	struct shunt_gen_frame frame;
	struct result r = {.run = pick_run()};
	struct gen_sender s = {.opts = &o, .frame = &frame, .state = &own_state};
	struct gen_device d;
	int rc = prepare(&o, &d, err);

	if (rc)
		return rc;
	gen_frame_init(&frame, &o, r.run);
	s.ifindex = d.ifindex;
	s.limit = limit_of(&o);
	r.device_frames = d.tx_frames;
	if (o.way == GEN_XDP)
		rc = gen_send_xdp_open(&s);
	if (!rc)
		rc = run(&s, &r);
	if (!rc)
		rc = gen_device_get(&d, o.dev, &s.err);
	if (s.skel)
		gen_send_xdp_close(&s);
	if (rc) {
		*err = s.err;
		return rc;
	}
	r.device_frames = d.tx_frames - r.device_frames;
	report(&o, &r);
	return 0;
}
