// SPDX-License-Identifier: BSD-2-Clause
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* "routes=1000000 mode=bulk" */
static void describe(const json_t *params, char *text, size_t len)
{
	const char *key;
	json_t *value;
	size_t at = 0;

	text[0] = 0;
	json_object_foreach ((json_t *)params, key, value) {
		if (at >= len)
			return;
		if (json_is_string(value))
			at += (size_t)snprintf(text + at, len - at, "%s=%s ", key,
					       json_string_value(value));
		else
			at += (size_t)snprintf(text + at, len - at, "%s=%lld ", key,
					       json_is_boolean(value)
						       ? json_is_true(value)
						       : (long long)json_integer_value(value));
	}
}

void bench_add(struct bench *bench, const char *name, json_t *params, const char *unit,
	       const double *runs, unsigned cnt)
{
	double *sorted = calloc(cnt, sizeof(*sorted));
	char text[160];

	if (!sorted)
		abort();
	memcpy(sorted, runs, cnt * sizeof(*sorted));
	qsort(sorted, cnt, sizeof(*sorted), ascending);
	describe(params, text, sizeof(text));
	printf("%-22s %-58s %12.2f %-14s [%.2f, %.2f]\n", name, text, sorted[cnt / 2], unit,
	       sorted[0], sorted[cnt - 1]);
	fflush(stdout);
	json_array_append_new(bench->results,
			      json_pack("{s:s, s:o, s:f, s:s, s:f, s:f}", "name", name, "params",
					params, "value", sorted[cnt / 2], "unit", unit, "min",
					sorted[0], "max", sorted[cnt - 1]));
	free(sorted);
}

void bench_print_pages(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	unsigned long rss = 0, huge = 0, kb;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Rss: %lu", &kb) == 1)
			rss = kb;
		else if (sscanf(line, "AnonHugePages: %lu", &kb) == 1)
			huge = kb;
	}
	if (f)
		fclose(f);
	printf("pages: %lu of %lu MiB resident are on 2 MiB pages\n", huge >> 10, rss >> 10);
}
