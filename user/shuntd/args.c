// SPDX-License-Identifier: BSD-2-Clause
#include "args.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args_override.h"
#include "args_port.h"
#include "base/bytes.h"

enum {
	OPT_CPU = 256,
	OPT_DRIVER_MODE,
	OPT_COPY_MODE,
	OPT_LANE,
	OPT_TRANSPARENT,
	OPT_REQUIRE,
	OPT_RING_SIZE,
	OPT_FRAME_SIZE,
	OPT_FRAMES,
	OPT_PUNT_RATE,
	OPT_IDLE_US,
	OPT_RULE,
	OPT_NODE,
	OPT_REPLACE,
	OPT_PERSIST,
	OPT_TAKEOVER,
	OPT_ATTACH,
	OPT_CONTROL,
	OPT_PIDFILE,
	OPT_CHECK_CONFIG,
	OPT_USER,
	OPT_NO_SECCOMP,
};

static const struct option long_options[] = {
	{"config", required_argument, NULL, 'c'},
	{"batch", required_argument, NULL, 'b'},
	{"poll", required_argument, NULL, 'p'},
	{"queues", required_argument, NULL, 'q'},
	{"daemon", no_argument, NULL, 'd'},
	{"verbose", no_argument, NULL, 'v'},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{"cpu", required_argument, NULL, OPT_CPU},
	{"driver-mode", required_argument, NULL, OPT_DRIVER_MODE},
	{"copy-mode", required_argument, NULL, OPT_COPY_MODE},
	{"lane", required_argument, NULL, OPT_LANE},
	{"transparent", no_argument, NULL, OPT_TRANSPARENT},
	{"require", required_argument, NULL, OPT_REQUIRE},
	{"ring-size", required_argument, NULL, OPT_RING_SIZE},
	{"frame-size", required_argument, NULL, OPT_FRAME_SIZE},
	{"frames", required_argument, NULL, OPT_FRAMES},
	{"punt-rate", required_argument, NULL, OPT_PUNT_RATE},
	{"idle-us", required_argument, NULL, OPT_IDLE_US},
	{"rule", required_argument, NULL, OPT_RULE},
	{"node", required_argument, NULL, OPT_NODE},
	{"replace", no_argument, NULL, OPT_REPLACE},
	{"persist", no_argument, NULL, OPT_PERSIST},
	{"takeover", no_argument, NULL, OPT_TAKEOVER},
	{"attach", required_argument, NULL, OPT_ATTACH},
	{"control", required_argument, NULL, OPT_CONTROL},
	{"pidfile", required_argument, NULL, OPT_PIDFILE},
	{"user", required_argument, NULL, OPT_USER},
	{"no-seccomp", no_argument, NULL, OPT_NO_SECCOMP},
	{"check-config", no_argument, NULL, OPT_CHECK_CONFIG},
	{NULL, 0, NULL, 0},
};

/* The leading ':' makes getopt report a missing argument as ':' and stay silent. */
#define SHORT_OPTIONS ":c:b:p:q:dvVh"

static const char help_text[] =
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
	"\n"
	"  -c, --config FILE         read FILE; the options below change what it says\n"
	"      --check-config        print the configuration in full and exit\n"
	"  -b, --batch N             packets handled together, 1 to 256 (64)\n"
	"  -p, --poll MODE           spin, busy, adaptive or interrupt (adaptive)\n"
	"      --idle-us N           adaptive: sleep after N us without a packet (50)\n"
	"      --cpu LIST            one worker for each CPU, pinned: 1,3 or 2-5\n"
	"  -q, --queues N            serve N queues of each device (all)\n"
	"      --driver-mode MODE    native or generic (native)\n"
	"      --copy-mode MODE      auto, zerocopy or copy (auto)\n"
	"      --lane LANE           auto, user, xdp or kernel: where frames are forwarded (auto)\n"
	"      --transparent         xconnect: every frame crosses, none is this host's\n"
	"      --require zerocopy    refuse to start where the kernel would copy\n"
	"      --ring-size N         descriptors of a ring, a power of two (2048)\n"
	"      --frame-size BYTES    2048 or 4096 (what the ports need)\n"
	"      --frames N            frames of each worker (what its rings need)\n"
	"      --punt-rate N         packets a second handed back to the kernel, for each\n"
	"                            reason and worker; 0: no limit (10000)\n"
	"      --rule 'TEXT'         a steering rule, behind those of FILE; repeatable\n"
	"      --node NAME           a node in front of the mode's own: discard, or\n"
	"                            emulate,cycles=N,list=BYTES; repeatable\n"
	"      --replace             replace another's XDP program\n"
	"      --persist             leave the XDP programs on the devices at stop\n"
	"      --takeover            take over from the daemon that runs now\n"
	"      --attach external     use the steering program that is attached already\n"
	"      --control PATH        control socket, or none (" SHUNT_CONTROL_PATH ")\n"
	"  -d, --daemon              go to the background once forwarding\n"
	"      --pidfile PATH        write the process id there\n"
	"      --user NAME           run as this user once everything is open\n"
	"      --no-seccomp          refuse no system call, for debugging\n"
	"  -v, --verbose             say more on stderr\n"
	"  -V, --version             print the version\n"
	"  -h, --help                print this\n"
	"\n"
	"Exit code: 0 done, 1 failed, 2 wrong usage. See shuntd(8), shuntctl(8).\n";

