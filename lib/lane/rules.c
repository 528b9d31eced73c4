// SPDX-License-Identifier: BSD-2-Clause
#include "lane/rules.h"

#include <errno.h>
#include <stdlib.h>

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

int shunt_lane_rules_put(const struct shunt_config *config, struct shunt_xdp *xdp,
			 struct shunt_err *err)
{
	struct shunt_steer_rule *rules = compile(config->rules, config->rule_cnt, err);
	int ret = rules ? shunt_xdp_set_rules(xdp, rules, config->rule_cnt, err) : -ENOMEM;

	free(rules);
	return ret;
}

/* The ports before a refused one have the old rules again. */
static int put_on_all(struct shunt_ports *ports, const struct shunt_steer_rule *rules, unsigned cnt,
		      struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < ports->cnt && !ret; i++)
		if (ports->at[i].xdp)
			ret = shunt_xdp_set_rules(ports->at[i].xdp, rules, cnt, err);
	if (!ret)
		return 0;
	for (i--; i-- > 0;)
		if (ports->at[i].xdp)
			shunt_lane_rules_put(ports->config, ports->at[i].xdp, NULL);
	return ret;
}

int shunt_lane_rules_swap(struct shunt_lanes *lanes, struct shunt_config *with,
			  struct shunt_err *err)
{
	struct shunt_config *config = lanes->ports->config;
	struct shunt_steer_rule *rules = compile(with->rules, with->rule_cnt, err);
	struct shunt_rule *old = config->rules;
	unsigned old_cnt = config->rule_cnt;
	int ret = rules ? put_on_all(lanes->ports, rules, with->rule_cnt, err) : -ENOMEM;

	free(rules);
	if (ret)
		return ret;
	config->rules = with->rules;
	config->rule_cnt = with->rule_cnt;
	with->rules = old;
	with->rule_cnt = old_cnt;
	return shunt_lanes_follow(lanes, false, err);
}
