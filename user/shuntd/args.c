// SPDX-License-Identifier: BSD-2-Clause
#include "args.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "args_option.h"
#include "args_port.h"

static const char usage[] =
	"Usage: shuntd xconnect PORT PORT [PORT PORT ...] [OPTIONS]\n"
	"       shuntd macrewrite|static3 PORT,next_hop=MAC PORT,next_hop=MAC ... [OPTIONS]\n"
	"       shuntd route|bridge|mix PORT [PORT ...] [OPTIONS]\n"
	"       shuntd -c FILE [OPTIONS]\n"
	"\n"
	"Forwards between ports through AF_XDP, in pairs, by the kernel's routes or by\n"
	"learned MAC addresses; the kernel keeps the rest. For bridge, PORT may be a bridge of\n"
	"the kernel's: then all of its ports, with it as the fallback.\n"
	"PORT is a device's name, with keys of shuntd.yaml(5) behind it if need be:\n"
	"eth1,queues=2  null0,kind=mem,size=64  cap,kind=pcap,in=a.pcap\n"
	"\n";

static void print_help(void)
{
	fputs(usage, stdout);
	shuntd_options_help(stdout);
	puts("\nExit code: 0 done, 1 failed, 2 wrong usage. See shuntd(8), shuntctl(8).");
}

static int bad_option(int opt, char **argv, struct shunt_err *err)
{
	char shortopt[3] = {'-', (char)optopt, 0};
	const char *word = optopt && optopt < 256 ? shortopt : argv[optind - 1];

	/* What wants a value and has none is the last word. */
	if (opt == ':')
		return shunt_err_set(err, EINVAL, "option %s needs a value, see shuntd --help",
				     argv[optind - 1]);
	return shunt_err_set(err, EINVAL, "unknown option %s, see shuntd --help", word);
}

/* First pass: what ends everything, what is wrong, and the file, which the other
 * options change and which therefore is read before them. */
static int scan(int argc, char **argv, const struct shuntd_options *options,
		struct shuntd_args *args, struct shunt_err *err)
{
	int opt, ret = 0;

	optind = 0;
	while (!ret &&
	       (opt = getopt_long(argc, argv, options->shorts, options->longs, NULL)) != -1) {
		switch (opt) {
		case 'h':
			print_help();
			return 1;
		case 'V':
			puts("shuntd " SHUNT_VERSION);
			return 1;
		case 'c':
			ret = shuntd_options_apply(options, opt, optarg, args, err);
			break;
		case '?':
		case ':':
			ret = bad_option(opt, argv, err);
			break;
		}
	}
	return ret;
}

/* Second pass, when file and words have said what ports there are. */
static int apply(int argc, char **argv, const struct shuntd_options *options,
		 struct shuntd_args *args, struct shunt_err *err)
{
	int opt, ret = 0;

	optind = 0;
	while (!ret && (opt = getopt_long(argc, argv, options->shorts, options->longs, NULL)) != -1)
		ret = shuntd_options_apply(options, opt, optarg, args, err);
	return ret;
}

/* What is left of the line: MODE PORT PORT ..., or nothing with -c. */
static int parse_words(char **words, int cnt, struct shuntd_args *args, struct shunt_err *err)
{
	const struct shunt_key *key = shunt_key_find(shunt_forward_keys, "mode");
	char expected[SHUNT_KEY_EXPECTED_MAX];
	int mode;

	if (args->config_path[0]) {
		if (cnt)
			return shunt_err_set(err, EINVAL,
					     "'%s' stands beside -c, expected the ports "
					     "either there or in the file",
					     words[0]);
		return 0;
	}
	if (!cnt)
		return shunt_err_set(err, EINVAL,
				     "no ports are given, expected shuntd xconnect "
				     "PORT PORT or shuntd -c FILE, see shuntd --help");
	mode = shunt_forward_mode_parse(words[0]);
	if (mode < 0) {
		shunt_key_expected(key, true, expected);
		return shunt_err_set(err, EINVAL, "the first word is '%s', expected %s", words[0],
				     expected);
	}
	if (!shunt_forward_mode_is_pair((enum shunt_forward_mode)mode))
		return shuntd_args_group(&args->config, (enum shunt_forward_mode)mode, words + 1,
					 (unsigned)(cnt - 1), err);
	if (cnt < 3 || cnt % 2 == 0)
		return shunt_err_set(err, EINVAL, "%s has %d ports, expected pairs of two",
				     words[0], cnt - 1);
	return shuntd_args_pairs(&args->config, (enum shunt_forward_mode)mode, words + 1,
				 (unsigned)(cnt - 1), err);
}

int shuntd_args_parse(int argc, char **argv, struct shuntd_args *out, struct shunt_err *err)
{
	struct shuntd_options options;
	int ret;

	memset(out, 0, sizeof(*out));
	shunt_config_init(&out->config);
	shuntd_options_init(&options);
	ret = scan(argc, argv, &options, out, err);
	if (!ret && out->config_path[0]) {
		shunt_config_fini(&out->config);
		ret = shunt_config_load(&out->config, out->config_path, err);
		if (ret == -EINVAL)
			ret = -EBADMSG;
	}
	/* getopt has moved the words behind the options. */
	if (!ret)
		ret = parse_words(argv + optind, argc - optind, out, err);
	if (!ret)
		ret = apply(argc, argv, &options, out, err);
	return ret ? ret : shunt_config_check(&out->config, err);
}

int shuntd_args_exit_code(int ret)
{
	return ret == -EINVAL ? 2 : 1;
}
