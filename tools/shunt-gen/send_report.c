// SPDX-License-Identifier: BSD-2-Clause
/* What came of sending. A rate is what the device's own counter confirms: frames
 * that a program made and the device did not take are not sent. */
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "gen.h"

/* A rate within this share of the one asked for is held. */
#define HELD	    0.01
/* Fewer frames say nothing of a rate. */
#define COUNT_MIN   100
/* What others send meanwhile is below. */
#define ALMOST_NONE 64u
/* Below, a rate is said in packets a second. */
#define MPPS_MIN    1000000

const char *gen_way_name(enum gen_way way)
{
	static const char *const names[] = {"auto", "xdp", "xsk", "packet"};

	return names[way];
}

static double confirmed_share(const struct gen_result *r)
{
	return r->sent ? fmin(1, (double)r->device_frames / (double)r->sent) : 0;
}

static double confirmed_pps(const struct gen_result *r)
{
	return r->offered_pps * confirmed_share(r);
}

static double rate_error(const struct gen_result *r)
{
	return confirmed_pps(r) / r->asked_pps - 1;
}

static bool is_judged(const struct gen_result *r)
{
	return r->asked_pps > 0 && r->sent > 1;
}

static bool is_held(const struct gen_result *r)
{
	return fabs(rate_error(r)) <= HELD;
}

static bool is_confirmed(const struct gen_result *r)
{
	return confirmed_share(r) >= 1 - HELD;
}

const char *gen_rate_text(char *buf, size_t len, double pps)
{
	if (pps < MPPS_MIN && pps > 0)
		snprintf(buf, len, "%.2f pps", pps);
	else
		snprintf(buf, len, "%.6f Mpps", pps / 1e6);
	return buf;
}

static double gbit(const struct gen_result *r, unsigned extra)
{
	const double mean = r->sent ? (double)r->bytes / (double)r->sent : 0;

	return confirmed_pps(r) * (mean + extra) * 8 / 1e9;
}

static const char *arrival_name(const struct gen_plan *plan)
{
	static const char *const names[] = {"constant", "burst", "poisson", "compound"};

	return plan->own_timing ? "capture" : names[plan->opts->arrival];
}

static json_t *sizes_json(const struct gen_plan *plan)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < plan->sizes.cnt && json_array_size(list) < 64; i++) {
		const json_int_t size = plan->sizes.items[i];
		size_t at = 0;

		while (at < json_array_size(list) &&
		       json_integer_value(json_array_get(list, at)) < size)
			at++;
		if (json_integer_value(json_array_get(list, at)) != size)
			json_array_insert_new(list, at, json_integer(size));
	}
	return list;
}

static void add_rates(json_t *j, const struct gen_result *r)
{
	const bool judged = is_judged(r);

	json_object_set_new(j, "pps", json_real(confirmed_pps(r)));
	json_object_set_new(j, "offered_pps", json_real(r->offered_pps));
	json_object_set_new(j, "gbit_l2", json_real(gbit(r, GEN_FCS_LEN)));
	json_object_set_new(j, "gbit_l1", json_real(gbit(r, GEN_L1_LEN)));
	json_object_set_new(j, "requested_pps", json_real(r->asked_pps));
	json_object_set_new(j, "rate_held", judged ? json_boolean(is_held(r)) : json_null());
	json_object_set_new(j, "rate_error", judged ? json_real(rate_error(r)) : json_null());
	json_object_set_new(j, "confirmed", json_boolean(is_confirmed(r)));
	json_object_set_new(j, "late_max_us", json_real(r->late_max_us));
	json_object_set_new(j, "delayed", json_integer((json_int_t)r->delayed));
	json_object_set_new(j, "interrupted", json_boolean(r->signal != 0));
}

