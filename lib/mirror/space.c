// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/space.h"

#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "mirror/route.h"

/* Of one family; a host with more leaves it to the kernel. */
#define RULES_MAX 64

/* --- tables --------------------------------------------------------------------------------- */

int shunt_mirror_space_find(const struct shunt_mirror_table *table, uint32_t kernel_table)
{
	int i;

	if (kernel_table == RT_TABLE_MAIN || kernel_table == RT_TABLE_LOCAL)
		return 0;
	for (i = 1; i < SHUNT_TABLES_SPACES && kernel_table; i++)
		if (table->spaces[i].table == kernel_table)
			return i;
	return -1;
}

static bool is_wanted(const struct shunt_mirror_table *table, uint32_t kernel_table)
{
	const struct shunt_mirror_link *link;
	const struct shunt_mirror_rule *rule;
	uint32_t idx;

	for (idx = 0; (idx = shunt_mirror_store_next(&table->links, idx));) {
		link = shunt_mirror_store_at(&table->links, idx);
		if (link->info.vrf_table == kernel_table)
			return true;
	}
	for (idx = 0; (idx = shunt_mirror_store_next(&table->rules, idx));) {
		rule = shunt_mirror_store_at(&table->rules, idx);
		if (rule->info.table == kernel_table)
			return true;
	}
	return false;
}

static void empty(struct shunt_mirror_table *table, unsigned space)
{
	unsigned ip, rib;
	uint32_t idx;

	for (ip = 0; ip < SHUNT_MIRROR_IP_CNT; ip++) {
		rib = shunt_mirror_rib((enum shunt_mirror_ip)ip, space);
		for (idx = 0; (idx = shunt_mirror_store_next(&table->routes[rib], idx));)
			shunt_mirror_route_remove(table, rib, idx);
	}
	table->spaces[space] = (struct shunt_mirror_space){0};
}

/* A number that is free, or that of a table which nothing leads to any more; 0: there is none. */
static unsigned find_room(struct shunt_mirror_table *table)
{
	unsigned i;

	for (i = 1; i < SHUNT_TABLES_SPACES; i++)
		if (!table->spaces[i].table)
			return i;
	for (i = 1; i < SHUNT_TABLES_SPACES; i++) {
		if (is_wanted(table, table->spaces[i].table))
			continue;
		empty(table, i);
		return i;
	}
	return 0;
}

void shunt_mirror_space_want(struct shunt_mirror_table *table, uint32_t kernel_table)
{
	unsigned i;

	if (!kernel_table || kernel_table == RT_TABLE_DEFAULT ||
	    shunt_mirror_space_find(table, kernel_table) >= 0)
		return;
	i = find_room(table);
	if (!i)
		return;
	table->spaces[i].table = kernel_table;
	table->new_spaces |= 1u << i;
}

/* --- rules ---------------------------------------------------------------------------------- */

const struct shunt_mirror_link *shunt_mirror_vrf(const struct shunt_mirror_table *table,
						 const struct shunt_mirror_link *link)
{
	const struct shunt_mirror_link *master =
		link->info.master ? shunt_mirror_link_get(table, link->info.master) : NULL;

	return master && master->info.vrf_table ? master : NULL;
}

enum match { MATCH_NEVER, MATCH_ALWAYS, MATCH_PERHAPS };

/* What a VRF makes of the name of a device in a rule differs from kernel to kernel. */
static enum match match_name(const struct shunt_mirror_rule_info *rule,
			     const struct shunt_mirror_link *link,
			     const struct shunt_mirror_link *vrf)
{
	if (!rule->iif[0])
		return MATCH_ALWAYS;
	if (vrf && (!strcmp(rule->iif, link->info.name) || !strcmp(rule->iif, vrf->info.name)))
		return MATCH_PERHAPS;
	return strcmp(rule->iif, link->info.name) ? MATCH_NEVER : MATCH_ALWAYS;
}

