// SPDX-License-Identifier: BSD-2-Clause
/* The document against the schema, strictly. The recursion is as deep as the
 * schema, whatever aliases the document plays with. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "config/yaml.h"
#include "config/yaml_doc.h"

#define FOUND_MAX    48 /* of the file's text in a message */
#define EXPECTED_MAX 224

struct check {
	const struct shunt_yaml *yaml;
	struct shunt_err *err;
};

static int check_value(const struct check *c, const yaml_node_t *node, unsigned line,
		       const char *path, const cyaml_schema_value_t *schema);

static void append(char *buf, size_t len, const char *text)
{
	size_t used = strlen(buf);

	snprintf(buf + used, len - used, "%s", text);
}

/* The file's own text, made safe and short for a message. */
static void found_text(char *buf, size_t len, const char *text)
{
	size_t i;

	for (i = 0; text[i] && i + 4 < len; i++)
		buf[i] = iscntrl((unsigned char)text[i]) ? '?' : text[i];
	buf[i] = 0;
	if (text[i])
		append(buf, len, "...");
}

static int unexpected(const struct check *c, const yaml_node_t *node, unsigned line,
		      const char *path, const char *expected)
{
	const char *text = shunt_yaml_text(node);
	char buf[FOUND_MAX];

	if (text && *text) {
		found_text(buf, sizeof(buf), text);
		return shunt_err_set(c->err, EINVAL, "%s:%u: %s is '%s', expected %s",
				     c->yaml->name, line, path, buf, expected);
	}
	return shunt_err_set(c->err, EINVAL, "%s:%u: %s is %s, expected %s", c->yaml->name, line,
			     path,
			     text				? "empty"
			     : node->type == YAML_SEQUENCE_NODE ? "a list"
								: "a mapping",
			     expected);
}

/* Decimal, or hexadecimal with 0x; no octal, no sign but '-', no unit behind. */
static bool is_number(const char *text)
{
	size_t n;

	text += *text == '-';
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		n = strspn(text + 2, "0123456789abcdefABCDEF");
		return n && !text[2 + n];
	}
	n = strspn(text, "0123456789");
	return n && !text[n] && (n == 1 || text[0] != '0');
}

static int check_number(const struct check *c, const yaml_node_t *node, unsigned line,
			const char *path, const cyaml_schema_value_t *schema)
{
	const char *text = shunt_yaml_text(node);
	unsigned bits = 8 * schema->data_size;
	int64_t min = schema->type == CYAML_INT ? -(INT64_C(1) << (bits - 1)) : 0;
	uint64_t max = schema->type == CYAML_INT ? (UINT64_C(1) << (bits - 1)) - 1
						 : UINT64_MAX >> (64 - bits);
	char expected[EXPECTED_MAX];
	bool is_ok;

	snprintf(expected, sizeof(expected), "a whole number from %" PRId64 " to %" PRIu64, min,
		 max);
	if (!text || !is_number(text))
		return unexpected(c, node, line, path, expected);
	errno = 0;
	if (*text == '-')
		is_ok = strtoll(text, NULL, 0) >= min && !errno;
	else
		is_ok = strtoull(text, NULL, 0) <= max && !errno;
	return is_ok ? 0 : unexpected(c, node, line, path, expected);
}

static int check_bool(const struct check *c, const yaml_node_t *node, unsigned line,
		      const char *path)
{
	static const char *const words[] = {"true", "false", "yes", "no"};
	const char *text = shunt_yaml_text(node);
	unsigned i;

	for (i = 0; text && i < SHUNT_ARRAY_LEN(words); i++)
		if (!strcmp(text, words[i]))
			return 0;
	return unexpected(c, node, line, path, "true or false");
}

static int check_enum(const struct check *c, const yaml_node_t *node, unsigned line,
		      const char *path, const cyaml_schema_value_t *schema)
{
	const char *text = shunt_yaml_text(node);
	char expected[EXPECTED_MAX] = "one of ";
	unsigned i;

	for (i = 0; i < schema->enumeration.count; i++) {
		if (text && !strcmp(text, schema->enumeration.strings[i].str))
			return 0;
		append(expected, sizeof(expected), i ? ", " : "");
		append(expected, sizeof(expected), schema->enumeration.strings[i].str);
	}
	return unexpected(c, node, line, path, expected);
}

static int check_string(const struct check *c, const yaml_node_t *node, unsigned line,
			const char *path, const cyaml_schema_value_t *schema)
{
	const char *text = shunt_yaml_text(node);
	char expected[EXPECTED_MAX];

	if (text && strlen(text) == node->data.scalar.length &&
	    strlen(text) >= schema->string.min && strlen(text) <= schema->string.max)
		return 0;
	snprintf(expected, sizeof(expected), "text of %u to %u characters", schema->string.min,
		 schema->string.max);
	return unexpected(c, node, line, path, expected);
}

static const cyaml_schema_field_t *find_field(const cyaml_schema_field_t *fields, const char *key)
{
	for (; fields->key; fields++)
		if (!strcmp(fields->key, key))
			return fields;
	return NULL;
}

