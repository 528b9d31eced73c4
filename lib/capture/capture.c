// SPDX-License-Identifier: BSD-2-Clause
#include "capture/capture.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "engine/state.h"
#include "graph/tap.h"
#include "tap/cbpf.h"
#include "tap/cbpf_text.h"
#include "xdp/tap_opts.h"

#define RING_BYTES_MIN 65536
#define RING_BYTES_MAX (64u << 20)
#define RING_BYTES     (4u << 20)

struct shunt_capture {
	struct shunt_captures *all;
	struct shunt_capture *next;
	uint64_t ports; /* bits 1 << index */
	struct shunt_tap *taps[SHUNT_WORKER_MAX];
	unsigned tap_cnt;
	int rings[SHUNT_PORT_MAX];	      /* by port: the number of its descriptor; -1 */
	uint64_t lost_before[SHUNT_PORT_MAX]; /* by port */
};

struct shunt_captures {
	struct shunt_engine *engine;
	struct shunt_capture *first;
};

/* What a client asks for. */
struct wish {
	uint64_t ports;
	uint32_t snap_len, ring_bytes;
	struct sock_filter *filter; /* NULL: every packet */
	unsigned filter_cnt;
};

int shunt_captures_create(struct shunt_captures **out, struct shunt_engine *engine,
			  struct shunt_err *err)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return shunt_err_set(err, ENOMEM, "captures: not enough memory");
	(*out)->engine = engine;
	return 0;
}

