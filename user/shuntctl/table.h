/* SPDX-License-Identifier: BSD-2-Clause */
/* Text tables: cells are collected, then printed with every column as wide as its
 * widest cell. A header that starts with '>' is aligned right, as numbers are.
 *
 *     static const char *const headers[] = {"name", ">packets"};
 *     shuntctl_table_init(&t, headers, 2);
 *     shuntctl_table_cell(&t, "%s", name);
 *     shuntctl_table_cell(&t, "%llu", packets);
 *     shuntctl_table_print(&t, stdout, 2);
 *     shuntctl_table_fini(&t);
 */
#ifndef SHUNTCTL_TABLE_H
#define SHUNTCTL_TABLE_H

#include <jansson.h>
#include <stdio.h>

struct shuntctl_table {
	const char *const *headers; /* the caller's */
	unsigned column_cnt;
	char **cells; /* row by row */
	size_t cell_cnt, cell_max;
};

/* A column of a table over JSON rows. */
struct shuntctl_column {
	const char *header, *key;
};

void shuntctl_table_init(struct shuntctl_table *t, const char *const *headers, unsigned cnt);
void shuntctl_table_fini(struct shuntctl_table *t);

/* shuntctl_table_cell appends a cell; a full row starts the next one. Exits the
 * program without memory. */
void shuntctl_table_cell(struct shuntctl_table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* shuntctl_table_value appends a JSON scalar: "-" for null or absent, yes or no
 * for booleans, about four digits for reals. */
void shuntctl_table_value(struct shuntctl_table *t, const json_t *value);

/* shuntctl_table_print writes header and rows, every line indented; nothing when
 * there are no rows. */
void shuntctl_table_print(const struct shuntctl_table *t, FILE *out, unsigned indent);

/* shuntctl_table_rows prints an array of objects as a table of the given columns. */
void shuntctl_table_rows(FILE *out, const json_t *rows, const struct shuntctl_column *columns,
			 unsigned column_cnt, unsigned indent);

#endif
