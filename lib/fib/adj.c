// SPDX-License-Identifier: BSD-2-Clause
#include "fib/adj.h"

const char *shunt_adj_kind_name(unsigned kind)
{
	static const char *const names[] = {
#define X(kind, name, help) name,
		SHUNT_ADJ_KINDS(X)
#undef X
	};

	return kind < SHUNT_ADJ_KIND_CNT ? names[kind] : "?";
}

const char *shunt_adj_kind_help(unsigned kind)
{
	static const char *const helps[] = {
#define X(kind, name, help) help,
		SHUNT_ADJ_KINDS(X)
#undef X
	};

	return kind < SHUNT_ADJ_KIND_CNT ? helps[kind] : "?";
}
