// SPDX-License-Identifier: BSD-2-Clause
/* A rule's text: what is accepted prints as a text that means the same. */
#include <string.h>

#include "fuzz.h"
#include "steer/rule.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), printed[SHUNT_RULE_TEXT_MAX];
	struct shunt_steer_rule compiled;
	struct shunt_rule rule;
	struct shunt_err err = {""};
	int len;

	memcpy(text, data, size);
	text[size] = 0;
	if (!shunt_rule_parse(text, &rule, &err)) {
		len = shunt_rule_print(&rule, printed, sizeof(printed));
		FUZZ_MUST(len > 0 && len < (int)sizeof(printed), "%d characters", len);
		memset(&compiled, 0, sizeof(compiled));
		shunt_rule_compile(&rule, &compiled);
		parse_again(printed, &compiled);
	} else {
		FUZZ_MUST(err.msg[0], "refused without a sentence");
	}
	free(text);
	return 0;
}
