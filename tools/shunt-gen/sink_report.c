// SPDX-License-Identifier: BSD-2-Clause
#include "sink.h"

/* From the first frame to the last: exactly where the time between frames is measured, else to
 * when the count was last seen to grow. */
static double seconds(const struct gen_sink *s)
{
	const struct gen_total *t = &s->now;
	const uint64_t last = s->opts->gaps ? t->last_ns : s->changed_ns;

	return t->frames && last > t->first_ns ? (double)(last - t->first_ns) / 1e9 : 0;
}

/* n frames take n - 1 intervals. */
static double pps(const struct gen_sink *s)
{
	return seconds(s) > 0 ? (double)(s->now.frames - 1) / seconds(s) : 0;
}

/* Where order is not checked, frames sent twice may hide lost ones. */
static uint64_t lost(const struct gen_total *t)
{
	const uint64_t once = t->frames - t->duplicates;

	return t->expected > once ? t->expected - once : 0;
}

static double loss(const struct gen_total *t)
{
	return t->expected ? (double)lost(t) / (double)t->expected : 0;
}

static void set(json_t *j, const char *key, uint64_t value)
{
	json_object_set_new(j, key, json_integer((json_int_t)value));
}

static void add_measured(json_t *j, const struct gen_sink *s)
{
	const struct gen_total *t = &s->now;

	set(j, "late", t->reordered + t->duplicates);
	if (s->opts->order) {
		set(j, "reordered", t->reordered);
		set(j, "duplicates", t->duplicates);
		set(j, "unjudged", t->unjudged);
	}
	if (s->opts->verify) {
		set(j, "corrupt", t->corrupt);
		set(j, "bad", t->corrupt);
	}
	if (t->frames) {
		set(j, "ttl_min", t->ttl_min);
		set(j, "ttl_max", t->ttl_max);
	}
	if (s->opts->latency) {
		json_object_set_new(j, "latency_ns", gen_spread_json(&s->latency));
		set(j, "unclocked", t->unclocked);
	}
	if (s->opts->gaps) {
		json_object_set_new(j, "gap_max_us", json_real((double)t->gap_max_ns / 1e3));
		json_object_set_new(j, "gap_ns", gen_spread_json(&s->gaps));
	}
}

static void print_json(const struct gen_sink *s, FILE *out)
{
	const struct gen_total *t = &s->now;
	const double span = seconds(s);
	json_t *j = json_pack(
		"{s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:f, s:i, s:I, s:O}", "device",
		s->opts->dev, "mode", s->mode, "frames", (json_int_t)t->frames, "bytes",
		(json_int_t)t->bytes, "seconds", span, "pps", pps(s), "mpps", pps(s) / 1e6,
		"gbit_l2",
		span > 0 ? (double)(t->bytes + GEN_FCS_LEN * t->frames) * 8 / span / 1e9 : 0.0,
		"expected", (json_int_t)t->expected, "lost", (json_int_t)lost(t), "loss", loss(t),
		"runs", (int)t->runs, "other_frames", (json_int_t)t->other_frames, "interval_mpps",
		s->intervals);

	add_measured(j, s);
	gen_json_print(out, j);
	json_decref(j);
}

static void print_text(const struct gen_sink *s, FILE *out)
{
	const struct gen_total *t = &s->now;
	char rate[32];

	fprintf(out, "%s: %llu frames, %s over %.2f s; lost %llu (%.4f %%), others %llu",
		s->opts->dev, (unsigned long long)t->frames,
		gen_rate_text(rate, sizeof(rate), pps(s)), seconds(s), (unsigned long long)lost(t),
		100 * loss(t), (unsigned long long)t->other_frames);
	if (s->opts->order)
		fprintf(out, "; reordered %llu, duplicates %llu", (unsigned long long)t->reordered,
			(unsigned long long)t->duplicates);
	if (s->opts->verify)
		fprintf(out, "; corrupt %llu", (unsigned long long)t->corrupt);
	if (t->frames)
		fprintf(out, "; TTL %u to %u", t->ttl_min, t->ttl_max);
	fputc('\n', out);
	if (t->unclocked)
		fprintf(out,
			"%llu frames have a time stamp of another machine's clock: their latency "
			"is not known\n",
			(unsigned long long)t->unclocked);
	if (s->opts->latency)
		gen_spread_line(out, "latency", &s->latency);
	if (s->opts->gaps)
		gen_spread_line(out, "between frames", &s->gaps);
	if (s->opts->histogram) {
		gen_spread_figure(out, "latency", &s->latency);
		gen_spread_figure(out, "between frames", &s->gaps);
	}
	fflush(out);
}

void gen_sink_report(struct gen_sink *s, FILE *json)
{
	if (json)
		print_json(s, json);
	if (!s->opts->json)
		print_text(s, stdout);
}
