/* SPDX-License-Identifier: BSD-2-Clause */
/* shuntctl top: rates, refreshed. */
#ifndef SHUNTCTL_TOP_H
#define SHUNTCTL_TOP_H

#include <stdbool.h>

#include "base/err.h"

struct shuntctl_top_opts {
	const char *socket;
	double interval_s;
	unsigned iterations; /* 0: until q or Ctrl-C */
	bool json;
	unsigned json_flags;
};

/* shuntctl_top runs until it is over. On a terminal the screen is rewritten and the
 * terminal is as before afterwards; elsewhere reports follow one another. Returns 0
 * or -errno with err set. */
int shuntctl_top(const struct shuntctl_top_opts *opts, struct shunt_err *err);

#endif
