// SPDX-License-Identifier: BSD-2-Clause
/* The way of single packets. What the steering program decided, and what left, was dropped or
 * handed back, are the packet's own, by a tap. The nodes and the route between are told by an
 * explanation of the same bytes, asked for at once. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hex.h"
#include "client/client.h"
#include "craft.h"
#include "ending.h"
#include "explain.h"
#include "graph/drop.h"
#include "graph/punt.h"
#include "steer/steer.h"
#include "tap.h"

#define PENDING_MAX 1024
/* A packet of lane user of which nothing more is heard by then is shown without its end: one that
 * was lost, or whose worker got no CPU for as long. */
#define PATIENCE_NS (5 * 1000 * 1000 * 1000ull)

/* A packet whose end is not known yet. */
struct way {
	struct shunt_tap_record head; /* ARRIVED; len 0: free */
	uint8_t bytes[CRAFT_MAX];
	json_t *answer; /* once it is steered into lane user */
};

struct trace {
	const struct shuntctl_explain_opts *opts;
	struct tap *tap;
	const struct tap_port *ports;
	unsigned port_cnt;
	int control_fd; /* for explanations */
	uint64_t shown;
	struct way arrived[TAP_CPUS];
	struct way pending[PENDING_MAX];
	unsigned next;
	struct shunt_err *err;
};

/* --- output ----------------------------------------------------------------------------------- */

static bool is_full(const struct trace *t)
{
	return t->opts->packet_max && t->shown >= t->opts->packet_max;
}

/* Takes over the answer. */
static int show(struct trace *t, json_t *answer, uint64_t time_ns)
{
	json_object_set_new(answer, "time_ns", json_integer((json_int_t)time_ns));
	if (t->opts->is_json) {
		json_dumpf(answer, stdout, JSON_COMPACT);
		putchar('\n');
	} else {
		if (t->shown)
			putchar('\n');
		shuntctl_explain_print(stdout, answer);
	}
	json_decref(answer);
	t->shown++;
	if (fflush(stdout) || ferror(stdout))
		return shunt_err_set(t->err, EIO, "standard output: it takes no more");
	return 0;
}

/* Takes over the queue. */
static void add_output(json_t *answer, const char *port, json_t *queue,
		       const struct shunt_tap_record *r)
{
	char hex[2 * CRAFT_MAX + 1] = "";

	shunt_hex_write(hex, shunt_tap_bytes(r), SHUNT_MIN(r->cap_len, CRAFT_MAX));
	json_array_append_new(
		json_object_get(answer, "outputs"),
		json_pack("{s:s, s:o, s:s}", "port", port, "queue", queue, "bytes", hex));
}

static void set_result(json_t *answer, const char *result, const char *reason)
{
	json_object_set_new(answer, "result", json_string(result));
	json_object_set_new(answer, "reason", reason ? json_string(reason) : json_null());
}

/* --- from arrival to end ---------------------------------------------------------------------- */

/* The explanation of the bytes, with what the packet's own program said; NULL without memory. */
static json_t *explain(struct trace *t, const struct way *w, const struct shunt_tap_record *steered)
{
	const char *port = t->ports[w->head.port].name;
	struct shunt_err ignored;
	json_t *answer = shunt_client_explain(t->control_fd, port, w->bytes, w->head.cap_len,
					      w->head.queue, &ignored);
	json_t *said;

	if (!answer)
		answer = json_pack("{s:s, s:I, s:s, s:{}, s:n, s:n, s:[]}", "port", port, "queue",
				   (json_int_t)w->head.queue, "bytes", "", "steering", "route",
				   "station", "nodes");
	json_object_set_new(answer, "outputs", json_array());
	said = json_object_get(answer, "steering");
	json_object_set_new(said, "lane", json_string(shunt_steer_lane_name(steered->lane)));
	json_object_set_new(said, "reason", json_string(shunt_steer_reason_name(steered->reason)));
	json_object_set_new(said, "why", json_string(shunt_steer_reason_help(steered->reason)));
	json_object_set_new(said, "rule",
			    steered->rule ? json_integer(steered->rule) : json_null());
	if (steered->lane != SHUNT_LANE_USER)
		json_object_set_new(answer, "nodes", json_array());
	return answer;
}

static int end_way(struct trace *t, struct way *w)
{
	json_t *answer = w->answer;

	w->answer = NULL;
	w->head.len = 0;
	return answer ? show(t, answer, w->head.time_ns) : 0;
}

static int pend(struct trace *t, const struct way *w, json_t *answer)
{
	struct way *to = &t->pending[t->next++ % PENDING_MAX];
	int ret = end_way(t, to);

	*to = *w;
	to->answer = answer;
	set_result(answer, "unknown", NULL);
	return ret;
}

