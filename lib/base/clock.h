/* SPDX-License-Identifier: BSD-2-Clause */
/* Two clocks: cycles, for measuring, and nanoseconds (CLOCK_MONOTONIC), for time-outs. Cycles are
 * the ticks of the CPU's counter: TSC on x86-64, CNTVCT on arm64. It ticks at a constant rate,
 * which is not the core's frequency. The rate is measured once against CLOCK_MONOTONIC. */
#ifndef SHUNT_BASE_CLOCK_H
#define SHUNT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define SHUNT_NS_PER_SEC 1000000000ULL

/* shunt_clock_cycles returns the counter. The read does not serialise: neighbouring instructions
 * may move across it, the work of a batch does not. Thread: any. Cost: about 20 cycles on
 * x86-64. */
static inline uint64_t shunt_clock_cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#else
#error "no cycle counter known for this architecture"
#endif
}

/* shunt_clock_ns returns CLOCK_MONOTONIC in nanoseconds. Thread: any.
 * Cost: a vDSO call, no syscall. */
static inline uint64_t shunt_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SHUNT_NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* shunt_clock_hz returns the counter's rate in ticks a second. The first call measures it over
 * 10 ms. Thread: init (then any). */
uint64_t shunt_clock_hz(void);

#endif
