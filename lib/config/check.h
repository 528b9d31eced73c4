/* SPDX-License-Identifier: BSD-2-Clause */
/* What check.c tells load.c. Private to them. */
#ifndef SHUNT_CONFIG_CHECK_H
#define SHUNT_CONFIG_CHECK_H

#include "config/config.h"

/* A place in the file, such as "ports[1].queues". */
struct shunt_config_where {
	char path[96];
};

/* shunt_config_check_at checks as shunt_config_check, and writes the place of a fault to where.
 * Thread: any. */
int shunt_config_check_at(const struct shunt_config *config, struct shunt_config_where *where,
			  struct shunt_err *err);

#endif
