// SPDX-License-Identifier: BSD-2-Clause
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "show/show.h"

#define COUNT_MAX     1000000000u
#define SAMPLES_S_MAX 3600

enum { OPT_FRAME_SIZE = 256, OPT_WORKERS, OPT_GENERIC, OPT_REQUIRE, OPT_TO, OPT_FROM, OPT_SAMPLES };

const struct shuntctl_word shuntctl_commands[COMMAND_CNT] = {
	[COMMAND_SHOW] = {"show"},	 [COMMAND_ROUTE] = {"route"},
	[COMMAND_LANE] = {"lane"},	 [COMMAND_TOP] = {"top"},
	[COMMAND_METRICS] = {"metrics"}, [COMMAND_DOCTOR] = {"doctor"},
	[COMMAND_CAPTURE] = {"capture"}, [COMMAND_TRACE] = {"trace"},
	[COMMAND_EXPLAIN] = {"explain"}, [COMMAND_RELOAD] = {"reload"},
	[COMMAND_HELP] = {"help"},
};

const struct shuntctl_word shuntctl_objects[SHUNTCTL_OBJECT_CNT] = {
#define X(name, help) {#name, help},
	SHUNT_SHOW_OBJECTS(X)
#undef X
};

static const char usage[] =
	"Usage: shuntctl [OPTIONS] COMMAND\n"
	"\n"
	"Asks a running shuntd what it does. Commands and objects may be shortened: sh po.\n"
	"\n"
	"COMMAND:\n"
	"  show OBJECT          print an object once\n"
	"  show flows [FILTER]  print connections, of which a packet passes the filter\n"
	"  top                  print rates again and again (q or Ctrl-C ends it)\n"
	"  route get ADDRESS [iif DEVICE]\n"
	"                       print the route that a packet to ADDRESS takes, in by DEVICE\n"
	"  lane set PORT user=N% xdp=N% kernel=N%\n"
	"                       split the port's flows among the lanes, 100 % in all\n"
	"  lane set PORT LANE|auto  give all flows to one lane, or back to the port's own\n"
	"  doctor [DEVICE ...]  examine host and devices; needs no daemon, changes nothing\n"
	"  capture [PORT ...] [FILTER]\n"
	"                       print or write the packets that ports receive and send\n"
	"  trace [FILTER]       print the way of packets: steering, nodes, route, what left\n"
	"  explain PORT PACKET  print the way that a packet would take, and send none\n"
	"  metrics              print all counters in Prometheus' text format\n"
	"  reload               shuntd reads its file again: new rules come into force\n"
	"  help                 print this\n"
	"\n"
	"OBJECT:\n";

static const char options_help[] =
	"\n"
	"Options, before the command or behind it:\n"
	"  -j, --json           print JSON on one line, errors too\n"
	"  -p, --pretty         print JSON, indented\n"
	"  -s, --socket PATH    control socket of shuntd (" SHUNT_CONTROL_PATH "); of capture\n"
	"                       before the command alone\n"
	"  -V, --version; -h, --help\n"
	"Options of capture, behind the command:\n"
	"  -w, --write FILE     write pcapng to FILE; -: to standard output\n"
	"  -s, --snaplen N      bytes of a packet, 1 to 65536 (65536)\n"
	"  -c, --count N        end after N packets (no end)\n"
	"  -G, --rotate SEC     begin a new file after so many seconds\n"
	"  -C, --size MB        begin a new file after so many millions of bytes\n"
	"  -B, --buffer MIB     of each ring, a power of 2, 1 to 64 (4)\n"
	"Options of trace, behind the command: -c, --count N; -j, --json\n"
	"Options of explain, behind the command:\n"
	"  -t, --ttl N          of the packet, 0 to 255 (64)\n"
	"      --to MAC, --from MAC  its addresses (the port's; 02:00:00:00:00:01)\n"
	"  -q, --queue N        on which it arrives (0)\n"
	"  -j, --json           print JSON on one line\n"
	"Options of show drops:\n"
	"  -a, --all            also print reasons that never occurred\n"
	"      --samples [SEC]  watch for so many seconds, 1 to 3600 (1), and print the last\n"
	"                       packet of each reason\n"
	"Options of top:\n"
	"  -d, --delay SEC      seconds between two reports, 0.1 to 3600 (1)\n"
	"  -n, --iterations N   end after N reports (no end)\n"
	"Options of doctor (default: as the daemon has it, else as in parentheses):\n"
	"      --frame-size N   bytes of a frame, 2048 or 4096 (what the ports need)\n"
	"      --workers N      number of workers wanted (1)\n"
	"      --generic        judge for shuntd --driver-mode generic\n"
	"      --require zerocopy  it is an error if a device copies\n"
	"\n"
	"PACKET: 'udp 10.0.0.1:5 > 10.1.0.1:53', hexadecimal digits, or FILE:N of a capture\n"
	"\n"
	"Examples:\n"
	"  shuntctl explain eth1 'tcp 10.0.0.1:5 > 10.1.0.1:80'   why does it go there?\n"
	"  shuntctl show drops          what did not come out, and why\n"
	"  shuntctl doctor eth1 eth2    before the first start\n"
	"\n"
	"Exit status: 0 done, 1 failed (doctor: found errors), 2 wrong usage. See shuntctl(8).\n";

