/* SPDX-License-Identifier: BSD-2-Clause */
/* Words of the command line, which may be shortened while they stay unambiguous. */
#ifndef SHUNTCTL_WORDS_H
#define SHUNTCTL_WORDS_H

#include "base/err.h"

struct shuntctl_word {
	const char *name, *help;
};

/* shuntctl_words_find looks word up among cnt words; the whole name always counts.
 * Returns its index, or -EINVAL with err set: unknown or ambiguous, and what there
 * is. what names the kind of word, such as "object". */
int shuntctl_words_find(const struct shuntctl_word *words, unsigned cnt, const char *word,
			const char *what, struct shunt_err *err);

#endif
