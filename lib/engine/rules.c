// SPDX-License-Identifier: BSD-2-Clause
/* Steering rules put in force, at start and while frames pass. */
#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "engine/engine.h"
#include "engine/worker.h"
#include "lane/suspend.h"

static struct shunt_steer_rule *compile(const struct shunt_rule *rules, unsigned cnt,
					struct shunt_err *err)
{
	struct shunt_steer_rule *out = calloc(cnt + 1, sizeof(*out));
	unsigned i;

	if (!out)
		shunt_err_set(err, ENOMEM, "rules: not enough memory");
	for (i = 0; out && i < cnt; i++)
		shunt_rule_compile(&rules[i], &out[i]);
	return out;
}

int shunt_engine_put_rules(const struct shunt_engine *engine, struct shunt_xdp *xdp,
			   struct shunt_err *err)
{
	const struct shunt_config *config = engine->config;
	struct shunt_steer_rule *rules = compile(config->rules, config->rule_cnt, err);
	int ret = rules ? shunt_xdp_set_rules(xdp, rules, config->rule_cnt, err) : -ENOMEM;

	free(rules);
	return ret;
}

/* The ports before a refused one have the old rules again. */
static int put_on_all(struct shunt_engine *engine, const struct shunt_steer_rule *rules,
		      unsigned cnt, struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < engine->port_cnt && !ret; i++)
		if (engine->ports[i].xdp)
			ret = shunt_xdp_set_rules(engine->ports[i].xdp, rules, cnt, err);
	if (!ret)
		return 0;
	for (i--; i-- > 0;)
		if (engine->ports[i].xdp)
			shunt_engine_put_rules(engine, engine->ports[i].xdp, NULL);
	return ret;
}

int shunt_engine_swap_rules(struct shunt_engine *engine, struct shunt_config *with,
			    struct shunt_err *err)
{
	struct shunt_config *config = engine->config;
	struct shunt_steer_rule *rules = compile(with->rules, with->rule_cnt, err);
	struct shunt_rule *old = config->rules;
	unsigned old_cnt = config->rule_cnt;
	int ret = rules ? put_on_all(engine, rules, with->rule_cnt, err) : -ENOMEM;

	free(rules);
	if (ret)
		return ret;
	config->rules = with->rules;
	config->rule_cnt = with->rule_cnt;
	with->rules = old;
	with->rule_cnt = old_cnt;
	return shunt_suspend_follow(engine, err);
}
