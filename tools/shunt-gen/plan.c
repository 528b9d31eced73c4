// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "gen.h"

#define RATE_MAX 1e9

static int take_sizes(struct gen_plan *plan, struct shunt_err *err)
{
	const struct gen_send_opts *o = plan->opts;
	const uint32_t least = SHUNT_GEN_HEAD_LEN(o->v6, o->tcp);
	int rc = o->sizes ? gen_parse_sizes(&plan->sizes, o->sizes, least, err)
			  : shunt_bag_add(&plan->sizes, least, 1);

	if (rc)
		return rc;
	plan->len_min = plan->len_max = plan->sizes.items[0];
	for (uint32_t i = 0; i < plan->sizes.cnt; i++) {
		plan->len_min = SHUNT_MIN(plan->len_min, plan->sizes.items[i]);
		plan->len_max = SHUNT_MAX(plan->len_max, plan->sizes.items[i]);
	}
	plan->mean_len = shunt_bag_mean(&plan->sizes);
	return 0;
}

static int take_capture(struct gen_plan *plan, struct shunt_err *err)
{
	struct gen_capture *c = &plan->capture;
	int rc;

	plan->own_timing = plan->opts->rate.unit == GEN_MAX;
	rc = gen_capture_load(c, plan->opts->capture, plan->own_timing, err);
	if (rc)
		return rc;
	plan->len_min = plan->len_max = c->records[0].len;
	for (uint32_t i = 0; i < c->cnt; i++) {
		plan->len_min = SHUNT_MIN(plan->len_min, c->records[i].len);
		plan->len_max = SHUNT_MAX(plan->len_max, c->records[i].len);
	}
	plan->mean_len = (double)c->bytes_len / c->cnt;
	plan->flow_cnt = 1;
	if (plan->own_timing)
		plan->rate_pps = gen_capture_pps(c, c->cnt);
	return 0;
}

/* A veth's speed is no limit, only a number that it shows. */
static bool has_real_line(const struct gen_plan *plan)
{
	return plan->dev.line_bps > 0 && strcmp(plan->dev.driver, "veth") != 0;
}

static int check_rate(const struct gen_plan *plan, struct shunt_err *err)
{
	const struct gen_send_opts *o = plan->opts;
	const double bps = plan->rate_pps * (plan->mean_len + GEN_L1_LEN) * 8;
	double line = has_real_line(plan) ? plan->dev.line_bps : 0;

	if (o->line_bps > 0)
		line = o->line_bps;
	if (line > 0 && bps > line * 1.0000001)
		return shunt_err_set(
			err, ERANGE,
			"--rate: %.0f frames of %.0f bytes a second are %.4g Gbit/s on "
			"the wire, and %s has %.4g: at most %.0f fit",
			plan->rate_pps, plan->mean_len, bps / 1e9, o->dev, line / 1e9,
			line / ((plan->mean_len + GEN_L1_LEN) * 8));
	if (plan->rate_pps > RATE_MAX)
		return shunt_err_set(err, ERANGE,
				     "--rate: %.4g frames a second are more than the %.0g that can "
				     "be asked for",
				     plan->rate_pps, RATE_MAX);
	return 0;
}

static int take_rate(struct gen_plan *plan, struct shunt_err *err)
{
	const struct gen_send_opts *o = plan->opts;
	const double line = o->line_bps > 0 ? o->line_bps : plan->dev.line_bps;

	switch (o->rate.unit) {
	case GEN_MAX:
		return 0; /* or the capture's */
	case GEN_PPS:
		plan->rate_pps = o->rate.value;
		break;
	case GEN_BITS:
		plan->rate_pps = o->rate.value / ((plan->mean_len + GEN_FCS_LEN) * 8);
		break;
	case GEN_PERCENT:
		if (!(line > 0))
			return shunt_err_set(err, EINVAL,
					     "--rate in percent: %s does not say how fast it is; "
					     "give --line, e.g. --line 10G",
					     o->dev);
		plan->rate_pps = o->rate.value / 100 * line / ((plan->mean_len + GEN_L1_LEN) * 8);
		break;
	}
	return check_rate(plan, err);
}

static uint64_t limit_of(const struct gen_plan *plan)
{
	const struct gen_send_opts *o = plan->opts;
	uint64_t by_time = 0, most = o->count;

	if (plan->capture.cnt && !o->duration_s && !o->count)
		most = plan->capture.cnt * o->loops;
	/* A capture at its own pace has no even rate: the clock ends it. */
	if (plan->rate_pps > 0 && o->duration_s > 0 && !plan->own_timing)
		by_time = (uint64_t)fmax(1, round(plan->rate_pps * o->duration_s));
	if (most && by_time)
		return SHUNT_MIN(most, by_time);
	return most ? most : by_time;
}

static enum gen_way choose_way(const struct gen_plan *plan)
{
	if (plan->opts->way != GEN_AUTO)
		return plan->opts->way;
	if (gen_send_wants_xsk(plan->opts))
		return GEN_XSK;
	if (plan->rate_pps > 0 && plan->rate_pps <= GEN_PACKET_RATE_MAX)
		return GEN_PACKET;
	return plan->capture.cnt || strcmp(plan->dev.driver, "veth") ? GEN_XSK : GEN_XDP;
}

static int check(const struct gen_plan *plan, struct shunt_err *err)
{
	const struct gen_send_opts *o = plan->opts;

	if (plan->capture.mtu > plan->dev.mtu)
		return shunt_err_set(err, EMSGSIZE,
				     "%s has an MTU of %u, and the capture a frame that wants %u",
				     o->dev, plan->dev.mtu, plan->capture.mtu);
	if (!o->capture && plan->len_max > plan->dev.mtu + SHUNT_GEN_ETH_LEN)
		return shunt_err_set(err, EMSGSIZE,
				     "%s has an MTU of %u: --size is at most %u bytes there, not "
				     "%u",
				     o->dev, plan->dev.mtu, plan->dev.mtu + SHUNT_GEN_ETH_LEN,
				     plan->len_max);
	if (plan->limit > 1ULL << SHUNT_GEN_SEQ_BITS)
		return shunt_err_set(err, ERANGE,
				     "%.3g frames are more than the sequence number's %llu",
				     (double)plan->limit, 1ULL << SHUNT_GEN_SEQ_BITS);
	if (plan->limit && plan->limit < o->threads)
		return shunt_err_set(err, EINVAL, "%llu frames are too few for %u threads",
				     (unsigned long long)plan->limit, o->threads);
	return 0;
}

int gen_plan_init(struct gen_plan *plan, const struct gen_send_opts *opts, struct shunt_err *err)
{
	int rc;

	memset(plan, 0, sizeof(*plan));
	plan->opts = opts;
	rc = gen_device_get(&plan->dev, opts->dev, err);
	if (!rc)
		rc = opts->capture ? take_capture(plan, err) : take_sizes(plan, err);
	if (!rc)
		rc = take_rate(plan, err);
	if (rc)
		return rc;
	plan->limit = limit_of(plan);
	plan->way = choose_way(plan);
	rc = check(plan, err);
	return rc || opts->capture ? rc : gen_flows_make(plan, err);
}

void gen_plan_fini(struct gen_plan *plan)
{
	shunt_bag_fini(&plan->sizes);
	gen_capture_fini(&plan->capture);
	free(plan->flows);
	plan->flows = NULL;
}
