/* SPDX-License-Identifier: BSD-2-Clause */
/* One key of the configuration as data, and what can be done with every key: set its default, read
 * it from text, check its range, print it as JSON. A file's text and an option's are read alike.
 * The rows are in keys.h.
 *
 * Limit: scalars only. load.c and print.c know what a LIST holds. */
#ifndef SHUNT_CONFIG_KEY_H
#define SHUNT_CONFIG_KEY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SHUNT_KEY_EXPECTED_MAX 224 /* bytes of what shunt_key_expected writes */

enum shunt_key_type {
	SHUNT_KEY_NUMBER,
	SHUNT_KEY_FLAG,
	SHUNT_KEY_WORD,
	SHUNT_KEY_TEXT,
	SHUNT_KEY_LIST,
};

struct shunt_key {
	const char *name; /* NULL ends a table */
	enum shunt_key_type type;
	size_t offset; /* of the member; none of a LIST */
	size_t size;   /* TEXT: of the member */
	bool must;     /* the file must have it */
	/* Which ports have it, bit 1 << kind; which entries of forward, bit 1 << mode. 0: all. */
	uint32_t kinds;
	/* the default, 0 or "" if not named */
	uint32_t number; /* NUMBER, WORD */
	const char *text;
	/* what it may be */
	const char *const *words; /* WORD: by value, NULL ends them */
	uint32_t min, max;	  /* NUMBER: max 0 for any; LIST: how many entries */
	bool power_of_2;
	const char *zero; /* NUMBER: 0 is allowed as well, and means this */
	const char *unit;
	const char *none;  /* TEXT: the word for ""; without one "" is not printed */
	uint32_t text_max; /* LIST: its entries are texts of 1 to text_max characters */
	bool is_map;	   /* LIST: a mapping with keys of its own, no list */
	/* the option; a FLAG without arg takes no argument, with arg that very word */
	char letter;
	const char *option, *arg;
	const char *help; /* words, range and default are added to it */
};

extern const struct shunt_key shunt_config_keys[];  /* struct shunt_config */
extern const struct shunt_key shunt_workers_keys[]; /* struct shunt_workers_config */
extern const struct shunt_key shunt_port_keys[];    /* struct shunt_port_config */
extern const struct shunt_key shunt_forward_keys[]; /* struct shunt_pair_config, ..group_config */

/* shunt_key_find returns the key of that name, or NULL. Thread: any. */
const struct shunt_key *shunt_key_find(const struct shunt_key *keys, const char *name);

/* shunt_key_is_of says whether ports of that kind (entries of that mode) have the key.
 * Thread: any. */
static inline bool shunt_key_is_of(const struct shunt_key *key, unsigned kind)
{
	return !key->kinds || key->kinds & 1u << kind;
}

/* shunt_key_default puts the default of every key of the table into the structure at base.
 * Thread: any. */
void shunt_key_default(const struct shunt_key *keys, void *base);

/* shunt_key_parse puts a text's value into the key's member at base. Returns 0, or -EINVAL with
 * nothing changed where the text is not of the key's type (shunt_key_expected). shunt_key_check
 * checks the range. Thread: any. */
int shunt_key_parse(const struct shunt_key *key, const char *text, void *base);

/* shunt_key_number reads a whole number of min to max, decimal or, with 0x, hexadecimal. Returns 0
 * or -EINVAL. Thread: any. */
int shunt_key_number(const char *text, int64_t min, int64_t max, int64_t *out);

/* shunt_key_expected writes what shunt_key_parse takes, such as "true or false", in words for an
 * option (is_option) or for a file. Thread: any. */
void shunt_key_expected(const struct shunt_key *key, bool is_option,
			char buf[SHUNT_KEY_EXPECTED_MAX]);

/* shunt_key_range writes a NUMBER's range, such as "1 to 256"; "": any number. Thread: any. */
void shunt_key_range(const struct shunt_key *key, char buf[SHUNT_KEY_EXPECTED_MAX]);

/* shunt_key_check checks the value of the member at base. Returns 0, or -EINVAL with err set, such
 * as "batch is 257, expected 1 to 256". Thread: any. */
int shunt_key_check(const struct shunt_key *key, const void *base, struct shunt_err *err);

/* shunt_key_json returns the member at base as a new reference; NULL where nothing is printed, such
 * as a LIST. Thread: any. */
json_t *shunt_key_json(const struct shunt_key *key, const void *base);

#endif
