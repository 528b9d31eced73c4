/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's objects as text for humans: one function an object. */
#ifndef SHUNTCTL_VIEW_H
#define SHUNTCTL_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "show/show.h"

struct shuntctl_view_opts {
	bool all; /* drops: reasons at 0 too */
};

#define X(name, help)                                              \
	void shuntctl_view_##name(FILE *out, const json_t *object, \
				  const struct shuntctl_view_opts *opts);
SHUNT_SHOW_OBJECTS(X)
#undef X

/* shuntctl_view_route prints the answer to route get. */
void shuntctl_view_route(FILE *out, const json_t *object);

/* shuntctl_view_rates prints what rates.h computes. */
void shuntctl_view_rates(FILE *out, const json_t *rates);

#endif
