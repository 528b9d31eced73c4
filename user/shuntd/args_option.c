// SPDX-License-Identifier: BSD-2-Clause
#include "args_option.h"

#include <errno.h>
#include <string.h>

#include "args_cpu.h"

#define PLACE 256 /* behind every letter */

#define OWN(name_, type_, ...)                                                         \
	{                                                                              \
		.name = name_, .option = name_, .type = SHUNT_KEY_##type_, __VA_ARGS__ \
	}
#define AT(member)	.offset = offsetof(struct shuntd_args, member)
#define TEXT_AT(member) AT(member), .size = sizeof(((struct shuntd_args *)0)->member)

/* version and help have no member: args.c answers them. */
static const struct shunt_key own_keys[] = {
	OWN("config", TEXT, TEXT_AT(config_path), .letter = 'c', .arg = "FILE",
	    .help = "read FILE; the options below change what it says"),
	OWN("check-config", FLAG, AT(check_only),
	    .help = "check line and file, print the configuration in full, exit"),
	OWN("takeover", FLAG, AT(config.takeover),
	    .help = "replace the daemon on the same control socket"),
	OWN("daemon", FLAG, AT(daemonise), .letter = 'd',
	    .help = "go to the background once forwarding"),
	OWN("pidfile", TEXT, TEXT_AT(pidfile), .arg = "PATH", .help = "write the process id there"),
	OWN("no-seccomp", FLAG, AT(no_seccomp), .help = "refuse no system call, for debugging"),
	OWN("verbose", FLAG, AT(verbose), .letter = 'v', .help = "say more on stderr"),
	OWN("version", LIST, .letter = 'V', .help = "print the version"),
	OWN("help", LIST, .letter = 'h', .help = "print this"),
	{.name = NULL},
};

static const struct scope {
	const char *title;
	const struct shunt_key *keys;
} scopes[SHUNTD_SCOPE_CNT] = {
	[SHUNTD_OWN] = {"", own_keys},
	[SHUNTD_DAEMON] = {"\nOf the whole daemon:\n", shunt_config_keys},
	[SHUNTD_WORKERS] = {"", shunt_workers_keys},
	[SHUNTD_PORT] = {"\nOf every port:\n", shunt_port_keys},
	[SHUNTD_FORWARD] = {"\nOf everything that forwards:\n", shunt_forward_keys},
};

static void add(struct shuntd_options *options, const struct shunt_key *key, unsigned scope)
{
	const unsigned i = options->cnt++;
	const char letter[] = {key->letter, key->arg ? ':' : 0, 0};

	options->of[i].key = key;
	options->of[i].scope = (enum shuntd_scope)scope;
	options->longs[i] = (struct option){
		.name = key->option,
		.has_arg = key->arg ? required_argument : no_argument,
		.val = key->letter ? key->letter : PLACE + (int)i,
	};
	if (key->letter)
		memcpy(options->shorts + strlen(options->shorts), letter, strlen(letter) + 1);
}

void shuntd_options_init(struct shuntd_options *options)
{
	const struct shunt_key *key;
	unsigned scope;

	/* The leading ':' makes getopt report a missing argument as ':' and stay silent. */
	*options = (struct shuntd_options){.shorts = ":"};
	for (scope = 0; scope < SHUNTD_SCOPE_CNT; scope++)
		for (key = scopes[scope].keys; key->name; key++)
			if (key->option && options->cnt < SHUNTD_OPTION_MAX)
				add(options, key, scope);
}

int shuntd_option_set(const struct shunt_key *key, const char *text, void *base,
		      struct shunt_err *err)
{
	const bool is_word = key->type == SHUNT_KEY_FLAG && (!key->arg || !strcmp(text, key->arg));
	char expected[SHUNT_KEY_EXPECTED_MAX];

	if (key->type != SHUNT_KEY_FLAG || is_word)
		if (!shunt_key_parse(key, is_word ? "true" : text, base))
			return 0;
	shunt_key_expected(key, true, expected);
	return shunt_err_set(err, EINVAL, "--%s is '%s', expected %s", key->option, text, expected);
}