static int parse_cpu(const char **text, unsigned long *cpu)
{
	char *end;

	if (**text < '0' || **text > '9')
		return -EINVAL;
	*cpu = strtoul(*text, &end, 10);
	*text = end;
	return *cpu < 1024 ? 0 : -EINVAL;
}

/* "1,3" or "2-5" or both mixed; returns how many, or -EINVAL. */
static int parse_cpu_list(const char *text, int *cpus)
{
	unsigned long first, last;
	int cnt = 0;

	for (;;) {
		if (parse_cpu(&text, &first))
			return -EINVAL;
		last = first;
		if (*text == '-' && (text++, parse_cpu(&text, &last)))
			return -EINVAL;
		for (; first <= last; first++) {
			if (cnt == SHUNT_WORKER_MAX)
				return -EINVAL;
			cpus[cnt++] = (int)first;
		}
		if (!*text)
			return cnt ? cnt : -EINVAL;
		if (*text++ != ',')
			return -EINVAL;
	}
}

static int set_cpus(struct shunt_config *config, const char *text, struct shunt_err *err)
{
	int cpus[SHUNT_WORKER_MAX];
	int cnt = parse_cpu_list(text, cpus);

	if (cnt < 0)
		return shuntd_args_usage(err, "--cpu", text,
					 "CPU numbers as 1,3 or 2-5, at most 64");
	return shunt_config_set_workers(config, cpus, (unsigned)cnt, err);
}

static int set_poll(struct shunt_config *config, const char *text, struct shunt_err *err)
{
	int mode = shunt_poll_mode_parse(text);

	if (mode < 0)
		return shuntd_args_usage(err, "--poll", text, "spin, busy, adaptive or interrupt");
	config->poll = (enum shunt_poll_mode)mode;
	return 0;
}

static int set_path(const char *option, const char *text, char *buf, size_t len,
		    struct shunt_err *err)
{
	if (!*text || strlen(text) >= len)
		return shunt_err_set(err, EINVAL,
				     "%s has %zu characters, expected 1 to "
				     "%zu",
				     option, strlen(text), len - 1);
	snprintf(buf, len, "%s", text);
	return 0;
}

static int set_control(struct shunt_config *config, const char *text, struct shunt_err *err)
{
	int ret = set_path("--control", text, config->control_path, sizeof(config->control_path),
			   err);

	if (!ret && !strcmp(text, "none"))
		config->control_path[0] = 0;
	return ret;
}

static int set_word(const char *option, const char *text, const char *word, bool *flag,
		    struct shunt_err *err)
{
	if (strcmp(text, word))
		return shuntd_args_usage(err, option, text, word);
	*flag = true;
	return 0;
}

static int apply_number(struct shunt_config *config, int opt, const char *text,
			struct shunt_err *err)
{
	switch (opt) {
	case 'b':
		return shuntd_args_u32("--batch", text, &config->batch, err);
	case OPT_IDLE_US:
		return shuntd_args_u32("--idle-us", text, &config->idle_us, err);
	case OPT_RING_SIZE:
		return shuntd_args_u32("--ring-size", text, &config->ring_size, err);
	case OPT_PUNT_RATE:
		return shuntd_args_u32("--punt-rate", text, &config->punt_rate, err);
	case OPT_FRAME_SIZE:
		return shuntd_args_u32("--frame-size", text, &config->frame_size, err);
	default:
		return shuntd_args_u32("--frames", text, &config->frames, err);
	}
}

