// SPDX-License-Identifier: BSD-2-Clause
#include "show/show.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "config/print.h"
#include "engine/devices.h"
#include "lane/share.h"
#include "mirror/mirror.h"
#include "router/router.h"
#include "base/json.h"
#include "tap/cbpf_text.h"
#include "tap/sieve.h"

#define WORDS_MAX 8

static const struct {
	const char *name;
	json_t *(*fn)(const struct shunt_show *show);
} objects[] = {
#define X(name, help) {#name, shunt_show_##name},
	SHUNT_SHOW_OBJECTS(X)
#undef X
};

#define X(name, help) " " #name
static const char object_names[] = SHUNT_SHOW_OBJECTS(X);
#undef X

json_t *shunt_show_mac(const uint8_t m[6])
{
	return json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
}

json_t *shunt_show_config(const struct shunt_show *show)
{
	return shunt_config_json(show->engine->config);
}

static json_t *show_route(const struct shunt_engine *engine, const json_t *request,
			  struct shunt_err *err)
{
	const char *address = json_string_value(json_object_get(request, "address"));

	const json_t *iif = json_object_get(request, "iif");

	if (!address || (iif && !json_is_string(iif))) {
		shunt_err_set(err, EINVAL, "address is missing, or iif is no text");
		return NULL;
	}
	return shunt_show_route(engine, address, json_string_value(iif), err);
}

static json_t *set_lane(const struct shunt_show *show, const json_t *request, struct shunt_err *err)
{
	const char *port = json_string_value(json_object_get(request, "port"));
	const json_t *share = json_object_get(request, "share");
	const char *words[WORDS_MAX];
	size_t cnt = json_array_size(share), i;

	if (!port || !cnt || cnt > WORDS_MAX) {
		shunt_err_set(err, EINVAL, "lane wants a port and one to %d words of share",
			      WORDS_MAX);
		return NULL;
	}
	for (i = 0; i < cnt; i++) {
		words[i] = json_string_value(json_array_get(share, i));
		if (!words[i]) {
			shunt_err_set(err, EINVAL, "lane: word %zu of the share is no text", i + 1);
			return NULL;
		}
	}
	if (shunt_lanes_share_set(&show->engine->lanes, port, words, (unsigned)cnt, err))
		return NULL;
	return shunt_show_lanes(show);
}

/* *filter: which flows; NULL: all. */
static int read_filter(const json_t *request, const char *object, struct shunt_sieve **filter,
		       struct shunt_err *err)
{
	const char *text = json_string_value(json_object_get(request, "filter"));
	struct sock_filter *insns;
	unsigned cnt;
	int ret;

	*filter = NULL;
	if (text && strcmp(object, "flows") != 0)
		return shunt_err_set(err, EINVAL, "show %s takes no filter", object);
	ret = shunt_cbpf_read(text, "flows", &insns, &cnt, err);
	if (ret || !cnt)
		return ret;
	*filter = shunt_sieve_create(insns, cnt);
	free(insns);
	return *filter ? 0 : shunt_err_set(err, ENOMEM, "flows: not enough memory");
}

static json_t *show_object(const struct shunt_show *show, const json_t *request, const char *object,
			   json_t *(*fn)(const struct shunt_show *show), struct shunt_err *err)
{
	struct shunt_show filtered = *show;
	json_t *result;

	if (read_filter(request, object, &filtered.filter, err))
		return NULL;
	result = fn(&filtered);
	if (!result && shunt_guard_is_stuck(show->engine->ports.guard))
		shunt_err_set(err, ETIMEDOUT, SHUNT_SHOW_UNFOLLOWED);
	else if (!result)
		shunt_err_set(err, ENOMEM, "no memory to show %s", object);
	shunt_sieve_destroy(filtered.filter);
	return result;
}

/* Has the mirror compared now, and not when it is due: `audits` of the answer says when it is done.
 */
static json_t *audit(const struct shunt_show *show)
{
	struct shunt_guard *guard = show->engine->ports.guard;
	struct shunt_router *router = show->engine->router;

	if (!shunt_guard_try(guard))
		return NULL;
	if (router && router->mirror)
		shunt_mirror_audit(router->mirror);
	shunt_guard_leave(guard);
	return shunt_show_mirror(show);
}

json_t *shunt_show_request(const struct shunt_show *show, const json_t *request,
			   struct shunt_err *err)
{
	const char *cmd = json_string_value(json_object_get(request, "cmd"));
	const char *object = json_string_value(json_object_get(request, "object"));
	unsigned i;

	shunt_engine_follow_names(show->engine);
	shunt_notices_look(show->notices);
	if (cmd && !strcmp(cmd, "route"))
		return show_route(show->engine, request, err);
	if (cmd && !strcmp(cmd, "lane"))
		return set_lane(show, request, err);
	if (cmd && !strcmp(cmd, "audit"))
		return show_object(show, request, "mirror", audit, err);
	if (!cmd || strcmp(cmd, "show")) {
		shunt_err_set(err, EINVAL, "cmd is '%.40s', expected show, route, lane or audit",
			      cmd ? cmd : "missing");
		return NULL;
	}
	for (i = 0; object && i < SHUNT_ARRAY_LEN(objects); i++) {
		if (!strcmp(objects[i].name, object))
			return show_object(show, request, object, objects[i].fn, err);
	}
	shunt_err_set(err, EINVAL, "object is '%.40s', expected one of%s",
		      object ? object : "missing", object_names);
	return NULL;
}
