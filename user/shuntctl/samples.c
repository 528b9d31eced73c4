// SPDX-License-Identifier: BSD-2-Clause
#include "samples.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/json.h"
#include "graph/drop.h"
#include "graph/punt.h"
#include "packet.h"
#include "steer/steer.h"
#include "tap.h"

#define SNAP  128 /* enough for IPv6 with ports behind two tags */
#define SHOWN 64  /* of these in JSON */
#define RING  (4u << 20)

struct sample {
	bool is_there;
	uint8_t port;
	uint32_t number, len, cap_len;
	uint64_t time_ns;
	uint8_t bytes[SNAP];
};

struct samples {
	struct tap *tap;
	const struct tap_port *ports;
	unsigned port_cnt;
	struct sample arrived[TAP_CPUS]; /* frames whose end is not known yet: one a CPU */
	struct sample steer[SHUNT_STEER_REASON_MAX];
	struct sample drop[SHUNT_DROP_CNT];
	struct sample punt[SHUNT_PUNT_CNT];
};

/* ---- packets -------------------------------------------------------------------------------- */

static void keep(struct sample *to, const struct shunt_tap_record *r)
{
	to->is_there = true;
	to->port = r->port;
	to->number = r->number;
	to->len = r->len;
	to->cap_len = SHUNT_MIN(r->cap_len, (uint32_t)SNAP);
	to->time_ns = r->time_ns;
	memcpy(to->bytes, shunt_tap_bytes(r), to->cap_len);
}

/* Its bytes are those that arrived, in the record before. */
static void take_steered(struct samples *s, const struct shunt_tap_record *r)
{
	struct sample *arrived = &s->arrived[tap_cpu(r)];

	if (!r->number || !arrived->is_there || arrived->number != r->number ||
	    arrived->port != r->port)
		return;
	arrived->is_there = false;
	if ((r->lane == SHUNT_LANE_KERNEL || r->lane == SHUNT_LANE_DROP) &&
	    r->reason < SHUNT_ARRAY_LEN(s->steer)) {
		s->steer[r->reason] = *arrived;
		s->steer[r->reason].is_there = true;
	}
}

static void take_record(struct samples *s, const struct shunt_tap_record *r)
{
	if (r->place == SHUNT_TAP_ARRIVED && r->number)
		keep(&s->arrived[tap_cpu(r)], r);
	else if (r->place == SHUNT_TAP_STEERED)
		take_steered(s, r);
	else if (r->place == SHUNT_TAP_DROPPED && r->reason < SHUNT_ARRAY_LEN(s->drop))
		keep(&s->drop[r->reason], r);
	else if (r->place == SHUNT_TAP_PUNTED && r->reason < SHUNT_ARRAY_LEN(s->punt))
		keep(&s->punt[r->reason], r);
}

static void take_all(struct samples *s, uint64_t until_ns)
{
	const struct shunt_tap_record *r;

	while ((r = tap_next(s->tap, until_ns))) {
		take_record(s, r);
		tap_release(s->tap);
	}
}

static int watch(struct samples *s, unsigned seconds, struct shunt_err *err)
{
	const uint64_t end_ns = shunt_clock_ns() + seconds * SHUNT_NS_PER_SEC;
	struct pollfd daemon = {.fd = tap_fd(s->tap), .events = POLLIN};

	while (shunt_clock_ns() < end_ns) {
		if (poll(&daemon, 1, TAP_LOOK_MS) > 0)
			return shunt_err_set(err, ECONNRESET,
					     "the daemon ended, and the capture with it");
		take_all(s, shunt_clock_ns() - TAP_SETTLE_NS);
	}
	take_all(s, end_ns);
	return 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void set_packet(json_t *row, const struct sample *one)
{
	char digits[2 * SHOWN + 1] = "", *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out) {
		shuntctl_packet_print(out, one->bytes, one->cap_len, one->len);
		fclose(out);
	}
	shunt_hex_write(digits, one->bytes, SHUNT_MIN(one->cap_len, (uint32_t)SHOWN));
	set_text(row, "packet", text);
	set_text(row, "bytes", digits);
	free(text);
}

static void add_row(const struct samples *s, json_t *rows, const struct sample *one,
		    const char *where, const char *name)
{
	json_t *row;

	if (!one->is_there)
		return;
	row = json_object();
	set_text(row, "where", where);
	set_text(row, "name", name);
	set_text(row, "port", one->port < s->port_cnt ? s->ports[one->port].name : NULL);
	set_u64(row, "age_ns", shunt_clock_ns() - one->time_ns);
	set_packet(row, one);
	json_array_append_new(rows, row);
}

static json_t *rows_of(const struct samples *s)
{
	json_t *rows = json_array();
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(s->steer); i++)
		add_row(s, rows, &s->steer[i], "steer", shunt_steer_reason_name(i));
	for (i = 0; i < SHUNT_ARRAY_LEN(s->drop); i++)
		add_row(s, rows, &s->drop[i], shunt_drop_where(i), shunt_drop_name(i));
	for (i = 0; i < SHUNT_ARRAY_LEN(s->punt); i++)
		add_row(s, rows, &s->punt[i], "punt", shunt_punt_name(i));
	return rows;
}

json_t *shuntctl_samples_take(const char *socket, unsigned seconds, struct shunt_err *err)
{
	const struct tap_opts opts = {
		.socket = socket, .filter = "", .snap_len = SNAP, .ring_bytes = RING};
	struct samples *s = calloc(1, sizeof(*s));
	json_t *rows = NULL;

	if (!s) {
		shunt_err_set(err, ENOMEM, "not enough memory");
		return NULL;
	}
	if (!tap_open(&s->tap, &opts, err)) {
		s->ports = tap_ports(s->tap, &s->port_cnt);
		if (!watch(s, seconds, err))
			rows = rows_of(s);
		tap_close(s->tap);
	}
	free(s);
	return rows;
}
