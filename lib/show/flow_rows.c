// SPDX-License-Identifier: BSD-2-Clause
#include "show/flow_rows.h"

#include <stdlib.h>
#include <string.h>

static uint64_t bytes_of(const struct shunt_flow_row *row)
{
	return row->out.bytes + row->back.bytes;
}

static void swap(struct shunt_flow_row *a, struct shunt_flow_row *b)
{
	const struct shunt_flow_row before = *a;

	*a = *b;
	*b = before;
}

static void sift_down(struct shunt_flow_rows *rows)
{
	unsigned at = 0, less;

	for (;;) {
		less = 2 * at + 1;
		if (less + 1 < rows->cnt &&
		    bytes_of(&rows->at[less + 1]) < bytes_of(&rows->at[less]))
			less++;
		if (less >= rows->cnt || bytes_of(&rows->at[less]) >= bytes_of(&rows->at[at]))
			return;
		swap(&rows->at[at], &rows->at[less]);
		at = less;
	}
}

static void sift_up(struct shunt_flow_rows *rows, unsigned at)
{
	for (; at && bytes_of(&rows->at[at]) < bytes_of(&rows->at[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&rows->at[at], &rows->at[(at - 1) / 2]);
}

void shunt_flow_rows_add(struct shunt_flow_rows *rows, const struct shunt_flow_row *row)
{
	if (rows->cnt < rows->max) {
		rows->at[rows->cnt] = *row;
		sift_up(rows, rows->cnt++);
	} else if (rows->max && bytes_of(row) > bytes_of(rows->at)) {
		*rows->at = *row;
		sift_down(rows);
	}
}

static int compare(const void *a, const void *b)
{
	const struct shunt_flow_row *x = a, *y = b;

	if (bytes_of(x) != bytes_of(y))
		return bytes_of(x) < bytes_of(y) ? 1 : -1;
	if (x->flow.family != y->flow.family)
		return x->flow.family - y->flow.family;
	return memcmp(&x->flow.out, &y->flow.out, sizeof(x->flow.out));
}

void shunt_flow_rows_sort(struct shunt_flow_rows *rows)
{
	qsort(rows->at, rows->cnt, sizeof(*rows->at), compare);
}
