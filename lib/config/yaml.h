/* SPDX-License-Identifier: BSD-2-Clause */
/* A YAML file read by a libcyaml schema, with errors for humans. libcyaml alone
 * takes `64k` for 64 and any word for true, and its messages are a backtrace;
 * here the document is first held against the same schema, strictly, and what is
 * wrong is one sentence with file, line, what was found and what was expected.
 *
 * Limits: one document, 1 MiB; whole numbers, booleans, enumerations, strings,
 * mappings and sequences (no floats, flags or bit fields).
 *
 *     shunt_yaml_open(&yaml, "shuntd.yaml", &err);
 *     shunt_yaml_load(yaml, &schema, &data, &err);
 *     ... return shunt_yaml_error(yaml, "ports[1].queues", &err) ...
 *     shunt_yaml_free(&schema, data);
 *     shunt_yaml_close(yaml);
 */
#ifndef SHUNT_CONFIG_YAML_H
#define SHUNT_CONFIG_YAML_H

#include <cyaml/cyaml.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

struct shunt_yaml;

/* shunt_yaml_open reads and parses a file. Returns 0 with *out set, or -errno
 * with err set: the file cannot be read, is too long, or is not YAML.
 * Thread: control. Cost: setup. */
int shunt_yaml_open(struct shunt_yaml **out, const char *path, struct shunt_err *err);

/* shunt_yaml_close frees the document. NULL is legal. Thread: control. */
void shunt_yaml_close(struct shunt_yaml *yaml);

/* shunt_yaml_check holds the document against a schema whose top is a mapping.
 * Returns 0 or -EINVAL with err set. Thread: control. */
int shunt_yaml_check(const struct shunt_yaml *yaml, const cyaml_schema_value_t *schema,
		     struct shunt_err *err);

/* shunt_yaml_load checks and then loads by schema. *data is the caller's, to be
 * given to shunt_yaml_free; NULL for an empty file. Returns 0, -EINVAL or -ENOMEM
 * with err set. Thread: control. */
int shunt_yaml_load(const struct shunt_yaml *yaml, const cyaml_schema_value_t *schema, void **data,
		    struct shunt_err *err);
void shunt_yaml_free(const cyaml_schema_value_t *schema, void *data);

/* shunt_yaml_line returns the line of a path such as "ports[1].queues": that of
 * the key, of the list's item, or of the nearest thing around it that exists.
 * Thread: control. */
unsigned shunt_yaml_line(const struct shunt_yaml *yaml, const char *path);

/* shunt_yaml_has tells whether the document has something at path. Thread: control. */
bool shunt_yaml_has(const struct shunt_yaml *yaml, const char *path);

/* shunt_yaml_error puts "file:line: " of path in front of err's sentence.
 * Thread: control. */
void shunt_yaml_error(const struct shunt_yaml *yaml, const char *path, struct shunt_err *err);

/* shunt_yaml_print writes a JSON value as block-style YAML that loads again.
 * Thread: any. */
void shunt_yaml_print(FILE *out, const json_t *value);

#endif
