// SPDX-License-Identifier: BSD-2-Clause
/* shuntctl: asks shuntd over its control socket and prints the answer. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "capture.h"
#include "client.h"
#include "explain.h"
#include "show/show.h"
#include "doctor.h"
#include "metrics.h"
#include "samples.h"
#include "top.h"
#include "view.h"
#include "words.h"

#define EXIT_USAGE    2
#define COUNT_MAX     1000000000u
#define SAMPLES_S_MAX 3600

struct options {
	const char *socket;
	bool json, pretty;
	struct shuntctl_view_opts view;
	struct shunt_doctor_opts doctor;
	struct shuntctl_capture_opts capture;
	struct shuntctl_explain_opts explain;
	unsigned samples_s; /* of show drops; 0: none */
	double interval_s;
	unsigned iterations;
};

enum {
	COMMAND_SHOW,
	COMMAND_ROUTE,
	COMMAND_LANE,
	COMMAND_TOP,
	COMMAND_METRICS,
	COMMAND_DOCTOR,
	COMMAND_CAPTURE,
	COMMAND_TRACE,
	COMMAND_EXPLAIN,
	COMMAND_RELOAD,
	COMMAND_HELP,
};

enum { OPT_FRAME_SIZE = 256, OPT_WORKERS, OPT_GENERIC, OPT_REQUIRE, OPT_TO, OPT_FROM, OPT_SAMPLES };

static const struct shuntctl_word commands[] = {
	[COMMAND_SHOW] = {"show"},	 [COMMAND_ROUTE] = {"route"},
	[COMMAND_LANE] = {"lane"},	 [COMMAND_TOP] = {"top"},
	[COMMAND_METRICS] = {"metrics"}, [COMMAND_DOCTOR] = {"doctor"},
	[COMMAND_CAPTURE] = {"capture"}, [COMMAND_TRACE] = {"trace"},
	[COMMAND_EXPLAIN] = {"explain"}, [COMMAND_RELOAD] = {"reload"},
	[COMMAND_HELP] = {"help"},
};

static const struct shuntctl_word objects[] = {
#define X(name, help) {#name, help},
	SHUNT_SHOW_OBJECTS(X)
#undef X
};

static void (*const views[])(FILE *, const json_t *, const struct shuntctl_view_opts *) = {
#define X(name, help) shuntctl_view_##name,
	SHUNT_SHOW_OBJECTS(X)
#undef X
};

static void print_help(void)
{
	unsigned i;

	fputs("Usage: shuntctl [OPTIONS] COMMAND\n"
	      "\n"
	      "Asks a running shuntd what it does. Commands and objects may be shortened: sh po.\n"
	      "\n"
	      "COMMAND:\n"
	      "  show OBJECT          print an object once\n"
	      "  top                  print rates again and again (q or Ctrl-C ends it)\n"
	      "  route get ADDRESS    print the route that a packet to ADDRESS takes\n"
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
	      "OBJECT:\n",
	      stdout);
	for (i = 0; i < SHUNT_ARRAY_LEN(objects); i++)
		printf("  %-10s %s\n", objects[i].name, objects[i].help);
	fputs("\n"
	      "Options, before the command or behind it:\n"
	      "  -j, --json           print JSON on one line, errors too\n"
	      "  -p, --pretty         print JSON, indented\n"
	      "  -s, --socket PATH    control socket of shuntd (" SHUNT_CONTROL_PATH
	      "); of capture\n"
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
	      "Exit status: 0 done, 1 failed (doctor: found errors), 2 wrong usage. See shuntctl(8).\n",
	      stdout);
}

static unsigned json_flags(const struct options *o)
{
	return (o->pretty ? JSON_INDENT(4) : JSON_COMPACT) | JSON_REAL_PRECISION(6);
}

static void print_json(const struct options *o, const json_t *object)
{
	json_dumpf(object, stdout, json_flags(o));
	putchar('\n');
}

/* On stdout with -j, where a program expects an answer; otherwise on stderr. */
static int complain(const struct options *o, const struct shunt_err *err, int code)
{
	json_t *object;

	if (!o->json) {
		fprintf(stderr, "shuntctl: %s\n", err->msg);
		return code;
	}
	object = json_pack("{s:s}", "error", err->msg);
	print_json(o, object);
	json_decref(object);
	return code;
}

