// SPDX-License-Identifier: BSD-2-Clause
/* Whose frames a judge judges: a row for each case, then what a list keeps and says. What the
 * kernel is asked for is looked at with real rules, in tests/e2e/test_firewall.py. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/bytes.h"
#include "firewall/judge.h"

/* Interface indexes. The last device is no port's. */
enum { ETH1 = 3, ETH2, BR0, OTHER };

#define PAIR(...)                                                      \
	{                                                              \
		{.ifindex = ETH1, .leave_by = 2, __VA_ARGS__},         \
			{.ifindex = ETH2, .leave_by = 1, __VA_ARGS__}, \
	}

/* Two ports that forward to each other. The second line is like the first but for its device. */
static const struct shunt_judged routed[] = PAIR(.is_routed = true),
				 bridged[] = PAIR(.master = BR0, .is_bridged = true),
				 nf_bridged[] =
					 PAIR(.master = BR0, .is_bridged = true, .calls_ip = true),
				 mixed[] =
					 PAIR(.master = BR0, .is_routed = true, .is_bridged = true),
				 alone[] = PAIR(.master = 0); /* a bridge that the kernel has not */

Test(judge, of_every_mode_and_place)
{
	static const struct {
		const char *name;
		const struct shunt_judged *ports;
		enum shunt_judge_place place;
		int ifindex;
		bool first, second; /* port 0 is judged, port 1 is */
	} rows[] = {
		{"forward hook, route", routed, SHUNT_JUDGE_IP, 0, true, true},
		{"forward hook, bridge", bridged, SHUNT_JUDGE_IP, 0, false, false},
		{"forward hook, bridge with br_netfilter", nf_bridged, SHUNT_JUDGE_IP, 0, true,
		 true},
		{"forward hook, mix", mixed, SHUNT_JUDGE_IP, 0, true, true},
		{"forward hook, bridge of shunt's own", alone, SHUNT_JUDGE_IP, 0, false, false},
		{"bridge hook, route", routed, SHUNT_JUDGE_BRIDGE, 0, false, false},
		{"bridge hook, bridge", bridged, SHUNT_JUDGE_BRIDGE, 0, true, true},
		{"bridge hook, mix", mixed, SHUNT_JUDGE_BRIDGE, 0, true, true},
		{"bridge hook, bridge of shunt's own", alone, SHUNT_JUDGE_BRIDGE, 0, false, false},
		{"ingress of a port", routed, SHUNT_JUDGE_IN, ETH1, true, false},
		{"ingress of the other", routed, SHUNT_JUDGE_IN, ETH2, false, true},
		{"ingress of a stranger", routed, SHUNT_JUDGE_IN, OTHER, false, false},
		{"ingress of every device", routed, SHUNT_JUDGE_IN, 0, true, true},
		{"ingress of the bridge", mixed, SHUNT_JUDGE_IN, BR0, true, true},
		{"ingress, bridge of shunt's own", alone, SHUNT_JUDGE_IN, ETH1, true, false},
		{"egress of a port", routed, SHUNT_JUDGE_OUT, ETH1, false, true},
		{"egress of the other", bridged, SHUNT_JUDGE_OUT, ETH2, true, false},
		{"egress of a stranger", bridged, SHUNT_JUDGE_OUT, OTHER, false, false},
		{"egress of every device", bridged, SHUNT_JUDGE_OUT, 0, true, true},
		{"egress of the bridge", mixed, SHUNT_JUDGE_OUT, BR0, true, true},
	};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(rows); i++) {
		struct shunt_judges judges = {0};

		shunt_judges_add(&judges, SHUNT_JUDGE_nftables, rows[i].place, rows[i].ifindex,
				 "t");
		cr_expect_eq(!!shunt_judge_find(&judges, rows[i].ports, 2, 0), rows[i].first,
			     "%s: 0", rows[i].name);
		cr_expect_eq(!!shunt_judge_find(&judges, rows[i].ports, 2, 1), rows[i].second,
			     "%s: 1", rows[i].name);
	}
}

Test(judge, nothing_judges_nobody)
{
	const struct shunt_judges none = {0};
	const struct shunt_judged memory = {.leave_by = 1, .is_routed = true};
	struct shunt_judges all = {0};

	cr_expect_null(shunt_judge_find(&none, routed, 2, 0));
	shunt_judges_add(&all, SHUNT_JUDGE_nftables, SHUNT_JUDGE_IP, 0, "t");
	cr_expect_null(shunt_judge_find(&all, &memory, 1, 0), "no device");
}

Test(judge, those_of_a_kind_are_counted)
{
	struct shunt_judges judges = {0}, same = {0};
	char text[64], cut[12];

	shunt_judges_add(&judges, SHUNT_JUDGE_nftables, SHUNT_JUDGE_IP, 0, "%s forward", "inet f");
	shunt_judge_print(&judges.at[0], text, sizeof(text));
	cr_expect_str_eq(text, "nftables inet f forward");
	same = judges;
	cr_expect(shunt_judges_equal(&judges, &same));
	shunt_judges_add(&judges, SHUNT_JUDGE_nftables, SHUNT_JUDGE_IP, 0, "ip nat post");
	cr_expect_eq(judges.cnt, 1);
	cr_expect_not(shunt_judges_equal(&judges, &same));
	shunt_judge_print(&judges.at[0], text, sizeof(text));
	cr_expect_str_eq(text, "nftables inet f forward and 1 more");
	shunt_judge_print(&judges.at[0], cut, sizeof(cut));
	cr_expect_str_eq(cut, "nftables in");
}

/* More than the list can hold: everything is judged, no port is forgotten. */
Test(judge, a_full_list_judges_everything)
{
	struct shunt_judges judges = {0};
	int i;

	for (i = 0; i <= SHUNT_JUDGES_MAX; i++)
		shunt_judges_add(&judges, SHUNT_JUDGE_tc, SHUNT_JUDGE_OUT, 100 + i, "filter");
	cr_assert_eq(judges.cnt, SHUNT_JUDGES_MAX);
	cr_expect_not_null(shunt_judge_find(&judges, routed, 2, 0));
	cr_expect_not_null(shunt_judge_find(&judges, alone, 2, 1));
}
