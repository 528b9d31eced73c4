// SPDX-License-Identifier: BSD-2-Clause
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

	for (t = tests; t; t = t->next) {
		printf("%s\n", t->name);
		fflush(stdout);
		t->fn();
	}
	return !tests;
}