static int apply_list(const char *name, const char *text, struct shunt_config *config,
		      struct shunt_err *err)
{
	if (!strcmp(name, "rules"))
		return shunt_config_add_rule(config, text, err);
	if (!strcmp(name, "nodes"))
		return shunt_config_add_front(config, text, err);
	return shuntd_args_cpus(config, text, err);
}

/* The value must be right even where no port takes it. */
static int apply_ports(const struct shunt_key *key, const char *text, struct shunt_config *config,
		       struct shunt_err *err)
{
	struct shunt_port_config none;
	unsigned i;
	int ret = shuntd_option_set(key, text, &none, err);

	for (i = 0; i < config->port_cnt && !ret; i++)
		if (shunt_key_is_of(key, config->ports[i].kind))
			ret = shuntd_option_set(key, text, &config->ports[i], err);
	return ret;
}

static int apply_forward(const struct shunt_key *key, const char *text, struct shunt_config *config,
			 struct shunt_err *err)
{
	unsigned i;
	int ret = 0;

	for (i = 0; i < config->pair_cnt && !ret; i++)
		ret = shuntd_option_set(key, text, &config->pairs[i], err);
	for (i = 0; i < config->group_cnt && !ret; i++)
		ret = shuntd_option_set(key, text, &config->groups[i], err);
	return ret;
}

int shuntd_options_apply(const struct shuntd_options *options, int opt, const char *text,
			 struct shuntd_args *args, struct shunt_err *err)
{
	const struct shunt_key *key;
	unsigned i = 0;

	while (options->longs[i].val != opt)
		i++;
	key = options->of[i].key;
	if (key->type == SHUNT_KEY_LIST)
		return apply_list(key->name, text, &args->config, err);
	switch (options->of[i].scope) {
	case SHUNTD_PORT:
		return apply_ports(key, text, &args->config, err);
	case SHUNTD_FORWARD:
		return apply_forward(key, text, &args->config, err);
	case SHUNTD_DAEMON:
		return shuntd_option_set(key, text, &args->config, err);
	default:
		return shuntd_option_set(key, text, args, err);
	}
}

/* What may be given, help, and in parentheses what holds without. */
static void describe(const struct shunt_key *key, char *buf, size_t len)
{
	char words[SHUNT_KEY_EXPECTED_MAX] = "", range[SHUNT_KEY_EXPECTED_MAX] = "";
	const char *help = key->help ? key->help : "";
	FILE *out = fmemopen(buf, len, "w");

	if (!out)
		return;
	if (key->type == SHUNT_KEY_WORD) {
		shunt_key_expected(key, true, words);
		fprintf(out, "%s%s%s (%s)", words, *help ? ": " : "", help,
			key->words[key->number]);
	} else if (key->type == SHUNT_KEY_NUMBER) {
		shunt_key_range(key, range);
		fprintf(out, "%s%s%s", help, *range ? ", " : "", range);
		if (key->zero && !key->number)
			fprintf(out, " (%s)", key->zero);
		else
			fprintf(out, "%s%s (%u)", key->zero ? "; 0: " : "",
				key->zero ? key->zero : "", key->number);
	} else {
		fprintf(out, "%s%s%s%s", help, key->text ? " (" : "", key->text ? key->text : "",
			key->text ? ")" : "");
	}
	fclose(out);
}

/* The text from column 28 on, in lines of less than 90 characters. */
static void print_wrapped(FILE *out, const char *text)
{
	while (strlen(text) > 64) {
		int len = 64;

		while (len && text[len] != ' ')
			len--;
		fprintf(out, "%.*s\n%28s", len, text, "");
		text += len + 1;
	}
	fprintf(out, "%s\n", text);
}

void shuntd_options_help(FILE *out)
{
	const struct shunt_key *key;
	char name[32], text[256];
	unsigned scope;

	for (scope = 0; scope < SHUNTD_SCOPE_CNT; scope++) {
		fputs(scopes[scope].title, out);
		for (key = scopes[scope].keys; key->name; key++) {
			if (!key->option)
				continue;
			snprintf(name, sizeof(name), "--%s%s%s", key->option, key->arg ? " " : "",
				 key->arg ? key->arg : "");
			describe(key, text, sizeof(text));
			if (key->letter)
				fprintf(out, "  -%c, %-21s ", key->letter, name);
			else
				fprintf(out, "      %-21s ", name);
			print_wrapped(out, text);
		}
	}
}