/* What the daemon answers to a question of the client's, or NULL with *err set. */
static json_t *ask(const struct options *o,
		   json_t *(*question)(int fd, const char *word, struct shunt_err *err),
		   const char *word, struct shunt_err *err)
{
	int fd = shuntctl_client_open(o->socket, err);
	json_t *result;

	if (fd < 0)
		return NULL;
	result = question(fd, word, err);
	close(fd);
	return result;
}

static int show(const struct options *o, unsigned object)
{
	struct shunt_err err = {""};
	json_t *samples = NULL, *result;

	if (o->samples_s) {
		samples = shuntctl_samples_take(o->socket, o->samples_s, &err);
		if (!samples)
			return complain(o, &err, EXIT_FAILURE);
	}
	result = ask(o, shuntctl_client_show, objects[object].name, &err);
	if (!result) {
		json_decref(samples);
		return complain(o, &err, EXIT_FAILURE);
	}
	if (samples)
		json_object_set_new(result, "samples", samples);
	if (o->json)
		print_json(o, result);
	else
		views[object](stdout, result, &o->view);
	json_decref(result);
	return EXIT_SUCCESS;
}

static int run_route(const struct options *o, char **words, int cnt)
{
	struct shunt_err err = {"route needs `get ADDRESS`, see shuntctl help"};
	json_t *result;

	if (cnt != 2 || strcmp(words[0], "get") != 0)
		return complain(o, &err, EXIT_USAGE);
	result = ask(o, shuntctl_client_route, words[1], &err);
	if (!result)
		return complain(o, &err, EXIT_FAILURE);
	if (o->json)
		print_json(o, result);
	else
		shuntctl_view_route(stdout, result);
	json_decref(result);
	return EXIT_SUCCESS;
}

/* Sets shares, and prints what is in force now. */
static int run_lane(const struct options *o, char **words, int cnt)
{
	struct shunt_err err = {
		"lane needs `set PORT user=N% xdp=N% kernel=N%`, `set PORT LANE` or "
		"`set PORT auto`, see shuntctl help"};
	json_t *result = NULL;
	int fd;

	if (cnt < 3 || strcmp(words[0], "set") != 0)
		return complain(o, &err, EXIT_USAGE);
	fd = shuntctl_client_open(o->socket, &err);
	if (fd >= 0)
		result = shuntctl_client_lane(fd, words[1], words + 2, cnt - 2, &err);
	if (fd >= 0)
		close(fd);
	if (!result)
		return complain(o, &err, EXIT_FAILURE);
	if (o->json)
		print_json(o, result);
	else
		shuntctl_view_lanes(stdout, result, &o->view);
	json_decref(result);
	return EXIT_SUCCESS;
}

static int run_reload(const struct options *o)
{
	struct shunt_err err = {""};
	json_t *result = ask(o, shuntctl_client_reload, NULL, &err);

	if (!result)
		return complain(o, &err, EXIT_FAILURE);
	if (o->json)
		print_json(o, result);
	else
		printf("rules in force: %lld\n",
		       (long long)json_integer_value(json_object_get(result, "rules")));
	json_decref(result);
	return EXIT_SUCCESS;
}

static int top(const struct options *o)
{
	const struct shuntctl_top_opts opts = {
		.socket = o->socket,
		.interval_s = o->interval_s,
		.iterations = o->iterations,
		.json = o->json,
		.json_flags = json_flags(o),
	};
	struct shunt_err err = {""};

	return shuntctl_top(&opts, &err) ? complain(o, &err, EXIT_FAILURE) : EXIT_SUCCESS;
}

