// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "fib/nexthop.h"
#include "fib_oracle.h"
#include "measure/rng.h"

#define FLOW_CNT 100000u

static struct shunt_nexthops *create(void)
{
	struct shunt_nexthops *table;
	struct shunt_err err = {0};

	cr_assert_eq(shunt_nexthop_create(&table, 0, &err), 0, "%s", err.msg);
	return table;
}

static uint32_t add(struct shunt_nexthops *table, uint16_t port)
{
	struct shunt_adj adj = {.kind = SHUNT_ADJ_REWRITE, .port = port};
	struct shunt_err err = {0};
	uint32_t nh = 0;

	cr_assert_eq(shunt_nexthop_add(table, &adj, &nh, &err), 0, "%s", err.msg);
	cr_assert_neq(nh, 0);
	return nh;
}

static uint32_t group(struct shunt_nexthops *table, const struct shunt_nexthop_member *members,
		      unsigned cnt)
{
	struct shunt_err err = {0};
	uint32_t nh = 0;

	cr_assert_eq(shunt_nexthop_group_add(table, members, cnt, &nh, &err), 0, "%s", err.msg);
	return nh;
}

static void set(struct shunt_nexthops *table, uint32_t nh,
		const struct shunt_nexthop_member *members, unsigned cnt)
{
	struct shunt_err err = {0};

	cr_assert_eq(shunt_nexthop_group_set(table, nh, members, cnt, &err), 0, "%s", err.msg);
}

/* The port each of FLOW_CNT random hashes goes to. */
static void route_flows(struct shunt_nexthops *table, uint32_t nh, uint16_t *ports)
{
	uint64_t rng = 1;
	uint32_t i;

	for (i = 0; i < FLOW_CNT; i++)
		ports[i] = shunt_nexthop_adj(table, nh, (uint32_t)shunt_rng_next(&rng))->port;
}

static uint32_t count(const uint16_t *ports, uint16_t port)
{
	uint32_t i, n = 0;

	for (i = 0; i < FLOW_CNT; i++)
		n += ports[i] == port;
	return n;
}

Test(nexthop, zero_is_no_route)
{
	struct shunt_nexthops *table = create();

	cr_expect_eq(shunt_nexthop_adj(table, 0, 0)->kind, SHUNT_ADJ_NOROUTE);
	cr_expect_str_eq(shunt_adj_kind_name(SHUNT_ADJ_NOROUTE), "noroute");
	cr_expect_str_eq(shunt_adj_kind_name(SHUNT_ADJ_PROHIBIT), "prohibit");
	cr_expect_str_eq(shunt_adj_kind_name(SHUNT_ADJ_KIND_CNT), "?");
	cr_expect(strstr(shunt_adj_kind_help(SHUNT_ADJ_GLEAN), "neighbour"));
	shunt_nexthop_destroy(table);
	shunt_nexthop_destroy(NULL);
}

Test(nexthop, set_replaces_the_whole_adjacency)
{
	struct shunt_nexthops *table = create();
	struct shunt_adj adj = {.kind = SHUNT_ADJ_REWRITE, .port = 7, .mtu = 9000, .ifindex = 7};
	const struct shunt_adj *got;
	uint32_t nh = add(table, 3);

	memset(adj.eth, 0xab, sizeof(adj.eth));
	cr_expect_eq(shunt_nexthop_adj(table, nh, 0)->port, 3);
	cr_assert_eq(shunt_nexthop_set(table, nh, &adj, NULL), 0);
	got = shunt_nexthop_adj(table, nh, 0);
	cr_expect_arr_eq(got, &adj, sizeof(adj));
	shunt_nexthop_destroy(table);
}

