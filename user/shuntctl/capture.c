// SPDX-License-Identifier: BSD-2-Clause
#include "capture.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "graph/drop.h"
#include "graph/punt.h"
#include "ending.h"
#include "packet.h"
#include "pcapng.h"
#include "steer/steer.h"
#include "tap.h"

#define COMMENT_MAX 96
#define FILE_BUFFER (256u << 10) /* bytes that are written at once */

/* A frame that arrived, and whose end is not known yet: one a CPU. */
struct arrived {
	struct shunt_tap_record *record;
	uint32_t room; /* of bytes */
	bool is_there;
};

struct capture {
	const struct shuntctl_capture_opts *opts;
	struct tap *tap;
	const struct tap_port *ports;
	unsigned port_cnt;
	uint32_t interface[TAP_PORT_MAX]; /* by port */
	FILE *out;
	bool is_pcapng;
	char file[4096];	      /* its name now, */
	char base[4096];	      /* without the number */
	unsigned base_cnt;	      /* files of that name */
	uint64_t file_bytes, file_ns; /* written to it; when it was begun */
	uint64_t epoch_ns;	      /* what CLOCK_MONOTONIC lacks to the time of day */
	uint64_t packets, captured[TAP_PORT_MAX];
	char comment[COMMENT_MAX]; /* of the packet before; most have the same */
	const char *lane, *reason; /* that it says */
	struct arrived arrived[TAP_CPUS];
	struct shunt_err *err;
};

/* --- the end ---------------------------------------------------------------------------------- */

static bool is_full(const struct capture *c)
{
	return c->opts->packet_max && c->packets >= c->opts->packet_max;
}

/* --- files ------------------------------------------------------------------------------------ */

static int file_error(struct capture *c, int code)
{
	return shunt_err_set(c->err, code ? code : EIO, "%s: %s",
			     c->opts->file && strcmp(c->opts->file, "-") ? c->file
									 : "standard output",
			     strerror(code ? code : EIO));
}

/* FILE, FILE1, FILE2, ... as tcpdump calls them; with seconds also by strftime(3). What strftime
 * names the same is numbered, too: no file of this capture's is written over. */
static void name_file(struct capture *c)
{
	const time_t now = time(NULL);
	char name[sizeof(c->base) - 16];
	struct tm tm;

	if (!c->opts->seconds || !strchr(c->opts->file, '%') || !localtime_r(&now, &tm) ||
	    !strftime(name, sizeof(name), c->opts->file, &tm))
		snprintf(name, sizeof(name), "%s", c->opts->file);
	if (strcmp(name, c->base) != 0) {
		memcpy(c->base, name, sizeof(name));
		c->base_cnt = 0;
	}
	if (c->base_cnt)
		snprintf(c->file, sizeof(c->file), "%s%u", name, c->base_cnt);
	else
		snprintf(c->file, sizeof(c->file), "%s", name);
	c->base_cnt++;
}

static int begin_file(struct capture *c)
{
	unsigned i, cnt = 0;
	int ret;

	c->file_bytes = 0;
	c->file_ns = shunt_clock_ns();
	if (!c->opts->file || !strcmp(c->opts->file, "-")) {
		c->out = stdout;
	} else {
		name_file(c);
		c->out = fopen(c->file, "we");
		if (!c->out)
			return shunt_err_set(c->err, errno, "%s: %s", c->file, strerror(errno));
		setvbuf(c->out, NULL, _IOFBF, FILE_BUFFER);
	}
	if (!c->is_pcapng)
		return 0;
	ret = pcapng_begin(c->out, "shuntctl " SHUNT_VERSION);
	for (i = 0; i < c->port_cnt && ret >= 0; i++) {
		if (!c->ports[i].is_shown)
			continue;
		c->interface[i] = cnt++;
		ret = pcapng_add_interface(c->out, c->ports[i].name, c->opts->snap_len);
	}
	return ret < 0 || fflush(c->out) ? file_error(c, errno) : 0;
}

static int end_file(struct capture *c)
{
	const uint64_t now_ns = shunt_clock_ns() + c->epoch_ns;
	uint64_t lost[TAP_PORT_MAX] = {0};
	unsigned i;
	int ret = 0;

	if (!c->out)
		return 0;
	if (c->is_pcapng)
		tap_lost(c->tap, lost);
	for (i = 0; i < c->port_cnt && c->is_pcapng && ret >= 0; i++)
		if (c->ports[i].is_shown)
			ret = pcapng_end_interface(c->out, c->interface[i], now_ns, c->captured[i],
						   lost[i]);
	if (fflush(c->out) || ferror(c->out))
		ret = ret < 0 ? ret : -EIO;
	if (c->out != stdout && fclose(c->out))
		ret = ret < 0 ? ret : -errno;
	c->out = NULL;
	return ret < 0 ? file_error(c, -ret) : 0;
}

