// SPDX-License-Identifier: BSD-2-Clause
/* The command line of each subcommand. */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "gen.h"
#include "opts.h"

static const struct option send_options[] = {
	GEN_SEND_OPTIONS(GEN_LONG_OPTION) GEN_BOTH_OPTIONS(GEN_LONG_OPTION) GEN_LONG_OPTIONS_END};
static const struct option sink_options[] = {
	GEN_SINK_OPTIONS(GEN_LONG_OPTION) GEN_BOTH_OPTIONS(GEN_LONG_OPTION) GEN_LONG_OPTIONS_END};
static const struct option run_options[] = {GEN_RUN_OPTIONS(GEN_LONG_OPTION) GEN_SEND_OPTIONS(
	GEN_LONG_OPTION) GEN_SINK_OPTIONS(GEN_LONG_OPTION) GEN_BOTH_OPTIONS(GEN_LONG_OPTION)
						    GEN_LONG_OPTIONS_END};

/* The one word that is no option. getopt has put it last. */
static int take_device(const char **dev, int argc, char **argv, struct shunt_err *err)
{
	if (optind == argc)
		return shunt_err_set(err, EINVAL, "%s wants a device", argv[0]);
	if (optind < argc - 1)
		return shunt_err_set(err, EINVAL, "%s takes one device, not '%s' too", argv[0],
				     argv[optind + 1]);
	*dev = argv[optind];
	return 0;
}

/* Goes through argv; take gets each option. Returns 1 for help. */
static int each(void *o, int (*take)(void *, int, struct shunt_err *), const struct option *options,
		int argc, char **argv, struct shunt_err *err)
{
	int opt, rc;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":jh", options, NULL)) != -1) {
		if (opt == 'h')
			return 1;
		if (opt == ':' || opt == '?')
			return gen_bad_option(argv, opt, err);
		rc = take(o, opt, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int take_send(void *o, int opt, struct shunt_err *err)
{
	return gen_send_take(o, opt, err);
}

static int take_sink(void *o, int opt, struct shunt_err *err)
{
	return gen_sink_take(o, opt, err);
}

int gen_parse_send(struct gen_send_opts *o, int argc, char **argv, struct shunt_err *err)
{
	int rc;

	gen_send_defaults(o);
	rc = each(o, take_send, send_options, argc, argv, err);
	if (!rc)
		rc = take_device(&o->dev, argc, argv, err);
	return rc ? rc : gen_send_settle(o, err);
}

int gen_parse_sink(struct gen_sink_opts *o, int argc, char **argv, struct shunt_err *err)
{
	int rc;

	gen_sink_defaults(o);
	rc = each(o, take_sink, sink_options, argc, argv, err);
	if (!rc)
		rc = take_device(&o->dev, argc, argv, err);
	return rc ? rc : gen_sink_settle(o, err);
}

/* DEV, NAMESPACE/DEV or PATH/DEV. */
static int take_place(struct gen_place *p, const char *name, struct shunt_err *err)
{
	const char *slash = strrchr(optarg, '/'), *dev = slash ? slash + 1 : optarg;
	const size_t len = slash ? (size_t)(slash - optarg) : 0;

	if (!*dev || strlen(dev) >= sizeof(p->dev) || len >= sizeof(p->ns) || (slash && !len))
		return shunt_err_set(err, EINVAL, "--%s wants [NAMESPACE/]DEVICE, not '%s'", name,
				     optarg);
	memcpy(p->ns, optarg, len);
	p->ns[len] = '\0';
	snprintf(p->dev, sizeof(p->dev), "%s", dev);
	return 0;
}

static int take_run(void *opts, int opt, struct shunt_err *err)
{
	struct gen_run_opts *o = opts;

	switch (opt) {
	case OPT_TX:
		return take_place(&o->tx, "tx", err);
	case OPT_RX:
		return take_place(&o->rx, "rx", err);
	case OPT_RX_CPU:
		return gen_sink_take(&o->sink, OPT_CPU, err);
	case 'j':
		o->send.json = o->sink.json = true;
		return 0;
#define X(id, name, value) case OPT_##id:
		GEN_SINK_OPTIONS(X)
#undef X
		return gen_sink_take(&o->sink, opt, err);
	default:
		return gen_send_take(&o->send, opt, err);
	}
}

int gen_parse_run(struct gen_run_opts *o, int argc, char **argv, struct shunt_err *err)
{
	int rc;

	memset(o, 0, sizeof(*o));
	gen_send_defaults(&o->send);
	gen_sink_defaults(&o->sink);
	rc = each(o, take_run, run_options, argc, argv, err);
	if (rc)
		return rc;
	if (optind < argc)
		return shunt_err_set(err, EINVAL,
				     "run takes its devices by --tx and --rx, not '%s'",
				     argv[optind]);
	if (!*o->tx.dev || !*o->rx.dev)
		return shunt_err_set(err, EINVAL,
				     "run wants --tx and --rx, each [NAMESPACE/]DEVICE");
	o->send.dev = o->tx.dev;
	o->sink.dev = o->rx.dev;
	rc = gen_send_settle(&o->send, err);
	return rc ? rc : gen_sink_settle(&o->sink, err);
}
