/* SPDX-License-Identifier: BSD-2-Clause */
/* Of connections, those that carry most: some thousands of a million are kept while they are told
 * one by one. Thread: control. */
#ifndef SHUNT_SHOW_FLOW_ROWS_H
#define SHUNT_SHOW_FLOW_ROWS_H

#include "firewall/flows.h"
#include "shunt_count.h"

struct shunt_flow_row {
	struct shunt_flow flow;
	struct shunt_count out, back; /* of its two ways */
};

/* Until it is sorted, a heap: no row has more bytes than those below it, so that the first one goes
 * when another with more comes. */
struct shunt_flow_rows {
	struct shunt_flow_row *at; /* the caller's, max of them */
	unsigned cnt, max;
};

/* shunt_flow_rows_add keeps the row if there is room, else if it has more bytes than another, which
 * goes. Cost: log2(cnt) copies at most. */
void shunt_flow_rows_add(struct shunt_flow_rows *rows, const struct shunt_flow_row *row);

/* shunt_flow_rows_sort puts most bytes first, then by family and addresses. No row may be added
 * then. */
void shunt_flow_rows_sort(struct shunt_flow_rows *rows);

#endif
