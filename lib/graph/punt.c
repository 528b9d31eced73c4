// SPDX-License-Identifier: BSD-2-Clause
#include "graph/punt.h"

#include "base/bytes.h"

static const struct {
	const char *name, *help;
} punts[] = {
#define X(name, help) {#name, help},
	SHUNT_PUNTS(X)
#undef X
};

const char *shunt_punt_name(enum shunt_punt reason)
{
	return (unsigned)reason < SHUNT_ARRAY_LEN(punts) ? punts[reason].name : "?";
}

const char *shunt_punt_help(enum shunt_punt reason)
{
	return (unsigned)reason < SHUNT_ARRAY_LEN(punts) ? punts[reason].help : "?";
}
