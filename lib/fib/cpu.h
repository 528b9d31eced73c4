/* SPDX-License-Identifier: BSD-2-Clause */
/* Bulk lookups exist in two forms: portable C, and AVX-512 with its count of set bits for eight
 * lanes at once (Ice Lake, Zen 4 and later). Which one runs is decided at create, by asking the
 * CPU, so that one binary is right everywhere. Private to lib/fib. */
#ifndef SHUNT_FIB_CPU_H
#define SHUNT_FIB_CPU_H

#include <stdbool.h>

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define SHUNT_FIB_AVX512 1

#define SHUNT_FIB_TARGET_AVX512 \
	__attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512vpopcntdq")))

/* True if this CPU and kernel run code marked SHUNT_FIB_TARGET_AVX512. */
static inline bool shunt_fib_cpu_has_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vpopcntdq");
}
#endif

#endif