static bool is_file_over(const struct capture *c)
{
	const struct shuntctl_capture_opts *o = c->opts;

	if (!c->is_pcapng || c->out == stdout)
		return false;
	return (o->megabytes && c->file_bytes >= o->megabytes * 1000000ull) ||
	       (o->seconds && shunt_clock_ns() - c->file_ns >= o->seconds * SHUNT_NS_PER_SEC);
}

/* --- packets ---------------------------------------------------------------------------------- */

/* What is written of a packet at one place. */
struct seen {
	unsigned port;
	enum pcapng_direction direction;
	int verdict; /* -1: no program gave one */
	const char *lane, *reason;
	uint64_t time_ns;
};

static void print_line(struct capture *c, const struct shunt_tap_record *r, const struct seen *s)
{
	static const char *const ways[] = {"  ", "in", "out"};
	const time_t seconds = (time_t)(s->time_ns / SHUNT_NS_PER_SEC);
	char text[16] = "";
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	fprintf(c->out, "%s.%06" PRIu64 " %s %-3s lane=%s reason=%s  ", text,
		(uint64_t)(s->time_ns % SHUNT_NS_PER_SEC / 1000), c->ports[s->port].name,
		ways[s->direction], s->lane, s->reason);
	shuntctl_packet_print(c->out, shunt_tap_bytes(r), r->cap_len, r->len);
	putc('\n', c->out);
}

static int write_packet(struct capture *c, const struct shunt_tap_record *r, const struct seen *s)
{
	const struct pcapng_packet packet = {
		.interface = c->interface[s->port],
		.time_ns = s->time_ns,
		.len = r->len,
		.cap_len = r->cap_len,
		.bytes = shunt_tap_bytes(r),
		.direction = s->direction,
		.queue = r->queue,
		.verdict = s->verdict,
		.comment = c->comment,
	};
	int bytes;

	if (s->lane != c->lane || s->reason != c->reason)
		snprintf(c->comment, sizeof(c->comment), "lane=%s reason=%s", s->lane, s->reason);
	c->lane = s->lane;
	c->reason = s->reason;
	bytes = pcapng_write(c->out, &packet);
	if (bytes < 0)
		return file_error(c, -bytes);
	c->file_bytes += (unsigned)bytes;
	return 0;
}

static int show(struct capture *c, const struct shunt_tap_record *r, struct seen s)
{
	if (s.port >= c->port_cnt || !c->ports[s.port].is_shown || is_full(c))
		return 0;
	c->packets++;
	c->captured[s.port]++;
	s.time_ns = r->time_ns + c->epoch_ns;
	if (c->is_pcapng)
		return write_packet(c, r, &s);
	print_line(c, r, &s);
	return 0;
}

static int verdict_of(unsigned lane)
{
	return lane == SHUNT_LANE_KERNEL ? XDP_PASS
	       : lane == SHUNT_LANE_DROP ? XDP_DROP
					 : XDP_REDIRECT;
}

/* --- from arrival to end ---------------------------------------------------------------------- */

static struct arrived *arrived_of(struct capture *c, const struct shunt_tap_record *r)
{
	return &c->arrived[tap_cpu(r)];
}

/* Its end was lost, or comes later than anything can. */
static int show_unknown(struct capture *c, struct arrived *a)
{
	if (!a->is_there)
		return 0;
	a->is_there = false;
	return show(c, a->record,
		    (struct seen){a->record->port, PCAPNG_IN, -1, "unknown", "unknown", 0});
}

static int keep(struct capture *c, const struct shunt_tap_record *r)
{
	struct arrived *a = arrived_of(c, r);
	int ret = show_unknown(c, a);

	if (!a->record || a->room < r->cap_len) {
		struct shunt_tap_record *bigger =
			realloc(a->record, sizeof(*bigger) + SHUNT_MAX(r->cap_len, 2048u));

		if (!bigger)
			return shunt_err_set(c->err, ENOMEM, "not enough memory for a packet");
		a->record = bigger;
		a->room = SHUNT_MAX(r->cap_len, 2048u);
	}
	memcpy(a->record, r, sizeof(*r) + r->cap_len);
	a->is_there = true;
	return ret;
}

static int take_steered(struct capture *c, const struct shunt_tap_record *r)
{
	const char *lane = shunt_steer_lane_name(r->lane);
	const char *reason = shunt_steer_reason_name(r->reason);
	struct arrived *a = arrived_of(c, r);
	unsigned port;
	int ret = 0;

	if (r->number && a->is_there && a->record->number == r->number &&
	    a->record->port == r->port) {
		a->is_there = false;
		ret = show(c, a->record,
			   (struct seen){r->port, PCAPNG_IN, verdict_of(r->lane), lane, reason, 0});
	}
	if (ret || !r->cap_len)
		return ret;
	for (port = 0; port < c->port_cnt && !ret; port++)
		if (port == r->out || (r->out == SHUNT_TAP_ALL_PORT && port != r->port))
			ret = show(c, r, (struct seen){port, PCAPNG_OUT, -1, lane, reason, 0});
	return ret;
}

