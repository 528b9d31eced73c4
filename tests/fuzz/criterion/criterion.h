/* SPDX-License-Identifier: BSD-2-Clause */
/* Stands in for Criterion where a fuzz target uses a rig of the unit tests: an assertion that fails
 * is a fault found, and what cannot run here ends the process with FUZZ_SKIPPED. */
#ifndef SHUNT_TESTS_FUZZ_CRITERION_H
#define SHUNT_TESTS_FUZZ_CRITERION_H

#include <unistd.h>

#include "fuzz.h"

#define cr_assert(condition, ...)  FUZZ_MUST(condition, " " __VA_ARGS__)
#define cr_assert_eq(a, b, ...)	   FUZZ_MUST((a) == (b), #a " is not " #b " " __VA_ARGS__)
#define cr_assert_not_null(p, ...) FUZZ_MUST(p, #p " is NULL " __VA_ARGS__)
#define cr_expect_eq(a, b, ...)	   cr_assert_eq(a, b, ##__VA_ARGS__)

/* Not exit(), which libFuzzer takes for a fault. */
#define cr_skip_test(...)                     \
	do {                                  \
		fprintf(stderr, __VA_ARGS__); \
		fputc('\n', stderr);          \
		_exit(FUZZ_SKIPPED);          \
	} while (0)

#endif
