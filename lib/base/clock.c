// SPDX-License-Identifier: BSD-2-Clause
#include "base/clock.h"

struct reading {
	uint64_t ns, cycles;
};

/* Both clocks at one moment. The thread may lose its CPU between two readings, so the fastest of
 * ten tries counts. */
static struct reading read_both(void)
{
	uint64_t best_ns = UINT64_MAX;
	struct reading best = {0, 0};

	for (unsigned i = 0; i < 10; i++) {
		uint64_t ns = shunt_clock_ns(), cycles = shunt_clock_cycles();
		uint64_t took_ns = shunt_clock_ns() - ns;

		if (took_ns < best_ns) {
			best_ns = took_ns;
			best = (struct reading){ns + took_ns / 2, cycles};
		}
	}
	return best;
}

static uint64_t measure_hz(void)
{
	const uint64_t span_ns = 10 * 1000 * 1000;
	struct reading from = read_both(), to;

	while (shunt_clock_ns() - from.ns < span_ns)
		;
	to = read_both();
	return (uint64_t)((__uint128_t)(to.cycles - from.cycles) * SHUNT_NS_PER_SEC /
			  (to.ns - from.ns));
}

uint64_t shunt_clock_hz(void)
{
	static uint64_t hz;
	uint64_t known = __atomic_load_n(&hz, __ATOMIC_RELAXED);

	if (!known) {
		known = measure_hz();
		__atomic_store_n(&hz, known, __ATOMIC_RELAXED);
	}
	return known;
}
