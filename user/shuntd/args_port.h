/* SPDX-License-Identifier: BSD-2-Clause */
/* PORT words of the command line: NAME[,KEY=VALUE]..., keys as in shuntd.yaml(5). */
#ifndef SHUNTD_ARGS_PORT_H
#define SHUNTD_ARGS_PORT_H

#include "base/err.h"
#include "config/config.h"

/* shuntd_args_pairs adds the ports of cnt words (an even number), each two a pair.
 * Returns 0 or -errno with err set. Thread: init. */
int shuntd_args_pairs(struct shunt_config *config, enum shunt_forward_mode mode, char **words,
		      unsigned cnt, struct shunt_err *err);

/* shuntd_args_group does the same with all words, 1 and up, in one group. */
int shuntd_args_group(struct shunt_config *config, enum shunt_forward_mode mode, char **words,
		      unsigned cnt, struct shunt_err *err);

#endif
