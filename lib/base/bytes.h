/* SPDX-License-Identifier: BSD-2-Clause */
/* Small things that every file needs: branch hints, sizes, alignment, counters. */
#ifndef SHUNT_BASE_BYTES_H
#define SHUNT_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#define likely(x)	    __builtin_expect(!!(x), 1)
#define unlikely(x)	    __builtin_expect(!!(x), 0)

/* The cache line of x86-64 and arm64 servers. What different threads write must lie in different
 * lines. Otherwise each write takes the line away from the other core. */
#define SHUNT_CACHELINE	    64
#define SHUNT_CACHE_ALIGNED __attribute__((aligned(SHUNT_CACHELINE)))

#define SHUNT_ARRAY_LEN(a)  (sizeof(a) / sizeof((a)[0]))

#define SHUNT_MIN(a, b)                            \
	({                                         \
		__typeof__(a) min_a_ = (a);        \
		__typeof__(b) min_b_ = (b);        \
		min_a_ < min_b_ ? min_a_ : min_b_; \
	})
#define SHUNT_MAX(a, b)                            \
	({                                         \
		__typeof__(a) max_a_ = (a);        \
		__typeof__(b) max_b_ = (b);        \
		max_a_ > max_b_ ? max_a_ : max_b_; \
	})

#define shunt_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline int shunt_is_power_of_2(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* A counter has one writer, its worker, and any number of readers. So the writer needs no atomic
 * read-modify-write. A reader never sees half a value. */
static inline void shunt_counter_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline uint64_t shunt_counter_read(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

#endif
