// SPDX-License-Identifier: BSD-2-Clause
#include "base/clock.h"

static uint64_t measure_hz(void)
{
	const uint64_t span_ns = 10 * 1000 * 1000;
	uint64_t ns0 = shunt_clock_ns(), c0 = shunt_clock_cycles(), ns1, c1;

	do {
		ns1 = shunt_clock_ns();
		c1 = shunt_clock_cycles();
	} while (ns1 - ns0 < span_ns);
	return (uint64_t)((__uint128_t)(c1 - c0) * SHUNT_NS_PER_SEC / (ns1 - ns0));
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