void shuntctl_options_help(void)
{
	unsigned i;

	fputs(usage, stdout);
	for (i = 0; i < SHUNT_ARRAY_LEN(shuntctl_objects); i++)
		printf("  %-10s %s\n", shuntctl_objects[i].name, shuntctl_objects[i].help);
	fputs(options_help, stdout);
}

static int parse_interval(const char *text, double *out, struct shunt_err *err)
{
	char *end;

	*out = strtod(text, &end);
	if (end != text && !*end && *out >= 0.1 && *out <= 3600)
		return 0;
	return shunt_err_set(err, EINVAL, "--delay is '%s', expected 0.1 to 3600 seconds", text);
}

static int parse_number(const char *option, const char *text, unsigned max, unsigned *out,
			struct shunt_err *err)
{
	unsigned long n;
	char *end;

	n = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && n >= 1 && n <= max) {
		*out = (unsigned)n;
		return 0;
	}
	if (max < COUNT_MAX)
		return shunt_err_set(err, EINVAL,
				     "%s is '%s', expected a whole number from 1 to %u", option,
				     text, max);
	return shunt_err_set(err, EINVAL, "%s is '%s', expected a whole number from 1", option,
			     text);
}

static int parse_count(const char *option, const char *text, unsigned *out, struct shunt_err *err)
{
	return parse_number(option, text, COUNT_MAX, out, err);
}

static int bad_option(int opt, char **argv, struct shunt_err *err)
{
	char shortopt[3] = {'-', (char)optopt, 0};

	/* The option without its value is the last word. */
	if (opt == ':')
		return shunt_err_set(err, EINVAL, "option %s needs a value, see shuntctl help",
				     argv[optind - 1]);
	return shunt_err_set(err, EINVAL, "unknown option %s, see shuntctl help",
			     optopt ? shortopt : argv[optind - 1]);
}

/* The options of doctor: what the devices are to be used for. */
static int parse_want(struct shunt_doctor_opts *want, int opt, char **argv, struct shunt_err *err)
{
	switch (opt) {
	case OPT_FRAME_SIZE:
		want->frame_size = (uint32_t)strtoul(optarg, NULL, 10);
		if (want->frame_size == 2048 || want->frame_size == 4096)
			return 0;
		return shunt_err_set(err, EINVAL, "--frame-size is '%s', expected 2048 or 4096",
				     optarg);
	case OPT_WORKERS:
		return parse_count("--workers", optarg, &want->worker_cnt, err);
	case OPT_GENERIC:
		want->generic = true;
		return 0;
	case OPT_REQUIRE:
		want->require_zerocopy = true;
		if (!strcmp(optarg, "zerocopy"))
			return 0;
		return shunt_err_set(err, EINVAL, "--require is '%s', expected zerocopy", optarg);
	default:
		return bad_option(opt, argv, err);
	}
}

