// SPDX-License-Identifier: BSD-2-Clause
#include "fib/count.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "fib/nexthop.h"

#define BYTES_MAX (512ul << 20) /* with the tables of lane xdp: SHUNT_TABLES_CHUNKS_MAX */

static size_t number_bytes(const struct shunt_counts *counts)
{
	return counts->writer_cnt * sizeof(*counts->lines);
}

int shunt_counts_create_on(struct shunt_counts **out, uint32_t writer_cnt,
			   const struct shunt_arena_source *source, struct shunt_err *err)
{
	struct shunt_counts *counts = calloc(1, sizeof(*counts));
	int ret;

	*out = NULL;
	if (!counts)
		return shunt_err_set(err, ENOMEM, "counters of neighbours and routes: no memory");
	counts->writer_cnt = writer_cnt;
	counts->budget.source = source;
	counts->max =
		(uint32_t)SHUNT_MIN((size_t)SHUNT_NEXTHOP_MAX, BYTES_MAX / number_bytes(counts));
	ret = shunt_arena_init(&counts->arena, counts->max * number_bytes(counts), &counts->budget,
			       "counters of neighbours and routes", err);
	counts->lines = (struct shunt_count_line *)counts->arena.base;
	if (!ret && !shunt_counts_begin(counts, 0))
		ret = shunt_err_set(err, ENOMEM, "counters of neighbours and routes: no memory");
	if (ret)
		shunt_counts_destroy(counts);
	else
		*out = counts;
	return ret;
}

void shunt_counts_destroy(struct shunt_counts *counts)
{
	if (!counts)
		return;
	shunt_arena_fini(&counts->arena);
	free(counts);
}

bool shunt_counts_begin(struct shunt_counts *counts, uint32_t number)
{
	const size_t bytes = number_bytes(counts);

	if (number >= counts->max || shunt_arena_commit(&counts->arena, (number + 1ul) * bytes))
		return false;
	memset(counts->arena.base + number * bytes, 0, bytes);
	return true;
}

void shunt_counts_sum(const struct shunt_counts *counts, uint32_t number, struct shunt_count *out)
{
	const struct shunt_count_line *line;
	uint32_t i;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < counts->writer_cnt; i++) {
		line = shunt_counts_line(counts->lines, counts->writer_cnt, number, i);
		out->packets += shunt_counter_read((const uint64_t *)&line->count.packets);
		out->bytes += shunt_counter_read((const uint64_t *)&line->count.bytes);
	}
}