static int take_record(struct capture *c, const struct shunt_tap_record *r)
{
	switch (r->place) {
	case SHUNT_TAP_ARRIVED:
		if (r->number)
			return keep(c, r);
		return show(c, r, (struct seen){r->port, PCAPNG_IN, -1, "user", "received", 0});
	case SHUNT_TAP_STEERED:
		return take_steered(c, r);
	case SHUNT_TAP_SENT:
		return show(c, r, (struct seen){r->port, PCAPNG_OUT, -1, "user", "sent", 0});
	case SHUNT_TAP_DROPPED:
		return show(c, r,
			    (struct seen){r->port, PCAPNG_UNKNOWN, -1, "drop",
					  shunt_drop_name(r->reason), 0});
	case SHUNT_TAP_PUNTED:
		return show(c, r,
			    (struct seen){r->port, PCAPNG_UNKNOWN, -1, "kernel",
					  shunt_punt_name(r->reason), 0});
	default:
		return 0;
	}
}

/* All that is older than until_ns. */
static int take_all(struct capture *c, uint64_t until_ns)
{
	const struct shunt_tap_record *record;
	const uint64_t before = c->packets;
	int ret = 0;

	while (!ret && !is_full(c) && (record = tap_next(c->tap, until_ns))) {
		ret = take_record(c, record);
		tap_release(c->tap);
		if (!ret && is_file_over(c)) {
			ret = end_file(c);
			ret = ret ? ret : begin_file(c);
		}
	}
	if (!ret && c->packets != before && (fflush(c->out) || ferror(c->out)))
		ret = file_error(c, errno);
	return ret;
}

/* --- running ---------------------------------------------------------------------------------- */

static int run(struct capture *c)
{
	struct pollfd daemon = {.fd = tap_fd(c->tap), .events = POLLIN};
	bool is_over = false, is_gone = false;
	unsigned i;
	int ret = 0;

	while (!ret && !is_over && !is_full(c)) {
		poll(&daemon, 1, TAP_LOOK_MS);
		is_gone = daemon.revents != 0;
		is_over = is_gone || ending_is_asked();
		ret = take_all(c, shunt_clock_ns() - TAP_SETTLE_NS);
	}
	if (!ret)
		ret = take_all(c, UINT64_MAX);
	for (i = 0; i < TAP_CPUS && !ret; i++)
		ret = show_unknown(c, &c->arrived[i]);
	if (!ret && is_gone)
		ret = shunt_err_set(c->err, ECONNRESET,
				    "the daemon ended, and the capture with it");
	return ret;
}

static uint64_t epoch(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * SHUNT_NS_PER_SEC + (uint64_t)now.tv_nsec - shunt_clock_ns();
}

static void tell(const struct capture *c)
{
	uint64_t lost[TAP_PORT_MAX] = {0}, sum = 0;
	unsigned i;

	tap_lost(c->tap, lost);
	for (i = 0; i < c->port_cnt; i++)
		sum += lost[i];
	fprintf(stderr, "%" PRIu64 " packets captured, %" PRIu64 " lost for want of room\n",
		c->packets, sum);
}

int shuntctl_capture(const struct shuntctl_capture_opts *opts, struct shunt_err *err)
{
	const struct tap_opts tap = {
		.socket = opts->socket,
		.ports = opts->ports,
		.port_cnt = opts->port_cnt,
		.filter = opts->filter,
		.snap_len = opts->snap_len,
		.ring_bytes = opts->ring_mib << 20,
	};
	struct capture *c = calloc(1, sizeof(*c));
	struct shunt_err ignored;
	unsigned i;
	int ret;

	if (!c)
		return shunt_err_set(err, ENOMEM, "not enough memory");
	c->opts = opts;
	c->err = err;
	c->is_pcapng = opts->file;
	c->epoch_ns = epoch();
	ending_prepare();
	ret = tap_open(&c->tap, &tap, err);
	if (!ret) {
		c->ports = tap_ports(c->tap, &c->port_cnt);
		ret = begin_file(c);
		if (!ret && opts->file)
			fprintf(stderr, "capturing; Ctrl-C ends it\n");
		if (!ret) {
			ret = run(c);
			c->err = ret ? &ignored : err;
			if (end_file(c) && !ret)
				ret = -EIO;
			tell(c);
		}
		tap_close(c->tap);
	}
	for (i = 0; i < TAP_CPUS; i++)
		free(c->arrived[i].record);
	free(c);
	return ret;
}
