/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the whole configuration, defaults included, in the format of the file (shuntd.yaml(5)).
 * What is printed can be loaded again. */
#ifndef SHUNT_CONFIG_PRINT_H
#define SHUNT_CONFIG_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "config/config.h"

/* shunt_config_json returns a new reference, or NULL without memory. Thread: any. */
json_t *shunt_config_json(const struct shunt_config *config);

/* shunt_config_print writes YAML. Returns 0 or -ENOMEM. Thread: any. */
int shunt_config_print(const struct shunt_config *config, FILE *out);

#endif
