// SPDX-License-Identifier: BSD-2-Clause
/* The rules of a port, and what is counted of each. A rule keeps its counter while it is in force.
 * A new one is given a counter that no rule in force has, and what that counts from then on. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "xdp/private.h"

#define COUNTS_SZ (sizeof(struct shunt_steer_rule_counts) * SHUNT_STEER_QUEUES_MAX)

int shunt_xdp_rules_map(struct shunt_xdp *x, int fd, const struct bpf_map_info *info)
{
	void *at;

	if (!x->is_counted || x->rule_counts)
		return 0;
	if (info->type != BPF_MAP_TYPE_ARRAY || info->value_size != sizeof(*x->rule_counts) ||
	    info->max_entries != SHUNT_STEER_QUEUES_MAX || !(info->map_flags & BPF_F_MMAPABLE))
		return -EPROTO;
	at = mmap(NULL, COUNTS_SZ, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	x->rule_counts = at;
	return 0;
}

void shunt_xdp_rules_unmap(struct shunt_xdp *x)
{
	if (x->rule_counts)
		munmap(x->rule_counts, COUNTS_SZ);
	x->rule_counts = NULL;
}

void shunt_xdp_rules_inherit(struct shunt_xdp *x)
{
	const struct shunt_steer_half *live = &x->ctl->half[x->half];

	if (!x->rule_counts || !(live->rule_cnt & SHUNT_STEER_RULES_COUNTED))
		return;
	x->shadow.rule_cnt = live->rule_cnt & (SHUNT_STEER_RULES_COUNTED - 1);
	memcpy(x->shadow.rules, live->rules, sizeof(live->rules));
}

static struct shunt_count sum(const struct shunt_xdp *x, unsigned at)
{
	struct shunt_count all = {0};

	for (unsigned i = 0; i < SHUNT_STEER_QUEUES_MAX; i++) {
		const struct shunt_count *one = &x->rule_counts[i].of[at];

		all.packets += shunt_counter_read((const uint64_t *)&one->packets);
		all.bytes += shunt_counter_read((const uint64_t *)&one->bytes);
	}
	return all;
}

static bool is_same(const struct shunt_steer_rule *a, const struct shunt_steer_rule *b)
{
	return !memcmp(a, b, offsetof(struct shunt_steer_rule, count));
}

/* Which rules of the configuration in force, and which counters, are somebody's. */
struct claims {
	bool is_kept[SHUNT_STEER_RULES_MAX];
	bool is_used[SHUNT_STEER_RULE_COUNTS];
};

/* The counter of the rule in force that is the same, or -1. */
static int keep(const struct shunt_xdp *x, const struct shunt_steer_rule *rule,
		struct claims *claims)
{
	for (unsigned i = 0; i < x->shadow.rule_cnt; i++) {
		if (claims->is_kept[i] || !is_same(rule, &x->shadow.rules[i]))
			continue;
		claims->is_kept[i] = true;
		return (int)x->shadow.rules[i].count;
	}
	return -1;
}

/* There is one: those in force and those to come are not more than all. */
static unsigned begin(struct shunt_xdp *x, struct claims *claims)
{
	unsigned at = 0;

	while (claims->is_used[at])
		at++;
	claims->is_used[at] = true;
	x->rule_begun[at] = sum(x, at);
	return at;
}

/* Frames that rules before last let through may still be counted: these have ended then. */
static void give_counters(struct shunt_xdp *x, struct shunt_steer_rule *rules, unsigned cnt)
{
	struct claims claims = {0};

	for (unsigned i = 0; i < x->shadow.rule_cnt; i++)
		claims.is_used[x->shadow.rules[i].count % SHUNT_STEER_RULE_COUNTS] = true;
	if (x->has_published)
		shunt_xdp_quiesce();
	for (unsigned i = 0; i < cnt; i++) {
		const int kept = keep(x, &rules[i], &claims);

		rules[i].count = kept < 0 ? begin(x, &claims) : (unsigned)kept;
	}
}

static int check(const struct shunt_xdp *x, const struct shunt_steer_rule *rules, unsigned cnt,
		 struct shunt_err *err)
{
	if (cnt > SHUNT_STEER_RULES_MAX)
		return shunt_err_set(err, E2BIG, "%s: %u rules, expected at most %u a port",
				     x->ifname, cnt, SHUNT_STEER_RULES_MAX);
	for (unsigned i = 0; i < cnt; i++) {
		if (rules[i].lane > SHUNT_STEER_RULE_AUTO)
			return shunt_err_set(err, EINVAL, "%s: rule %u: no rule can give lane %u",
					     x->ifname, i + 1, rules[i].lane);
	}
	return 0;
}

int shunt_xdp_set_rules(struct shunt_xdp *x, const struct shunt_steer_rule *rules, unsigned cnt,
			struct shunt_err *err)
{
	struct shunt_steer_rule own[SHUNT_STEER_RULES_MAX];
	int rc = check(x, rules, cnt, err);

	if (rc)
		return rc;
	if (cnt)
		memcpy(own, rules, cnt * sizeof(*own));
	if (x->rule_counts)
		give_counters(x, own, cnt);
	if (cnt)
		memcpy(x->shadow.rules, own, cnt * sizeof(*own));
	x->shadow.rule_cnt = cnt;
	if (x->is_configured)
		shunt_xdp_publish(x);
	return 0;
}

bool shunt_xdp_rule_count(const struct shunt_xdp *x, unsigned rule, struct shunt_count *out)
{
	unsigned at;

	if (!x->rule_counts || rule >= x->shadow.rule_cnt)
		return false;
	at = x->shadow.rules[rule].count % SHUNT_STEER_RULE_COUNTS;
	*out = sum(x, at);
	out->packets -= x->rule_begun[at].packets;
	out->bytes -= x->rule_begun[at].bytes;
	return true;
}
