// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <linux/if_link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "tools/shunt_sink.skel.h"
#include "sink.h"

/* How often the counts are read: the error of the time of the last frame. */
#define LOOK_S 0.01
/* How often the kernel is asked whether the program is still attached: it takes a lock for that
 * which is held whenever a device is changed. */
#define ASK_NS (SHUNT_NS_PER_SEC / 2)

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
static int attach(struct gen_sink *s, int ifindex, struct shunt_err *err)
{
	const uint32_t flags = s->opts->generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = flags);
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	int rc, link = bpf_link_create(bpf_program__fd(s->skel->progs.shunt_sink), ifindex, BPF_XDP,
				       &opts);

	if (link < 0)
		return attach_failed(s->opts, link, err);
	rc = bpf_xdp_query(ifindex, 0, &query);
	if (rc)
		return shunt_err_set(err, -rc, "asking for the XDP mode of %s: %s", s->opts->dev,
				     strerror(-rc));
	s->link_fd = link;
	s->mode = query.attach_mode == XDP_ATTACHED_DRV ? "native" : "generic";
	return 0;
}

static int load(struct gen_sink *s, struct shunt_err *err)
{
	int rc;

	s->skel = shunt_sink__open();
	if (!s->skel)
		return shunt_err_set(err, errno, "opening the sink: %s", strerror(errno));
	s->skel->rodata->drop_others = s->opts->drop;
	s->skel->rodata->check_order = s->opts->order;
	s->skel->rodata->time_latency = s->opts->latency;
	s->skel->rodata->time_gaps = s->opts->gaps;
	s->skel->rodata->verify = s->opts->verify;
	if (!s->opts->order) {
		bpf_map__set_max_entries(s->skel->maps.order, 1);
		bpf_map__set_max_entries(s->skel->maps.seen, 1);
	}
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

/* --- reading ---------------------------------------------------------------------------------- */

static void add_count(struct gen_total *t, const struct shunt_gen_count *c)
{
	t->frames += c->frames;
	t->bytes += c->bytes;
	t->reordered += c->reordered;
	t->duplicates += c->duplicates;
	t->unjudged += c->unjudged;
	t->unclocked += c->unclocked;
	t->gap_max_ns = SHUNT_MAX(t->gap_max_ns, c->gap_max_ns);
	t->gap_min_ns = SHUNT_MIN(t->gap_min_ns, c->gap_min_ns);
	t->last_ns = SHUNT_MAX(t->last_ns, c->last_ns);
	t->gap_sum_ns += c->gap_sum_ns;
	t->latency_max = SHUNT_MAX(t->latency_max, c->latency_max);
	t->latency_min = SHUNT_MIN(t->latency_min, c->latency_min);
	t->latency_sum += c->latency_sum;
	if (!t->first_ns || c->first_ns < t->first_ns)
		t->first_ns = c->first_ns;
	t->ttl_min = SHUNT_MIN(t->ttl_min, c->ttl_min);
	t->ttl_max = SHUNT_MAX(t->ttl_max, c->ttl_max);
}

/* Of one that had to make room, the highest sequence number is not known: what came stands for it.
 */
static void add_replaced(struct gen_total *t, const struct shunt_gen_count *c)
{
	if (!c->used)
		return;
	add_count(t, c);
	t->expected += c->frames - c->duplicates;
}

/* One run's, of all CPUs. */
static void add_run(struct gen_sink *s, struct gen_total *t, uint64_t run)
{
	uint64_t seq_max = 0, frames = 0;

	for (int i = 0; i < s->cpu_cnt; i++) {
		const struct shunt_gen_count *c = &s->counts[i];

		if (!c->frames)
			continue;
		/* Another run's in the same slot, before this CPU saw the new one. */
		if (c->run != run) {
			add_replaced(t, c);
			continue;
		}
		add_count(t, c);
		frames += c->frames;
		seq_max = SHUNT_MAX(seq_max, c->seq_max);
	}
	if (!frames)
		return;
	t->runs++;
	t->expected += seq_max + 1;
}

static void read_counts(struct gen_sink *s)
{
	struct gen_total t = {.ttl_min = 255, .gap_min_ns = UINT64_MAX, .latency_min = UINT64_MAX};
	const int fd = bpf_map__fd(s->skel->maps.counts);

	for (uint32_t slot = 0; slot < SHUNT_GEN_RUNS; slot++)
		if (!bpf_map_lookup_elem(fd, &slot, s->counts))
			add_run(s, &t, s->skel->bss->slots[slot].run);
	bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.others), &(uint32_t){0}, s->others);
	for (int i = 0; i < s->cpu_cnt; i++) {
		t.other_frames += s->others[i].frames;
		t.corrupt += s->others[i].corrupt;
		add_replaced(&t, &s->others[i].replaced);
	}
	if (t.frames != s->now.frames)
		s->changed_ns = shunt_clock_ns();
	s->now = t;
}

