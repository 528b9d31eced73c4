// SPDX-License-Identifier: BSD-2-Clause
#include "config/yaml.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* Bytes: far more than a configuration needs, few enough to hold in memory. */
#define FILE_MAX (1024 * 1024)

struct shunt_yaml {
	char *name; /* of the file, as the user wrote it */
	char *text;
	size_t text_len;
	yaml_document_t doc;
	bool has_doc;
};

/* Counted from 1. */
static unsigned line_of(const yaml_node_t *node)
{
	return (unsigned)node->start_mark.line + 1;
}

/* Returns NULL for none. libyaml's functions take a non-const pointer and change nothing. */
static const yaml_node_t *node_at(const struct shunt_yaml *yaml, int index)
{
	return yaml_document_get_node((yaml_document_t *)&yaml->doc, index);
}

static const yaml_node_t *root_of(const struct shunt_yaml *yaml)
{
	return yaml->has_doc ? yaml_document_get_root_node((yaml_document_t *)&yaml->doc) : NULL;
}

static const char *text_of(const yaml_node_t *node)
{
	const char *text;

	if (!node || node->type != YAML_SCALAR_NODE)
		return NULL;
	text = (const char *)node->data.scalar.value;
	return strlen(text) == node->data.scalar.length ? text : NULL;
}

static int read_file(struct shunt_yaml *yaml, struct shunt_err *err)
{
	FILE *f = fopen(yaml->name, "re");
	int ret = errno;

	if (!f)
		return shunt_err_set(err, ret, "%s: cannot open the configuration file: %s",
				     yaml->name, strerror(ret));
	errno = 0;
	yaml->text_len = fread(yaml->text, 1, FILE_MAX + 1, f);
	ret = ferror(f) ? (errno ? errno : EIO) : 0;
	fclose(f);
	if (ret)
		return shunt_err_set(err, ret, "%s: cannot read the configuration file: %s",
				     yaml->name, strerror(ret));
	if (yaml->text_len > FILE_MAX)
		return shunt_err_set(err, EFBIG,
				     "%s: longer than %d bytes, expected a configuration file",
				     yaml->name, FILE_MAX);
	return 0;
}

static int syntax_error(const struct shunt_yaml *yaml, const yaml_parser_t *parser,
			struct shunt_err *err)
{
	const char *problem = parser->problem ? parser->problem : "unreadable";
	unsigned line = (unsigned)parser->problem_mark.line + 1;
	bool is_tab = parser->problem_mark.index < yaml->text_len &&
		      yaml->text[parser->problem_mark.index] == '\t';

	if (parser->error == YAML_MEMORY_ERROR)
		return shunt_err_set(err, ENOMEM, "%s: no memory to parse it", yaml->name);
	return shunt_err_set(err, EINVAL, "%s:%u: not YAML: %s%s", yaml->name, line, problem,
			     is_tab ? " (a tab: indent with spaces)" : "");
}

static int parse_rest(struct shunt_yaml *yaml, yaml_parser_t *parser, struct shunt_err *err)
{
	yaml_document_t second;
	yaml_node_t *root;
	int ret = 0;

	if (!yaml_parser_load(parser, &second))
		return syntax_error(yaml, parser, err);
	root = yaml_document_get_root_node(&second);
	if (root)
		ret = shunt_err_set(err, EINVAL, "%s:%u: a second document starts, expected one",
				    yaml->name, line_of(root));
	yaml_document_delete(&second);
	return ret;
}

static int parse(struct shunt_yaml *yaml, struct shunt_err *err)
{
	yaml_parser_t parser;
	int ret;

	if (!yaml_parser_initialize(&parser))
		return shunt_err_set(err, ENOMEM, "%s: no memory to parse it", yaml->name);
	yaml_parser_set_input_string(&parser, (unsigned char *)yaml->text, yaml->text_len);
	if (yaml_parser_load(&parser, &yaml->doc)) {
		yaml->has_doc = true;
		ret = root_of(yaml) ? parse_rest(yaml, &parser, err) : 0;
	} else {
		ret = syntax_error(yaml, &parser, err);
	}
	yaml_parser_delete(&parser);
	return ret;
}

