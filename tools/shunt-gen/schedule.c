// SPDX-License-Identifier: BSD-2-Clause
/* The schedule of a thread: for each of some hundred thousand frames, or a few
 * million, its flow, its length and the time to the next, drawn before the first is sent. It is
 * gone through again and again. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "gen.h"
#include "measure/rng.h"

/* Frames of a schedule: 4 MiB. More would leave the cache sooner, fewer would repeat
 * sooner. */
#define SLOTS	     (1u << 18)
/* ... and, of all threads, at least so many for each flow where they are drawn: of those that are
 * each as likely, 98 % are in it then. */
#define SLOTS_A_FLOW 4

/* 1/1024 ns a ns. */
#define TICKS	     (1 << SHUNT_GEN_PACE_SHIFT)

struct drawing {
	struct gen_sender *s;
	struct shunt_zipf batch, popular;
	uint64_t rng;
};

static bool is_needed(const struct gen_plan *plan)
{
	return plan->capture.cnt || plan->len_min != plan->len_max ||
	       plan->opts->order != GEN_COUNT ||
	       (plan->rate_pps > 0 && plan->opts->arrival != SHUNT_ARRIVAL_CONSTANT);
}

/* As long as flows in turn come out even. */
static uint32_t length(const struct gen_sender *s)
{
	const struct gen_plan *plan = s->plan;
	uint32_t n = SLOTS;

	if (plan->capture.cnt)
		return plan->capture.cnt;
	if (plan->opts->order != GEN_COUNT)
		n = SHUNT_MAX(n, SLOTS_A_FLOW * plan->flow_cnt / plan->opts->threads);
	if (s->limit && s->limit < n)
		return (uint32_t)s->limit;
	if (plan->opts->order != GEN_COUNT)
		return n;
	return plan->flow_cnt > n ? plan->flow_cnt : n - n % plan->flow_cnt;
}

static void draw_frames(struct drawing *d, struct shunt_bag *sizes)
{
	struct gen_sender *s = d->s;
	const struct gen_plan *plan = s->plan;
	const struct gen_capture *c = &plan->capture;

	for (uint32_t i = 0; i < s->slot_cnt; i++) {
		struct shunt_gen_slot *slot = &s->slots[i];

		if (c->cnt) {
			*slot = (struct shunt_gen_slot){.flow = i, .len = c->records[i].len};
			continue;
		}
		slot->len = shunt_bag_draw(sizes, &d->rng);
		if (plan->opts->order == GEN_COUNT)
			slot->flow = (s->state->flow + i) % plan->flow_cnt;
		else if (plan->opts->order == GEN_RANDOM)
			slot->flow = (uint32_t)shunt_rng_below(&d->rng, plan->flow_cnt);
		else
			slot->flow = shunt_zipf_draw(&d->popular, &d->rng) - 1;
	}
}

/* The capture's own distances; from its last frame to its first, the mean. */
static void copy_gaps(struct gen_sender *s)
{
	const struct gen_record *r = s->plan->capture.records;
	const uint32_t last = s->slot_cnt - 1;

	for (uint32_t i = 0; i < last; i++)
		s->slots[i].gap = (r[i + 1].time_ns - r[i].time_ns) << SHUNT_GEN_PACE_SHIFT;
	s->slots[last].gap =
		last ? (r[last].time_ns - r[0].time_ns) / last << SHUNT_GEN_PACE_SHIFT : 0;
}

/* Scaled so that the whole schedule has exactly the rate asked for: chance would have
 * it off by a few thousandths. */
static void draw_gaps(struct drawing *d, double interval_ns)
{
	struct gen_sender *s = d->s;
	const struct gen_send_opts *o = s->plan->opts;
	const uint32_t n = s->slot_cnt, counted = n == s->limit && n > 1 ? n - 1 : n;
	struct shunt_arrival arrival;
	double sum = 0, at = 0, scale, *gaps = calloc(n, sizeof(*gaps));

	if (o->arrival == SHUNT_ARRIVAL_BURST)
		shunt_arrival_init_burst(&arrival, interval_ns, o->burst);
	else
		shunt_arrival_init(&arrival, o->arrival, interval_ns, &d->batch,
				   shunt_rng_next(&d->rng));
	shunt_arrival_next(&arrival);
	for (uint32_t i = 0; gaps && i < n; i++) {
		gaps[i] = shunt_arrival_next(&arrival);
		sum += i < counted ? gaps[i] : 0;
	}
	scale = sum > 0 ? interval_ns * counted / sum * TICKS : TICKS;
	/* Rounded as a sum, so that the errors do not add up. */
	for (uint32_t i = 0; gaps && i < n; i++) {
		const double next = at + gaps[i] * scale;

		s->slots[i].gap = (uint64_t)(llround(next) - llround(at));
		at = next;
	}
	free(gaps);
}

static int prepare(struct drawing *d, struct shunt_err *err)
{
	const struct gen_plan *plan = d->s->plan;
	const struct gen_send_opts *o = plan->opts;
	int rc = 0;

	if (o->arrival == SHUNT_ARRIVAL_COMPOUND)
		rc = shunt_zipf_init(&d->batch, o->psi, o->nu);
	if (!rc && o->order == GEN_ZIPF)
		rc = shunt_zipf_init(&d->popular, plan->flow_cnt, o->order_s);
	return rc ? shunt_err_set(err, -rc, "no memory for Zipf's law") : 0;
}

int gen_schedule_make(struct gen_sender *s, struct shunt_bag *sizes, struct shunt_err *err)
{
	const struct gen_plan *plan = s->plan;
	struct drawing d = {.s = s, .rng = plan->opts->seed + 7919 * s->number};
	int rc;

	if (!is_needed(plan))
		return 0;
	s->slot_cnt = length(s);
	s->slots = calloc(s->slot_cnt, sizeof(*s->slots));
	if (!s->slots)
		return shunt_err_set(err, ENOMEM, "no memory for a schedule of %u frames",
				     s->slot_cnt);
	rc = prepare(&d, err);
	if (!rc) {
		draw_frames(&d, sizes);
		if (plan->own_timing)
			copy_gaps(s);
		else if (plan->rate_pps > 0)
			draw_gaps(&d, 1e9 * plan->opts->threads / plan->rate_pps);
	}
	shunt_zipf_fini(&d.batch);
	shunt_zipf_fini(&d.popular);
	return rc;
}
