// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "journal/tags.h"

Test(journal_tags, entries_come_back_as_they_were)
{
	const struct shunt_journal_tags t = {.is_turned_off = {true, true}};
	struct shunt_journal_tags back = {.ifindex = 0};
	char *text = NULL, *line;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	shunt_journal_tags_print(&t, "", out);
	fclose(out);
	cr_expect_str_eq(text, "rx-vlan-hw-parse\nrx-vlan-stag-hw-parse\n");
	cr_expect_eq(shunt_journal_tags_parse(&back, text), 0);
	cr_expect(back.is_turned_off[0] && !back.is_turned_off[1]);
	line = strchr(text, '\n') + 1;
	cr_expect_eq(shunt_journal_tags_parse(&back, line), 0);
	cr_expect(back.is_turned_off[0] && back.is_turned_off[1]);
	free(text);
}

Test(journal_tags, what_is_cut_off_or_nonsense_is_not_taken)
{
	static const char *const bad[] = {"",
					  "\n",
					  "rx-vlan-hw-parse",
					  "rx-vlan-hw-pars\n",
					  "rx-gro\n",
					  "rx-vlan-hw-parse x\n"};
	struct shunt_journal_tags t = {.ifindex = 0};
	unsigned i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_expect_neq(shunt_journal_tags_parse(&t, bad[i]), 0, "%s", bad[i]);
	cr_expect(!t.is_turned_off[0] && !t.is_turned_off[1]);
}

Test(journal_tags, what_is_kept_is_one_entry_a_device)
{
	struct shunt_journal_kept kept = {.cnt = 0};
	struct shunt_journal_tags t = {.ifindex = 3, .is_turned_off = {true}};
	unsigned i;

	shunt_journal_tags_keep(&kept, &t);
	t.is_turned_off[0] = false;
	t.is_turned_off[1] = true;
	shunt_journal_tags_keep(&kept, &t);
	cr_assert_eq(kept.cnt, 1);
	cr_expect(kept.tags[0].is_turned_off[0] && kept.tags[0].is_turned_off[1]);
	for (i = 0; i < SHUNT_PORT_MAX; i++) {
		t.ifindex = 4 + i;
		shunt_journal_tags_keep(&kept, &t);
	}
	cr_expect_eq(kept.cnt, SHUNT_PORT_MAX);
}
