// SPDX-License-Identifier: BSD-2-Clause
/* What a thread that sends from userspace does for each frame: the same as
 * bpf/tools/shunt_gen.bpf.c. */
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "gen.h"

/* What a sender sleeps at most: it may be stopped meanwhile. */
#define NAP_NS 100000000

static const struct shunt_gen_slot *slot_of(const struct gen_sender *s)
{
	return s->slot_cnt ? &s->slots[s->state->slot] : NULL;
}

static bool is_paced(const struct gen_sender *s)
{
	return s->plan->rate_pps > 0;
}

bool gen_next_due(struct gen_sender *s, uint64_t now_ns)
{
	const struct shunt_gen_slot *slot = slot_of(s);

	if (!s->state->start_ns)
		__atomic_store_n(&s->state->start_ns, now_ns, __ATOMIC_RELEASE);
	return !is_paced(s) ||
	       shunt_gen_is_due(s->state, &s->pace, slot ? slot->gap : s->pace.interval, now_ns);
}

uint64_t gen_next_ns(const struct gen_sender *s)
{
	const struct shunt_gen_state *st = s->state;
	const uint64_t due = st->due > st->next ? st->due : st->next;

	return is_paced(s) ? st->start_ns + (due >> SHUNT_GEN_PACE_SHIFT) + 1 : 0;
}

void gen_next_sleep(const struct gen_sender *s, uint64_t early_ns)
{
	const uint64_t ns = SHUNT_MIN(gen_next_ns(s) - early_ns, shunt_clock_ns() + NAP_NS);
	const struct timespec ts = {.tv_sec = (time_t)(ns / SHUNT_NS_PER_SEC),
				    .tv_nsec = (long)(ns % SHUNT_NS_PER_SEC)};

	prctl(PR_SET_TIMERSLACK, 1); /* of this thread */
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static uint32_t take_flow(struct gen_sender *s, const struct shunt_gen_slot *slot)
{
	struct shunt_gen_state *st = s->state;
	uint32_t flow = st->flow;

	if (slot) {
		if (++st->slot >= s->slot_cnt)
			st->slot = 0;
		return slot->flow;
	}
	if (++st->flow >= s->plan->flow_cnt)
		st->flow = 0;
	return flow;
}

static uint32_t write_record(const struct gen_capture *c, uint32_t i, uint8_t *buf)
{
	memcpy(buf, c->bytes + c->records[i].at, c->records[i].len);
	return c->records[i].len;
}

static void write_frame(const struct gen_sender *s, const struct shunt_gen_vary *v, uint8_t *buf)
{
	const struct gen_send_opts *o = s->plan->opts;
	const struct shunt_gen_flow *f = &s->plan->flows[v->flow];

	if (o->v6 && o->tcp)
		shunt_gen_write(buf, &s->frame, f, v, true, true);
	else if (o->v6)
		shunt_gen_write(buf, &s->frame, f, v, true, false);
	else if (o->tcp)
		shunt_gen_write(buf, &s->frame, f, v, false, true);
	else
		shunt_gen_write(buf, &s->frame, f, v, false, false);
}

uint32_t gen_next_write(struct gen_sender *s, uint8_t *buf, uint64_t now_ns)
{
	struct shunt_gen_state *st = s->state;
	const struct shunt_gen_slot *slot = slot_of(s);
	struct shunt_gen_vary v = {.seq = st->seq,
				   .time_ns = s->plan->opts->stamped ? now_ns : 0,
				   .len = slot ? slot->len : s->plan->len_max};

	v.flow = take_flow(s, slot);
	if (s->plan->capture.cnt)
		write_record(&s->plan->capture, v.flow, buf);
	else
		write_frame(s, &v, buf);
	/* read by the controller */
	__atomic_store_n(&st->bytes, st->bytes + v.len, __ATOMIC_RELAXED);
	__atomic_store_n(&st->seq, st->seq + 1, __ATOMIC_RELEASE);
	if (st->seq == s->limit)
		__atomic_store_n(&st->done_ns, now_ns, __ATOMIC_RELEASE);
	return v.len;
}

bool gen_next_is_over(const struct gen_sender *s)
{
	return s->stop || s->state->done_ns;
}
