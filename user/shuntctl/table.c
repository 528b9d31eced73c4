// SPDX-License-Identifier: BSD-2-Clause
#include "table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

#define COLUMN_MAX 24

static void *need(void *p)
{
	if (p)
		return p;
	fputs("shuntctl: no memory\n", stderr);
	exit(EXIT_FAILURE);
}

void shuntctl_table_init(struct shuntctl_table *t, const char *const *headers, unsigned cnt)
{
	memset(t, 0, sizeof(*t));
	t->headers = headers;
	t->column_cnt = cnt < COLUMN_MAX ? cnt : COLUMN_MAX;
}

void shuntctl_table_fini(struct shuntctl_table *t)
{
	size_t i;

	for (i = 0; i < t->cell_cnt; i++)
		free(t->cells[i]);
	free(t->cells);
	memset(t, 0, sizeof(*t));
}

void shuntctl_table_cell(struct shuntctl_table *t, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (t->cell_cnt == t->cell_max) {
		t->cell_max = t->cell_max ? 2 * t->cell_max : 64;
		t->cells = need(realloc(t->cells, t->cell_max * sizeof(*t->cells)));
	}
	t->cells[t->cell_cnt++] = need(text);
}

/* About four digits: 0.012 and 1234 are read in one column. */
static int decimals(double value)
{
	return value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;
}

void shuntctl_table_value(struct shuntctl_table *t, const json_t *value)
{
	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_INTEGER:
		shuntctl_table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		break;
	case JSON_REAL:
		shuntctl_table_cell(t, "%.*f", decimals(json_real_value(value)),
				    json_real_value(value));
		break;
	case JSON_STRING:
		shuntctl_table_cell(t, "%s", json_string_value(value));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		shuntctl_table_cell(t, "%s", json_is_true(value) ? "yes" : "no");
		break;
	default:
		shuntctl_table_cell(t, "-");
	}
}

static const char *title(const struct shuntctl_table *t, unsigned column)
{
	return t->headers[column] + (t->headers[column][0] == '>');
}

static void measure(const struct shuntctl_table *t, int *widths)
{
	unsigned c;
	size_t i;

	for (c = 0; c < t->column_cnt; c++) {
		widths[c] = (int)strlen(title(t, c));
		for (i = c; i < t->cell_cnt; i += t->column_cnt)
			widths[c] = SHUNT_MAX(widths[c], (int)strlen(t->cells[i]));
	}
}

static void print_cell(const struct shuntctl_table *t, FILE *out, unsigned column, const char *text,
		       int width)
{
	bool is_last = column + 1 == t->column_cnt;

	if (t->headers[column][0] == '>')
		fprintf(out, "%*s", width, text);
	else
		fprintf(out, "%-*s", is_last ? 0 : width, text);
	fputs(is_last ? "\n" : "  ", out);
}

void shuntctl_table_print(const struct shuntctl_table *t, FILE *out, unsigned indent)
{
	int widths[COLUMN_MAX];
	unsigned c;
	size_t i;

	if (!t->cell_cnt || !t->column_cnt)
		return;
	measure(t, widths);
	fprintf(out, "%*s", (int)indent, "");
	for (c = 0; c < t->column_cnt; c++)
		print_cell(t, out, c, title(t, c), widths[c]);
	for (i = 0; i < t->cell_cnt; i++) {
		c = (unsigned)(i % t->column_cnt);
		if (!c)
			fprintf(out, "%*s", (int)indent, "");
		print_cell(t, out, c, t->cells[i], widths[c]);
	}
}

void shuntctl_table_rows(FILE *out, const json_t *rows, const struct shuntctl_column *columns,
			 unsigned column_cnt, unsigned indent)
{
	const char *headers[COLUMN_MAX];
	struct shuntctl_table t;
	json_t *row;
	unsigned c;
	size_t i;

	for (c = 0; c < column_cnt && c < COLUMN_MAX; c++)
		headers[c] = columns[c].header;
	shuntctl_table_init(&t, headers, column_cnt);
	json_array_foreach (rows, i, row)
		for (c = 0; c < t.column_cnt; c++)
			shuntctl_table_value(&t, json_object_get(row, columns[c].key));
	shuntctl_table_print(&t, out, indent);
	shuntctl_table_fini(&t);
}
