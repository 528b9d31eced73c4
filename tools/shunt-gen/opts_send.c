// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "opts.h"

#define SPORT_MAX (65536 - 16384)

static int parse_word(int *out, const char *name, const char *const *words, struct shunt_err *err)
{
	char list[128] = "";
	int i;

	for (i = 0; words[i]; i++)
		if (!strcmp(optarg, words[i])) {
			*out = i;
			return 0;
		}
	for (i = 0; words[i]; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
			 !i		? ""
			 : words[i + 1] ? ", "
					: " or ",
			 words[i]);
	return shunt_err_set(err, EINVAL, "--%s is %s, not '%s'", name, list, optarg);
}

static int parse_way(enum gen_way *out, struct shunt_err *err)
{
	static const char *const words[] = {"auto", "xdp", "xsk", "packet", NULL};
	int i = 0, rc = parse_word(&i, "way", words, err);

	*out = (enum gen_way)i;
	return rc;
}

static int parse_copy_mode(enum shunt_copy_mode *out, struct shunt_err *err)
{
	static const char *const words[] = {"auto", "zerocopy", "copy", NULL};
	int i = 0, rc = parse_word(&i, "copy-mode", words, err);

	*out = (enum shunt_copy_mode)i;
	return rc;
}

static int parse_checksum(enum gen_checksum *out, struct shunt_err *err)
{
	static const char *const words[] = {"software", "offload", "auto", NULL};
	int i = 0, rc = parse_word(&i, "checksum", words, err);

	*out = (enum gen_checksum)i;
	return rc;
}

static int parse_proto(bool *tcp, struct shunt_err *err)
{
	static const char *const words[] = {"udp", "tcp-syn", NULL};
	int i = 0, rc = parse_word(&i, "proto", words, err);

	*tcp = i;
	return rc;
}

static int parse_order(struct gen_send_opts *o, struct shunt_err *err)
{
	static const char *const words[] = {"count", "random", "zipf", NULL};
	int i = 0, rc;

	o->order_s = 1;
	if (!strncmp(optarg, "zipf:", 5)) {
		o->order = GEN_ZIPF;
		return gen_parse_real(&o->order_s, optarg + 5, "flow-order zipf", 0, 100, err);
	}
	rc = parse_word(&i, "flow-order", words, err);
	o->order = (enum gen_order)i;
	return rc;
}

/* compound[:PSI,NU] */
static int parse_compound(struct gen_send_opts *o, struct shunt_err *err)
{
	char *end = optarg + strlen("compound");
	double psi = o->psi;

	if (*end == ':') {
		psi = strtod(end + 1, &end);
		o->nu = *end == ',' ? strtod(end + 1, &end) : NAN;
	}
	if (*end || !(psi >= 1 && psi <= 65536) || psi != floor(psi) ||
	    !(o->nu >= 0 && o->nu <= 100))
		return shunt_err_set(err, EINVAL,
				     "--arrival compound:PSI,NU wants the largest batch, 1 to "
				     "65536, and an exponent, 0 to 100, not '%s'",
				     optarg);
	o->psi = (uint32_t)psi;
	return 0;
}

/* burst:FRAMES */
static int parse_burst(struct gen_send_opts *o, const char *text, struct shunt_err *err)
{
	char *end;
	double frames = strtod(text, &end);

	if (*end || end == text || !(frames >= 1 && frames <= 65536) || frames != floor(frames))
		return shunt_err_set(err, EINVAL,
				     "--arrival burst:FRAMES wants frames of a burst, 1 to 65536, "
				     "not '%s'",
				     optarg);
	o->burst = (uint32_t)frames;
	o->arrival = SHUNT_ARRIVAL_BURST;
	return 0;
}

static int parse_arrival(struct gen_send_opts *o, struct shunt_err *err)
{
	static const char *const words[] = {"constant", "burst", "poisson", "compound", NULL};
	int i = 0, rc;

	if (!strcmp(optarg, "burst") || !strncmp(optarg, "burst:", strlen("burst:")))
		return parse_burst(o, optarg + SHUNT_MIN(strlen("burst:"), strlen(optarg)), err);
	if (!strncmp(optarg, "compound:", strlen("compound:"))) {
		o->arrival = SHUNT_ARRIVAL_COMPOUND;
		return parse_compound(o, err);
	}
	rc = parse_word(&i, "arrival", words, err);
	o->arrival = (enum shunt_arrival_kind)i;
	return rc;
}

