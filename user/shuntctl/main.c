// SPDX-License-Identifier: BSD-2-Clause
/* shuntctl: asks shuntd over its control socket and prints the answer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "client/client.h"
#include "explain.h"
#include "filter.h"
#include "show/show.h"
#include "metrics.h"
#include "options.h"
#include "samples.h"
#include "top.h"
#include "view.h"

#define EXIT_USAGE 2
#define WORDS_MAX  5 /* of a packet, and one more, which is one too many */

static void (*const views[])(FILE *, const json_t *, const struct shuntctl_view_opts *) = {
#define X(name, help) shuntctl_view_##name,
	SHUNT_SHOW_OBJECTS(X)
#undef X
};

static unsigned json_flags(const struct shuntctl_options *o)
{
	return (o->pretty ? JSON_INDENT(4) : JSON_COMPACT) | JSON_REAL_PRECISION(6);
}

static void print_json(const struct shuntctl_options *o, const json_t *object)
{
	json_dumpf(object, stdout, json_flags(o));
	putchar('\n');
}

/* On stdout with -j, where a program expects an answer; otherwise on stderr. */
static int complain(const struct shuntctl_options *o, const struct shunt_err *err, int code)
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
static json_t *ask(const struct shuntctl_options *o,
		   json_t *(*question)(int fd, const char *word, struct shunt_err *err),
		   const char *word, struct shunt_err *err)
{
	int fd = shunt_client_open(o->socket, err);
	json_t *result;

	if (fd < 0)
		return NULL;
	result = question(fd, word, err);
	close(fd);
	return result;
}

/* filter: words of pcap-filter(7); empty: everything. */
static json_t *ask_object(const struct shuntctl_options *o, unsigned object, const char *filter,
			  struct shunt_err *err)
{
	struct shuntctl_filter compiled;
	json_t *result = NULL;
	char *digits;

	if (!*filter)
		return ask(o, shunt_client_show, shuntctl_objects[object].name, err);
	if (shuntctl_filter_compile(&compiled, filter, SHUNT_TAP_SNAP_MAX, err))
		return NULL;
	digits = shuntctl_filter_print(&compiled);
	if (digits)
		result = ask(o, shunt_client_flows, digits, err);
	else
		shunt_err_set(err, ENOMEM, "filter: not enough memory");
	free(digits);
	shuntctl_filter_fini(&compiled);
	return result;
}

