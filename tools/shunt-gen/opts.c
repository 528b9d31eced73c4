// SPDX-License-Identifier: BSD-2-Clause
#include "gen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <netinet/ether.h>
#include <stdlib.h>
#include <string.h>

#define SPORT_MAX (65536 - (1 << SHUNT_GEN_PORT_BITS))

enum opt {
	OPT_RATE = 256,
	OPT_SIZE,
	OPT_FLOWS,
	OPT_DURATION,
	OPT_COUNT,
	OPT_SRC_MAC,
	OPT_DST_MAC,
	OPT_SRC_IP,
	OPT_DST_IP,
	OPT_IPV6,
	OPT_SPORT,
	OPT_DPORT,
	OPT_TTL,
	OPT_WAY,
	OPT_CPU,
	OPT_IDLE,
	OPT_INTERVAL,
	OPT_DROP,
	OPT_GAPS,
	OPT_VERIFY,
	OPT_GENERIC,
};

static const struct option send_options[] = {
	{"rate", required_argument, NULL, OPT_RATE},
	{"size", required_argument, NULL, OPT_SIZE},
	{"flows", required_argument, NULL, OPT_FLOWS},
	{"duration", required_argument, NULL, OPT_DURATION},
	{"count", required_argument, NULL, OPT_COUNT},
	{"src-mac", required_argument, NULL, OPT_SRC_MAC},
	{"dst-mac", required_argument, NULL, OPT_DST_MAC},
	{"src-ip", required_argument, NULL, OPT_SRC_IP},
	{"dst-ip", required_argument, NULL, OPT_DST_IP},
	{"ipv6", no_argument, NULL, OPT_IPV6},
	{"sport", required_argument, NULL, OPT_SPORT},
	{"dport", required_argument, NULL, OPT_DPORT},
	{"ttl", required_argument, NULL, OPT_TTL},
	{"way", required_argument, NULL, OPT_WAY},
	{"cpu", required_argument, NULL, OPT_CPU},
	{"json", no_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'},
	{},
};

static const struct option sink_options[] = {
	{"duration", required_argument, NULL, OPT_DURATION},
	{"count", required_argument, NULL, OPT_COUNT},
	{"idle", required_argument, NULL, OPT_IDLE},
	{"interval", required_argument, NULL, OPT_INTERVAL},
	{"drop", no_argument, NULL, OPT_DROP},
	{"gaps", no_argument, NULL, OPT_GAPS},
	{"verify", no_argument, NULL, OPT_VERIFY},
	{"generic", no_argument, NULL, OPT_GENERIC},
	{"cpu", required_argument, NULL, OPT_CPU},
	{"json", no_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'},
	{},
};

/* A number that may end in k, M or G. */
static int parse_real(double *out, const char *name, double min, double max, struct shunt_err *err)
{
	char *end;
	double v = strtod(optarg, &end);

	if (end != optarg && *end) {
		const char *const units = "kMG", *unit = strchr(units, *end);

		if (unit) {
			v *= pow(1000, (double)(unit - units + 1));
			end++;
		}
	}
	if (end == optarg || *end || !(v >= min && v <= max))
		return shunt_err_set(err, EINVAL, "--%s wants a number from %.7g to %.7g, not '%s'",
				     name, min, max, optarg);
	*out = v;
	return 0;
}

static int parse_whole(uint64_t *out, const char *name, uint64_t min, uint64_t max,
		       struct shunt_err *err)
{
	double v = 0;
	int rc = parse_real(&v, name, (double)min, (double)max, err);

	if (rc)
		return rc;
	if (v != floor(v))
		return shunt_err_set(err, EINVAL, "--%s wants a whole number, not '%s'", name,
				     optarg);
	*out = (uint64_t)v;
	return 0;
}

static int parse_mac(uint8_t *out, const char *name, struct shunt_err *err)
{
	struct ether_addr a;

	if (!ether_aton_r(optarg, &a))
		return shunt_err_set(err, EINVAL, "--%s wants a MAC address, not '%s'", name,
				     optarg);
	memcpy(out, &a, ETH_ALEN);
	return 0;
}

/* Returns the address's family, or -EINVAL. */
static int parse_ip(struct in6_addr *out, const char *name, struct shunt_err *err)
{
	if (inet_pton(AF_INET, optarg, out) == 1)
		return AF_INET;
	if (inet_pton(AF_INET6, optarg, out) == 1)
		return AF_INET6;
	return shunt_err_set(err, EINVAL, "--%s wants an IPv4 or IPv6 address, not '%s'", name,
			     optarg);
}

static int parse_way(enum gen_way *out, struct shunt_err *err)
{
	if (!strcmp(optarg, "xdp"))
		*out = GEN_XDP;
	else if (!strcmp(optarg, "packet"))
		*out = GEN_PACKET;
	else
		return shunt_err_set(err, EINVAL, "--way is xdp or packet, not '%s'", optarg);
	return 0;
}

static int parse_rate(double *out, struct shunt_err *err)
{
	if (strcmp(optarg, "max"))
		return parse_real(out, "rate", 0.01, 1e9, err);
	*out = 0;
	return 0;
}

/* Families of the addresses given, to be of one kind in the end. */
struct families {
	int src, dst;
	bool v6;
};

static int take_addressing(struct gen_send_opts *o, struct families *fam, int opt,
			   struct shunt_err *err)
{
	uint64_t n = 0;
	int rc = 0;

	switch (opt) {
	case OPT_SRC_MAC:
		o->have_src_mac = true;
		return parse_mac(o->src_mac, "src-mac", err);
	case OPT_DST_MAC:
		return parse_mac(o->dst_mac, "dst-mac", err);
	case OPT_SRC_IP:
		fam->src = rc = parse_ip(&o->src_ip, "src-ip", err);
		break;
	case OPT_DST_IP:
		fam->dst = rc = parse_ip(&o->dst_ip, "dst-ip", err);
		break;
	case OPT_IPV6:
		fam->v6 = true;
		break;
	case OPT_SPORT:
		rc = parse_whole(&n, "sport", 0, SPORT_MAX, err);
		o->sport = (uint16_t)n;
		break;
	case OPT_DPORT:
		rc = parse_whole(&n, "dport", 0, 65535, err);
		o->dport = (uint16_t)n;
		break;
	case OPT_TTL:
		rc = parse_whole(&n, "ttl", 0, 255, err);
		o->ttl = (uint8_t)n;
		break;
	}
	return rc < 0 ? rc : 0;
}

static int take_send(struct gen_send_opts *o, struct families *fam, int opt, struct shunt_err *err)
{
	uint64_t n = 0;
	int rc;

	switch (opt) {
	case OPT_RATE:
		return parse_rate(&o->rate_pps, err);
	case OPT_SIZE:
		rc = parse_whole(&n, "size", SHUNT_GEN_HEAD_LEN(0), GEN_SIZE_MAX, err);
		o->size = (unsigned)n;
		return rc;
	case OPT_FLOWS:
		rc = parse_whole(&n, "flows", 1, SHUNT_GEN_FLOW_MAX, err);
		o->flows = (uint32_t)n;
		return rc;
	case OPT_DURATION:
		return parse_real(&o->duration_s, "duration", 0.001, 1e6, err);
	case OPT_COUNT:
		return parse_whole(&o->count, "count", 1, 1ULL << 48, err);
	case OPT_WAY:
		return parse_way(&o->way, err);
	case OPT_CPU:
		rc = parse_whole(&n, "cpu", 0, 4095, err);
		o->cpu = (int)n;
		return rc;
	case 'j':
		o->json = true;
		return 0;
	default:
		return take_addressing(o, fam, opt, err);
	}
}

static int take_sink(struct gen_sink_opts *o, int opt, struct shunt_err *err)
{
	uint64_t n = 0;
	int rc;

	switch (opt) {
	case OPT_DURATION:
		return parse_real(&o->duration_s, "duration", 0.001, 1e6, err);
	case OPT_COUNT:
		return parse_whole(&o->count, "count", 1, 1ULL << 48, err);
	case OPT_IDLE:
		return parse_real(&o->idle_s, "idle", 0.05, 1e6, err);
	case OPT_INTERVAL:
		return parse_real(&o->interval_s, "interval", 0, 1e6, err);
	case OPT_CPU:
		rc = parse_whole(&n, "cpu", 0, 4095, err);
		o->cpu = (int)n;
		return rc;
	case OPT_DROP:
		o->drop = true;
		break;
	case OPT_GAPS:
		o->gaps = true;
		break;
	case OPT_VERIFY:
		o->verify = true;
		break;
	case OPT_GENERIC:
		o->generic = true;
		break;
	case 'j':
		o->json = true;
		break;
	}
	return 0;
}

static int bad_option(char **argv, int opt, struct shunt_err *err)
{
	if (opt == ':')
		return shunt_err_set(err, EINVAL, "%s wants a value", argv[optind - 1]);
	return shunt_err_set(err, EINVAL, "unknown option '%s'", argv[optind - 1]);
}

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

static int settle_addresses(struct gen_send_opts *o, const struct families *fam,
			    struct shunt_err *err)
{
	o->v6 = fam->v6 || fam->src == AF_INET6 || fam->dst == AF_INET6;
	if (o->v6 && (fam->src == AF_INET || fam->dst == AF_INET))
		return shunt_err_set(err, EINVAL, "IPv4 and IPv6 addresses are mixed");
	if (!fam->src)
		inet_pton(o->v6 ? AF_INET6 : AF_INET, o->v6 ? "2001:2:0:1::1" : "198.18.0.1",
			  &o->src_ip);
	if (!fam->dst)
		inet_pton(o->v6 ? AF_INET6 : AF_INET, o->v6 ? "2001:2:0:2::1" : "198.19.0.1",
			  &o->dst_ip);
	if (!o->size)
		o->size = SHUNT_GEN_HEAD_LEN(o->v6);
	if (o->size < SHUNT_GEN_HEAD_LEN(o->v6))
		return shunt_err_set(err, EINVAL,
				     "an IPv6 frame with the tag has at least %d bytes, not %u",
				     SHUNT_GEN_HEAD_LEN(1), o->size);
	return 0;
}

int gen_parse_send(struct gen_send_opts *o, int argc, char **argv, struct shunt_err *err)
{
	struct families fam = {};
	int opt, rc;

	*o = (struct gen_send_opts){.flows = 1,
				    .cpu = -1,
				    .dst_mac = {2, 0, 0, 0, 1, 1},
				    .sport = 1024,
				    .dport = 9,
				    .ttl = 64};
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":jh", send_options, NULL)) != -1) {
		if (opt == 'h')
			return 1;
		if (opt == ':' || opt == '?')
			return bad_option(argv, opt, err);
		rc = take_send(o, &fam, opt, err);
		if (rc)
			return rc;
	}
	rc = take_device(&o->dev, argc, argv, err);
	if (rc)
		return rc;
	if (!o->duration_s && !o->count)
		o->duration_s = 10;
	if (o->way == GEN_AUTO)
		o->way = o->rate_pps && o->rate_pps <= GEN_PACKET_RATE_MAX ? GEN_PACKET : GEN_XDP;
	return settle_addresses(o, &fam, err);
}

int gen_parse_sink(struct gen_sink_opts *o, int argc, char **argv, struct shunt_err *err)
{
	int opt, rc;

	*o = (struct gen_sink_opts){.cpu = -1, .interval_s = 1};
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":jh", sink_options, NULL)) != -1) {
		if (opt == 'h')
			return 1;
		if (opt == ':' || opt == '?')
			return bad_option(argv, opt, err);
		rc = take_sink(o, opt, err);
		if (rc)
			return rc;
	}
	return take_device(&o->dev, argc, argv, err);
}
