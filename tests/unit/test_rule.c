// SPDX-License-Identifier: BSD-2-Clause
/* The grammar of steering rules: what is read, what is refused and with which words,
 * and that print and parse agree. */
#include <errno.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/bytes.h"
#include "steer/rule.h"
#include "steer/steer.h"

Test(rule, prints_what_it_reads)
{
	/* Second text NULL: the first comes back unchanged. */
	static const char *const cases[][2] = {
		{"from 10.0.0.0/8 lane kernel", NULL},
		{"from 10.0.0.0/8 to 192.0.2.0/24 proto tcp sport 1024-65535 dport 22 lane drop",
		 NULL},
		{"to 2001:db8::/32 proto 99 lane user", NULL},
		{"to 2001:db8::1/128 lane user", NULL},
		{"to 2001:db8::1 lane user", "to 2001:db8::1/128 lane user"},
		{"proto 99 lane xdp", NULL},
		{"proto 99 lane auto", NULL},
		{"from 10.1.2.3 lane user", "from 10.1.2.3/32 lane user"},
		{"lane kernel", NULL},
		{"ipv4 lane kernel", NULL},
		{"ipv6 proto icmpv6 lane kernel", NULL},
		{"ipv4 from 10.0.0.0/8 lane user", "from 10.0.0.0/8 lane user"},
		{"from any to any lane drop", "lane drop"},
		{"from 0.0.0.0/0 lane drop", "ipv4 lane drop"},
		{"from ::/0 lane drop", "ipv6 lane drop"},
		{"lane drop dport 0x35 proto udp", "proto udp dport 53 lane drop"},
		{"proto 6 dport 22-22 lane drop", "proto tcp dport 22 lane drop"},
		{"proto 255 lane user", NULL},
		{"proto 0 lane user", NULL},
		{"proto ospf lane kernel", NULL},
		{"ethertype arp lane drop", "ethertype 0x0806 lane drop"},
		{"ethertype 0x600 lane drop", "ethertype 0x0600 lane drop"},
		{"ethertype 65535 lane drop", "ethertype 0xffff lane drop"},
		{"proto tcp sport 0-65535 lane user", "proto tcp lane user"},
		{"proto sctp sport 0 lane user", NULL},
		{"  \tlane\n user ", "lane user"},
	};
	struct shunt_rule rule, again;
	struct shunt_err err = {0};
	char text[SHUNT_RULE_TEXT_MAX], text2[SHUNT_RULE_TEXT_MAX];

	for (size_t i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		const char *want = cases[i][1] ?: cases[i][0];
		int len;

		cr_assert_eq(shunt_rule_parse(cases[i][0], &rule, &err), 0, "%s", err.msg);
		len = shunt_rule_print(&rule, text, sizeof(text));
		cr_expect_str_eq(text, want);
		cr_expect_eq((size_t)len, strlen(want));
		cr_assert_eq(shunt_rule_parse(text, &again, &err), 0, "%s", err.msg);
		shunt_rule_print(&again, text2, sizeof(text2));
		cr_expect_str_eq(text2, text);
	}
}

Test(rule, refuses_and_says_why)
{
	/* The rule, and words that its sentence must hold. */
	static const char *const cases[][2] = {
		{"", "no lane; end it with"},
		{"from 10.0.0.0/8", "no lane"},
		{"lane", "'lane' needs a value"},
		{"lane fast", "'fast' is no lane; expected user, kernel, drop, xdp or auto"},
		{"lane user lane user", "'lane' is there twice"},
		{"frum 10.0.0.0/8 lane user", "'frum' is no word of a rule; expected from"},
		{"from 10.0.0.1/8 lane user", "'10.0.0.1/8' has bits set behind its prefix of 8"},
		{"from 10.128.0.0/8 lane user", "bits set"},
		{"from 2001:db8::1/127 lane user", "bits set"},
		{"from 10.0.0.0/33 lane user", "a number from 0 to 32"},
		{"from 10.0.0.0/ lane user", "a number from 0 to 32"},
		{"from 10.0.0.0/-1 lane user", "a number from 0 to 32"},
		{"from 10.0.0.0/8x lane user", "a number from 0 to 32"},
		{"from ::/129 lane user", "a number from 0 to 128"},
		{"from 10.0.0 lane user", "'10.0.0' is no address"},
		{"from 10.0.0.256 lane user", "is no address"},
		{"from /8 lane user", "is no address"},
		{"from lane user", "'lane' is no address"},
		{"from 10.0.0.0/8 to 2001:db8::/32 lane user", "'2001:db8::/32' is IPv6 but"},
		{"ipv6 from 10.0.0.0/8 lane user", "is IPv4 but the rule speaks of IPv6"},
		{"ipv4 ipv6 lane user", "'ipv6' is IPv6 but"},
		{"sport 5 lane user", "ports need proto tcp"},
		{"dport 5 proto icmp lane user", "ports need proto tcp"},
		{"dport 0-65535 lane user", "ports need proto tcp"},
		{"proto tcp dport 9-8 lane user", "'9-8' runs backwards; write 8-9"},
		{"proto tcp dport 65536 lane user", "'65536' is no port"},
		{"proto tcp dport 1-65536 lane user", "'1-65536' is no port"},
		{"proto tcp dport -5 lane user", "'-5' is no port"},
		{"proto tcp dport 5- lane user", "'5-' is no port"},
		{"proto tcp dport ssh lane user", "'ssh' is no port"},
		{"proto tcpp lane user", "'tcpp' is no protocol"},
		{"proto 256 lane user", "'256' is no protocol"},
		{"proto +6 lane user", "'+6' is no protocol"},
		{"ethertype 0x5ff lane user", "'0x5ff' is no ethertype"},
		{"ethertype 0x10000 lane user", "is no ethertype"},
		{"ethertype 0x lane user", "is no ethertype"},
		{"ethertype 0x0800 lane user", "is written ipv4"},
		{"ethertype 0x86dd lane user", "is written ipv6"},
		{"ethertype 0x8100 lane user", "is a VLAN tag"},
		{"ethertype 0x88a8 lane user", "is a VLAN tag"},
		{"ethertype arp proto tcp lane user", "ethertype 0x0806 is not IP"},
		{"ethertype arp from 10.0.0.0/8 lane user", "is not IP"},
		{"ethertype arp ipv4 lane user", "is not IP"},
	};
	struct shunt_rule rule;

	for (size_t i = 0; i < SHUNT_ARRAY_LEN(cases); i++) {
		struct shunt_err err = {0};

		cr_expect_eq(shunt_rule_parse(cases[i][0], &rule, &err), -EINVAL, "'%s'",
			     cases[i][0]);
		cr_expect(strstr(err.msg, cases[i][1]), "'%s' said: %s", cases[i][0], err.msg);
		cr_expect(strncmp(err.msg, "rule '", 6) == 0, "%s", err.msg);
	}
	cr_expect_eq(shunt_rule_parse("lane fast", &rule, NULL), -EINVAL);
}