/* A rule for a prefix never matches: what it could match is the kernel's already. */
static enum match match_of(const struct shunt_mirror_table *table,
			   const struct shunt_mirror_rule_info *rule,
			   const struct shunt_mirror_link *link,
			   const struct shunt_mirror_link *vrf)
{
	enum match match;

	if (!rule->is_default && !rule->diverts)
		return MATCH_NEVER;
	if (rule->is_inverted)
		return MATCH_PERHAPS;
	if (rule->is_l3mdev && !vrf)
		return MATCH_NEVER;
	if (rule->is_marked && !table->may_be_marked)
		return MATCH_NEVER;
	/* of an IPv6 packet nobody looks at the source */
	if (rule->dst_len || (rule->src_len && rule->family == AF_INET))
		return MATCH_NEVER;
	match = match_name(rule, link, vrf);
	return match == MATCH_ALWAYS && (rule->is_odd || rule->is_marked || rule->src_len)
		       ? MATCH_PERHAPS
		       : match;
}

/* The rules of a family in the order in which they are asked; -1 where there are too many. */
static int sort(const struct shunt_mirror_table *table, enum shunt_mirror_ip ip,
		const struct shunt_mirror_rule_info *rules[RULES_MAX])
{
	const uint8_t family = ip == SHUNT_MIRROR_IP4 ? AF_INET : AF_INET6;
	const struct shunt_mirror_rule *rule;
	uint32_t idx = 0;
	int cnt = 0, i;

	while ((idx = shunt_mirror_store_next(&table->rules, idx))) {
		rule = shunt_mirror_store_at(&table->rules, idx);
		if (rule->info.family != family)
			continue;
		if (cnt == RULES_MAX)
			return -1;
		for (i = cnt++; i && rules[i - 1]->priority > rule->info.priority; i--)
			rules[i] = rules[i - 1];
		rules[i] = &rule->info;
	}
	return cnt;
}

/* Among rules of one priority the one made first is asked first, which no message tells. */
static bool is_alone(const struct shunt_mirror_table *table,
		     const struct shunt_mirror_rule_info *const *rules, int at, int cnt,
		     const struct shunt_mirror_link *link, const struct shunt_mirror_link *vrf)
{
	int i;

	for (i = at + 1; i < cnt && rules[i]->priority == rules[at]->priority; i++)
		if (match_of(table, rules[i], link, vrf) != MATCH_NEVER &&
		    (rules[i]->table != rules[at]->table ||
		     rules[i]->is_l3mdev != rules[at]->is_l3mdev))
			return false;
	return true;
}

/* Before main, table local must have been asked. */
static int space_of_rules(const struct shunt_mirror_table *table,
			  const struct shunt_mirror_rule_info *const *rules, int cnt,
			  const struct shunt_mirror_link *link)
{
	const struct shunt_mirror_link *vrf = shunt_mirror_vrf(table, link);
	bool was_local_asked = false;
	enum match match;
	uint32_t to;
	int i;

	for (i = 0; i < cnt; i++) {
		match = match_of(table, rules[i], link, vrf);
		if (match == MATCH_NEVER)
			continue;
		if (match == MATCH_PERHAPS || rules[i]->action != FR_ACT_TO_TBL ||
		    !is_alone(table, rules, i, cnt, link, vrf))
			return -1;
		to = rules[i]->is_l3mdev ? vrf->info.vrf_table : rules[i]->table;
		if (to == RT_TABLE_MAIN && !was_local_asked)
			return -1;
		if (to != RT_TABLE_LOCAL)
			return shunt_mirror_space_find(table, to);
		was_local_asked = true;
	}
	return -1;
}

int shunt_mirror_space_of_device(const struct shunt_mirror_table *table, enum shunt_mirror_ip ip,
				 const struct shunt_mirror_link *link)
{
	const struct shunt_mirror_rule_info *rules[RULES_MAX];
	const struct shunt_mirror_link *vrf = shunt_mirror_vrf(table, link);
	int cnt = sort(table, ip, rules), space;

	if (table->are_rules_ignored)
		space = vrf ? shunt_mirror_space_find(table, vrf->info.vrf_table) : 0;
	else if (!cnt && !table->had_defaults[ip]) /* a kernel without rules, or IPv6 */
		space = vrf ? -1 : 0;
	else
		space = space_of_rules(table, rules, cnt, link);
	if (vrf && !(vrf->info.flags & IFF_UP))
		return -1;
	if (space > 0 && !(table->spaces[space].is_ready & 1 << ip))
		return -1;
	return space;
}
