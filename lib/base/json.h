/* SPDX-License-Identifier: BSD-2-Clause */
/* Helpers for what is shown as JSON. */
#ifndef SHUNT_BASE_JSON_H
#define SHUNT_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "base/bytes.h"
#include "base/clock.h"

static inline void set_u64(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* null where it was not measured. */
static inline void set_u64_if(json_t *object, const char *key, bool is_measured, uint64_t value)
{
	json_object_set_new(object, key,
			    is_measured ? json_integer((json_int_t)value) : json_null());
}

static inline void set_text(json_t *object, const char *key, const char *value)
{
	json_object_set_new(object, key, value ? json_string(value) : json_null());
}

/* A quotient; null where there is nothing to divide by. */
static inline void set_ratio(json_t *object, const char *key, uint64_t num, uint64_t den)
{
	json_object_set_new(object, key, den ? json_real((double)num / (double)den) : json_null());
}

/* What every shown object has: the time it was taken, and its rows. */
static inline json_t *timed(const char *key, json_t *rows)
{
	return json_pack("{s:I, s:o}", "time_ns", (json_int_t)shunt_clock_ns(), key, rows);
}

#endif