/* The seconds may be left out, or stand behind as a word of their own. */
static int parse_samples(struct shuntctl_options *o, char **argv, struct shunt_err *err)
{
	const char *text = optarg;

	if (!text && argv[optind] && *argv[optind] >= '0' && *argv[optind] <= '9')
		text = argv[optind++];
	if (text)
		return parse_number("--samples", text, SAMPLES_S_MAX, &o->samples_s, err);
	o->samples_s = 1;
	return 0;
}

/* Returns 0, 1 when help or version was printed, or -EINVAL with err set. */
static int parse_option(struct shuntctl_options *o, int opt, char **argv, struct shunt_err *err)
{
	switch (opt) {
	case 'p':
		o->pretty = true;
		o->json = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case 's':
		o->socket = optarg;
		return 0;
	case 'a':
		o->view.all = true;
		return 0;
	case OPT_SAMPLES:
		return parse_samples(o, argv, err);
	case 'd':
		return parse_interval(optarg, &o->interval_s, err);
	case 'n':
		return parse_count("--iterations", optarg, &o->iterations, err);
	case 'h':
		shuntctl_options_help();
		return 1;
	case 'V':
		puts("shuntctl " SHUNT_VERSION);
		return 1;
	default:
		return parse_want(&o->doctor, opt, argv, err);
	}
}