static int show(const struct shuntctl_options *o, unsigned object, const char *filter)
{
	struct shunt_err err = {""};
	json_t *samples = NULL, *result;

	if (o->samples_s) {
		samples = shuntctl_samples_take(o->socket, o->samples_s, &err);
		if (!samples)
			return complain(o, &err, EXIT_FAILURE);
	}
	result = ask_object(o, object, filter, &err);
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

static json_t *ask_route(const struct shuntctl_options *o, const char *address, const char *iif,
			 struct shunt_err *err)
{
	int fd = shunt_client_open(o->socket, err);
	json_t *result;

	if (fd < 0)
		return NULL;
	result = shunt_client_route(fd, address, iif, err);
	close(fd);
	return result;
}

static int run_route(const struct shuntctl_options *o, char **words, int cnt)
{
	struct shunt_err err = {"route needs `get ADDRESS`, or `get ADDRESS iif DEVICE`; see "
				"shuntctl help"};
	const bool has_iif = cnt == 4 && !strcmp(words[2], "iif");
	json_t *result;

	if ((cnt != 2 && !has_iif) || strcmp(words[0], "get") != 0)
		return complain(o, &err, EXIT_USAGE);
	result = ask_route(o, words[1], has_iif ? words[3] : NULL, &err);
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
static int run_lane(const struct shuntctl_options *o, char **words, int cnt)
{
	struct shunt_err err = {
		"lane needs `set PORT user=N% xdp=N% kernel=N%`, `set PORT LANE` or "
		"`set PORT auto`, see shuntctl help"};
	json_t *result = NULL;
	int fd;

	if (cnt < 3 || strcmp(words[0], "set") != 0)
		return complain(o, &err, EXIT_USAGE);
	fd = shunt_client_open(o->socket, &err);
	if (fd >= 0)
		result = shunt_client_lane(fd, words[1], words + 2, cnt - 2, &err);
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

static int run_reload(const struct shuntctl_options *o)
{
	struct shunt_err err = {""};
	json_t *result = ask(o, shunt_client_reload, NULL, &err);

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

static int top(const struct shuntctl_options *o)
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

static int metrics(const struct shuntctl_options *o)
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

static int doctor(const struct shuntctl_options *o, char **devices, int cnt)
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

/* Words that name ports come first; the others are the filter. */
static int split_words(const struct shuntctl_options *o, char **words, int cnt, unsigned *port_cnt,
		       struct shunt_err *err)
{
	json_t *ports = ask(o, shunt_client_show, "ports", err);
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

static int capture(struct shuntctl_options *o, char **words, int cnt)
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

static int trace(struct shuntctl_options *o, char **words, int cnt)
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
static int explain(struct shuntctl_options *o, char **words, int cnt)
{
	struct shunt_err err = {"explain needs PORT PACKET, see shuntctl help"};
	char *parts[WORDS_MAX], *text = cnt == 2 ? strdup(words[1]) : NULL;
	json_t *answer;
	int n = 0;

	if (cnt < 2)
		return complain(o, &err, EXIT_USAGE);
	if (text && strchr(text, ' '))
		for (char *at = strtok(text, " "); at && n < WORDS_MAX; at = strtok(NULL, " "))
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

static int run_show(const struct shuntctl_options *o, char **words, int cnt)
{
	struct shunt_err err = {"show needs one object, see shuntctl help"};
	int object = -EINVAL, ret;
	char *filter;

	if (cnt)
		object = shuntctl_words_find(shuntctl_objects, SHUNTCTL_OBJECT_CNT, words[0],
					     "object", &err);
	if (object < 0)
		return complain(o, &err, EXIT_USAGE);
	if (cnt > 1 && strcmp(shuntctl_objects[object].name, "flows") != 0) {
		shunt_err_set(&err, EINVAL, "show %s takes no filter, and '%s' was given",
			      shuntctl_objects[object].name, words[1]);
		return complain(o, &err, EXIT_USAGE);
	}
	if (o->samples_s && strcmp(shuntctl_objects[object].name, "drops") != 0) {
		shunt_err_set(&err, EINVAL, "--samples is for show drops, not for show %s",
			      shuntctl_objects[object].name);
		return complain(o, &err, EXIT_USAGE);
	}
	filter = join(words + 1, cnt - 1);
	if (!filter)
		return complain(o, &(struct shunt_err){"not enough memory"}, EXIT_FAILURE);
	ret = show(o, (unsigned)object, filter);
	free(filter);
	return ret;
}

static int run(struct shuntctl_options *o, char **words, int cnt)
{
	struct shunt_err err = {"a command is missing, see shuntctl help"};
	int command = -EINVAL;

	if (cnt)
		command = shuntctl_words_find(shuntctl_commands, COMMAND_CNT, words[0], "command",
					      &err);
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
		shuntctl_options_help();
		return EXIT_SUCCESS;
	}
	shunt_err_set(&err, EINVAL, "%s takes no object, and '%s' was given",
		      shuntctl_commands[command].name, words[1]);
	return complain(o, &err, EXIT_USAGE);
}

int main(int argc, char **argv)
{
	struct shuntctl_options o;
	struct shunt_err err = {""};
	char **words;
	int cnt, ret = shuntctl_options_parse(&o, argc, argv, &words, &cnt, &err);

	if (ret)
		return ret > 0 ? EXIT_SUCCESS : complain(&o, &err, EXIT_USAGE);
	ret = run(&o, words, cnt);
	/* A full disk or a closed pipe is a failure, too. */
	return fflush(stdout) || ferror(stdout) ? EXIT_FAILURE : ret;
}