static int unknown_key(const struct check *c, unsigned line, const char *path, const char *key,
		       const cyaml_schema_field_t *fields)
{
	char expected[EXPECTED_MAX] = "";
	char found[FOUND_MAX];
	unsigned i;

	for (i = 0; fields[i].key; i++) {
		append(expected, sizeof(expected), i ? ", " : "");
		append(expected, sizeof(expected), fields[i].key);
	}
	found_text(found, sizeof(found), key);
	return shunt_err_set(c->err, EINVAL, "%s:%u: unknown key '%s'%s%s, expected one of %s",
			     c->yaml->name, line, found, *path ? " in " : "", path, expected);
}

static int check_pair(const struct check *c, const yaml_node_t *map, const yaml_node_pair_t *pair,
		      const char *path, const cyaml_schema_field_t *fields)
{
	const yaml_node_t *key_node = shunt_yaml_node(c->yaml, pair->key);
	const cyaml_schema_field_t *field;
	const yaml_node_pair_t *p;
	const char *key = shunt_yaml_text(key_node);
	unsigned line = shunt_yaml_node_line(key_node);
	char sub[128];

	if (!key)
		return shunt_err_set(c->err, EINVAL, "%s:%u: a key is not a word, expected one",
				     c->yaml->name, line);
	field = find_field(fields, key);
	if (!field)
		return unknown_key(c, line, path, key, fields);
	snprintf(sub, sizeof(sub), "%s%s%s", path, *path ? "." : "", key);
	for (p = map->data.mapping.pairs.start; p < pair; p++) {
		const yaml_node_t *other = shunt_yaml_node(c->yaml, p->key);

		if (shunt_yaml_text(other) && !strcmp(shunt_yaml_text(other), key))
			return shunt_err_set(c->err, EINVAL,
					     "%s:%u: %s is given twice, expected once (first in "
					     "line %u)",
					     c->yaml->name, line, sub, shunt_yaml_node_line(other));
	}
	return check_value(c, shunt_yaml_node(c->yaml, pair->value), line, sub, &field->value);
}

static bool has_key(const struct check *c, const yaml_node_t *map, const char *key)
{
	const yaml_node_pair_t *p;

	for (p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++) {
		const char *text = shunt_yaml_text(shunt_yaml_node(c->yaml, p->key));

		if (text && !strcmp(text, key))
			return true;
	}
	return false;
}

static int check_mapping(const struct check *c, const yaml_node_t *node, unsigned line,
			 const char *path, const cyaml_schema_value_t *schema)
{
	const cyaml_schema_field_t *field;
	const yaml_node_pair_t *p;
	int ret;

	if (node->type != YAML_MAPPING_NODE)
		return unexpected(c, node, line, *path ? path : "the file",
				  "a mapping (key: value)");
	for (p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top; p++) {
		ret = check_pair(c, node, p, path, schema->mapping.fields);
		if (ret)
			return ret;
	}
	for (field = schema->mapping.fields; field->key; field++)
		if (!(field->value.flags & CYAML_FLAG_OPTIONAL) && !has_key(c, node, field->key))
			return shunt_err_set(c->err, EINVAL, "%s:%u: %s has no %s, expected one",
					     c->yaml->name, line, *path ? path : "the file",
					     field->key);
	return 0;
}

static int check_sequence(const struct check *c, const yaml_node_t *node, unsigned line,
			  const char *path, const cyaml_schema_value_t *schema)
{
	const yaml_node_t *item;
	char sub[128];
	size_t i, cnt;
	int ret;

	if (node->type != YAML_SEQUENCE_NODE)
		return unexpected(c, node, line, path, "a list");
	cnt = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
	if (cnt < schema->sequence.min || cnt > schema->sequence.max)
		return shunt_err_set(c->err, EINVAL, "%s:%u: %s has %zu entries, expected %u to %u",
				     c->yaml->name, line, path, cnt, schema->sequence.min,
				     schema->sequence.max);
	for (i = 0; i < cnt; i++) {
		item = shunt_yaml_node(c->yaml, node->data.sequence.items.start[i]);
		snprintf(sub, sizeof(sub), "%s[%zu]", path, i);
		ret = check_value(c, item, shunt_yaml_node_line(item), sub, schema->sequence.entry);
		if (ret)
			return ret;
	}
	return 0;
}

static int check_value(const struct check *c, const yaml_node_t *node, unsigned line,
		       const char *path, const cyaml_schema_value_t *schema)
{
	switch (schema->type) {
	case CYAML_INT:
	case CYAML_UINT:
		return check_number(c, node, line, path, schema);
	case CYAML_BOOL:
		return check_bool(c, node, line, path);
	case CYAML_ENUM:
		return check_enum(c, node, line, path, schema);
	case CYAML_STRING:
		return check_string(c, node, line, path, schema);
	case CYAML_MAPPING:
		return check_mapping(c, node, line, path, schema);
	case CYAML_SEQUENCE:
		return check_sequence(c, node, line, path, schema);
	default:
		return shunt_err_set(c->err, EINVAL,
				     "%s: the schema has a type that is not "
				     "checked (a fault of shunt)",
				     path);
	}
}

int shunt_yaml_check(const struct shunt_yaml *yaml, const cyaml_schema_value_t *schema,
		     struct shunt_err *err)
{
	const struct check c = {.yaml = yaml, .err = err};
	const yaml_node_t *root = shunt_yaml_root(yaml);

	return root ? check_value(&c, root, shunt_yaml_node_line(root), "", schema) : 0;
}
