// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/fib_private.h"

#include <sys/socket.h>

static unsigned bytes_of(unsigned ip)
{
	return ip == SHUNT_MIRROR_IP4 ? 4 : 16;
}

static bool is_within(enum shunt_mirror_ip ip, const uint8_t *dst, unsigned len,
		      const uint8_t *prefix, unsigned prefix_len)
{
	uint8_t head[16];

	if (len < prefix_len)
		return false;
	memcpy(head, dst, bytes_of(ip));
	shunt_mirror_mask(head, bytes_of(ip), prefix_len);
	return !memcmp(head, prefix, bytes_of(ip));
}

/* A rule for the prefix, or (is_exact is not set) for one that covers it. */
static bool is_ruled(const struct shunt_mirror_table *table, enum shunt_mirror_ip ip,
		     const uint8_t *dst, unsigned len, bool is_exact)
{
	const uint8_t family = ip == SHUNT_MIRROR_IP4 ? AF_INET : AF_INET6, *prefix;
	const struct shunt_mirror_rule *rule;
	unsigned prefix_len;
	uint32_t idx = 0;

	if (table->are_rules_ignored || !table->prefix_cnt[ip])
		return false;
	while ((idx = shunt_mirror_store_next(&table->rules, idx))) {
		rule = shunt_mirror_store_at(&table->rules, idx);
		prefix = shunt_mirror_rule_prefix(&rule->info, &prefix_len);
		if (prefix && rule->info.family == family &&
		    is_within(ip, dst, len, prefix, prefix_len) && (!is_exact || len == prefix_len))
			return true;
	}
	return false;
}

static bool is_local(const struct shunt_mirror_table *table, enum shunt_mirror_ip ip,
		     const uint8_t *dst, unsigned len)
{
	const uint32_t idx = shunt_mirror_route_first(table, ip, dst, len);

	return idx && shunt_mirror_route_at(table, ip, idx)->live & SHUNT_MIRROR_ROUTE_LOCAL;
}

bool shunt_mirror_fib_hides(const struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			    unsigned len)
{
	const enum shunt_mirror_ip ip = shunt_mirror_ip_of(rib);

	return is_ruled(fib->table, ip, dst, len, true) ||
	       (rib != ip && is_local(fib->table, ip, dst, len));
}

bool shunt_mirror_fib_is_hidden(const struct shunt_mirror_fib *fib, unsigned rib,
				const uint8_t *dst, unsigned len)
{
	const enum shunt_mirror_ip ip = shunt_mirror_ip_of(rib);
	uint8_t prefix[16];
	int i;

	if (is_ruled(fib->table, ip, dst, len, false))
		return true;
	if (rib == ip)
		return false;
	memcpy(prefix, dst, bytes_of(ip));
	for (i = (int)len; i >= 0; i--) {
		if (!fib->table->local_cnt[ip][i])
			continue;
		shunt_mirror_mask(prefix, bytes_of(ip), (unsigned)i);
		if (is_local(fib->table, ip, prefix, (unsigned)i))
			return true;
	}
	return false;
}

/* Looks at what a space has below a prefix. */
static void push_below(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst, unsigned len)
{
	const enum shunt_mirror_ip ip = shunt_mirror_ip_of(rib);
	const struct shunt_mirror_route *route;
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&fib->table->routes[rib], idx))) {
		route = shunt_mirror_route_at(fib->table, rib, idx);
		if (is_within(ip, route->dst, route->len, dst, len))
			shunt_mirror_fib_push(fib, rib, route->dst, route->len);
	}
}

void shunt_mirror_fib_hide(struct shunt_mirror_fib *fib, unsigned first, enum shunt_mirror_ip ip,
			   const uint8_t *dst, unsigned len)
{
	unsigned i, rib;

	if (!fib->is_on)
		return;
	for (i = first; i < SHUNT_TABLES_SPACES; i++) {
		if (i && !fib->table->spaces[i].table)
			continue;
		rib = shunt_mirror_rib(ip, i);
		shunt_mirror_fib_push(fib, rib, dst, len);
		if (len < bytes_of(ip) * 8)
			push_below(fib, rib, dst, len);
	}
	fib->are_hosts_stale |= fib->table->neighs.cnt && len < bytes_of(ip) * 8;
}