json_t *gen_send_json(const struct gen_plan *plan, struct gen_sender *senders,
		      const struct gen_result *r)
{
	const struct gen_send_opts *o = plan->opts;
	json_t *j =
		json_pack("{s:s, s:s, s:f, s:o, s:i, s:b, s:s, s:s, s:i, s:i, s:I}", "device",
			  o->dev, "way", gen_way_name(plan->way), "size", plan->mean_len, "sizes",
			  sizes_json(plan), "flows", (int)plan->flow_cnt, "ipv6", o->v6, "proto",
			  plan->capture.cnt ? "capture"
			  : o->tcp	    ? "tcp-syn"
					    : "udp",
			  "arrival", arrival_name(plan), "run", (int)senders[0].run, "threads",
			  (int)o->threads, "seed", (json_int_t)o->seed);

	if (plan->len_min == plan->len_max)
		json_object_set_new(j, "size", json_integer(plan->len_max));
	if (plan->way == GEN_XSK)
		json_object_set_new(j, "copy_mode",
				    json_string(senders[0].zerocopy ? "zerocopy" : "copy"));
	if (plan->way == GEN_XSK)
		json_object_set_new(j, "checksum", json_string(senders[0].checksum));
	json_object_set_new(j, "sent", json_integer((json_int_t)r->sent));
	json_object_set_new(j, "bytes", json_integer((json_int_t)r->bytes));
	json_object_set_new(j, "device_frames", json_integer((json_int_t)r->device_frames));
	json_object_set_new(j, "seconds", json_real(r->seconds));
	add_rates(j, r);
	return j;
}

void gen_send_text(const struct gen_plan *plan, const struct gen_result *r)
{
	const struct gen_send_opts *o = plan->opts;
	char requested[32] = "max", sent[32], size[32];

	if (r->asked_pps > 0)
		gen_rate_text(requested, sizeof(requested), r->asked_pps);
	if (plan->len_min == plan->len_max)
		snprintf(size, sizeof(size), "%u", plan->len_max);
	else
		snprintf(size, sizeof(size), "%u to %u", plan->len_min, plan->len_max);
	printf("%s: requested %s, sent %s (%.4f Gbit/s with FCS): %llu frames of %s "
	       "bytes in %.3f s by %s%s; the device took %llu; latest frame %.1f us\n",
	       o->dev, requested, gen_rate_text(sent, sizeof(sent), confirmed_pps(r)),
	       gbit(r, GEN_FCS_LEN), (unsigned long long)r->sent, size, r->seconds,
	       gen_way_name(plan->way), r->signal ? ", stopped by a signal" : "",
	       (unsigned long long)r->device_frames, r->late_max_us);
	fflush(stdout);
}

static int judge_confirmation(const struct gen_plan *plan, const struct gen_result *r)
{
	const char *dev = plan->opts->dev;
	char sent[32], made[32];

	/* Even a full ring, with a reader that never had a CPU meanwhile, is more than that. */
	if (r->sent >= COUNT_MIN && r->device_frames < SHUNT_MIN(r->sent / 1000 + 1, ALMOST_NONE)) {
		fprintf(stderr,
			"shunt-gen: %s counts almost none of these frames: on a veth, its other end "
			"needs NAPI (an XDP program, or `ethtool -K PEER gro on`); a driver without "
			"XDP transmit needs --way xsk or packet\n",
			dev);
		return 1;
	}
	if (r->sent >= COUNT_MIN && !is_confirmed(r))
		fprintf(stderr,
			"shunt-gen: %s took %llu of the %llu frames made: %s were sent, not %s\n",
			dev, (unsigned long long)r->device_frames, (unsigned long long)r->sent,
			gen_rate_text(sent, sizeof(sent), confirmed_pps(r)),
			gen_rate_text(made, sizeof(made), r->offered_pps));
	return 0;
}

int gen_send_judge(const struct gen_plan *plan, const struct gen_result *r)
{
	int rc = judge_confirmation(plan, r);
	char sent[32], asked[32];

	if (!is_judged(r) || is_held(r))
		return rc;
	if (!rc)
		fprintf(stderr, "shunt-gen: %s: the rate was missed: %s instead of %s (%+.2f %%)\n",
			plan->opts->dev, gen_rate_text(sent, sizeof(sent), confirmed_pps(r)),
			gen_rate_text(asked, sizeof(asked), r->asked_pps), 100 * rate_error(r));
	return rc || plan->opts->strict;
}
