/* SPDX-License-Identifier: BSD-2-Clause */
/* What yaml.c and yaml_check.c share: the parsed document. Private to them. */
#ifndef SHUNT_CONFIG_YAML_DOC_H
#define SHUNT_CONFIG_YAML_DOC_H

#include <yaml.h>

#include "config/yaml.h"

struct shunt_yaml {
	char *name; /* of the file, as the user wrote it */
	char *text;
	size_t text_len;
	yaml_document_t doc;
	bool has_doc;
};

/* shunt_yaml_node_line returns the line where a node starts, counted from 1. */
static inline unsigned shunt_yaml_node_line(const yaml_node_t *node)
{
	return (unsigned)node->start_mark.line + 1;
}

/* shunt_yaml_node returns the document's node of that index, NULL for none. The
 * library's function takes a pointer to non-const and changes nothing. */
static inline yaml_node_t *shunt_yaml_node(const struct shunt_yaml *yaml, int index)
{
	return yaml_document_get_node((yaml_document_t *)&yaml->doc, index);
}

static inline yaml_node_t *shunt_yaml_root(const struct shunt_yaml *yaml)
{
	return yaml->has_doc ? yaml_document_get_root_node((yaml_document_t *)&yaml->doc) : NULL;
}

/* shunt_yaml_text returns a scalar's text, NULL when node is none. */
static inline const char *shunt_yaml_text(const yaml_node_t *node)
{
	return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value
						      : NULL;
}

#endif
