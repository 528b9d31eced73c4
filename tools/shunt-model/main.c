// SPDX-License-Identifier: BSD-2-Clause
/* shunt-model: what a forwarder should do, to be set beside what it does. */
#include "model.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

enum { OPT_SWEEP = 512, OPT_TASK_PER, OPT_CONSTANTS, OPT_NAME, OPT_COPY };

static const struct option options[] = {
#define X(name, field, kind, help) {name, required_argument, NULL, 256 + MODEL_##field},
	MODEL_PARAMS(X)
#undef X
		{"task-per", required_argument, NULL, OPT_TASK_PER},
	{"sweep", required_argument, NULL, OPT_SWEEP},
	{"constants", required_argument, NULL, OPT_CONSTANTS},
	{"name", required_argument, NULL, OPT_NAME},
	{"copy", no_argument, NULL, OPT_COPY},
	{"json", no_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{0},
};

static void print_help(void)
{
	fputs("Usage: shunt-model queue [OPTIONS]        latency, loss, cost and batches of a poller\n"
	      "       shunt-model tmax [OPTIONS]         min(r_max, c_max), and c_io, c_task, c_busy\n"
	      "       shunt-model fit [OPTIONS] FILE...  C_io, C_call and C_v from measurements\n"
	      "\n"
	      "Options of queue and tmax. Defaults are in parentheses; VALUE may end in k, M or G.\n",
	      stdout);
#define X(name, field, kind, help) printf("  --%-8s VALUE   %s\n", name, help);
	MODEL_PARAMS(X)
#undef X
	fputs("  --task-per batch|packet  whether a batch draws one C_task, or each packet (batch)\n"
	      "  --constants FILE   c-io, c-call, c-v and freq, as written by fit -j\n"
	      "  --sweep NAME=FROM:TO:STEP, NAME=A,B,...\n"
	      "                     a row for each value of the option NAME\n"
	      "queue needs one of --load, --rate and --lambda.\n"
	      "\n"
	      "Options of fit. FILE is build/bench.json of make bench, batch-mem.json of shunt-bench batch,\n"
	      "or the output of shuntctl -j show runtime (for C_v).\n"
	      "  --name NAME        measurements of this name, in cycles/packet (mem.xconnect)\n"
	      "  --copy             those with params.copy true, instead of false\n"
	      "  --c-task VALUE     cycles of work in each packet measured, subtracted (0)\n"
	      "  --freq VALUE       cycles a second, written to the result\n"
	      "\n"
	      "All:\n"
	      "  -j, --json         JSON\n"
	      "  -V, --version; -h, --help\n"
	      "\n"
	      "Examples:\n"
	      "  shunt-model queue --load 0.8\n"
	      "  shunt-model tmax --link 10G --freq 2.3G --c-io 60 --c-task 200\n"
	      "  shunt-model queue --sweep load=0.1:0.9:0.1\n"
	      "\n"
	      "Exit status: 0 done, 1 failed, 2 wrong usage. See shunt-model(1).\n",
	      stdout);
}

int model_fail(const struct shunt_err *err, int status)
{
	fprintf(stderr, "shunt-model: %s\n", err->msg);
	return status;
}

static int read_option(struct model_opts *opts, int c, struct shunt_err *err)
{
	if (c == 'j')
		opts->json = true;
	else if (c == OPT_SWEEP)
		return model_opts_sweep(opts, optarg, err);
	else if (c == OPT_CONSTANTS)
		opts->constants = optarg;
	else if (c == OPT_NAME)
		opts->name = optarg;
	else if (c == OPT_COPY)
		opts->copy = true;
	else if (c == OPT_TASK_PER && (!strcmp(optarg, "batch") || !strcmp(optarg, "packet")))
		opts->is_task_per_packet = optarg[0] == 'p';
	else if (c == OPT_TASK_PER)
		return shunt_err_set(err, 1, "--task-per %s: it must be batch or packet", optarg);
	else
		return model_opts_set(opts, (enum model_param)(c - 256), optarg, err);
	return 0;
}

/* Returns 0, 1 (done: help or version), or -1 with the sentence. */
static int read_options(struct model_opts *opts, int argc, char **argv, struct shunt_err *err)
{
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":jhV", options, NULL)) != -1) {
		if (c == 'h' || c == 'V') {
			c == 'h' ? print_help() : (void)puts("shunt-model " SHUNT_VERSION);
			return 1;
		}
		if (c == ':')
			return shunt_err_set(err, 1, "%s wants a value; see --help",
					     argv[optind - 1]);
		if (c == '?')
			return shunt_err_set(err, 1, "%s is not an option; see --help",
					     argv[optind - 1]);
		if (read_option(opts, c, err))
			return -1;
	}
	return 0;
}

static bool is_heeded(enum model_param param, char command)
{
	switch (param) {
	case MODEL_c_task:
	case MODEL_freq:
		return true;
	case MODEL_batch:
	case MODEL_c_io:
	case MODEL_c_call:
	case MODEL_link:
	case MODEL_size:
		return command != 'f';
	default:
		return command == 'q';
	}
}

/* Refuses an option that the command would ignore. */
static int check_heeded(const struct model_opts *opts, const char *command, struct shunt_err *err)
{
	unsigned i;

	for (i = 0; i < MODEL_PARAM_CNT; i++)
		if ((opts->is_given[i] || opts->sweep == (int)i) &&
		    !is_heeded((enum model_param)i, command[0]))
			return shunt_err_set(err, 1, "%s takes no --%s; see --help", command,
					     model_param_name((enum model_param)i));
	if (command[0] == 'f' && opts->sweep >= 0)
		return shunt_err_set(err, 1, "fit takes no --sweep; see --help");
	return 0;
}

static int dispatch(struct model_opts *opts, char **words, int cnt)
{
	const char *command = cnt ? words[0] : "";
	const bool is_fit = !strcmp(command, "fit");
	struct shunt_err err;

	if (strcmp(command, "queue") && strcmp(command, "tmax") && !is_fit) {
		shunt_err_set(&err, 1, "%s%squeue, tmax or fit is wanted; see --help", command,
			      cnt ? " is not a command: " : "");
		return model_fail(&err, EXIT_USAGE);
	}
	if (!is_fit && cnt > 1) {
		shunt_err_set(&err, 1, "%s: %s takes options only; see --help", words[1], command);
		return model_fail(&err, EXIT_USAGE);
	}
	if (check_heeded(opts, command, &err))
		return model_fail(&err, EXIT_USAGE);
	if (is_fit)
		return model_fit(opts, words + 1, cnt - 1);
	if (opts->constants && measured_constants(opts, opts->constants, &err))
		return model_fail(&err, 1);
	return command[0] == 'q' ? model_queue(opts) : model_tmax(opts);
}

/* What the disk or the pipe did not take is not a result. */
static int check_written(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fputs("shunt-model: standard output cannot be written: the result is lost\n", stderr);
	return status ? status : 1;
}

int main(int argc, char **argv)
{
	struct model_opts opts;
	struct shunt_err err;
	int ret;

	model_opts_init(&opts);
	ret = read_options(&opts, argc, argv, &err);
	if (ret < 0)
		ret = model_fail(&err, EXIT_USAGE);
	else if (ret > 0)
		ret = 0;
	else
		ret = dispatch(&opts, argv + optind, argc - optind);
	model_opts_fini(&opts);
	return check_written(ret);
}
