// SPDX-License-Identifier: BSD-2-Clause
#include "graph/drop.h"

#include "base/bytes.h"

static const struct {
	const char *name, *where, *help;
} drops[] = {
#define X(name, where, help) {#name, where, help},
	SHUNT_DROPS(X)
#undef X
};

const char *shunt_drop_name(enum shunt_drop reason)
{
	return (unsigned)reason < SHUNT_ARRAY_LEN(drops) ? drops[reason].name : "?";
}

const char *shunt_drop_where(enum shunt_drop reason)
{
	return (unsigned)reason < SHUNT_ARRAY_LEN(drops) ? drops[reason].where : "?";
}

const char *shunt_drop_help(enum shunt_drop reason)
{
	return (unsigned)reason < SHUNT_ARRAY_LEN(drops) ? drops[reason].help : "?";
}