static int metrics(const struct options *o)
{
	struct shunt_err err = {""};
	json_t *all = ask(o, shuntctl_metrics_ask, NULL, &err);
	int ret;

	if (!all)
		return complain(o, &err, EXIT_FAILURE);
	ret = shuntctl_metrics_print(stdout, all);
	json_decref(all);
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int doctor(const struct options *o, char **devices, int cnt)
{
	const struct shuntctl_doctor_opts opts = {.socket = o->socket, .want = o->doctor};
	struct shunt_doctor found = {0};
	struct shunt_err err = {""};
	int ret = shuntctl_doctor(&found, &opts, devices, cnt, &err);
	json_t *report;

	if (ret) {
		shunt_doctor_fini(&found);
		return complain(o, &err, EXIT_USAGE);
	}
	if (o->json) {
		report = shunt_doctor_json(&found);
		print_json(o, report);
		json_decref(report);
	} else {
		shuntctl_doctor_print(stdout, &found);
	}
	ret = shunt_doctor_count(&found, SHUNT_DOCTOR_error) ? EXIT_FAILURE : EXIT_SUCCESS;
	shunt_doctor_fini(&found);
	return ret;
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
static int parse_samples(struct options *o, char **argv, struct shunt_err *err)
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
static int parse_option(struct options *o, int opt, char **argv, struct shunt_err *err)
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
		print_help();
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
		print_help();
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
static int parse_explain(struct options *o, int opt, char **argv, struct shunt_err *err)
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

static int parse_behind(struct options *o, int command, int argc, char **argv,
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
	return ret;
}

/* Options before the command, then those behind it, among its words: some have their own. *words is
 * set to the command and what follows, *cnt of them. */
static int parse_options(struct options *o, int argc, char **argv, char ***words, int *cnt,
			 struct shunt_err *err)
{
	int opt, ret = 0, command;

	while (!ret && (opt = getopt_long(argc, argv, "+:jps:ad:n:Vh", long_options, NULL)) != -1)
		ret = parse_option(o, opt, argv, err);
	*words = argv + optind;
	*cnt = argc - optind;
	if (ret || !*cnt)
		return ret;
	command =
		shuntctl_words_find(commands, SHUNT_ARRAY_LEN(commands), **words, "command", NULL);
	argc -= optind;
	argv += optind;
	optind = 0; /* a new scan, which sorts the words behind the options (getopt(3)) */
	ret = parse_behind(o, command, argc, argv, err);
	*words = argv + optind - 1;
	*cnt = argc - optind + 1;
	(*words)[0] = argv[0];
	return ret;
}

/* Words that name ports come first; the others are the filter. */
static int split_words(const struct options *o, char **words, int cnt, unsigned *port_cnt,
		       struct shunt_err *err)
{
	json_t *ports = ask(o, shuntctl_client_show, "ports", err);
	const json_t *row;
	size_t i;

	*port_cnt = 0;
	if (!ports)
		return -EPROTO;
	while ((int)*port_cnt < cnt) {
		bool is_port = false;

		json_array_foreach (json_object_get(ports, "ports"), i, row)
			is_port |= !strcmp(json_string_value(json_object_get(row, "name")) ?: "",
					   words[*port_cnt]);
		if (!is_port)
			break;
		++*port_cnt;
	}
	json_decref(ports);
	return 0;
}

static char *join(char **words, int cnt)
{
	size_t len = 1;
	char *text, *end;
	int i;

	for (i = 0; i < cnt; i++)
		len += strlen(words[i]) + 1;
	text = calloc(1, len);
	for (end = text, i = 0; text && i < cnt; i++) {
		if (i)
			*end++ = ' ';
		memcpy(end, words[i], strlen(words[i]));
		end += strlen(words[i]);
	}
	return text;
}

static int capture(struct options *o, char **words, int cnt)
{
	struct shunt_err err = {"not enough memory"};
	char *filter = NULL;
	int ret = split_words(o, words, cnt, &o->capture.port_cnt, &err);

	if (!ret) {
		filter = join(words + o->capture.port_cnt, cnt - (int)o->capture.port_cnt);
		ret = filter ? 0 : -ENOMEM;
	}
	if (!ret) {
		o->capture.socket = o->socket;
		o->capture.ports = words;
		o->capture.filter = filter;
		ret = shuntctl_capture(&o->capture, &err);
	}
	free(filter);
	return ret ? complain(o, &err, EXIT_FAILURE) : EXIT_SUCCESS;
}

static int trace(struct options *o, char **words, int cnt)
{
	struct shunt_err err = {"not enough memory"};
	char *filter = join(words, cnt);
	int ret = filter ? 0 : -ENOMEM;

	if (!ret) {
		o->explain.socket = o->socket;
		o->explain.filter = filter;
		o->explain.is_json = o->json;
		ret = shuntctl_trace(&o->explain, &err);
	}
	free(filter);
	return ret ? complain(o, &err, EXIT_FAILURE) : EXIT_SUCCESS;
}

/* The packet may be one word, in quotes, or several. */
static int explain(struct options *o, char **words, int cnt)
{
	struct shunt_err err = {"explain needs PORT PACKET, see shuntctl help"};
	char *parts[4], *text = cnt == 2 ? strdup(words[1]) : NULL;
	json_t *answer;
	int n = 0;

	if (cnt < 2)
		return complain(o, &err, EXIT_USAGE);
	if (text && strchr(text, ' '))
		for (char *at = strtok(text, " "); at && n < 4; at = strtok(NULL, " "))
			parts[n++] = at;
	o->explain.socket = o->socket;
	answer = shuntctl_explain(&o->explain, words[0], n ? parts : words + 1, n ? n : cnt - 1,
				  &err);
	free(text);
	if (!answer)
		return complain(o, &err, EXIT_FAILURE);
	if (o->json)
		print_json(o, answer);
	else
		shuntctl_explain_print(stdout, answer);
	json_decref(answer);
	return EXIT_SUCCESS;
}

static int run_show(const struct options *o, char **words, int cnt)
{
	struct shunt_err err = {"show needs one object, see shuntctl help"};
	int object = -EINVAL;

	if (cnt == 1)
		object = shuntctl_words_find(objects, SHUNT_ARRAY_LEN(objects), words[0], "object",
					     &err);
	if (object < 0)
		return complain(o, &err, EXIT_USAGE);
	if (o->samples_s && strcmp(objects[object].name, "drops") != 0) {
		shunt_err_set(&err, EINVAL, "--samples is for show drops, not for show %s",
			      objects[object].name);
		return complain(o, &err, EXIT_USAGE);
	}
	return show(o, (unsigned)object);
}

static int run(struct options *o, char **words, int cnt)
{
	struct shunt_err err = {"a command is missing, see shuntctl help"};
	int command = -EINVAL;

	if (cnt)
		command = shuntctl_words_find(commands, SHUNT_ARRAY_LEN(commands), words[0],
					      "command", &err);
	if (command < 0)
		return complain(o, &err, EXIT_USAGE);
	if (command == COMMAND_SHOW)
		return run_show(o, words + 1, cnt - 1);
	if (command == COMMAND_ROUTE)
		return run_route(o, words + 1, cnt - 1);
	if (command == COMMAND_LANE)
		return run_lane(o, words + 1, cnt - 1);
	if (command == COMMAND_TOP && cnt == 1)
		return top(o);
	if (command == COMMAND_METRICS && cnt == 1)
		return metrics(o);
	if (command == COMMAND_CAPTURE)
		return capture(o, words + 1, cnt - 1);
	if (command == COMMAND_TRACE)
		return trace(o, words + 1, cnt - 1);
	if (command == COMMAND_EXPLAIN)
		return explain(o, words + 1, cnt - 1);
	if (command == COMMAND_RELOAD && cnt == 1)
		return run_reload(o);
	if (command == COMMAND_DOCTOR)
		return doctor(o, words + 1, cnt - 1);
	if (command == COMMAND_HELP) {
		print_help();
		return EXIT_SUCCESS;
	}
	shunt_err_set(&err, EINVAL, "%s takes no object, and '%s' was given",
		      commands[command].name, words[1]);
	return complain(o, &err, EXIT_USAGE);
}

int main(int argc, char **argv)
{
	struct options o = {.socket = SHUNT_CONTROL_PATH,
			    .interval_s = 1,
			    .explain = {.ttl = 64},
			    .capture = {.snap_len = SHUNT_TAP_SNAP_MAX, .ring_mib = 4}};
	struct shunt_err err = {""};
	char **words;
	int cnt, ret = parse_options(&o, argc, argv, &words, &cnt, &err);

	if (ret)
		return ret > 0 ? EXIT_SUCCESS : complain(&o, &err, EXIT_USAGE);
	ret = run(&o, words, cnt);
	/* A full disk or a closed pipe is a failure, too. */
	return fflush(stdout) || ferror(stdout) ? EXIT_FAILURE : ret;
}
