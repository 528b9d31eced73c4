// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "journal/ntuple.h"
#include "device/ntuple.h"
#include "steer/filter.h"

TestSuite(filter, .timeout = 120);

Test(filter, what_is_printed_is_read_again)
{
	static const char *const texts[] = {
		"ipv4 proto udp dport 4789 queue 1",
		"from 10.0.0.0/8 to 192.0.2.1/32 queue 0 location 3",
		"from 2001:db8::/32 proto tcp sport 179 queue 2",
		"ethertype 0x88f7 queue 1",
		"ipv6 queue 7",
		"src-mac 02:00:00:00:00:01 vlan-priority 5 queue 2",
		"dst-mac 02:00:00:00:00:02 vlan 12 vlan-priority 0 queue 2 location 0",
	};
	char text[SHUNT_FILTER_TEXT_MAX];
	struct shunt_filter filter;
	struct shunt_err err;
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(texts); i++) {
		cr_assert_eq(shunt_filter_parse(texts[i], &filter, &err), 0, "%s", err.msg);
		cr_expect_eq(shunt_filter_print(&filter, text, sizeof(text)),
			     (int)strlen(texts[i]));
		cr_expect_str_eq(text, texts[i]);
		cr_expect_eq(shunt_filter_print(&filter, text, 10), (int)strlen(texts[i]));
		cr_expect_eq(strlen(text), 9);
	}
	cr_assert_eq(shunt_filter_parse("queue 1 proto udp ipv4 dport 53", &filter, &err), 0);
	shunt_filter_print(&filter, text, sizeof(text));
	cr_expect_str_eq(text, "ipv4 proto udp dport 53 queue 1");
}

Test(filter, what_a_nic_cannot_do_is_refused_with_the_reason)
{
	static const struct {
		const char *text, *word;
	} bad[] = {
		{"", "no queue"},
		{"ethertype 0x88f7", "no queue"},
		{"queue 1", "nothing to compare"},
		{"ethertype 0x88f7 queue", "needs a value"},
		{"ethertype 0x88f7 queue x", "queue is 'x', expected a number"},
		{"ethertype 0x88f7 queue -1", "queue is '-1'"},
		{"ethertype 0x88f7 queue 1 queue 2", "'queue' is there twice"},
		{"ethertype 0x88f7 queue 1 location 70000", "location is '70000'"},
		{"ethertype 1 queue 1", "'1' is no ethertype"},
		{"ethertype", "needs a value"},
		{"vlan 4096 queue 1", "0 to 4095"},
		{"vlan-priority 8 queue 1", "0 to 7"},
		{"src-mac 02:00:00 queue 1", "expected a MAC address"},
		{"src-mac 02:+0:00:00:00:01 queue 1", "expected a MAC address"},
		{"ipv4 proto tcp dport 1-2 queue 1", "no range"},
		{"proto tcp dport 1 queue 1", "add ipv4 or ipv6"},
		{"ipv4 dport 1 queue 1", "ports need proto"},
		{"from 10.0.0.0/8 src-mac 02:00:00:00:00:01 queue 1", "not both"},
		{"from 10.0.0.0/8 lane user queue 1", "'lane' is no word of a filter"},
		{"quue 1", "'quue' is no word of a filter"},
	};
	struct shunt_filter filter;
	struct shunt_err err;
	char text[300];
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(bad); i++) {
		err.msg[0] = 0;
		cr_expect_neq(shunt_filter_parse(bad[i].text, &filter, &err), 0, "%s", bad[i].text);
		cr_expect(strstr(err.msg, bad[i].word), "no '%s' in: %s", bad[i].word, err.msg);
		cr_expect(!strncmp(err.msg, "filter '", 8), "%s", err.msg);
	}
	memset(text, ' ', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	cr_expect_neq(shunt_filter_parse(text, &filter, &err), 0);
}

Test(filter, the_last_free_place_is_taken)
{
	static struct shunt_ntuple table = {.size = 4};
	static const int places[] = {3, 1, 0};
	unsigned i;

	shunt_ntuple_take(&table, 2);
	for (i = 0; i < 3; i++) {
		cr_assert_eq(shunt_ntuple_free(&table), places[i]);
		shunt_ntuple_take(&table, (uint32_t)places[i]);
	}
	cr_expect_eq(shunt_ntuple_free(&table), -ENOSPC);
}

Test(filter, a_journals_entries_come_back_as_they_were)
{
	static struct shunt_journal_ntuple n = {.is_turned_on = true}, back;
	char *text = NULL, *line, *rest;
	struct shunt_err err;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert_eq(shunt_filter_parse("ethertype 0x88f7 queue 1 location 15", &n.filters[n.cnt++],
					&err),
		     0);
	cr_assert_eq(shunt_filter_parse("ipv4 proto udp dport 53 queue 0 location 3",
					&n.filters[n.cnt++], &err),
		     0);
	shunt_journal_ntuple_print(&n, ">", out);
	fclose(out);
	cr_assert_str_eq(text, ">ethertype 0x88f7 queue 1 location 15\n"
			       ">ipv4 proto udp dport 53 queue 0 location 3\n>on\n");
	for (line = text; *line; line = rest + 1) {
		char copy[100];

		rest = strchr(line, '\n');
		snprintf(copy, sizeof(copy), "%.*s", (int)(rest - line), line + 1);
		cr_assert_eq(shunt_journal_ntuple_parse(&back, copy), 0, "%s", copy);
	}
	cr_expect_eq(back.cnt, 2);
	cr_expect_eq(back.filters[0].location, 15);
	cr_expect_eq(back.filters[1].match.dport.min, 53);
	cr_expect(back.is_turned_on);
	cr_expect_neq(shunt_journal_ntuple_parse(&back, "ethertype 0x88f7 queue 1\n"), 0);
	cr_expect_neq(shunt_journal_ntuple_parse(&back, "ethertype 0x88f7 queue 1 location 3"), 0);
	cr_expect_neq(shunt_journal_ntuple_parse(&back, "\n"), 0);
	free(text);
}