static int apply_config_option(struct shuntd_args *args, struct shuntd_overrides *o, int opt,
			       const char *text, struct shunt_err *err)
{
	struct shunt_config *config = &args->config;

	switch (opt) {
	case 'p':
		return set_poll(config, text, err);
	case 'q':
		o->queues = text;
		return 0;
	case OPT_CPU:
		return set_cpus(config, text, err);
	case OPT_DRIVER_MODE:
		o->driver_mode = text;
		return 0;
	case OPT_COPY_MODE:
		o->copy_mode = text;
		return 0;
	case OPT_LANE:
		o->lane = text;
		return 0;
	case OPT_TRANSPARENT:
		o->transparent = true;
		return 0;
	case OPT_REQUIRE:
		return set_word("--require", text, "zerocopy", &o->require_zerocopy, err);
	case OPT_NODE:
		return shunt_config_add_front(config, text, err);
	case OPT_RULE:
		return shunt_config_add_rule(config, text, err);
	case OPT_REPLACE:
		config->replace = true;
		return 0;
	case OPT_PERSIST:
		config->persist = true;
		return 0;
	case OPT_TAKEOVER:
		config->takeover = true;
		return 0;
	case OPT_ATTACH:
		return set_word("--attach", text, "external", &config->external, err);
	case OPT_CONTROL:
		return set_control(config, text, err);
	default:
		return apply_number(config, opt, text, err);
	}
}

static int apply_option(struct shuntd_args *args, struct shuntd_overrides *o, int opt,
			const char *text, struct shunt_err *err)
{
	switch (opt) {
	case 'c':
		return 0; /* read already */
	case 'd':
		args->daemonise = true;
		return 0;
	case 'v':
		args->verbose = true;
		return 0;
	case OPT_CHECK_CONFIG:
		args->check_only = true;
		return 0;
	case OPT_NO_SECCOMP:
		args->no_seccomp = true;
		return 0;
	case OPT_USER:
		return set_path("--user", text, args->config.user, sizeof(args->config.user), err);
	case OPT_PIDFILE:
		return set_path("--pidfile", text, args->pidfile, sizeof(args->pidfile), err);
	default:
		return apply_config_option(args, o, opt, text, err);
	}
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
static int scan(int argc, char **argv, struct shuntd_args *args, struct shunt_err *err)
{
	int opt, ret = 0;

	optind = 0;
	while (!ret && (opt = getopt_long(argc, argv, SHORT_OPTIONS, long_options, NULL)) != -1) {
		switch (opt) {
		case 'h':
			fputs(help_text, stdout);
			return 1;
		case 'V':
			puts("shuntd " SHUNT_VERSION);
			return 1;
		case 'c':
			ret = set_path("--config", optarg, args->config_path,
				       sizeof(args->config_path), err);
			break;
		case '?':
		case ':':
			ret = bad_option(opt, argv, err);
			break;
		}
	}
	return ret;
}

static int apply_options(int argc, char **argv, struct shuntd_args *args,
			 struct shuntd_overrides *o, struct shunt_err *err)
{
	int opt, ret = 0;

	optind = 0;
	while (!ret && (opt = getopt_long(argc, argv, SHORT_OPTIONS, long_options, NULL)) != -1)
		ret = apply_option(args, o, opt, optarg, err);
	return ret;
}

/* What is left of the line: MODE PORT PORT ..., or nothing with -c. */
static int parse_words(char **words, int cnt, struct shuntd_args *args, struct shunt_err *err)
{
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
	if (mode < 0)
		return shuntd_args_usage(err, "the first word", words[0],
					 "xconnect, macrewrite, static3, route, bridge or mix");
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
	struct shuntd_overrides o = {0};
	int ret;

	memset(out, 0, sizeof(*out));
	shunt_config_init(&out->config);
	ret = scan(argc, argv, out, err);
	if (!ret && out->config_path[0]) {
		shunt_config_fini(&out->config);
		ret = shunt_config_load(&out->config, out->config_path, err);
		if (ret == -EINVAL)
			ret = -EBADMSG;
	}
	if (!ret)
		ret = apply_options(argc, argv, out, &o, err);
	if (!ret)
		ret = parse_words(argv + optind, argc - optind, out, err);
	if (!ret)
		ret = shuntd_args_override(&out->config, &o, err);
	return ret ? ret : shunt_config_check(&out->config, err);
}

int shuntd_args_exit_code(int ret)
{
	return ret == -EINVAL ? 2 : 1;
}
