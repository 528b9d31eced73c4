/* SPDX-License-Identifier: BSD-2-Clause */
/* A YAML document. A value is asked for by its path, such as "ports[1].queues"; "" is the whole
 * document. Every value has its line, for errors.
 *
 * Limits: one document, 1 MiB; keys are words.
 *
 *     shunt_yaml_open(&yaml, "shuntd.yaml", &err);
 *     if (shunt_yaml_kind(yaml, "ports") == SHUNT_YAML_LIST)
 *             for (i = 0; i < shunt_yaml_count(yaml, "ports"); i++) ...
 *     shunt_yaml_close(yaml);
 */
#ifndef SHUNT_CONFIG_YAML_H
#define SHUNT_CONFIG_YAML_H

#include <jansson.h>
#include <stdio.h>

#include "base/err.h"

struct shunt_yaml;

enum shunt_yaml_kind {
	SHUNT_YAML_NONE, /* nothing is there */
	SHUNT_YAML_TEXT,
	SHUNT_YAML_LIST,
	SHUNT_YAML_MAP,
};

/* shunt_yaml_open reads and parses a file. Returns 0 with *out set, or -errno with err set: the
 * file cannot be read, is too long, or is not YAML. Thread: control. Cost: setup. */
int shunt_yaml_open(struct shunt_yaml **out, const char *path, struct shunt_err *err);

/* shunt_yaml_close frees the document and what its functions returned. NULL is legal.
 * Thread: control. */
void shunt_yaml_close(struct shunt_yaml *yaml);

/* shunt_yaml_kind tells what is at path. shunt_yaml_count returns the number of entries or keys
 * there, 0 for anything but a list or a mapping. shunt_yaml_text returns the text there, NULL where
 * there is none or it has a zero byte. Thread: control. */
enum shunt_yaml_kind shunt_yaml_kind(const struct shunt_yaml *yaml, const char *path);
unsigned shunt_yaml_count(const struct shunt_yaml *yaml, const char *path);
const char *shunt_yaml_text(const struct shunt_yaml *yaml, const char *path);

/* shunt_yaml_key returns key i of the mapping at path, i below shunt_yaml_count, and sets *line to
 * its line. Returns NULL for a key that is not text. Thread: control. */
const char *shunt_yaml_key(const struct shunt_yaml *yaml, const char *path, unsigned i,
			   unsigned *line);

/* shunt_yaml_line returns the line of the key or of the list's entry at path. Where there is none,
 * it returns that of the nearest value around it. Thread: control. */
unsigned shunt_yaml_line(const struct shunt_yaml *yaml, const char *path);

/* shunt_yaml_print writes a JSON value as block-style YAML that loads again. Thread: any. */
void shunt_yaml_print(FILE *out, const json_t *value);

#endif
