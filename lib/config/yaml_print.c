// SPDX-License-Identifier: BSD-2-Clause
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/yaml.h"

static void print_value(FILE *out, const json_t *value, int indent);

/* Whether every YAML reader takes the text without quotes for this very text. */
static bool is_plain(const char *text)
{
	static const char *const words[] = {"true", "false", "yes", "no", "on",
					    "off",  "null",  "y",   "n"};
	unsigned i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcasecmp(text, words[i]))
			return false;
	return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/_") &&
	       !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789/_.-")];
}

/* A scalar or a list of scalars, on one line. JSON's notation is valid YAML. */
static void print_flow(FILE *out, const json_t *value)
{
	const char *text = json_string_value(value);
	json_t *item;
	char *dump;
	size_t i;

	if (json_is_array(value)) {
		fputc('[', out);
		json_array_foreach (value, i, item) {
			fputs(i ? ", " : "", out);
			print_flow(out, item);
		}
		fputc(']', out);
		return;
	}
	if (text && is_plain(text)) {
		fputs(text, out);
		return;
	}
	dump = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	fputs(dump ? dump : "null", out);
	free(dump);
}

static bool is_flow(const json_t *value)
{
	json_t *item;
	size_t i;

	if (json_is_object(value))
		return json_object_size(value) == 0;
	/* Texts with blanks, such as rules: one a line reads better. */
	json_array_foreach (value, i, item)
		if (json_is_object(item) || json_is_array(item) ||
		    (json_is_string(item) && strchr(json_string_value(item), ' ')))
			return false;
	return true;
}

static void print_object(FILE *out, const json_t *object, int indent, bool is_item)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)object, key, value) {
		fprintf(out, "%*s%s:", is_item ? 0 : indent, "", key);
		is_item = false;
		if (is_flow(value)) {
			fputc(' ', out);
			print_flow(out, value);
			fputc('\n', out);
		} else {
			fputc('\n', out);
			print_value(out, value, indent + 2);
		}
	}
}

static void print_value(FILE *out, const json_t *value, int indent)
{
	json_t *item;
	size_t i;

	if (json_is_object(value)) {
		print_object(out, value, indent, false);
		return;
	}
	json_array_foreach (value, i, item) {
		fprintf(out, "%*s- ", indent, "");
		if (json_is_object(item) && json_object_size(item)) {
			print_object(out, item, indent + 2, true);
		} else {
			print_flow(out, item);
			fputc('\n', out);
		}
	}
}

void shunt_yaml_print(FILE *out, const json_t *value)
{
	if (is_flow(value)) {
		print_flow(out, value);
		fputc('\n', out);
	} else {
		print_value(out, value, 0);
	}
}
