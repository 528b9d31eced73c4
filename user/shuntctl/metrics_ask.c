// SPDX-License-Identifier: BSD-2-Clause
/* The objects that metrics are made of, as the daemon shows them. */
#include "metrics.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "client/client.h"

static int add_object(json_t *objects, int fd, const char *name, struct shunt_err *err)
{
	json_t *object = shunt_client_show(fd, name, err);

	return object ? json_object_set_new(objects, name, object) : -EPROTO;
}

/* Routes and neighbours are many, and are asked for where they are counted. */
json_t *shuntctl_metrics_ask(int fd, const char *unused, struct shunt_err *err)
{
	static const char *const names[] = {
#define X(name) #name,
		SHUNTCTL_METRICS_OBJECTS(X)
#undef X
	};
	json_t *objects = json_object();
	unsigned i;
	bool is_counted;
	int ret = 0;

	(void)unused;
	for (i = 0; i < SHUNT_ARRAY_LEN(names) && !ret; i++)
		ret = add_object(objects, fd, names[i], err);
	is_counted = json_is_true(json_object_get(json_object_get(objects, "rules"), "counted"));
	if (!ret && is_counted)
		ret = add_object(objects, fd, "routes", err);
	if (!ret && is_counted)
		ret = add_object(objects, fd, "neighbours", err);
	if (!ret)
		return objects;
	json_decref(objects);
	return NULL;
}
