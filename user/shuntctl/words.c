// SPDX-License-Identifier: BSD-2-Clause
#include "words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void list(const struct shuntctl_word *words, unsigned cnt, const char *prefix, char *buf,
		 size_t len)
{
	size_t used = 0;
	unsigned i;

	buf[0] = 0;
	for (i = 0; i < cnt && used < len; i++)
		if (!strncmp(words[i].name, prefix, strlen(prefix)))
			used += (size_t)snprintf(buf + used, len - used, "%s%s", used ? ", " : "",
						 words[i].name);
}

int shuntctl_words_find(const struct shuntctl_word *words, unsigned cnt, const char *word,
			const char *what, struct shunt_err *err)
{
	int found = -1, matches = 0;
	char names[160];
	unsigned i;

	for (i = 0; i < cnt; i++) {
		if (!strcmp(words[i].name, word))
			return (int)i;
		if (*word && !strncmp(words[i].name, word, strlen(word))) {
			found = (int)i;
			matches++;
		}
	}
	if (matches == 1)
		return found;
	list(words, cnt, matches ? word : "", names, sizeof(names));
	if (matches)
		return shunt_err_set(err, EINVAL, "%s '%s' could be any of %s", what, word, names);
	return shunt_err_set(err, EINVAL, "unknown %s '%s', expected one of %s", what, word, names);
}
