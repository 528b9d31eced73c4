// SPDX-License-Identifier: BSD-2-Clause
#include "port/stats.h"

#include "base/clock.h"
#include "port/counters.h"
#include "port/port.h"
#include "steer/steer.h"

static void add_samples(const struct shunt_port *port, struct shunt_lane_counts *out)
{
	unsigned q, lane;

	for (q = 0; q < SHUNT_STEER_QUEUES_MAX; q++) {
		const struct shunt_steer_sample *s = shunt_xdp_sample(port->xdp, q);

		for (lane = 0; lane < SHUNT_LANE_CNT; lane++) {
			out->samples[lane] += shunt_counter_read((const uint64_t *)&s->cnt[lane]);
			out->sample_ns[lane] += shunt_counter_read((const uint64_t *)&s->ns[lane]);
		}
	}
}

struct shunt_lane_counts shunt_port_stats_read(const struct shunt_port *port,
					       const struct shunt_work_counts *work)
{
	struct shunt_lane_counts now = {.at_ns = shunt_clock_ns(), .work = *work};
	struct shunt_steer_counters sum;
	unsigned lane;

	shunt_port_counters(port, &sum);
	for (lane = 0; lane < SHUNT_LANE_CNT; lane++) {
		now.packets[lane] = shunt_steer_counters_lane(&sum, (enum shunt_lane)lane);
		now.bytes[lane] = sum.bytes[lane];
	}
	add_samples(port, &now);
	return now;
}

void shunt_port_stats_tick(struct shunt_port *port, const struct shunt_work_counts *work)
{
	if (!port->xdp)
		return;
	port->stats.before = port->stats.latest;
	port->stats.latest = shunt_port_stats_read(port, work);
	shunt_xdp_sample_ask(port->xdp);
}

/* Nanoseconds of the steering program a packet; negative: not measured. */
static double program_ns(const struct shunt_port_stats *s, enum shunt_lane lane)
{
	uint64_t samples = s->latest.samples[lane] - s->before.samples[lane];

	if (!samples || !s->before.at_ns)
		return -1;
	return (double)(s->latest.sample_ns[lane] - s->before.sample_ns[lane]) / (double)samples;
}

static double worker_ns(const struct shunt_port_stats *s, uint64_t divisor)
{
	const uint64_t cycles = s->latest.work.cycles - s->before.work.cycles;

	if (!divisor || !s->before.at_ns)
		return -1;
	return (double)cycles * 1e9 / (double)shunt_clock_hz() / (double)divisor;
}

static double sum_of(double a, double b)
{
	return a < 0 || b < 0 ? -1 : a + b;
}

void shunt_port_stats_cost(const struct shunt_port_stats *s, enum shunt_lane lane,
			   double *latency_ns, double *cpu_ns)
{
	const double program = program_ns(s, lane);
	double turn = -1, part = -1;

	if (lane == SHUNT_LANE_USER) {
		turn = worker_ns(s, s->latest.work.turns - s->before.work.turns);
		part = worker_ns(s, s->latest.work.packets - s->before.work.packets);
	} else if (lane == SHUNT_LANE_XDP) {
		turn = part = 0;
	}
	*latency_ns = sum_of(program, turn);
	*cpu_ns = sum_of(program, part);
}
