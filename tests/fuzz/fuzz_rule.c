// SPDX-License-Identifier: BSD-2-Clause
/* A text as a rule, as a filter of a NIC, and as the words of a share: what is accepted prints as a
 * text that means the same, and the shares of what is accepted are the whole. */
#include <string.h>

#include "choice/share.h"
#include "fuzz.h"
#include "steer/filter.h"
#include "steer/rule.h"

#define WORDS_MAX 8

/* --- rules ------------------------------------------------------------------------------------ */

static void parse_again(const char *printed, const struct shunt_steer_rule *compiled)
{
	char again[SHUNT_RULE_TEXT_MAX];
	struct shunt_steer_rule other;
	struct shunt_rule rule;
	struct shunt_err err;

	FUZZ_MUST(!shunt_rule_parse(printed, &rule, &err), "'%s': %s", printed, err.msg);
	shunt_rule_print(&rule, again, sizeof(again));
	FUZZ_MUST(!strcmp(printed, again), "'%s' became '%s'", printed, again);
	memset(&other, 0, sizeof(other));
	shunt_rule_compile(&rule, &other);
	FUZZ_MUST(!memcmp(compiled, &other, sizeof(other)), "'%s' compiles otherwise", printed);
}

static void try_rule(const char *text)
{
	char printed[SHUNT_RULE_TEXT_MAX];
	struct shunt_steer_rule compiled;
	struct shunt_rule rule;
	struct shunt_err err = {""};
	int len;

	if (shunt_rule_parse(text, &rule, &err)) {
		FUZZ_MUST(err.msg[0], "refused without a sentence");
		return;
	}
	len = shunt_rule_print(&rule, printed, sizeof(printed));
	FUZZ_MUST(len > 0 && len < (int)sizeof(printed), "%d characters", len);
	memset(&compiled, 0, sizeof(compiled));
	shunt_rule_compile(&rule, &compiled);
	parse_again(printed, &compiled);
}

/* --- filters ---------------------------------------------------------------------------------- */

static void try_filter(const char *text)
{
	char printed[SHUNT_FILTER_TEXT_MAX], again[SHUNT_FILTER_TEXT_MAX];
	struct shunt_filter filter;
	struct shunt_err err = {""};
	int len;

	if (shunt_filter_parse(text, &filter, &err)) {
		FUZZ_MUST(err.msg[0], "refused without a sentence");
		return;
	}
	len = shunt_filter_print(&filter, printed, sizeof(printed));
	FUZZ_MUST(len > 0 && len < (int)sizeof(printed), "%d characters", len);
	FUZZ_MUST(!shunt_filter_parse(printed, &filter, &err), "'%s': %s", printed, err.msg);
	shunt_filter_print(&filter, again, sizeof(again));
	FUZZ_MUST(!strcmp(printed, again), "'%s' became '%s'", printed, again);
}

/* --- shares ----------------------------------------------------------------------------------- */

/* Cuts text, which it writes to, at its blanks. */
static void try_share(char *text)
{
	const char *words[WORDS_MAX];
	struct shunt_lane_share share;
	struct shunt_err err = {""};
	unsigned cnt = 0, sum = 0, i;
	char *rest, *word;

	for (word = strtok_r(text, " ", &rest); word && cnt < WORDS_MAX;
	     word = strtok_r(NULL, " ", &rest))
		words[cnt++] = word;
	if (!cnt)
		return;
	if (shunt_lane_share_parse(&share, words, cnt, &err)) {
		FUZZ_MUST(err.msg[0], "refused without a sentence");
		return;
	}
	for (i = 0; i < SHUNT_LANE_CNT; i++)
		sum += share.percent[i];
	FUZZ_MUST(sum == (share.is_set ? 100 : 0), "the shares are %u per cent", sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = 0;
	try_rule(text);
	try_filter(text);
	try_share(text);
	free(text);
	return 0;
}
