// SPDX-License-Identifier: BSD-2-Clause
/* `show flows` keeps of many connections those with most bytes, whatever their order. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "measure/rng.h"
#include "show/flow_rows.h"

#define CNT 25000u
#define MAX 1000u

static int descending(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Bytes of CNT rows, some of them equal; what is kept is to be the first of them, sorted. */
static void check(uint64_t bytes[CNT])
{
	struct shunt_flow_rows rows = {.at = malloc(MAX * sizeof(*rows.at)), .max = MAX};
	unsigned i;

	cr_assert(rows.at);
	for (i = 0; i < CNT; i++) {
		struct shunt_flow_row row = {.flow.out.sport = (uint16_t)i,
					     .out.bytes = bytes[i] / 3,
					     .back.bytes = bytes[i] - bytes[i] / 3};

		shunt_flow_rows_add(&rows, &row);
		cr_assert_eq(rows.cnt, i < MAX ? i + 1 : MAX);
	}
	qsort(bytes, CNT, sizeof(*bytes), descending);
	shunt_flow_rows_sort(&rows);
	for (i = 0; i < MAX; i++)
		cr_assert_eq(rows.at[i].out.bytes + rows.at[i].back.bytes, bytes[i], "row %u", i);
	free(rows.at);
}

Test(flow_rows, most_bytes_stay)
{
	static uint64_t bytes[CNT];
	uint64_t rng = 7;
	unsigned i;

	for (i = 0; i < CNT; i++)
		bytes[i] = shunt_rng_below(&rng, 5000);
	check(bytes);
	for (i = 0; i < CNT; i++)
		bytes[i] = i;
	check(bytes);
	check(bytes); /* descending by now */
}

Test(flow_rows, none_where_there_is_no_room)
{
	struct shunt_flow_rows rows = {.at = NULL};
	const struct shunt_flow_row row = {.out.bytes = 1};

	shunt_flow_rows_add(&rows, &row);
	cr_assert_eq(rows.cnt, 0);
}
