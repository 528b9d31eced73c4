// SPDX-License-Identifier: BSD-2-Clause
#include "show/show.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "config/print.h"
#include "notice/rename.h"
#include "show/json.h"

static const struct {
	const char *name;
	json_t *(*fn)(const struct shunt_engine *engine);
} objects[] = {
#define X(name, help) {#name, shunt_show_##name},
	SHUNT_SHOW_OBJECTS(X)
#undef X
};

#define X(name, help) " " #name
static const char object_names[] = SHUNT_SHOW_OBJECTS(X);
#undef X

json_t *shunt_show_config(const struct shunt_engine *engine)
{
	return shunt_config_json(engine->config);
}

static json_t *show_route(const struct shunt_engine *engine, const json_t *request,
			  struct shunt_err *err)
{
	const char *address = json_string_value(json_object_get(request, "address"));

	if (address)
		return shunt_show_route(engine, address, err);
	shunt_err_set(err, EINVAL, "address is missing");
	return NULL;
}

json_t *shunt_show_request(void *arg, const json_t *request, struct shunt_err *err)
{
	const char *cmd = json_string_value(json_object_get(request, "cmd"));
	const char *object = json_string_value(json_object_get(request, "object"));
	json_t *result;
	unsigned i;

	shunt_rename_follow(arg);
	if (cmd && !strcmp(cmd, "route"))
		return show_route(arg, request, err);
	if (cmd && !strcmp(cmd, "lane"))
		return shunt_lane_share_request(arg, request, err);
	if (!cmd || strcmp(cmd, "show")) {
		shunt_err_set(err, EINVAL, "cmd is '%.40s', expected show, route or lane",
			      cmd ? cmd : "missing");
		return NULL;
	}
	for (i = 0; object && i < SHUNT_ARRAY_LEN(objects); i++) {
		if (strcmp(objects[i].name, object))
			continue;
		result = objects[i].fn(arg);
		if (!result)
			shunt_err_set(err, ENOMEM, "no memory to show %s", object);
		return result;
	}
	shunt_err_set(err, EINVAL, "object is '%.40s', expected one of%s",
		      object ? object : "missing", object_names);
	return NULL;
}