void shunt_captures_destroy(struct shunt_captures *captures)
{
	if (!captures)
		return;
	while (captures->first)
		shunt_capture_end(captures->first);
	free(captures);
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static int read_ports(const struct shunt_ports *ports, const json_t *names, uint64_t *out,
		      struct shunt_err *err)
{
	const json_t *name;
	size_t i;

	*out = 0;
	json_array_foreach (names, i, name) {
		const char *text = json_string_value(name);
		const struct shunt_port *port = text ? shunt_ports_named(ports, text) : NULL;

		if (!port)
			return shunt_err_set(err, ENOENT, "capture: there is no port '%s'",
					     text ? text : "?");
		*out |= 1ull << port->index;
	}
	if (!json_array_size(names))
		*out = ports->cnt < 64 ? (1ull << ports->cnt) - 1 : ~0ull;
	return 0;
}

static int read_number(const json_t *request, const char *key, uint32_t otherwise, uint32_t min,
		       uint32_t max, uint32_t *out, struct shunt_err *err)
{
	const json_t *value = json_object_get(request, key);
	const json_int_t n = value ? json_integer_value(value) : otherwise;

	if (n < min || n > max)
		return shunt_err_set(err, ERANGE, "capture: %s is %lld, expected %u to %u", key,
				     (long long)n, min, max);
	*out = (uint32_t)n;
	return 0;
}

static int read_wish(const struct shunt_captures *all, const json_t *request, struct wish *wish,
		     struct shunt_err *err)
{
	int ret = read_ports(&all->engine->ports, json_object_get(request, "ports"), &wish->ports,
			     err);

	if (!ret)
		ret = read_number(request, "snap_len", SHUNT_TAP_SNAP_MAX, 1, SHUNT_TAP_SNAP_MAX,
				  &wish->snap_len, err);
	if (!ret)
		ret = read_number(request, "ring_bytes", RING_BYTES, RING_BYTES_MIN, RING_BYTES_MAX,
				  &wish->ring_bytes, err);
	return ret ? ret
		   : shunt_cbpf_read(json_string_value(json_object_get(request, "filter")),
				     "capture", &wish->filter, &wish->filter_cnt, err);
}

/* What had no room in the programs' rings so far, of what came by a port or left by it. */
static uint64_t lost_by(const struct shunt_ports *ports, unsigned port)
{
	const struct shunt_xdp *own = ports->at[port].xdp;
	uint64_t lost = own ? shunt_xdp_tap_lost(own) : 0;
	unsigned i;

	for (i = 0; i < ports->cnt; i++)
		if (ports->at[i].xdp)
			lost += shunt_xdp_tap_lost_out(ports->at[i].xdp, port);
	return lost;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int check_free(const struct shunt_captures *all, struct shunt_err *err)
{
	return all->first ? shunt_err_set(err, EBUSY,
					  "capture: another capture is under way: end that first")
			  : 0;
}

/* Of all ports: what leaves by one came in by another. */
static int tap_ports(struct shunt_capture *c, const struct wish *wish, int *fds, unsigned *fd_cnt,
		     struct shunt_err *err)
{
	const struct shunt_ports *ports = &c->all->engine->ports;
	const bool is_changed = shunt_cbpf_reads_changes(wish->filter, wish->filter_cnt);
	struct shunt_xdp_tap_opts *opts = calloc(1, sizeof(*opts));
	unsigned i;
	int fd = 0;

	if (!opts)
		return shunt_err_set(err, ENOMEM, "capture: not enough memory");
	opts->ring_bytes = wish->ring_bytes;
	opts->filter_cnt = wish->filter_cnt;
	if (wish->filter_cnt)
		memcpy(opts->filter, wish->filter, wish->filter_cnt * sizeof(*wish->filter));
	for (i = 0; i < ports->cnt && fd >= 0; i++) {
		const struct shunt_port *port = &ports->at[i];

		if (!port->xdp)
			continue;
		opts->opts = (struct shunt_tap_opts){
			.ports = wish->ports,
			.port = i,
			.snap_len = wish->snap_len,
			.is_own = wish->ports >> i & 1,
			.is_changed = is_changed,
			.is_asked = wish->ports >> i & 1 || !is_changed,
			.is_sg = port->multi_buffer,
		};
		c->lost_before[i] = lost_by(ports, i);
		fd = shunt_xdp_tap(port->xdp, opts, err);
		if (fd < 0)
			break;
		c->rings[i] = (int)*fd_cnt;
		fds[(*fd_cnt)++] = fd;
	}
	free(opts);
	return SHUNT_MIN(fd, 0);
}

/* A program that cannot be exchanged goes on as it is: what it writes is lost. */
static void untap_ports(const struct shunt_capture *c)
{
	const struct shunt_ports *ports = &c->all->engine->ports;
	unsigned i;

	for (i = 0; i < ports->cnt; i++)
		if (c->rings[i] >= 0)
			shunt_xdp_untap(ports->at[i].xdp, NULL);
}

static int tap_worker(struct shunt_capture *c, unsigned id, const struct wish *wish, int fd,
		      struct shunt_err *err)
{
	struct shunt_tap *tap = shunt_tap_create(wish->filter, wish->filter_cnt);
	int ret;

	if (!tap)
		return shunt_err_set(err, ENOMEM, "capture: not enough memory");
	ret = shunt_tap_ring_open(&tap->ring, fd, id, err);
	if (ret) {
		shunt_tap_destroy(tap);
		return ret;
	}
	tap->ports = wish->ports;
	tap->snap_len = wish->snap_len;
	shunt_tap_add(&c->all->engine->workers[id]->graph.taps, tap);
	c->taps[c->tap_cnt++] = tap;
	return 0;
}

static int begin(struct shunt_capture *c, const struct wish *wish, int *fds, unsigned *fd_cnt,
		 struct shunt_err *err)
{
	const struct shunt_engine *engine = c->all->engine;
	unsigned i;
	int ret = shunt_tap_ring_make(engine->worker_cnt, wish->ring_bytes, err);

	if (ret < 0)
		return ret;
	fds[(*fd_cnt)++] = ret;
	c->ports = wish->ports;
	ret = tap_ports(c, wish, fds, fd_cnt, err);
	for (i = 0; i < engine->worker_cnt && !ret; i++)
		ret = tap_worker(c, i, wish, fds[0], err);
	return ret;
}

void shunt_capture_end(struct shunt_capture *c)
{
	struct shunt_capture **at = &c->all->first;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	untap_ports(c);
	while (c->tap_cnt) {
		c->tap_cnt--;
		shunt_tap_retire(&c->all->engine->workers[c->tap_cnt]->graph.taps,
				 c->taps[c->tap_cnt]);
	}
	free(c);
}

static json_t *answer(const struct shunt_capture *c, uint32_t ring_bytes)
{
	const struct shunt_engine *engine = c->all->engine;
	json_t *rows = json_array();
	unsigned i;

	for (i = 0; i < engine->ports.cnt; i++) {
		json_t *row = json_object();

		set_u64(row, "index", i);
		set_text(row, "name", engine->ports.at[i].name);
		json_object_set_new(row, "is_shown", json_boolean(c->ports >> i & 1));
		json_object_set_new(row, "ring",
				    c->rings[i] < 0 ? json_null() : json_integer(c->rings[i]));
		json_array_append_new(rows, row);
	}
	return json_pack("{s:o, s:i, s:I}", "ports", rows, "workers", (int)engine->worker_cnt,
			 "ring_bytes", (json_int_t)ring_bytes);
}

json_t *shunt_capture_lost(const struct shunt_captures *all, struct shunt_err *err)
{
	const struct shunt_capture *c = all->first;
	const struct shunt_ports *ports = &all->engine->ports;
	json_t *lost;
	unsigned i;

	if (!c) {
		shunt_err_set(err, ENOENT, "captured: there is no capture");
		return NULL;
	}
	lost = json_array();
	for (i = 0; i < ports->cnt; i++)
		json_array_append_new(
			lost, json_integer(c->rings[i] < 0 ? 0
							   : (json_int_t)(lost_by(ports, i) -
									  c->lost_before[i])));
	return json_pack("{s:o}", "lost", lost);
}

json_t *shunt_capture_begin(struct shunt_captures *all, const json_t *request, int *fds,
			    unsigned *fd_cnt, struct shunt_capture **out, struct shunt_err *err)
{
	struct shunt_capture *c = calloc(1, sizeof(*c));
	struct wish wish = {0};
	int ret;

	*fd_cnt = 0;
	*out = NULL;
	if (!c) {
		shunt_err_set(err, ENOMEM, "capture: not enough memory");
		return NULL;
	}
	c->all = all;
	memset(c->rings, 0xff, sizeof(c->rings));
	ret = read_wish(all, request, &wish, err);
	if (!ret)
		ret = check_free(all, err);
	if (!ret)
		ret = begin(c, &wish, fds, fd_cnt, err);
	free(wish.filter);
	if (ret) {
		while (*fd_cnt)
			close(fds[--*fd_cnt]);
		shunt_capture_end(c);
		return NULL;
	}
	c->next = all->first;
	all->first = c;
	*out = c;
	return answer(c, wish.ring_bytes);
}
