// SPDX-License-Identifier: BSD-2-Clause
#include "reload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bridge/brlink.h"
#include "engine/devices.h"
#include "lane/rules.h"
#include "config/print.h"

/* The name of a key that differs, rules apart; NULL when none does. */
static const char *find_difference(json_t *is, const json_t *wanted)
{
	const char *key;
	json_t *value;

	json_object_foreach (is, key, value)
		if (strcmp(key, "rules") != 0 && !json_equal(value, json_object_get(wanted, key)))
			return key;
	return NULL;
}

static int compare(const struct shunt_config *is, const struct shuntd_args *wanted,
		   struct shunt_err *err)
{
	json_t *a = shunt_config_json(is), *b = shunt_config_json(&wanted->config);
	const char *key = a && b ? find_difference(a, b) : NULL;
	int ret = 0;

	if (!key && a && b)
		key = find_difference(b, a);
	if (!a || !b)
		ret = shunt_err_set(err, ENOMEM, "no memory to compare configurations");
	else if (key)
		ret = shunt_err_set(err, EBUSY,
				    "%s: '%s' has changed, and only rules can change while shuntd "
				    "runs; start a new shuntd with --takeover",
				    wanted->config_path, key);
	json_decref(a);
	json_decref(b);
	return ret;
}

int shuntd_reload(struct shunt_engine *engine, int argc, char **argv, struct shunt_err *err)
{
	struct shuntd_args fresh;
	int ret = shuntd_args_parse(argc, argv, &fresh, err);

	if (!ret && !*fresh.config_path)
		ret = shunt_err_set(err, ENOENT,
				    "shuntd was started without a file (-c): there is nothing to "
				    "read again");
	if (!ret)
		ret = shunt_brlink_expand_as(&fresh.config, engine->config, err);
	if (!ret)
		ret = shunt_config_check(&fresh.config, err);
	if (!ret)
		shunt_engine_old_names(engine, &fresh.config);
	if (!ret)
		ret = compare(engine->config, &fresh, err);
	if (!ret)
		ret = shunt_lane_rules_swap(&engine->lanes, &fresh.config, err);
	shunt_config_fini(&fresh.config);
	if (ret)
		return ret;
	ret = (int)engine->config->rule_cnt;
	fprintf(stderr, "shuntd: reloaded: %d rule%s\n", ret, ret == 1 ? "" : "s");
	return ret;
}