int shunt_yaml_open(struct shunt_yaml **out, const char *path, struct shunt_err *err)
{
	struct shunt_yaml *yaml = calloc(1, sizeof(*yaml));
	int ret;

	*out = NULL;
	if (!yaml || !(yaml->name = strdup(path)) || !(yaml->text = malloc(FILE_MAX + 1))) {
		ret = shunt_err_set(err, ENOMEM, "%s: no memory to read it", path);
	} else {
		ret = read_file(yaml, err);
		ret = ret ? ret : parse(yaml, err);
	}
	if (ret) {
		shunt_yaml_close(yaml);
		return ret;
	}
	*out = yaml;
	return 0;
}

void shunt_yaml_close(struct shunt_yaml *yaml)
{
	if (!yaml)
		return;
	if (yaml->has_doc)
		yaml_document_delete(&yaml->doc);
	free(yaml->text);
	free(yaml->name);
	free(yaml);
}

/* The value of a mapping's key, or NULL. Sets *line to the key's line. */
static const yaml_node_t *find_key(const struct shunt_yaml *yaml, const yaml_node_t *map,
				   const char *key, size_t len, unsigned *line)
{
	const yaml_node_pair_t *p;

	if (map->type != YAML_MAPPING_NODE)
		return NULL;
	for (p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++) {
		const yaml_node_t *node = node_at(yaml, p->key);
		const char *text = text_of(node);

		if (text && strlen(text) == len && !memcmp(text, key, len)) {
			*line = line_of(node);
			return node_at(yaml, p->value);
		}
	}
	return NULL;
}

/* Follows one step of *path from node. Returns the node there, or NULL. Sets *line to the line of
 * what was found. */
static const yaml_node_t *step(const struct shunt_yaml *yaml, const yaml_node_t *node,
			       const char **path, unsigned *line)
{
	const char *name = *path + (**path == '.');
	size_t len = strcspn(name, ".["), index;

	if (*name != '[') {
		*path = name + len;
		return find_key(yaml, node, name, len, line);
	}
	index = strtoul(name + 1, (char **)path, 10);
	*path += **path == ']';
	if (node->type != YAML_SEQUENCE_NODE ||
	    index >= (size_t)(node->data.sequence.items.top - node->data.sequence.items.start))
		return NULL;
	node = node_at(yaml, node->data.sequence.items.start[index]);
	*line = line_of(node);
	return node;
}

static const yaml_node_t *find(const struct shunt_yaml *yaml, const char *path, unsigned *line)
{
	const yaml_node_t *node = root_of(yaml);

	*line = node ? line_of(node) : 1;
	while (node && *path)
		node = step(yaml, node, &path, line);
	return node;
}

enum shunt_yaml_kind shunt_yaml_kind(const struct shunt_yaml *yaml, const char *path)
{
	unsigned line;
	const yaml_node_t *node = find(yaml, path, &line);

	if (!node)
		return SHUNT_YAML_NONE;
	return node->type == YAML_MAPPING_NODE	  ? SHUNT_YAML_MAP
	       : node->type == YAML_SEQUENCE_NODE ? SHUNT_YAML_LIST
						  : SHUNT_YAML_TEXT;
}

unsigned shunt_yaml_count(const struct shunt_yaml *yaml, const char *path)
{
	unsigned line;
	const yaml_node_t *node = find(yaml, path, &line);

	if (node && node->type == YAML_MAPPING_NODE)
		return (unsigned)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
	if (node && node->type == YAML_SEQUENCE_NODE)
		return (unsigned)(node->data.sequence.items.top - node->data.sequence.items.start);
	return 0;
}

const char *shunt_yaml_text(const struct shunt_yaml *yaml, const char *path)
{
	unsigned line;

	return text_of(find(yaml, path, &line));
}

const char *shunt_yaml_key(const struct shunt_yaml *yaml, const char *path, unsigned i,
			   unsigned *line)
{
	const yaml_node_t *node = find(yaml, path, line);

	node = node_at(yaml, node->data.mapping.pairs.start[i].key);
	*line = line_of(node);
	return text_of(node);
}

unsigned shunt_yaml_line(const struct shunt_yaml *yaml, const char *path)
{
	unsigned line;

	find(yaml, path, &line);
	return line;
}