Test(nexthop, an_alias_leads_where_another_does)
{
	struct shunt_nexthops *table = create();
	struct shunt_err err = {""};
	struct shunt_adj adj = {.kind = SHUNT_ADJ_REWRITE, .port = 9};
	uint32_t a = add(table, 1), b = add(table, 2), g, alias, other;

	g = group(table, (struct shunt_nexthop_member[]){{a, 1}, {b, 1}}, 2);
	cr_assert_eq(shunt_nexthop_alias_add(table, a, &alias, &err), 0);
	cr_assert_eq(shunt_nexthop_alias_add(table, a, &other, &err), 0);
	cr_expect(alias != a && other != a && alias != other);
	cr_expect_eq(shunt_nexthop_target(table, alias), a);
	cr_expect_eq(shunt_nexthop_target(table, a), a);
	cr_expect_eq(shunt_nexthop_adj(table, alias, 7)->port, 1);
	cr_expect_eq(shunt_nexthop_slot(table, alias), shunt_nexthop_slot(table, a));
	/* what a changes to, its aliases do */
	cr_assert_eq(shunt_nexthop_set(table, a, &adj, NULL), 0);
	cr_expect_eq(shunt_nexthop_adj(table, alias, 7)->port, 9);
	cr_assert_eq(shunt_nexthop_alias_set(table, alias, g, &err), 0);
	cr_expect_eq(shunt_nexthop_target(table, alias), g);
	cr_expect(shunt_nexthop_slot(table, alias) & SHUNT_NEXTHOP_GROUP);
	cr_expect_eq(shunt_nexthop_adj(table, alias, 0), shunt_nexthop_adj(table, g, 0));
	cr_expect_eq(shunt_nexthop_adj(table, alias, ~0u), shunt_nexthop_adj(table, g, ~0u));
	cr_expect_eq(shunt_nexthop_alias_add(table, alias, &g, &err), -EINVAL);
	cr_expect(strstr(err.msg, "is an alias"), "%s", err.msg);
	cr_expect_eq(shunt_nexthop_alias_set(table, a, b, &err), -EINVAL);
	cr_expect_eq(shunt_nexthop_set(table, other, &adj, &err), -EINVAL);
	cr_expect_eq(shunt_nexthop_group_add(table, &(struct shunt_nexthop_member){other, 1}, 1, &g,
					     &err),
		     -EINVAL);
	/* an alias keeps what it leads to */
	shunt_nexthop_put(table, a);
	cr_expect_eq(shunt_nexthop_adj(table, other, 0)->port, 9);
	shunt_nexthop_put(table, other);
	shunt_nexthop_put(table, shunt_nexthop_target(table, alias));
	shunt_nexthop_put(table, alias);
	shunt_nexthop_put(table, b);
	cr_expect_eq(table->cnt, 0, "%u left", table->cnt);
	shunt_nexthop_destroy(table);
}

Test(nexthop, references_are_counted)
{
	struct shunt_nexthops *table = create();
	uint32_t a = add(table, 1), b = add(table, 2), g;

	g = group(table, (struct shunt_nexthop_member[]){{a, 1}, {b, 1}, {a, 2}}, 3);
	cr_expect_eq(shunt_nexthop_group_get(table, g, NULL, 0), 2, "the same next hop is joined");
	cr_expect_eq(shunt_nexthop_group_get(table, a, NULL, 0), 0);
	shunt_nexthop_put(table, a);
	cr_expect_eq(table->cnt, 3, "the group still holds it");
	set(table, g, (struct shunt_nexthop_member[]){{b, 1}}, 1);
	cr_expect_eq(table->cnt, 2);
	shunt_nexthop_hold(table, g);
	shunt_nexthop_put(table, g);
	cr_expect_eq(table->cnt, 2);
	shunt_nexthop_put(table, g);
	cr_expect_eq(table->cnt, 1, "the caller still holds the member");
	shunt_nexthop_put(table, b);
	cr_expect_eq(table->cnt, 0);
	shunt_nexthop_destroy(table);
}