static int take_steered(struct trace *t, const struct shunt_tap_record *r)
{
	struct way *w = &t->arrived[tap_cpu(r)];
	json_t *answer;

	if (!r->number || w->head.number != r->number || w->head.port != r->port || !w->head.len)
		return 0;
	answer = explain(t, w, r);
	if (r->lane == SHUNT_LANE_USER) {
		const int ret = pend(t, w, answer);

		w->head.len = 0;
		return ret;
	}
	set_result(answer,
		   r->lane == SHUNT_LANE_XDP	? "sent"
		   : r->lane == SHUNT_LANE_DROP ? "dropped"
						: "kernel",
		   r->lane == SHUNT_LANE_XDP ? NULL : shunt_steer_reason_name(r->reason));
	if (r->cap_len && r->out < t->port_cnt)
		add_output(answer, t->ports[r->out].name, json_null(), r);
	w->head.len = 0;
	return show(t, answer, w->head.time_ns);
}

/* What forwarding leaves of a frame begins behind the addresses, TTL and checksum of IP. */
static bool is_same(const struct way *w, const struct shunt_tap_record *r)
{
	const uint8_t *old = w->bytes, *new = shunt_tap_bytes(r);
	const uint32_t len = SHUNT_MIN(w->head.cap_len, r->cap_len);
	const uint32_t from = old[12] == 0x08 && old[13] == 0x00   ? 26
			      : old[12] == 0x86 && old[13] == 0xdd ? 22
								   : 12;

	return len > from && !memcmp(old + 12, new + 12, 2) &&
	       !memcmp(old + from, new + from, len - from);
}

static int take_worker(struct trace *t, const struct shunt_tap_record *r)
{
	unsigned i;

	for (i = 0; i < PENDING_MAX; i++) {
		struct way *w = &t->pending[(t->next + i) % PENDING_MAX];

		if (!w->answer || !is_same(w, r))
			continue;
		if (r->place == SHUNT_TAP_SENT)
			add_output(w->answer, t->ports[r->port].name, json_integer(r->queue), r);
		set_result(w->answer,
			   r->place == SHUNT_TAP_SENT	   ? "sent"
			   : r->place == SHUNT_TAP_DROPPED ? "dropped"
							   : "punted",
			   r->place == SHUNT_TAP_SENT	   ? NULL
			   : r->place == SHUNT_TAP_DROPPED ? shunt_drop_name(r->reason)
							   : shunt_punt_name(r->reason));
		return end_way(t, w);
	}
	return 0;
}

static void take_arrived(struct trace *t, const struct shunt_tap_record *r)
{
	struct way *w = &t->arrived[tap_cpu(r)];

	w->head = *r;
	memcpy(w->bytes, shunt_tap_bytes(r), SHUNT_MIN(r->cap_len, CRAFT_MAX));
}

static int take_record(struct trace *t, const struct shunt_tap_record *r)
{
	if (r->port >= t->port_cnt)
		return 0;
	if (r->place == SHUNT_TAP_STEERED)
		return take_steered(t, r);
	if (r->place != SHUNT_TAP_ARRIVED)
		return take_worker(t, r);
	if (r->number)
		take_arrived(t, r);
	return 0;
}

static int take_all(struct trace *t, uint64_t until_ns)
{
	const struct shunt_tap_record *record;
	unsigned i;
	int ret = 0;

	while (!ret && !is_full(t) && (record = tap_next(t->tap, until_ns))) {
		ret = take_record(t, record);
		tap_release(t->tap);
	}
	for (i = 0; i < PENDING_MAX && !ret && !is_full(t); i++)
		if (t->pending[i].answer && t->pending[i].head.time_ns + PATIENCE_NS < until_ns)
			ret = end_way(t, &t->pending[i]);
	return ret;
}

/* --- running ---------------------------------------------------------------------------------- */

static int run(struct trace *t)
{
	struct pollfd daemon = {.fd = tap_fd(t->tap), .events = POLLIN};
	bool is_over = false;
	int ret = 0;

	while (!ret && !is_over && !is_full(t)) {
		poll(&daemon, 1, TAP_LOOK_MS);
		is_over = daemon.revents || ending_is_asked();
		ret = take_all(t, shunt_clock_ns() - TAP_SETTLE_NS);
	}
	if (!ret && daemon.revents)
		ret = shunt_err_set(t->err, ECONNRESET, "the daemon ended, and the trace with it");
	return ret ? ret : take_all(t, UINT64_MAX);
}

int shuntctl_trace(const struct shuntctl_explain_opts *opts, struct shunt_err *err)
{
	const struct tap_opts tap = {.socket = opts->socket,
				     .filter = opts->filter,
				     .snap_len = CRAFT_MAX,
				     .ring_bytes = 4u << 20};
	struct trace *t = calloc(1, sizeof(*t));
	unsigned i;
	int ret;

	if (!t)
		return shunt_err_set(err, ENOMEM, "not enough memory");
	t->opts = opts;
	t->err = err;
	ending_prepare();
	t->control_fd = shunt_client_open(opts->socket, err);
	ret = SHUNT_MIN(t->control_fd, 0);
	if (!ret)
		ret = tap_open(&t->tap, &tap, err);
	if (!ret) {
		t->ports = tap_ports(t->tap, &t->port_cnt);
		ret = run(t);
	}
	for (i = 0; i < PENDING_MAX; i++)
		json_decref(t->pending[i].answer);
	tap_close(t->tap);
	if (t->control_fd >= 0)
		close(t->control_fd);
	free(t);
	return ret;
}
