// SPDX-License-Identifier: BSD-2-Clause
#include "lane/stats.h"

#include "base/clock.h"
#include "engine/engine.h"
#include "show/json.h"
#include "port/counters.h"
#include "steer/steer.h"

/* --- counts ----------------------------------------------------------------------------------- */

static void add_workers(const struct shunt_engine *engine, struct shunt_lane_counts *out)
{
	unsigned i;

	for (i = 0; i < engine->worker_cnt; i++) {
		const struct shunt_worker_stats *s = &engine->workers[i]->stats;

		out->worker_packets += shunt_counter_read(&s->packets);
		out->worker_turns +=
			shunt_counter_read(&s->turns) - shunt_counter_read(&s->empty_turns);
		out->worker_cycles += shunt_counter_read(&s->work_cycles);
	}
}

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

static struct shunt_lane_counts counts_of(const struct shunt_engine *engine,
					  const struct shunt_port *port)
{
	struct shunt_lane_counts now = {.at_ns = shunt_clock_ns()};
	struct shunt_steer_counters sum;
	unsigned lane;

	shunt_steer_counters_of_port(port, &sum);
	for (lane = 0; lane < SHUNT_LANE_CNT; lane++) {
		now.packets[lane] = shunt_steer_counters_lane(&sum, (enum shunt_lane)lane);
		now.bytes[lane] = sum.bytes[lane];
	}
	add_samples(port, &now);
	add_workers(engine, &now);
	return now;
}

void shunt_lane_stats_tick(struct shunt_engine *engine)
{
	unsigned i;

	for (i = 0; i < engine->port_cnt; i++) {
		struct shunt_port *port = &engine->ports[i];

		if (!port->xdp)
			continue;
		port->stats.before = port->stats.latest;
		port->stats.latest = counts_of(engine, port);
		shunt_xdp_sample_ask(port->xdp);
	}
}

/* --- quotients -------------------------------------------------------------------------------- */

/* Nanoseconds of the steering program a packet; negative: not measured. */
static double program_ns(const struct shunt_lane_stats *s, enum shunt_lane lane)
{
	uint64_t samples = s->latest.samples[lane] - s->before.samples[lane];

	if (!samples || !s->before.at_ns)
		return -1;
	return (double)(s->latest.sample_ns[lane] - s->before.sample_ns[lane]) / (double)samples;
}

static double worker_ns(const struct shunt_lane_stats *s, uint64_t divisor)
{
	uint64_t cycles = s->latest.worker_cycles - s->before.worker_cycles;

	if (!divisor || !s->before.at_ns)
		return -1;
	return (double)cycles * 1e9 / (double)shunt_clock_hz() / (double)divisor;
}

static void set_sum(json_t *object, const char *key, double a, double b)
{
	json_object_set_new(object, key, a < 0 || b < 0 ? json_null() : json_real(a + b));
}

static void set_costs(json_t *row, const struct shunt_lane_stats *s, enum shunt_lane lane)
{
	double program = program_ns(s, lane), turn = -1, share = -1;

	if (lane == SHUNT_LANE_USER) {
		turn = worker_ns(s, s->latest.worker_turns - s->before.worker_turns);
		share = worker_ns(s, s->latest.worker_packets - s->before.worker_packets);
	} else if (lane == SHUNT_LANE_XDP) {
		turn = share = 0;
	}
	set_sum(row, "latency_ns", program, turn);
	set_sum(row, "cpu_ns_per_packet", program, share);
}

json_t *shunt_lane_stats_json(const struct shunt_engine *engine, const struct shunt_port *port,
			      enum shunt_lane lane)
{
	const struct shunt_lane_stats *s = &port->stats;
	struct shunt_lane_counts now = counts_of(engine, port);
	uint64_t ns = s->before.at_ns ? s->latest.at_ns - s->before.at_ns : 0;
	json_t *row = json_object();

	set_u64(row, "packets", now.packets[lane]);
	set_u64(row, "bytes", now.bytes[lane]);
	set_ratio(row, "pps", (s->latest.packets[lane] - s->before.packets[lane]) * 1000000000, ns);
	set_ratio(row, "bps", (s->latest.bytes[lane] - s->before.bytes[lane]) * 8000000000, ns);
	set_costs(row, s, lane);
	return row;
}
