/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that hold for every port or pair, whether the line or a file names it. */
#ifndef SHUNTD_ARGS_OVERRIDE_H
#define SHUNTD_ARGS_OVERRIDE_H

#include <stdbool.h>

#include "base/err.h"
#include "config/config.h"

/* As text, NULL where not given: the order of options and ports on the line does not matter. */
struct shuntd_overrides {
	const char *queues, *driver_mode, *copy_mode, *lane;
	bool require_zerocopy, transparent;
};

/* shuntd_args_override puts them in force. Returns 0 or -EINVAL with err set. Thread: init. */
int shuntd_args_override(struct shunt_config *config, const struct shuntd_overrides *o,
			 struct shunt_err *err);

/* shuntd_args_usage fills err for an option's wrong value and returns -EINVAL; shuntd_args_u32
 * reads a number. Thread: init. */
int shuntd_args_usage(struct shunt_err *err, const char *option, const char *found,
		      const char *expected);
int shuntd_args_u32(const char *option, const char *text, uint32_t *out, struct shunt_err *err);

#endif
