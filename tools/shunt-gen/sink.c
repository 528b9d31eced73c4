// SPDX-License-Identifier: BSD-2-Clause
#include "gen.h"

#include <errno.h>
#include <jansson.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "shunt_sink.skel.h"

/* How often the counts are read: the error of the time of the last frame. */
#define LOOK_S 0.01

struct total {
	uint64_t frames, bytes, late, bad, expected, gap_max_ns, first_ns;
	uint64_t other_frames;
	unsigned runs, cpus; /* cpus: that saw frames */
	uint8_t ttl_min, ttl_max;
};

struct sink {
	const struct gen_sink_opts *opts;
	struct shunt_sink *skel;
	const char *mode; /* as the kernel says */
	int cpu_cnt;
	struct shunt_gen_count *counts; /* one run's, per CPU */
	struct shunt_gen_other *others;
	struct total now;
	uint64_t changed_ns; /* when now.frames was last seen to change */
	json_t *intervals;
};

static int attach_failed(const struct gen_sink_opts *o, int rc, struct shunt_err *err)
{
	const char *why = "";

	if (rc == -EBUSY || rc == -EEXIST)
		why = ": another XDP program is there; `ip link` shows it, `ip link set DEV xdp off` "
		      "removes it";
	else if (rc == -EOPNOTSUPP)
		why = ": the driver has no native XDP; --generic does without";
	else if (rc == -ERANGE || rc == -EINVAL)
		why = ": native XDP may not allow its MTU, offloads or queue numbers; --generic "
		      "does without";
	else if (rc == -EPERM)
		why = ": CAP_NET_ADMIN (or root) is needed";
	return shunt_err_set(err, -rc, "attaching the sink to %s: %s%s", o->dev, strerror(-rc),
			     why);
}

/* A link of the kernel's goes when this process does, however that ends. What mode
 * it is in, the kernel is asked. */
static int attach(struct sink *s, int ifindex, struct shunt_err *err)
{
	const uint32_t flags = s->opts->generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = flags);
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	int rc = bpf_link_create(bpf_program__fd(s->skel->progs.shunt_sink), ifindex, BPF_XDP,
				 &opts);

	if (rc < 0)
		return attach_failed(s->opts, rc, err);
	rc = bpf_xdp_query(ifindex, 0, &query);
	if (rc)
		return shunt_err_set(err, -rc, "asking for the XDP mode of %s: %s", s->opts->dev,
				     strerror(-rc));
	s->mode = query.attach_mode == XDP_ATTACHED_DRV ? "native" : "generic";
	return 0;
}

static int load(struct sink *s, struct shunt_err *err)
{
	int rc;

	s->skel = shunt_sink__open();
	if (!s->skel)
		return shunt_err_set(err, errno, "opening the sink: %s", strerror(errno));
	s->skel->rodata->drop_others = s->opts->drop;
	s->skel->rodata->time_gaps = s->opts->gaps;
	s->skel->rodata->verify = s->opts->verify;
	rc = shunt_sink__load(s->skel);
	if (rc)
		return shunt_err_set(
			err, -rc, "loading the sink: %s%s", strerror(-rc),
			rc == -EPERM ? ": CAP_BPF and CAP_NET_ADMIN (or root) are needed" : "");
	s->cpu_cnt = libbpf_num_possible_cpus();
	s->counts = calloc((size_t)s->cpu_cnt, sizeof(*s->counts));
	s->others = calloc((size_t)s->cpu_cnt, sizeof(*s->others));
	s->intervals = json_array();
	if (!s->counts || !s->others || !s->intervals)
		return shunt_err_set(err, ENOMEM, "no memory for %d CPUs' counts", s->cpu_cnt);
	return 0;
}

static void add_run(struct sink *s, struct total *t)
{
	uint64_t seq_max = 0;

	t->runs++;
	for (int i = 0; i < s->cpu_cnt; i++) {
		const struct shunt_gen_count *c = &s->counts[i];

		/* Another run's in the same slot, before this CPU saw the new one. */
		if (!c->frames)
			continue;
		t->frames += c->frames;
		t->bytes += c->bytes;
		t->late += c->late;
		t->bad += c->bad;
		t->gap_max_ns = SHUNT_MAX(t->gap_max_ns, c->gap_max_ns);
		if (!t->first_ns || c->first_ns < t->first_ns)
			t->first_ns = c->first_ns;
		t->ttl_min = SHUNT_MIN(t->ttl_min, c->ttl_min);
		t->ttl_max = SHUNT_MAX(t->ttl_max, c->ttl_max);
		seq_max = SHUNT_MAX(seq_max, c->seq_max);
	}
	t->expected += seq_max + 1;
}

static bool has_frames(const struct sink *s)
{
	for (int i = 0; i < s->cpu_cnt; i++)
		if (s->counts[i].frames)
			return true;
	return false;
}

static void read_counts(struct sink *s)
{
	struct total t = {.ttl_min = 255};
	const int fd = bpf_map__fd(s->skel->maps.counts);

	for (uint32_t slot = 0; slot < SHUNT_GEN_RUNS; slot++)
		if (!bpf_map_lookup_elem(fd, &slot, s->counts) && has_frames(s))
			add_run(s, &t);
	bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.others), &(uint32_t){0}, s->others);
	for (int i = 0; i < s->cpu_cnt; i++) {
		t.other_frames += s->others[i].frames;
		t.frames += s->others[i].replaced_frames;
		t.expected += s->others[i].replaced_frames;
		t.bytes += s->others[i].replaced_bytes;
	}
	if (t.frames != s->now.frames)
		s->changed_ns = shunt_clock_ns();
	s->now = t;
}