Test(nexthop, bad_groups_are_refused)
{
	struct shunt_nexthops *table = create();
	uint32_t a = add(table, 1), g, nh = 0;
	struct shunt_nexthop_member many[SHUNT_NEXTHOP_MEMBER_MAX + 1] = {0};
	struct shunt_err err = {0};

	g = group(table, (struct shunt_nexthop_member[]){{a, 1}}, 1);
	cr_expect_eq(shunt_nexthop_group_add(table, NULL, 0, &nh, &err), -EINVAL);
	many[0] = (struct shunt_nexthop_member){a, 0};
	cr_expect_eq(shunt_nexthop_group_add(table, many, 1, &nh, &err), -EINVAL);
	cr_expect(strstr(err.msg, "weight 0"), "%s", err.msg);
	many[0] = (struct shunt_nexthop_member){g, 1};
	cr_expect_eq(shunt_nexthop_group_add(table, many, 1, &nh, &err), -EINVAL);
	cr_expect(strstr(err.msg, "is a group"), "%s", err.msg);
	many[0] = (struct shunt_nexthop_member){999, 1};
	cr_expect_eq(shunt_nexthop_group_set(table, g, many, 1, &err), -EINVAL);
	cr_expect(strstr(err.msg, "does not exist"), "%s", err.msg);
	cr_expect_eq(shunt_nexthop_group_add(table, many, SHUNT_NEXTHOP_MEMBER_MAX + 1, &nh, &err),
		     -E2BIG);
	cr_expect_eq(shunt_nexthop_group_set(table, a, many, 1, &err), -EINVAL);
	cr_expect_eq(shunt_nexthop_set(table, g, &(struct shunt_adj){0}, &err), -EINVAL);
	cr_expect_eq(shunt_nexthop_adj(table, g, 77)->port, 1);
	shunt_nexthop_destroy(table);
}

Test(nexthop, shares_follow_the_weights)
{
	static const uint32_t weights[] = {1, 1, 2, 4, 8};
	struct shunt_nexthops *table = create();
	struct shunt_nexthop_member members[5];
	uint16_t *ports = calloc(FLOW_CNT, sizeof(*ports));
	uint32_t i, g;
	double want;

	for (i = 0; i < 5; i++)
		members[i] = (struct shunt_nexthop_member){add(table, (uint16_t)i), weights[i]};
	g = group(table, members, 5);
	route_flows(table, g, ports);
	for (i = 0; i < 5; i++) {
		want = FLOW_CNT * weights[i] / 16.0;
		cr_expect_float_eq(count(ports, (uint16_t)i), want, 0.1 * want, "%u: %u of %.0f", i,
				   count(ports, (uint16_t)i), want);
	}
	free(ports);
	shunt_nexthop_destroy(table);
}

/* A thousand members, and a weight of 1 beside 255: none starves. */
Test(nexthop, light_members_get_their_flows)
{
	struct shunt_nexthops *table = create();
	struct shunt_nexthop_member members[SHUNT_NEXTHOP_MEMBER_MAX];
	uint16_t *ports = calloc(FLOW_CNT, sizeof(*ports));
	uint32_t i, g;

	for (i = 0; i < SHUNT_NEXTHOP_MEMBER_MAX; i++)
		members[i] = (struct shunt_nexthop_member){add(table, (uint16_t)i), 1 + i % 3};
	route_flows(table, group(table, members, SHUNT_NEXTHOP_MEMBER_MAX), ports);
	for (i = 0; i < SHUNT_NEXTHOP_MEMBER_MAX; i++)
		cr_expect_gt(count(ports, (uint16_t)i), 0, "member %u", i);
	members[0].weight = 255;
	members[1].weight = 1;
	g = group(table, members, 2);
	route_flows(table, g, ports);
	cr_expect_float_eq(count(ports, 1), FLOW_CNT / 256.0, FLOW_CNT / 1024.0);
	free(ports);
	shunt_nexthop_destroy(table);
}

/* Flows whose port differs; from tells which of them had port from before. */
static uint32_t moved(const uint16_t *before, const uint16_t *after, uint16_t from, uint32_t *of)
{
	uint32_t i, n = 0;

	*of = 0;
	for (i = 0; i < FLOW_CNT; i++) {
		n += before[i] != after[i];
		*of += before[i] != after[i] && before[i] == from;
	}
	return n;
}

