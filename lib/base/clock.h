/* SPDX-License-Identifier: BSD-2-Clause */
/* Two clocks: cycles (the CPU's constant-rate counter, for measuring) and
 * nanoseconds (CLOCK_MONOTONIC, for time-outs). The counter's rate is measured
 * once against CLOCK_MONOTONIC; it is the TSC on x86-64 and CNTVCT on arm64,
 * which tick at a constant rate that is not the core's frequency. */
#ifndef SHUNT_BASE_CLOCK_H
#define SHUNT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define SHUNT_NS_PER_SEC 1000000000ULL

/* shunt_clock_cycles returns the counter, unserialised: neighbouring
 * instructions may move across it, a batch's worth of work does not.
 * Thread: any. Cost: about 20 cycles on x86-64. */
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

/* shunt_clock_hz returns the counter's rate in ticks a second, measured over
 * 10 ms on the first call and remembered. Thread: init (then any). */
uint64_t shunt_clock_hz(void);

#endif
