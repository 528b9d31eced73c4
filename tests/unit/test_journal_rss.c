// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "journal/rss.h"

static char *printed(const struct shunt_journal_rss *r)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	shunt_journal_rss_print(r, out);
	fclose(out);
	return text;
}

Test(journal_rss, an_entry_comes_back_as_it_was)
{
	static const uint32_t sizes[] = {1, 2, 128, SHUNT_RSS_MAX};
	static struct shunt_journal_rss r, back;
	unsigned i, k;

	for (i = 0; i < 4; i++) {
		char *text;

		r.queues = 3;
		shunt_rss_spread(&r.was, sizes[i], 1024);
		text = printed(&r);
		cr_assert_lt(strlen(text), (size_t)SHUNT_JOURNAL_LINE_MAX - 100);
		cr_assert_eq(shunt_journal_rss_parse(&back, text), 0, "%s", text);
		cr_expect_eq(back.queues, 3);
		cr_assert_eq(back.was.cnt, sizes[i]);
		for (k = 0; k < sizes[i]; k++)
			cr_expect_eq(back.was.queue[k], k % 1024);
		free(text);
	}
}

Test(journal_rss, the_kernels_own_table_is_an_entry_without_numbers)
{
	static struct shunt_journal_rss r = {.queues = 3, .was_default = true}, back;
	char *text;

	shunt_rss_spread(&r.was, 128, 8);
	text = printed(&r);
	cr_expect_str_eq(text, "3 default\n");
	cr_assert_eq(shunt_journal_rss_parse(&back, text), 0);
	cr_expect(back.was_default && back.queues == 3 && !back.was.cnt);
	free(text);
}

Test(journal_rss, what_is_cut_off_or_nonsense_is_not_taken)
{
	static const char *const bad[] = {"",	     "3",	  "3 \n",	"0 1,2\n",
					  "3 1,\n",  "3 1,2x\n",  "x 1\n",	"3 1,2",
					  "3,1,2\n", "3 default", "0 default\n"};
	static struct shunt_journal_rss r;
	unsigned i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_expect_neq(shunt_journal_rss_parse(&r, bad[i]), 0, "%s", bad[i]);
}

Test(journal_rss, a_spread_table_is_known_for_one)
{
	static struct shunt_rss rss;

	shunt_rss_spread(&rss, 128, 3);
	cr_expect(shunt_rss_is_spread(&rss, 3));
	cr_expect_not(shunt_rss_is_spread(&rss, 2));
	rss.queue[127] = 0;
	cr_expect_not(shunt_rss_is_spread(&rss, 3));
}
