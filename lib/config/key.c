// SPDX-License-Identifier: BSD-2-Clause
#include "config/key.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "config/config.h"

/* Lists of words, in the order of their values. */
#define X(name, word)	 #word,
#define POLL(name, help) #name,
static const char *const port_kind_words[] = {SHUNT_PORT_KINDS(X) NULL};
static const char *const driver_mode_words[] = {SHUNT_DRIVER_MODES(X) NULL};
static const char *const copy_mode_words[] = {SHUNT_COPY_MODES(X) NULL};
static const char *const forward_mode_words[] = {SHUNT_FORWARD_MODES(X) NULL};
static const char *const lane_request_words[] = {SHUNT_LANE_REQUESTS(X) NULL};
static const char *const firewall_mode_words[] = {SHUNT_FIREWALL_MODES(X) NULL};
static const char *const policy_routing_words[] = {SHUNT_POLICY_ROUTINGS(X) NULL};
static const char *const capture_right_words[] = {SHUNT_CAPTURES(X) NULL};
static const char *const on_death_words[] = {SHUNT_ON_DEATHS(X) NULL};
static const char *const poll_mode_words[] = {SHUNT_POLL_MODES(POLL) NULL};
#undef X
#undef POLL

static int find_word(const char *const *words, const char *text)
{
	int i;

	for (i = 0; words[i]; i++)
		if (!strcmp(words[i], text))
			return i;
	return -EINVAL;
}

