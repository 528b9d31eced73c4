// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/fib_space.h"

#include "mirror/host.h"

bool shunt_mirror_fib_is_local(const struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			       unsigned len)
{
	const enum shunt_mirror_ip ip = shunt_mirror_ip_of(rib);
	const uint32_t idx = shunt_mirror_route_first(fib->table, ip, dst, len);

	return idx && shunt_mirror_route_at(fib->table, ip, idx)->live & SHUNT_MIRROR_ROUTE_LOCAL;
}

bool shunt_mirror_fib_is_hidden(const struct shunt_mirror_fib *fib, unsigned rib,
				const uint8_t *dst, unsigned len)
{
	const enum shunt_mirror_ip ip = shunt_mirror_ip_of(rib);
	const unsigned bytes = ip == SHUNT_MIRROR_IP4 ? 4 : 16;
	uint8_t prefix[16];
	int i;

	if (rib == ip)
		return false;
	memcpy(prefix, dst, bytes);
	for (i = (int)len; i >= 0; i--) {
		if (!fib->table->local_cnt[ip][i])
			continue;
		shunt_mirror_host_mask(prefix, bytes, (unsigned)i);
		if (shunt_mirror_fib_is_local(fib, ip, prefix, (unsigned)i))
			return true;
	}
	return false;
}

/* Looks at what a space has below a prefix. */
static void push_below(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst, unsigned len)
{
	const unsigned bytes = shunt_mirror_ip_of(rib) == SHUNT_MIRROR_IP4 ? 4 : 16;
	const struct shunt_mirror_route *route;
	uint8_t prefix[16];
	uint32_t idx = 0;

	while ((idx = shunt_mirror_store_next(&fib->table->routes[rib], idx))) {
		route = shunt_mirror_route_at(fib->table, rib, idx);
		memcpy(prefix, route->dst, bytes);
		shunt_mirror_host_mask(prefix, bytes, len);
		if (route->len > len && !memcmp(prefix, dst, bytes))
			shunt_mirror_fib_push(fib, rib, route->dst, route->len);
	}
}

void shunt_mirror_fib_hide(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			   unsigned len)
{
	const enum shunt_mirror_ip ip = shunt_mirror_ip_of(rib);
	unsigned i;

	for (i = 1; i < SHUNT_TABLES_SPACES; i++) {
		if (!fib->table->spaces[i].table)
			continue;
		rib = shunt_mirror_rib(ip, i);
		shunt_mirror_fib_push(fib, rib, dst, len);
		if (len < (ip == SHUNT_MIRROR_IP4 ? 32 : 128))
			push_below(fib, rib, dst, len);
	}
	fib->are_hosts_stale |= fib->table->neighs.cnt && len < (ip == SHUNT_MIRROR_IP4 ? 32 : 128);
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

static void push_locals(struct shunt_mirror_fib *fib, unsigned space)
{
	const struct shunt_mirror_route *route;
	unsigned ip;
	uint32_t idx;

	for (ip = 0; ip < SHUNT_MIRROR_IP_CNT; ip++)
		for (idx = 0; (route = next_local(fib, ip, &idx));)
			shunt_mirror_fib_push(fib,
					      shunt_mirror_rib((enum shunt_mirror_ip)ip, space),
					      route->dst, route->len);
}

void shunt_mirror_fib_withdraw_hidden(struct shunt_mirror_fib *fib)
{
	const struct shunt_mirror_route *route;
	unsigned ip, i;
	uint32_t idx;

	for (ip = 0; ip < SHUNT_MIRROR_IP_CNT; ip++)
		for (idx = 0; (route = next_local(fib, ip, &idx));)
			for (i = 1; i < SHUNT_TABLES_SPACES; i++)
				shunt_mirror_fib_drop(fib,
						      shunt_mirror_rib((enum shunt_mirror_ip)ip, i),
						      route->dst, route->len);
}

/* Without memory for it the FIB is given up. */
static void open_space(struct shunt_mirror_fib *fib, unsigned space)
{
	if (shunt_fib4_open_space(fib->fib4, space, NULL) ||
	    shunt_fib6_open_space(fib->fib6, space, NULL))
		fib->is_failed = true;
	fib->table->spaces[space].is_ready = 0;
	fib->are_hosts_stale = true;
	push_locals(fib, space);
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
