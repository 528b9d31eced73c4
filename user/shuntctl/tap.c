// SPDX-License-Identifier: BSD-2-Clause
#include "tap.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "client/client.h"
#include "filter.h"
#include "tap/kernel_ring.h"
#include "tap/ring.h"

#define WORKER_MAX 256

struct tap {
	int control_fd;
	struct shunt_client_fds fds;
	struct tap_port ports[TAP_PORT_MAX];
	unsigned port_cnt;
	struct shunt_kernel_ring rings[TAP_PORT_MAX]; /* by port; closed: it has no program */
	struct shunt_tap_ring workers[WORKER_MAX];
	unsigned worker_cnt;
	struct shunt_kernel_ring *of_port; /* whose record was given, or */
	struct shunt_tap_ring *of_worker;
};

/* --- opening ---------------------------------------------------------------------------------- */

static json_t *ask(struct tap *t, const struct tap_opts *opts, const struct shuntctl_filter *filter,
		   struct shunt_err *err)
{
	json_t *ports = json_array(), *request;
	char *digits = shuntctl_filter_print(filter);
	unsigned i;

	for (i = 0; i < opts->port_cnt; i++)
		json_array_append_new(ports, json_string(opts->ports[i]));
	request = json_pack("{s:s, s:o, s:I, s:I, s:s}", "cmd", "capture", "ports", ports,
			    "snap_len", (json_int_t)opts->snap_len, "ring_bytes",
			    (json_int_t)opts->ring_bytes, "filter", digits ? digits : "");
	free(digits);
	return shunt_client_ask(t->control_fd, request, &t->fds, err);
}

static int take_port(struct tap *t, unsigned i, const json_t *row, uint32_t ring_bytes,
		     struct shunt_err *err)
{
	const json_t *ring = json_object_get(row, "ring");
	const json_int_t number = json_integer_value(ring);

	snprintf(t->ports[i].name, sizeof(t->ports[i].name), "%s",
		 json_string_value(json_object_get(row, "name")) ?: "?");
	t->ports[i].is_shown = json_is_true(json_object_get(row, "is_shown"));
	t->port_cnt = i + 1;
	if (!json_is_integer(ring))
		return 0;
	if (number < 0 || number >= t->fds.cnt)
		return shunt_err_set(err, EPROTO, "the daemon sent no ring of %s",
				     t->ports[i].name);
	return shunt_kernel_ring_open(&t->rings[i], t->fds.at[number], ring_bytes, err);
}

static int take_rings(struct tap *t, const json_t *answer, struct shunt_err *err)
{
	const unsigned cnt = (unsigned)json_integer_value(json_object_get(answer, "workers"));
	const uint32_t bytes = (uint32_t)json_integer_value(json_object_get(answer, "ring_bytes"));
	const json_t *row;
	size_t i;
	int ret = t->fds.cnt ? 0 : shunt_err_set(err, EPROTO, "the daemon sent no rings");

	json_array_foreach (json_object_get(answer, "ports"), i, row)
		if (i < TAP_PORT_MAX && !ret)
			ret = take_port(t, (unsigned)i, row, bytes, err);
	for (i = 0; i < cnt && i < WORKER_MAX && !ret; i++) {
		ret = shunt_tap_ring_open(&t->workers[i], t->fds.at[0], (unsigned)i, err);
		t->worker_cnt = (unsigned)i + !ret;
	}
	return ret;
}

int tap_open(struct tap **out, const struct tap_opts *opts, struct shunt_err *err)
{
	struct tap *t = calloc(1, sizeof(*t));
	struct shuntctl_filter filter = {NULL, 0};
	json_t *answer = NULL;
	int ret;

	*out = NULL;
	if (!t)
		return shunt_err_set(err, ENOMEM, "not enough memory");
	t->control_fd = -1;
	ret = shuntctl_filter_compile(&filter, opts->filter, opts->snap_len, err);
	if (!ret) {
		t->control_fd = shunt_client_open(opts->socket, err);
		ret = SHUNT_MIN(t->control_fd, 0);
	}
	if (!ret) {
		answer = ask(t, opts, &filter, err);
		ret = answer ? take_rings(t, answer, err) : -EPROTO;
	}
	json_decref(answer);
	shuntctl_filter_fini(&filter);
	if (ret)
		tap_close(t);
	else
		*out = t;
	return ret;
}

void tap_close(struct tap *t)
{
	unsigned i;

	if (!t)
		return;
	for (i = 0; i < t->port_cnt; i++)
		shunt_kernel_ring_close(&t->rings[i]);
	for (i = 0; i < t->worker_cnt; i++)
		shunt_tap_ring_close(&t->workers[i]);
	for (i = 0; i < t->fds.cnt; i++)
		close(t->fds.at[i]);
	if (t->control_fd >= 0)
		close(t->control_fd);
	free(t);
}

/* --- reading ---------------------------------------------------------------------------------- */

int tap_fd(const struct tap *t)
{
	return t->control_fd;
}

const struct tap_port *tap_ports(const struct tap *t, unsigned *cnt)
{
	*cnt = t->port_cnt;
	return t->ports;
}

/* The programs' part only the daemon knows; where it is gone it is not known. */
void tap_lost(const struct tap *t, uint64_t lost[TAP_PORT_MAX])
{
	struct shunt_err err;
	json_t *answer =
		shunt_client_ask(t->control_fd, json_pack("{s:s}", "cmd", "captured"), NULL, &err);
	const json_t *of_programs = json_object_get(answer, "lost");
	unsigned i, w;

	for (i = 0; i < t->port_cnt; i++) {
		lost[i] = (uint64_t)json_integer_value(json_array_get(of_programs, i));
		for (w = 0; w < t->worker_cnt; w++)
			lost[i] += shunt_tap_ring_lost(&t->workers[w], i);
	}
	json_decref(answer);
}

const struct shunt_tap_record *tap_next(struct tap *t, uint64_t until_ns)
{
	const struct shunt_tap_record *first = NULL, *record;
	unsigned i;

	t->of_port = NULL;
	t->of_worker = NULL;
	for (i = 0; i < t->port_cnt; i++) {
		record = t->rings[i].consumer ? shunt_kernel_ring_peek(&t->rings[i]) : NULL;
		if (!record || (first && first->time_ns <= record->time_ns))
			continue;
		first = record;
		t->of_port = &t->rings[i];
	}
	for (i = 0; i < t->worker_cnt; i++) {
		record = shunt_tap_ring_peek(&t->workers[i]);
		if (!record || (first && first->time_ns <= record->time_ns))
			continue;
		first = record;
		t->of_worker = &t->workers[i];
	}
	return first && first->time_ns <= until_ns ? first : NULL;
}

void tap_release(struct tap *t)
{
	if (t->of_worker)
		shunt_tap_ring_release(t->of_worker);
	else
		shunt_kernel_ring_release(t->of_port);
}
