// SPDX-License-Identifier: BSD-2-Clause
#include "model_sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/rng.h"

struct state {
	const struct shunt_mxgb1_opts *opts;
	uint64_t rng;
	double now, next, lambda; /* the next batch comes at `next` */
	double *cdf;		  /* of the batch sizes */
	double *came;		  /* ring: when each came */
	unsigned head, cnt;
	/* Of the part that runs. */
	uint64_t offered, lost, served, polls;
	double began, busy, waited, ring_area;
	uint64_t sizes[SHUNT_MXGB1_BATCH_MAX + 1];
};

static double uniform(struct state *s)
{
	return ((double)(shunt_rng_next(&s->rng) >> 11) + 0.5) * 0x1p-53;
}

static unsigned draw_size(struct state *s)
{
	double u = uniform(s);
	unsigned j = 1;

	while (j < s->opts->psi && u > s->cdf[j])
		j++;
	return j;
}

static double draw_task(struct state *s)
{
	double u = uniform(s);
	unsigned i = 0;

	while (i + 1 < s->opts->task_cnt && u > s->opts->task[i].probability)
		u -= s->opts->task[i++].probability;
	return s->opts->task[i].cycles;
}

static void arrive_until(struct state *s, double end)
{
	double last = s->now;

	for (; s->next <= end; s->next -= log(uniform(s)) / s->lambda) {
		unsigned j = draw_size(s);

		s->ring_area += s->cnt * (s->next - last);
		last = s->next;
		s->offered += j;
		for (; j && s->cnt < s->opts->ring; j--)
			s->came[(s->head + s->cnt++) % s->opts->ring] = s->next;
		s->lost += j;
	}
	s->ring_area += s->cnt * (end - last);
	s->now = end;
}

static void turn(struct state *s)
{
	const struct shunt_mxgb1_opts *o = s->opts;
	unsigned n = s->cnt < o->batch ? s->cnt : o->batch, i;
	double cycles = n ? n * o->c_io + o->c_call : o->c_v, sum = 0;

	for (i = 0; i < n; i++) {
		sum += s->came[s->head];
		s->head = (s->head + 1) % o->ring;
		if (o->is_task_per_packet)
			cycles += draw_task(s);
	}
	s->cnt -= n;
	if (n && !o->is_task_per_packet)
		cycles += n * draw_task(s);
	arrive_until(s, s->now + cycles / o->freq_hz);
	if (!n)
		return;
	s->polls++;
	s->sizes[n]++;
	s->served += n;
	s->busy += cycles / o->freq_hz;
	s->waited += n * s->now - sum;
}

static void begin_part(struct state *s)
{
	s->offered = s->lost = s->served = s->polls = 0;
	s->busy = s->waited = s->ring_area = 0;
	s->began = s->now;
	memset(s->sizes, 0, sizeof(s->sizes));
}

static void end_part(const struct state *s, struct model_sim_part *part)
{
	double time = s->now - s->began;
	unsigned j;

	part->throughput_pps = (double)s->served / time;
	part->loss = (double)s->lost / (double)s->offered;
	part->latency_s = s->waited / (double)s->served;
	part->utilisation = s->busy / time;
	part->batch_mean = (double)s->served / (double)s->polls;
	part->ring_mean = s->ring_area / time;
	for (j = 1; j <= s->opts->batch; j++)
		part->batch_size[j] = (double)s->sizes[j] / (double)s->polls;
}

static void play(struct state *s, uint64_t packets)
{
	begin_part(s);
	while (s->offered < packets)
		turn(s);
}

void model_sim_run(struct model_sim *sim, const struct shunt_mxgb1_opts *opts, uint64_t packets,
		   uint64_t seed)
{
	struct state s = {.opts = opts, .rng = seed};
	double sum = 0, mean = 0;
	unsigned j, i;

	s.cdf = calloc(opts->psi + 1, sizeof(double));
	s.came = calloc(opts->ring, sizeof(double));
	for (j = 1; j <= opts->psi; j++)
		sum += pow(j, -opts->nu);
	for (j = 1; j <= opts->psi; j++) {
		s.cdf[j] = s.cdf[j - 1] + pow(j, -opts->nu) / sum;
		mean += j * pow(j, -opts->nu) / sum;
	}
	s.lambda = opts->offered_pps / mean;
	s.next = -log(uniform(&s)) / s.lambda;
	play(&s, packets / 10);
	for (i = 0; i < MODEL_SIM_PARTS; i++) {
		play(&s, packets / MODEL_SIM_PARTS);
		end_part(&s, &sim->parts[i]);
	}
	free(s.cdf);
	free(s.came);
}
