/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHUNTD_ARGS_CPU_H
#define SHUNTD_ARGS_CPU_H

#include "config/config.h"

/* shuntd_args_cpus makes one worker for each CPU of a list as "1,3" or "2-5" or both mixed.
 * Returns 0 or -errno with err set. Thread: init. */
int shuntd_args_cpus(struct shunt_config *config, const char *text, struct shunt_err *err);

#endif
