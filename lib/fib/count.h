/* SPDX-License-Identifier: BSD-2-Clause */
/* What is sent to each neighbour, and goes by each route, where that is counted: packets and
 * bytes by number. Each number has a line for each writer, so that no two write one. The numbers
 * are next-hop indices, those of routes aliases (fib/nexthop.h): one is used again only when no
 * worker and no program has it any more.
 *
 *	shunt_counts_create_on(&counts, writer_cnt, source, &err);
 *	shunt_counts_begin(counts, nh);			the writer of the tables, for a new number
 *	line = shunt_counts_line(counts, nh, writer);	who counts
 *	shunt_counts_sum(counts, nh, &sum);
 *
 * Limits: 512 MiB; what has a higher number is not counted. */
#ifndef SHUNT_FIB_COUNT_H
#define SHUNT_FIB_COUNT_H

#include <stdbool.h>

#include "fib/arena.h"
#include "shunt_count.h"

struct shunt_counts {
	struct shunt_count_line *lines; /* constant from create to destroy */
	uint32_t writer_cnt;
	uint32_t max; /* numbers below can be counted */
	struct shunt_arena arena;
	struct shunt_arena_budget budget;
};

/* shunt_counts_create_on makes counters of no number yet, for writers 0 .. writer_cnt - 1, in
 * memory of the source, which must outlive them; NULL: the system's. Returns 0 or -ENOMEM with err
 * set. shunt_counts_destroy frees them; NULL is legal. Thread: the tables' writer. */
int shunt_counts_create_on(struct shunt_counts **out, uint32_t writer_cnt,
			   const struct shunt_arena_source *source, struct shunt_err *err);
void shunt_counts_destroy(struct shunt_counts *counts);

/* shunt_counts_begin sets a number's counters to 0; nobody may write them. Returns false where
 * there is no memory: then it is not counted. Thread: the tables' writer. */
bool shunt_counts_begin(struct shunt_counts *counts, uint32_t number);

/* shunt_counts_sum adds up all writers' of a number that has begun. Thread: any. */
void shunt_counts_sum(const struct shunt_counts *counts, uint32_t number, struct shunt_count *out);

/* shunt_counts_line returns a writer's line of a number that has begun. Number 0 is counted, and
 * nobody reads it. Thread: any. Cost: packet. */
static inline struct shunt_count_line *shunt_counts_line(struct shunt_count_line *lines,
							 uint32_t writer_cnt, uint32_t number,
							 uint32_t writer)
{
	return &lines[(size_t)number * writer_cnt + writer];
}

#endif
