// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "opts.h"

void gen_sink_defaults(struct gen_sink_opts *o)
{
	*o = (struct gen_sink_opts){.cpu = -1,
				    .interval_s = 1,
				    .order = true,
				    .latency = true,
				    .gaps = true,
				    .verify = true};
}

static int take_number(struct gen_sink_opts *o, int opt, struct shunt_err *err)
{
	uint64_t n = 0;
	int rc = 0;

	switch (opt) {
	case OPT_DURATION:
		return gen_parse_real(&o->duration_s, optarg, "duration", 0.001, 1e6, err);
	case OPT_COUNT:
		return gen_parse_whole(&o->count, optarg, "count", 1, 1ULL << 48, err);
	case OPT_IDLE:
		return gen_parse_real(&o->idle_s, optarg, "idle", 0.05, 1e6, err);
	case OPT_INTERVAL:
		return gen_parse_real(&o->interval_s, optarg, "interval", 0, 1e6, err);
	case OPT_CPU:
		rc = gen_parse_whole(&n, optarg, "cpu", 0, 4095, err);
		o->cpu = (int)n;
		break;
	}
	return rc;
}

int gen_sink_take(struct gen_sink_opts *o, int opt, struct shunt_err *err)
{
	switch (opt) {
	case OPT_DROP:
		o->drop = true;
		break;
	case OPT_COUNT_ONLY:
		o->order = o->latency = o->gaps = o->verify = false;
		break;
	case OPT_ORDER:
		o->order = true;
		break;
	case OPT_LATENCY:
		o->latency = true;
		break;
	case OPT_GAPS:
		o->gaps = true;
		break;
	case OPT_VERIFY:
		o->verify = true;
		break;
	case OPT_HISTOGRAM:
		o->histogram = true;
		break;
	case OPT_PLOT:
		o->plot = optarg;
		break;
	case OPT_GENERIC:
		o->generic = true;
		break;
	case 'j':
		o->json = true;
		break;
	default:
		return take_number(o, opt, err);
	}
	return 0;
}

int gen_sink_settle(struct gen_sink_opts *o, struct shunt_err *err)
{
	const char *dot = o->plot ? strrchr(o->plot, '.') : NULL;

	if (o->plot && (!dot || (strcmp(dot, ".svg") && strcmp(dot, ".png"))))
		return shunt_err_set(err, EINVAL, "--plot wants a file .svg or .png, not '%s'",
				     o->plot);
	if ((o->plot || o->histogram) && !o->latency && !o->gaps)
		return shunt_err_set(err, EINVAL,
				     "%s has nothing to show: --count-only measures neither "
				     "latency nor gaps",
				     o->plot ? "--plot" : "--histogram");
	return 0;
}
