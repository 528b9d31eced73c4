/* SPDX-License-Identifier: BSD-2-Clause */
/* The options as one table: those of the configuration's keys (config/keys.h), and shuntd's own. */
#ifndef SHUNTD_ARGS_OPTION_H
#define SHUNTD_ARGS_OPTION_H

#include <getopt.h>
#include <stdio.h>

#include "args.h"
#include "config/key.h"

#define SHUNTD_OPTION_MAX 96

/* What an option is of, and so which structure its key's member is in. */
enum shuntd_scope {
	SHUNTD_OWN,	/* struct shuntd_args */
	SHUNTD_DAEMON,	/* struct shunt_config */
	SHUNTD_WORKERS, /* LISTs only */
	SHUNTD_PORT,	/* every port that is of the kind */
	SHUNTD_FORWARD, /* every pair and group */
	SHUNTD_SCOPE_CNT
};

struct shuntd_options {
	struct option
		longs[SHUNTD_OPTION_MAX + 1]; /* for getopt_long; val is the letter or place */
	char shorts[2 * SHUNTD_OPTION_MAX + 2];
	struct {
		const struct shunt_key *key;
		enum shuntd_scope scope;
	} of[SHUNTD_OPTION_MAX];
	unsigned cnt;
};

/* shuntd_options_init collects them. Thread: init. */
void shuntd_options_init(struct shuntd_options *options);

/* shuntd_options_apply puts the value of the option that getopt_long returned in force; text is
 * its argument, NULL without. The ports are there already. Returns 0 or -errno with err set.
 * Thread: init. */
int shuntd_options_apply(const struct shuntd_options *options, int opt, const char *text,
			 struct shuntd_args *args, struct shunt_err *err);

/* shuntd_options_help writes what --help says of each. Thread: init. */
void shuntd_options_help(FILE *out);

/* shuntd_option_set reads the text of a key's option. Returns 0 or -EINVAL with err set.
 * Thread: init. */
int shuntd_option_set(const struct shunt_key *key, const char *text, void *base,
		      struct shunt_err *err);

#endif