/* The next route of table local behind *idx; NULL: there is none. */
static const struct shunt_mirror_route *next_local(const struct shunt_mirror_fib *fib, unsigned ip,
						   uint32_t *idx)
{
	const struct shunt_mirror_route *route;

	while ((*idx = shunt_mirror_store_next(&fib->table->routes[ip], *idx))) {
		route = shunt_mirror_route_at(fib->table, ip, *idx);
		if (route->live & SHUNT_MIRROR_ROUTE_LOCAL)
			return route;
	}
	return NULL;
}

/* Calls fn for each prefix that hides others in a space, and its RIB. */
static void for_each_hiding(struct shunt_mirror_fib *fib, unsigned space,
			    void (*fn)(struct shunt_mirror_fib *fib, unsigned rib,
				       const uint8_t *dst, unsigned len))
{
	const struct shunt_mirror_route *route;
	const struct shunt_mirror_rule *rule;
	const uint8_t *prefix;
	unsigned ip, len;
	uint32_t idx;

	for (ip = 0; space && ip < SHUNT_MIRROR_IP_CNT; ip++)
		for (idx = 0; (route = next_local(fib, ip, &idx));)
			fn(fib, shunt_mirror_rib((enum shunt_mirror_ip)ip, space), route->dst,
			   route->len);
	for (idx = 0; (idx = shunt_mirror_store_next(&fib->table->rules, idx));) {
		rule = shunt_mirror_store_at(&fib->table->rules, idx);
		ip = rule->info.family == AF_INET ? SHUNT_MIRROR_IP4 : SHUNT_MIRROR_IP6;
		prefix = shunt_mirror_rule_prefix(&rule->info, &len);
		if (prefix)
			fn(fib, shunt_mirror_rib((enum shunt_mirror_ip)ip, space), prefix, len);
	}
}

static void drop(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst, unsigned len)
{
	shunt_mirror_fib_drop(fib, rib, dst, len);
}

void shunt_mirror_fib_withdraw_hidden(struct shunt_mirror_fib *fib)
{
	unsigned i;

	for (i = 0; i < SHUNT_TABLES_SPACES; i++)
		if (!i || fib->table->spaces[i].table)
			for_each_hiding(fib, i, drop);
}

/* Without memory for it the FIB is given up. */
static void open_space(struct shunt_mirror_fib *fib, unsigned space)
{
	if (shunt_fib4_open_space(fib->fib4, space, NULL) ||
	    shunt_fib6_open_space(fib->fib6, space, NULL))
		fib->is_failed = true;
	fib->table->spaces[space].is_ready = 0;
	fib->are_hosts_stale = true;
	for_each_hiding(fib, space, shunt_mirror_fib_push);
}

uint32_t shunt_mirror_fib_open_spaces(struct shunt_mirror_fib *fib)
{
	struct shunt_mirror_table *table = fib->table;
	uint32_t spaces;
	unsigned i;

	if (!table || !table->new_spaces)
		return 0;
	spaces = table->new_spaces;
	table->new_spaces = 0;
	for (i = 1; i < SHUNT_TABLES_SPACES; i++)
		if (spaces >> i & 1)
			open_space(fib, i);
	return spaces;
}

void shunt_mirror_fib_begin_spaces(struct shunt_mirror_fib *fib)
{
	unsigned i;

	for_each_hiding(fib, 0, shunt_mirror_fib_push);
	for (i = 1; i < SHUNT_TABLES_SPACES; i++)
		if (fib->table->spaces[i].table)
			open_space(fib, i);
	fib->table->policy_changes++;
}

void shunt_mirror_fib_end_spaces(struct shunt_mirror_fib *fib)
{
	struct shunt_mirror_space *space;
	unsigned i;

	if (!fib->table || !fib->is_on || shunt_mirror_fib_has_work(fib))
		return;
	for (i = 1; i < SHUNT_TABLES_SPACES; i++) {
		space = &fib->table->spaces[i];
		fib->table->policy_changes += space->is_ready != space->is_heard;
		space->is_ready = space->is_heard;
	}
}