#define NAMER(noun)                                                                              \
	const char *shunt_##noun##_name(enum shunt_##noun value)                                 \
	{                                                                                        \
		return (unsigned)value < SHUNT_ARRAY_LEN(noun##_words) - 1 ? noun##_words[value] \
									   : "?";                \
	}

NAMER(port_kind)
NAMER(driver_mode)
NAMER(copy_mode)
NAMER(forward_mode)
NAMER(lane_request)
NAMER(firewall_mode)
NAMER(policy_routing)
NAMER(capture_right)
NAMER(on_death)

int shunt_forward_mode_parse(const char *name)
{
	return find_word(forward_mode_words, name);
}

#define AT(key, type_, member, ...) \
	{.name = #key, .type = SHUNT_KEY_##type_, .offset = offsetof(S, member), __VA_ARGS__},
#define NUMBER(key, member, ...)     AT(key, NUMBER, member, __VA_ARGS__)
#define FLAG(key, member, ...)	     AT(key, FLAG, member, __VA_ARGS__)
#define WORD(key, member, noun, ...) AT(key, WORD, member, .words = noun##_words, __VA_ARGS__)
#define TEXT(key, member, len, ...)  AT(key, TEXT, member, .size = (len), __VA_ARGS__)
#define LIST(key, ...)		     {.name = #key, .type = SHUNT_KEY_LIST, __VA_ARGS__},
#define ROWS(LIST_OF_KEYS)                                   \
	{                                                    \
		LIST_OF_KEYS(NUMBER, FLAG, WORD, TEXT, LIST) \
		{                                            \
			.name = NULL                         \
		}                                            \
	}

#define S struct shunt_config
const struct shunt_key shunt_config_keys[] = ROWS(SHUNT_CONFIG_KEYS);
#undef S
#define S struct shunt_workers_config
const struct shunt_key shunt_workers_keys[] = ROWS(SHUNT_WORKERS_KEYS);
#undef S
#define S struct shunt_port_config
const struct shunt_key shunt_port_keys[] = ROWS(SHUNT_PORT_KEYS);
#undef S
/* Pairs and groups begin with the same members (config.h): the offsets hold for both. */
#define S struct shunt_pair_config
const struct shunt_key shunt_forward_keys[] = ROWS(SHUNT_FORWARD_KEYS);
#undef S

const struct shunt_key *shunt_key_find(const struct shunt_key *keys, const char *name)
{
	for (; keys->name; keys++)
		if (!strcmp(keys->name, name))
			return keys;
	return NULL;
}

static void put(const struct shunt_key *key, void *base, uint32_t number, const char *text)
{
	char *member = (char *)base + key->offset;
	bool is_true = number;

	switch (key->type) {
	case SHUNT_KEY_NUMBER:
	case SHUNT_KEY_WORD:
		memcpy(member, &number, sizeof(number));
		break;
	case SHUNT_KEY_FLAG:
		memcpy(member, &is_true, sizeof(is_true));
		break;
	case SHUNT_KEY_TEXT:
		snprintf(member, key->size, "%s", text ? text : "");
		break;
	case SHUNT_KEY_LIST:
		break;
	}
}

static uint32_t number_at(const struct shunt_key *key, const void *base)
{
	uint32_t number;

	memcpy(&number, (const char *)base + key->offset, sizeof(number));
	return number;
}

void shunt_key_default(const struct shunt_key *keys, void *base)
{
	for (; keys->name; keys++)
		put(keys, base, keys->number, keys->text);
}

/* No octal number, no sign but '-', no unit behind. */
static bool is_number(const char *text)
{
	size_t n;

	text += *text == '-';
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		n = strspn(text + 2, "0123456789abcdefABCDEF");
		return n && !text[2 + n];
	}
	n = strspn(text, "0123456789");
	return n && !text[n] && (n == 1 || text[0] != '0');
}

int shunt_key_number(const char *text, int64_t min, int64_t max, int64_t *out)
{
	if (!is_number(text))
		return -EINVAL;
	errno = 0;
	*out = strtoll(text, NULL, 0);
	return !errno && *out >= min && *out <= max ? 0 : -EINVAL;
}

static int parse_flag(const char *text)
{
	if (!strcmp(text, "true") || !strcmp(text, "yes"))
		return 1;
	return !strcmp(text, "false") || !strcmp(text, "no") ? 0 : -EINVAL;
}

int shunt_key_parse(const struct shunt_key *key, const char *text, void *base)
{
	int64_t number = 0;
	int ret = 0;

	switch (key->type) {
	case SHUNT_KEY_NUMBER:
		ret = shunt_key_number(text, 0, UINT32_MAX, &number);
		break;
	case SHUNT_KEY_FLAG:
		number = ret = parse_flag(text);
		break;
	case SHUNT_KEY_WORD:
		number = ret = find_word(key->words, text);
		break;
	case SHUNT_KEY_TEXT:
		ret = *text && strlen(text) < key->size ? 0 : -EINVAL;
		if (key->none && !strcmp(text, key->none))
			text = "";
		break;
	case SHUNT_KEY_LIST:
		return -EINVAL;
	}
	if (ret < 0)
		return ret;
	put(key, base, (uint32_t)number, text);
	return 0;
}

static void append(char buf[SHUNT_KEY_EXPECTED_MAX], const char *text)
{
	size_t used = strlen(buf);

	snprintf(buf + used, SHUNT_KEY_EXPECTED_MAX - used, "%s", text);
}

static void expected_word(const char *const *words, bool is_option,
			  char buf[SHUNT_KEY_EXPECTED_MAX])
{
	unsigned i;

	append(buf, is_option ? "" : "one of ");
	for (i = 0; words[i]; i++) {
		append(buf, !i ? "" : is_option && !words[i + 1] ? " or " : ", ");
		append(buf, words[i]);
	}
}

void shunt_key_expected(const struct shunt_key *key, bool is_option,
			char buf[SHUNT_KEY_EXPECTED_MAX])
{
	*buf = 0;
	if (key->type == SHUNT_KEY_WORD)
		expected_word(key->words, is_option, buf);
	else if (key->type == SHUNT_KEY_TEXT)
		snprintf(buf, SHUNT_KEY_EXPECTED_MAX, "text of 1 to %zu characters", key->size - 1);
	else if (key->type == SHUNT_KEY_FLAG)
		append(buf, key->arg && is_option ? key->arg : "true or false");
	else
		append(buf, is_option ? "a whole number" : "a whole number from 0 to 4294967295");
}

void shunt_key_range(const struct shunt_key *key, char buf[SHUNT_KEY_EXPECTED_MAX])
{
	const char *format = "%" PRIu32 " to %" PRIu32;

	*buf = 0;
	if (key->power_of_2)
		format = key->max == 2 * key->min ? "%" PRIu32 " or %" PRIu32
						  : "a power of two from %" PRIu32 " to %" PRIu32;
	if (key->max)
		snprintf(buf, SHUNT_KEY_EXPECTED_MAX, format, key->min, key->max);
	append(buf, key->unit ? " " : "");
	append(buf, key->unit ? key->unit : "");
}

static uint32_t nearest_power_of_2(const struct shunt_key *key, uint32_t value)
{
	uint32_t up = key->min;

	while (up < value && up < key->max)
		up *= 2;
	if (up > key->min && value < up && value - up / 2 < up - value)
		up /= 2;
	return up;
}

static int check_number(const struct shunt_key *key, uint32_t value, struct shunt_err *err)
{
	char range[SHUNT_KEY_EXPECTED_MAX], nearest[40] = "";

	if (!key->max || (key->zero && !value) ||
	    (value >= key->min && value <= key->max &&
	     (!key->power_of_2 || shunt_is_power_of_2(value))))
		return 0;
	shunt_key_range(key, range);
	if (key->power_of_2 && key->max > 2 * key->min)
		snprintf(nearest, sizeof(nearest), ": the nearest is %" PRIu32,
			 nearest_power_of_2(key, value));
	return shunt_err_set(err, EINVAL, "%s is %" PRIu32 ", expected %s%s%s%s", key->name, value,
			     range, nearest, key->zero ? ", or 0 for " : "",
			     key->zero ? key->zero : "");
}

int shunt_key_check(const struct shunt_key *key, const void *base, struct shunt_err *err)
{
	uint32_t i, value;

	if (key->type != SHUNT_KEY_NUMBER && key->type != SHUNT_KEY_WORD)
		return 0;
	value = number_at(key, base);
	if (key->type == SHUNT_KEY_NUMBER)
		return check_number(key, value, err);
	for (i = 0; key->words[i]; i++)
		if (i == value)
			return 0;
	return shunt_err_set(err, EINVAL, "%s is %" PRIu32 ", which is none of its words",
			     key->name, value);
}

json_t *shunt_key_json(const struct shunt_key *key, const void *base)
{
	const char *member = (const char *)base + key->offset;

	switch (key->type) {
	case SHUNT_KEY_NUMBER:
		return json_integer(number_at(key, base));
	case SHUNT_KEY_FLAG:
		return json_boolean(*member);
	case SHUNT_KEY_WORD:
		return json_string(key->words[number_at(key, base)]);
	case SHUNT_KEY_TEXT:
		return *member ? json_string(member) : key->none ? json_string(key->none) : NULL;
	case SHUNT_KEY_LIST:
		break;
	}
	return NULL;
}
