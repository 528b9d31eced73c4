/* SPDX-License-Identifier: BSD-2-Clause */
/* Stands in for Criterion under ThreadSanitizer, which cannot run Criterion's isolated
 * processes: the same test files, one process, tests in the order of their names' definition. A
 * failed assertion ends the run with status 1. */
#ifndef SHUNT_TESTS_TSAN_CRITERION_H
#define SHUNT_TESTS_TSAN_CRITERION_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct tsan_test {
	const char *name;
	void (*fn)(void);
	struct tsan_test *next;
};

void tsan_register(struct tsan_test *test);

/* Options such as .timeout are Criterion's and fall away. */
#define Test(suite, test, ...)                                                           \
	static void suite##_##test(void);                                                \
	__attribute__((constructor)) static void suite##_##test##_register(void)         \
	{                                                                                \
		static struct tsan_test self = {#suite "/" #test, suite##_##test, NULL}; \
		tsan_register(&self);                                                    \
	}                                                                                \
	static void suite##_##test(void)

#define cr_assert_eq(a, b, ...)                                                       \
	do {                                                                          \
		if ((a) == (b))                                                       \
			break;                                                        \
		fprintf(stderr, "%s:%d: %s is not %s\n", __FILE__, __LINE__, #a, #b); \
		exit(1);                                                              \
	} while (0)

#endif