Test(nexthop, changes_move_only_the_necessary_flows)
{
	struct shunt_nexthops *table = create();
	struct shunt_nexthop_member members[5];
	uint16_t *before = calloc(FLOW_CNT, sizeof(*before)),
		 *after = calloc(FLOW_CNT, sizeof(*after));
	uint32_t i, g, n, of;

	for (i = 0; i < 5; i++)
		members[i] = (struct shunt_nexthop_member){add(table, (uint16_t)i), 1};
	g = group(table, members, 4);
	route_flows(table, g, before);

	set(table, g, members + 1, 3); /* 0 leaves: its quarter moves, no other */
	route_flows(table, g, after);
	n = moved(before, after, 0, &of);
	cr_expect_eq(count(after, 0), 0);
	cr_expect_eq(n, of, "%u flows moved that were not on the one that left", n - of);

	memcpy(before, after, FLOW_CNT * sizeof(*before));
	set(table, g, members + 1, 4); /* 4 joins: a quarter moves, all of it to 4 */
	route_flows(table, g, after);
	n = moved(before, after, 0, &of);
	cr_expect_eq(n, count(after, 4));
	cr_expect_float_eq(n, FLOW_CNT / 4.0, FLOW_CNT / 40.0);

	memcpy(before, after, FLOW_CNT * sizeof(*before));
	members[1].weight = 2; /* from 1/4 to 2/5 */
	set(table, g, members + 1, 4);
	route_flows(table, g, after);
	n = moved(before, after, 1, &of);
	cr_expect_eq(of, 0, "flows left the member that grew");
	cr_expect_float_eq(n, FLOW_CNT * 0.15, FLOW_CNT * 0.02, "%u moved", n);
	free(before);
	free(after);
	shunt_nexthop_destroy(table);
}

/* More members want more buckets: flows of those that stay are not reshuffled. */
Test(nexthop, growth_keeps_flows)
{
	struct shunt_nexthops *table = create();
	struct shunt_nexthop_member members[32];
	uint16_t *before = calloc(FLOW_CNT, sizeof(*before)),
		 *after = calloc(FLOW_CNT, sizeof(*after));
	uint32_t i, g, n = 0;

	for (i = 0; i < 32; i++)
		members[i] = (struct shunt_nexthop_member){add(table, (uint16_t)i), 1};
	g = group(table, members, 2);
	route_flows(table, g, before);
	set(table, g, members, 32);
	route_flows(table, g, after);
	for (i = 0; i < FLOW_CNT; i++)
		n += before[i] != after[i] && after[i] < 2;
	cr_expect_eq(n, 0, "%u flows changed between the two that stayed", n);
	free(before);
	free(after);
	shunt_nexthop_destroy(table);
}

Test(nexthop, random_groups_keep_their_promises)
{
	uint64_t seed = naive_seed(), rng = seed;
	struct shunt_nexthops *table = create();
	struct shunt_nexthop_member members[24];
	uint16_t *ports = calloc(FLOW_CNT, sizeof(*ports));
	uint32_t all[24], i, step, cnt, sum, g;
	double share, got;

	for (i = 0; i < 24; i++)
		all[i] = add(table, (uint16_t)i);
	g = group(table, (struct shunt_nexthop_member[]){{all[0], 1}}, 1);
	for (step = 0; step < 60; step++) {
		for (i = cnt = sum = 0; i < 24; i++) {
			if (i && shunt_rng_below(&rng, 2))
				continue;
			members[cnt].nh = all[i];
			members[cnt].weight = 1 + (uint32_t)shunt_rng_below(&rng, 8);
			sum += members[cnt++].weight;
		}
		set(table, g, members, cnt);
		route_flows(table, g, ports);
		for (i = 0; i < cnt; i++) {
			share = (double)members[i].weight / sum;
			got = (double)count(ports, (uint16_t)(members[i].nh - all[0])) / FLOW_CNT;
			cr_assert_float_eq(got, share, 0.02, "SHUNT_SEED=%#lx: %.4f, not %.4f",
					   seed, got, share);
		}
	}
	free(ports);
	shunt_nexthop_destroy(table);
}

Test(nexthop, out_of_memory_is_said_and_changes_nothing)
{
	struct shunt_nexthops *table;
	struct shunt_adj adj = {.kind = SHUNT_ADJ_REWRITE};
	struct shunt_err err = {0};
	uint32_t nh, n = 0;
	int ret;

	cr_assert_eq(shunt_nexthop_create(&table, 8UL << 20, &err), 0, "%s", err.msg);
	do {
		adj.number = n;
		ret = shunt_nexthop_add(table, &adj, &nh, &err);
	} while (!ret && ++n);
	cr_assert_eq(ret, -ENOMEM);
	cr_assert(strstr(err.msg, "no memory"), "%s", err.msg);
	cr_assert_eq(table->cnt, n);
	cr_assert_gt(n, 50000);
	shunt_nexthop_destroy(table);
}