static uint64_t read_hist(const struct gen_sink *s, const struct bpf_map *map, struct shunt_hist *h)
{
	uint64_t *values = calloc((size_t)s->cpu_cnt, sizeof(*values)), sum = 0;

	memset(h, 0, sizeof(*h));
	for (uint32_t i = 0; values && i < SHUNT_HIST_BUCKETS; i++) {
		if (bpf_map_lookup_elem(bpf_map__fd(map), &i, values))
			continue;
		for (int cpu = 0; cpu < s->cpu_cnt; cpu++)
			h->bucket[i] += values[cpu];
		sum += h->bucket[i];
	}
	free(values);
	return sum;
}

static void read_spreads(struct gen_sink *s)
{
	const struct gen_total *t = &s->now;

	s->latency = (struct gen_spread){.hist = &s->latency_hist,
					 .min = t->latency_min,
					 .max = t->latency_max,
					 .sum = t->latency_sum};
	s->gaps = (struct gen_spread){.hist = &s->gap_hist,
				      .min = t->gap_min_ns,
				      .max = t->gap_max_ns,
				      .sum = t->gap_sum_ns};
	if (s->opts->latency)
		s->latency.cnt = read_hist(s, s->skel->maps.latencies, &s->latency_hist);
	if (s->opts->gaps)
		s->gaps.cnt = read_hist(s, s->skel->maps.gaps, &s->gap_hist);
}

/* Not once its device is gone, or somebody has detached it. */
static bool is_attached(const struct gen_sink *s)
{
	struct bpf_link_info info = {};
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(s->link_fd, &info, &len) || info.xdp.ifindex;
}

/* --- running ---------------------------------------------------------------------------------- */

static void report_interval(struct gen_sink *s, uint64_t frames, uint64_t span_ns)
{
	const double mpps = (double)frames * 1e3 / (double)span_ns;
	char rate[32];

	json_array_append_new(s->intervals, json_real(mpps));
	if (!s->opts->json) {
		printf("%s: %s\n", s->opts->dev, gen_rate_text(rate, sizeof(rate), mpps * 1e6));
		fflush(stdout);
	}
}

static bool is_over(const struct gen_sink *s, uint64_t begun_ns, uint64_t now_ns)
{
	const struct gen_sink_opts *o = s->opts;
	const uint64_t came = s->now.frames + s->now.corrupt;

	if (o->duration_s > 0 && (double)(now_ns - begun_ns) >= o->duration_s * 1e9)
		return true;
	if (o->count && came >= o->count)
		return true;
	return o->idle_s > 0 && came && (double)(now_ns - s->changed_ns) >= o->idle_s * 1e9;
}

static void watch(struct gen_sink *s)
{
	const uint64_t begun = shunt_clock_ns();
	const uint64_t interval = (uint64_t)(s->opts->interval_s * SHUNT_NS_PER_SEC);
	uint64_t reported_ns = begun, reported = 0, now = begun, asked_ns = begun;

	while (!is_over(s, begun, now) && !gen_signal_wait(LOOK_S)) {
		read_counts(s);
		now = shunt_clock_ns();
		if (now - asked_ns >= ASK_NS) {
			if (!is_attached(s))
				break;
			asked_ns = now;
		}
		if (!interval || now - reported_ns < interval)
			continue;
		report_interval(s, s->now.frames - reported, now - reported_ns);
		reported = s->now.frames;
		reported_ns = now;
	}
	read_counts(s);
	read_spreads(s);
}

static void say_ready(const struct gen_sink *s)
{
	if (s->opts->ready_fd <= 0)
		fprintf(stderr, "shunt-gen: counting on %s (%s XDP)\n", s->opts->dev, s->mode);
	else if (write(s->opts->ready_fd, "", 1) == 1)
		close(s->opts->ready_fd);
}

static int run(struct gen_sink *s, FILE *json, struct shunt_err *err)
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
	if (d.has_carrier) /* else it may come whenever it likes */
		gen_device_await(s->opts->dev, NULL);
	say_ready(s);
	watch(s);
	gen_sink_report(s, json);
	if (s->opts->plot)
		rc = gen_spread_plot(s->opts->plot, &s->latency, &s->gaps, err);
	if (!rc && !is_attached(s))
		return shunt_err_set(err, ENODEV,
				     "%s has gone, or somebody has detached the sink from it: only "
				     "what came before is counted",
				     s->opts->dev);
	return rc;
}

int gen_sink(const struct gen_sink_opts *opts, FILE *json, struct shunt_err *err)
{
	struct gen_sink *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return shunt_err_set(err, ENOMEM, "no memory for the sink");
	s->opts = opts;
	s->link_fd = -1;
	rc = run(s, json, err);
	if (s->link_fd >= 0)
		close(s->link_fd);
	json_decref(s->intervals);
	free(s->counts);
	free(s->others);
	shunt_sink__destroy(s->skel);
	free(s);
	return rc;
}