static void report_interval(struct sink *s, uint64_t frames, uint64_t span_ns)
{
	const double mpps = (double)frames * 1e3 / (double)span_ns;

	json_array_append_new(s->intervals, json_real(mpps));
	if (!s->opts->json) {
		printf("%s: %.6f Mpps\n", s->opts->dev, mpps);
		fflush(stdout);
	}
}

static bool is_over(const struct sink *s, uint64_t begun_ns, uint64_t now_ns)
{
	const struct gen_sink_opts *o = s->opts;

	if (o->duration_s > 0 && (double)(now_ns - begun_ns) >= o->duration_s * 1e9)
		return true;
	if (o->count && s->now.frames >= o->count)
		return true;
	return o->idle_s > 0 && s->now.frames &&
	       (double)(now_ns - s->changed_ns) >= o->idle_s * 1e9;
}

static void watch(struct sink *s)
{
	const uint64_t begun = shunt_clock_ns();
	const uint64_t interval = (uint64_t)(s->opts->interval_s * SHUNT_NS_PER_SEC);
	uint64_t reported_ns = begun, reported = 0, now = begun;

	while (!is_over(s, begun, now) && !gen_signal_wait(LOOK_S)) {
		read_counts(s);
		now = shunt_clock_ns();
		if (!interval || now - reported_ns < interval)
			continue;
		report_interval(s, s->now.frames - reported, now - reported_ns);
		reported = s->now.frames;
		reported_ns = now;
	}
	read_counts(s);
}

static double seconds(const struct sink *s)
{
	return s->now.frames ? (double)(s->changed_ns - s->now.first_ns) / 1e9 : 0;
}

static double mpps(const struct sink *s)
{
	return seconds(s) > 0 ? (double)s->now.frames / seconds(s) / 1e6 : 0;
}

/* Frames sent twice may hide lost ones; `late` tells that there were some. */
static uint64_t lost(const struct total *t)
{
	return t->expected > t->frames ? t->expected - t->frames : 0;
}

static void print_json(const struct sink *s)
{
	const struct total *t = &s->now;
	json_t *j = json_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:I, s:I, s:i, s:I, s:O}", "device",
			      s->opts->dev, "mode", s->mode, "frames", (json_int_t)t->frames,
			      "bytes", (json_int_t)t->bytes, "seconds", seconds(s), "mpps", mpps(s),
			      "lost", (json_int_t)lost(t), "late", (json_int_t)t->late, "runs",
			      (int)t->runs, "other_frames", (json_int_t)t->other_frames,
			      "interval_mpps", s->intervals);

	if (t->frames) {
		json_object_set_new(j, "ttl_min", json_integer(t->ttl_min));
		json_object_set_new(j, "ttl_max", json_integer(t->ttl_max));
	}
	if (s->opts->gaps)
		json_object_set_new(j, "gap_max_us", json_real((double)t->gap_max_ns / 1e3));
	if (s->opts->verify)
		json_object_set_new(j, "bad", json_integer((json_int_t)t->bad));
	json_dumpf(j, stdout, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
	putchar('\n');
	json_decref(j);
}

static void print_text(const struct sink *s)
{
	const struct total *t = &s->now;

	printf("%s: %llu frames, %.6f Mpps over %.2f s; lost %llu (%.4f %%), late %llu, others %llu",
	       s->opts->dev, (unsigned long long)t->frames, mpps(s), seconds(s),
	       (unsigned long long)lost(t),
	       t->expected ? 100.0 * (double)lost(t) / (double)t->expected : 0,
	       (unsigned long long)t->late, (unsigned long long)t->other_frames);
	if (t->frames)
		printf("; TTL %u to %u", t->ttl_min, t->ttl_max);
	if (s->opts->gaps)
		printf("; longest gap %.1f us", (double)t->gap_max_ns / 1e3);
	if (s->opts->verify)
		printf("; bad checksums %llu", (unsigned long long)t->bad);
	putchar('\n');
}

static int run(struct sink *s, struct shunt_err *err)
{
	struct gen_device d;
	int rc = gen_device_get(&d, s->opts->dev, err);

	if (!rc)
		rc = gen_pin(s->opts->cpu, err);
	if (!rc)
		rc = load(s, err);
	if (!rc)
		rc = attach(s, d.ifindex, err);
	if (rc)
		return rc;
	gen_signals_block();
	fprintf(stderr, "shunt-gen: counting on %s (%s XDP)\n", s->opts->dev, s->mode);
	watch(s);
	if (s->opts->json)
		print_json(s);
	else
		print_text(s);
	return 0;
}

int gen_sink(const struct gen_sink_opts *opts, struct shunt_err *err)
{
	struct sink s = {.opts = opts};
	int rc = run(&s, err);

	json_decref(s.intervals);
	free(s.counts);
	free(s.others);
	shunt_sink__destroy(s.skel);
	return rc;
}