static int parse_cpus(struct gen_send_opts *o, struct shunt_err *err)
{
	char buf[256], *rest = buf, *word;
	uint64_t n;
	int rc;

	snprintf(buf, sizeof(buf), "%s", optarg);
	o->cpu_cnt = 0;
	while ((word = strsep(&rest, ","))) {
		rc = gen_parse_whole(&n, word, "cpu", 0, 4095, err);
		if (rc)
			return rc;
		if (o->cpu_cnt == GEN_THREADS_MAX)
			return shunt_err_set(err, EINVAL, "--cpu takes at most %d",
					     GEN_THREADS_MAX);
		o->cpus[o->cpu_cnt++] = (int)n;
	}
	return 0;
}

static int take_addressing(struct gen_send_opts *o, int opt, struct shunt_err *err)
{
	uint64_t n = 0;
	int rc = 0;

	switch (opt) {
	case OPT_SRC_MAC:
		o->have_src_mac = true;
		return gen_parse_mac(o->src_mac, optarg, "src-mac", err);
	case OPT_DST_MAC:
		return gen_parse_mac(o->dst_mac, optarg, "dst-mac", err);
	case OPT_SRC_IP:
		o->src_family = rc = gen_parse_address(&o->src_ip, &o->src, optarg, "src-ip", err);
		break;
	case OPT_DST_IP:
		o->dst_family = rc = gen_parse_address(&o->dst_ip, &o->dst, optarg, "dst-ip", err);
		break;
	case OPT_IPV6:
		o->v6 = true;
		break;
	case OPT_SPORT:
		return gen_parse_ports(&o->sport, optarg, "sport", err);
	case OPT_DPORT:
		return gen_parse_ports(&o->dport, optarg, "dport", err);
	case OPT_TTL:
		rc = gen_parse_whole(&n, optarg, "ttl", 0, 255, err);
		o->ttl = (uint8_t)n;
		break;
	case OPT_PROTO:
		return parse_proto(&o->tcp, err);
	}
	return rc < 0 ? rc : 0;
}

static int take_number(struct gen_send_opts *o, int opt, struct shunt_err *err)
{
	uint64_t n = 0;
	int rc = 0;

	switch (opt) {
	case OPT_FLOWS:
		rc = gen_parse_whole(&n, optarg, "flows", 1, SHUNT_GEN_FLOW_MAX, err);
		o->flows = (uint32_t)n;
		break;
	case OPT_DURATION:
		return gen_parse_real(&o->duration_s, optarg, "duration", 0.001, 1e6, err);
	case OPT_LINE:
		return gen_parse_line(&o->line_bps, optarg, err);
	case OPT_COUNT:
		return gen_parse_whole(&o->count, optarg, "count", 1, 1ULL << SHUNT_GEN_SEQ_BITS,
				       err);
	case OPT_LOOP:
		return gen_parse_whole(&o->loops, optarg, "loop", 1, 1000000000, err);
	case OPT_SEED:
		return gen_parse_whole(&o->seed, optarg, "seed", 0, 1ULL << 53, err);
	case OPT_THREADS:
		rc = gen_parse_whole(&n, optarg, "threads", 1, GEN_THREADS_MAX, err);
		o->threads = (unsigned)n;
		break;
	case OPT_QUEUE:
		rc = gen_parse_whole(&n, optarg, "queue", 0, 65535 - GEN_THREADS_MAX, err);
		o->queue = (unsigned)n;
		break;
	}
	return rc;
}

/* What a frame is made of, which a capture has already. */
static bool shapes_frames(int opt)
{
	switch (opt) {
	case OPT_SIZE:
	case OPT_FLOWS:
	case OPT_FLOW_ORDER:
	case OPT_SRC_MAC:
	case OPT_DST_MAC:
	case OPT_SRC_IP:
	case OPT_DST_IP:
	case OPT_IPV6:
	case OPT_SPORT:
	case OPT_DPORT:
	case OPT_TTL:
	case OPT_PROTO:
		return true;
	}
	return false;
}