Test(rule, refuses_what_is_too_long)
{
	struct shunt_err err = {0};
	struct shunt_rule rule;
	char text[4096];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	cr_expect_eq(shunt_rule_parse(text, &rule, &err), -EINVAL);
	cr_expect(strstr(err.msg, "longer than"), "%s", err.msg);
	text[500] = 0;
	cr_expect_eq(shunt_rule_parse(text, &rule, &err), -EINVAL);
	memset(text, ' ', 500);
	memcpy(text, "lane drop", 9);
	cr_expect_eq(shunt_rule_parse(text, &rule, &err), 0, "%s", err.msg);
}

Test(rule, print_stays_in_its_buffer)
{
	struct shunt_rule rule;
	char text[16];

	cr_assert_eq(shunt_rule_parse("from 10.0.0.0/8 proto tcp lane kernel", &rule, NULL), 0);
	memset(text, '#', sizeof(text));
	cr_expect_eq(shunt_rule_print(&rule, text, 8), (int)strlen("from 10.0.0.0/8 proto tcp "
								   "lane kernel"));
	cr_expect_str_eq(text, "from 10");
	cr_expect_eq(text[8], '#');
	cr_expect_gt(shunt_rule_print(&rule, NULL, 0), 8);
}

Test(steer, every_lane_and_reason_has_a_name_and_help)
{
	enum shunt_lane lane;

	for (unsigned i = 0; i < SHUNT_STEER_REASON_CNT; i++) {
		cr_expect_str_neq(shunt_steer_reason_name(i), "?");
		cr_expect_gt(strlen(shunt_steer_reason_help(i)), 10);
		for (unsigned k = 0; k < i; k++)
			cr_expect(shunt_steer_reason_lane(i) != shunt_steer_reason_lane(k) ||
				  strcmp(shunt_steer_reason_name(i), shunt_steer_reason_name(k)));
	}
	for (unsigned i = 0; i < SHUNT_LANE_CNT; i++) {
		cr_expect_eq(shunt_steer_lane_parse(shunt_steer_lane_name(i), &lane), 0);
		cr_expect_eq(lane, i);
	}
	cr_expect_str_eq(shunt_steer_reason_name(SHUNT_STEER_REASON_CNT), "?");
	cr_expect_eq(shunt_steer_lane_parse("", &lane), -EINVAL);
}

Test(steer, counters_add_up_by_lane)
{
	struct shunt_steer_counters sum = {0}, c = {0};

	c.packets[SHUNT_STEER_FORWARD4] = 3;
	c.packets[SHUNT_STEER_RULE_USER] = 4;
	c.packets[SHUNT_STEER_NO_SOCKET] = 5;
	c.packets[SHUNT_STEER_RULE_DROP] = 6;
	c.bytes[SHUNT_LANE_DROP] = 7;
	c.unserved[SHUNT_STEER_FORWARD4] = 5;
	shunt_steer_counters_add(&sum, &c);
	shunt_steer_counters_add(&sum, &c);
	cr_expect_eq(shunt_steer_counters_lane(&sum, SHUNT_LANE_USER), 14);
	cr_expect_eq(shunt_steer_counters_lane(&sum, SHUNT_LANE_KERNEL), 10);
	cr_expect_eq(shunt_steer_counters_lane(&sum, SHUNT_LANE_DROP), 12);
	cr_expect_eq(sum.bytes[SHUNT_LANE_DROP], 14);
	cr_expect_eq(sum.unserved[SHUNT_STEER_FORWARD4], 10);
}
