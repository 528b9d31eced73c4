// SPDX-License-Identifier: BSD-2-Clause
#include "graph/nodes.h"

#include <stdio.h>
#include <string.h>

static const struct shunt_node_type *const types[] = {
#define X(name) &shunt_node_##name,
	SHUNT_NODES(X)
#undef X
};

const struct shunt_node_type *shunt_node_find_front(const char *text)
{
	const size_t len = strcspn(text, ",");
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(types); i++)
		if (types[i]->is_front && strlen(types[i]->name) == len &&
		    !memcmp(types[i]->name, text, len))
			return types[i];
	return NULL;
}

const char *shunt_node_front_text(const char *text)
{
	const char *comma = strchr(text, ',');

	return comma ? comma + 1 : NULL;
}

void shunt_node_fronts(char *text, size_t len)
{
	size_t used = 0;
	unsigned i;

	*text = 0;
	for (i = 0; i < SHUNT_ARRAY_LEN(types); i++)
		if (types[i]->is_front && used < len)
			used += (size_t)snprintf(text + used, len - used, "%s%s", used ? ", " : "",
						 types[i]->name);
}