int gen_send_take(struct gen_send_opts *o, int opt, struct shunt_err *err)
{
	o->shapes_frames |= shapes_frames(opt);
	switch (opt) {
	case OPT_RATE:
		return gen_parse_rate(&o->rate, optarg, err);
	case OPT_SIZE:
		o->sizes = optarg;
		return 0;
	case OPT_FLOW_ORDER:
		return parse_order(o, err);
	case OPT_ARRIVAL:
		return parse_arrival(o, err);
	case OPT_PCAP:
		o->capture = optarg;
		return 0;
	case OPT_WAY:
		return parse_way(&o->way, err);
	case OPT_COPY_MODE:
		return parse_copy_mode(&o->copy_mode, err);
	case OPT_CHECKSUM:
		return parse_checksum(&o->checksum, err);
	case OPT_CPU:
		return parse_cpus(o, err);
	case OPT_PROGRESS:
		o->progress = true;
		return 0;
	case OPT_STRICT:
		o->strict = true;
		return 0;
	case OPT_NO_STAMP:
		o->stamped = false;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case OPT_FLOWS:
	case OPT_DURATION:
	case OPT_LINE:
	case OPT_COUNT:
	case OPT_LOOP:
	case OPT_SEED:
	case OPT_THREADS:
	case OPT_QUEUE:
		return take_number(o, opt, err);
	default:
		return take_addressing(o, opt, err);
	}
}

static void default_address(struct in6_addr *out, struct gen_field *f, bool v6, const char *four,
			    const char *six)
{
	gen_parse_address(out, f, v6 ? six : four, "", NULL);
	f->is_given = false;
}

static int settle_addresses(struct gen_send_opts *o, struct shunt_err *err)
{
	o->v6 |= o->src_family == AF_INET6 || o->dst_family == AF_INET6;
	if (o->v6 && (o->src_family == AF_INET || o->dst_family == AF_INET))
		return shunt_err_set(err, EINVAL, "IPv4 and IPv6 addresses are mixed");
	if (!o->src_family)
		default_address(&o->src_ip, &o->src, o->v6, "198.18.0.1", "2001:2:0:1::1");
	if (!o->dst_family)
		default_address(&o->dst_ip, &o->dst, o->v6, "198.19.0.1", "2001:2:0:2::1");
	return 0;
}

bool gen_send_wants_xsk(const struct gen_send_opts *o)
{
	return o->queue || o->copy_mode != SHUNT_COPY_AUTO || o->checksum != GEN_CSUM_SOFTWARE;
}

/* What can be told wrong without the device. */
static int check(const struct gen_send_opts *o, struct shunt_err *err)
{
	struct shunt_bag bag = {};
	int rc = 0;

	if (o->capture && o->shapes_frames)
		return shunt_err_set(err, EINVAL,
				     "--pcap sends the frames of the capture as they are: no "
				     "--size, --flows, --proto, --ttl, ports or addresses beside "
				     "it");
	if (o->capture && o->threads > 1)
		return shunt_err_set(err, EINVAL, "--pcap keeps its order in one thread only");
	if (o->capture && o->way == GEN_XDP)
		return shunt_err_set(err, EINVAL, "--pcap is sent by --way xsk or packet, not xdp");
	if ((o->way == GEN_XDP || o->way == GEN_PACKET) && gen_send_wants_xsk(o))
		return shunt_err_set(err, EINVAL,
				     "--queue, --copy-mode and --checksum are of --way xsk alone");
	if (o->checksum == GEN_CSUM_OFFLOAD && o->capture)
		return shunt_err_set(err, EINVAL,
				     "--checksum offload is of frames that are not a capture's");
	if (!o->capture && o->loops > 1)
		return shunt_err_set(err, EINVAL, "--loop repeats a --pcap");
	if (o->sport.cnt == 1 && o->sport.first > SPORT_MAX && o->flows > 1)
		return shunt_err_set(err, EINVAL,
				     "--sport of the first of several flows is at most %d, not %u",
				     SPORT_MAX, o->sport.first);
	if (o->rate.unit == GEN_MAX && o->arrival != SHUNT_ARRIVAL_CONSTANT)
		return shunt_err_set(err, EINVAL, "--arrival wants a --rate%s",
				     o->capture ? ": without one, a capture has its own times"
						: "");
	if (o->sizes)
		rc = gen_parse_sizes(&bag, o->sizes, SHUNT_GEN_HEAD_LEN(o->v6, o->tcp), err);
	shunt_bag_fini(&bag);
	return rc;
}

void gen_send_defaults(struct gen_send_opts *o)
{
	*o = (struct gen_send_opts){.threads = 1,
				    .loops = 1,
				    .seed = 1,
				    .psi = 20,
				    .nu = 0.701,
				    .stamped = true,
				    .dst_mac = {2, 0, 0, 0, 1, 1},
				    .sport = {.first = 1024, .cnt = 1},
				    .dport = {.first = 9, .cnt = 1},
				    .ttl = 64};
}

int gen_send_settle(struct gen_send_opts *o, struct shunt_err *err)
{
	int rc = settle_addresses(o, err);

	if (!rc)
		rc = check(o, err);
	if (!o->duration_s && !o->count && !o->capture)
		o->duration_s = 10;
	return rc;
}
