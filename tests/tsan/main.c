// SPDX-License-Identifier: BSD-2-Clause
/* Runs the threaded tests one after another and prints TAP. One that fails or races ends it. */
#include "criterion/criterion.h"

static struct tsan_test *tests;

void tsan_register(struct tsan_test *test)
{
	test->next = tests;
	tests = test;
}

int main(void)
{
	struct tsan_test *t;
	unsigned cnt = 0;

	for (t = tests; t; t = t->next)
		cnt++;
	printf("1..%u\n", cnt);
	for (t = tests; t; t = t->next) {
		t->fn();
		printf("ok - %s\n", t->name);
		fflush(stdout);
	}
	return 0;
}