static const struct option long_options[] = {
	{"json", no_argument, NULL, 'j'},
	{"pretty", no_argument, NULL, 'p'},
	{"socket", required_argument, NULL, 's'},
	{"all", no_argument, NULL, 'a'},
	{"samples", optional_argument, NULL, OPT_SAMPLES},
	{"delay", required_argument, NULL, 'd'},
	{"iterations", required_argument, NULL, 'n'},
	{"frame-size", required_argument, NULL, OPT_FRAME_SIZE},
	{"workers", required_argument, NULL, OPT_WORKERS},
	{"generic", no_argument, NULL, OPT_GENERIC},
	{"require", required_argument, NULL, OPT_REQUIRE},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static const struct option capture_options[] = {
	{"write", required_argument, NULL, 'w'}, {"snaplen", required_argument, NULL, 's'},
	{"count", required_argument, NULL, 'c'}, {"rotate", required_argument, NULL, 'G'},
	{"size", required_argument, NULL, 'C'},	 {"buffer", required_argument, NULL, 'B'},
	{"help", no_argument, NULL, 'h'},	 {NULL, 0, NULL, 0},
};

static int parse_capture(struct shuntctl_capture_opts *o, int opt, char **argv,
			 struct shunt_err *err)
{
	unsigned count = 0;
	int ret = 0;

	switch (opt) {
	case 'w':
		o->file = optarg;
		return 0;
	case 's':
		return parse_number("--snaplen", optarg, SHUNT_TAP_SNAP_MAX, &o->snap_len, err);
	case 'c':
		ret = parse_count("--count", optarg, &count, err);
		o->packet_max = count;
		return ret;
	case 'G':
		return parse_number("--rotate", optarg, 86400 * 366, &o->seconds, err);
	case 'C':
		return parse_number("--size", optarg, 1000000, &o->megabytes, err);
	case 'B':
		ret = parse_number("--buffer", optarg, 64, &o->ring_mib, err);
		if (!ret && !shunt_is_power_of_2(o->ring_mib))
			ret = shunt_err_set(err, EINVAL,
					    "--buffer is '%s', expected 1, 2, 4, 8, 16, 32 or 64",
					    optarg);
		return ret;
	case 'h':
		shuntctl_options_help();
		return 1;
	default:
		return bad_option(opt, argv, err);
	}
}

static const struct option explain_options[] = {
	{"count", required_argument, NULL, 'c'},
	{"json", no_argument, NULL, 'j'},
	{"pretty", no_argument, NULL, 'p'},
	{"ttl", required_argument, NULL, 't'},
	{"to", required_argument, NULL, OPT_TO},
	{"from", required_argument, NULL, OPT_FROM},
	{"queue", required_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int parse_small(const char *option, const char *text, unsigned max, unsigned *out,
		       struct shunt_err *err)
{
	char *end;
	const unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n > max)
		return shunt_err_set(err, EINVAL, "%s is '%s', expected 0 to %u", option, text,
				     max);
	*out = (unsigned)n;
	return 0;
}

/* Of trace and explain. */
static int parse_explain(struct shuntctl_options *o, int opt, char **argv, struct shunt_err *err)
{
	unsigned count = 0;
	int ret = 0;

	switch (opt) {
	case 'c':
		ret = parse_count("--count", optarg, &count, err);
		o->explain.packet_max = count;
		return ret;
	case 't':
		return parse_small("--ttl", optarg, 255, &o->explain.ttl, err);
	case 'q':
		return parse_small("--queue", optarg, 4095, &o->explain.queue, err);
	case OPT_TO:
		o->explain.eth_dst = optarg;
		return 0;
	case OPT_FROM:
		o->explain.eth_src = optarg;
		return 0;
	default:
		return parse_option(o, opt, argv, err);
	}
}

/* Options that mean nothing without another. */
static int check_capture(const struct shuntctl_capture_opts *o, struct shunt_err *err)
{
	if ((!o->seconds && !o->megabytes) || (o->file && strcmp(o->file, "-") != 0))
		return 0;
	return shunt_err_set(err, EINVAL,
			     "%s begins new files, and there is none: give their name with -w",
			     o->seconds ? "-G" : "-C");
}

static int parse_behind(struct shuntctl_options *o, int command, int argc, char **argv,
			struct shunt_err *err)
{
	int opt, ret = 0;

	while (!ret) {
		switch (command) {
		case COMMAND_CAPTURE:
			opt = getopt_long(argc, argv, ":w:s:c:G:C:B:h", capture_options, NULL);
			ret = opt == -1 ? 0 : parse_capture(&o->capture, opt, argv, err);
			break;
		case COMMAND_TRACE:
		case COMMAND_EXPLAIN:
			opt = getopt_long(argc, argv, ":c:jpt:q:h", explain_options, NULL);
			ret = opt == -1 ? 0 : parse_explain(o, opt, argv, err);
			break;
		default:
			opt = getopt_long(argc, argv, ":jps:ad:n:Vh", long_options, NULL);
			ret = opt == -1 ? 0 : parse_option(o, opt, argv, err);
		}
		if (opt == -1)
			break;
	}
	return ret || command != COMMAND_CAPTURE ? ret : check_capture(&o->capture, err);
}

int shuntctl_options_parse(struct shuntctl_options *o, int argc, char **argv, char ***words,
			   int *cnt, struct shunt_err *err)
{
	int opt, ret = 0, command;

	*o = (struct shuntctl_options){.socket = SHUNT_CONTROL_PATH,
				       .interval_s = 1,
				       .explain = {.ttl = SHUNTCTL_TTL},
				       .capture = {.snap_len = SHUNT_TAP_SNAP_MAX, .ring_mib = 4}};
	while (!ret && (opt = getopt_long(argc, argv, "+:jps:ad:n:Vh", long_options, NULL)) != -1)
		ret = parse_option(o, opt, argv, err);
	*words = argv + optind;
	*cnt = argc - optind;
	if (ret || !*cnt)
		return ret;
	command = shuntctl_words_find(shuntctl_commands, COMMAND_CNT, **words, "command", NULL);
	argc -= optind;
	argv += optind;
	optind = 0; /* a new scan, which sorts the words behind the options (getopt(3)) */
	ret = parse_behind(o, command, argc, argv, err);
	*words = argv + optind - 1;
	*cnt = argc - optind + 1;
	(*words)[0] = argv[0];
	return ret;
}
