// SPDX-License-Identifier: BSD-2-Clause
#include "notice/notice.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "notice/checks.h"
#include "port/kernel_part.h"

struct shunt_notices {
	const struct shunt_engine *engine;
	struct shunt_notice
		*list; /* [cnt]; those that stand, and those that are over but not told */
	unsigned cnt, max;
	struct shunt_suspect suspects[SHUNT_WORKER_MAX];
};

enum about { ABOUT_host, ABOUT_port, ABOUT_queue, ABOUT_worker };

static const struct {
	const char *name, *over;
	enum about about;
	uint64_t (*check)(const struct shunt_engine *engine, const struct shunt_notice *before,
			  struct shunt_err *text);
} kinds[] = {
#define X(name, about, over) {#name, over, ABOUT_##about, shunt_notice_check_##name},
	SHUNT_NOTICES(X)
#undef X
};

const char *shunt_notice_name(enum shunt_notice_kind kind)
{
	return kind < SHUNT_NOTICE_CNT ? kinds[kind].name : "?";
}

const char *shunt_notice_over(enum shunt_notice_kind kind)
{
	return kind < SHUNT_NOTICE_CNT ? kinds[kind].over : "?";
}

/* --- the list --------------------------------------------------------------------------------- */

static bool is_about(const struct shunt_notice *a, const struct shunt_notice *b)
{
	return a->kind == b->kind && a->port == b->port && a->queue == b->queue &&
	       a->worker == b->worker;
}

static struct shunt_notice *find(struct shunt_notices *n, const struct shunt_notice *like)
{
	unsigned i;

	for (i = 0; i < n->cnt; i++)
		if (is_about(&n->list[i], like))
			return &n->list[i];
	return NULL;
}

/* Returns NULL without memory: then the next look tries again. */
static struct shunt_notice *add(struct shunt_notices *n, const struct shunt_notice *like)
{
	const unsigned max = n->cnt < n->max ? n->max : 2 * n->max + 8;
	struct shunt_notice *list =
		max == n->max ? n->list : reallocarray(n->list, max, sizeof(*list));

	if (!list)
		return NULL;
	n->list = list;
	n->max = max;
	n->list[n->cnt] = *like;
	return &n->list[n->cnt++];
}

/* --- looking ---------------------------------------------------------------------------------- */

static void look_at(struct shunt_notices *n, struct shunt_notice like)
{
	struct shunt_notice *notice = find(n, &like);
	struct shunt_err text = {""};
	uint64_t key;

	if (notice)
		like = *notice;
	key = kinds[like.kind].check(n->engine, &like, &text);
	if (key && !notice)
		notice = add(n, &like);
	if (!notice)
		return;
	if (notice->key != key) {
		notice->is_told = false;
		notice->since_ns = shunt_clock_ns();
	}
	notice->key = key;
	if (key && *text.msg)
		notice->text = text;
}

static void look_at_queues(struct shunt_notices *n, struct shunt_notice like)
{
	const struct shunt_port *port = &n->engine->ports.at[like.port];
	const unsigned cnt =
		port->xdp ? shunt_port_queues_counted(port, shunt_port_queues_now(port)) : 0;

	for (like.queue = 0; like.queue < (int)cnt; like.queue++)
		look_at(n, like);
}

static void look_for(struct shunt_notices *n, enum shunt_notice_kind kind)
{
	struct shunt_notice like = {.kind = kind, .port = -1, .queue = -1, .worker = -1};
	const int port_cnt = (int)n->engine->ports.cnt;

	switch (kinds[kind].about) {
	case ABOUT_host:
		look_at(n, like);
		return;
	case ABOUT_port:
		for (like.port = 0; like.port < port_cnt; like.port++)
			look_at(n, like);
		return;
	case ABOUT_queue:
		for (like.port = 0; like.port < port_cnt; like.port++)
			look_at_queues(n, like);
		return;
	case ABOUT_worker:
		for (like.worker = 0; like.worker < (int)n->engine->worker_cnt; like.worker++) {
			like.suspect = &n->suspects[like.worker];
			look_at(n, like);
		}
	}
}

void shunt_notices_look(struct shunt_notices *n)
{
	enum shunt_notice_kind kind;

	for (kind = 0; kind < SHUNT_NOTICE_CNT; kind++)
		look_for(n, kind);
}

void shunt_notices_tell(struct shunt_notices *n, shunt_notice_fn fn, void *arg)
{
	unsigned i, kept = 0;

	for (i = 0; i < n->cnt; i++) {
		struct shunt_notice *notice = &n->list[i];

		if (!notice->is_told)
			fn(arg, notice);
		notice->is_told = true;
		if (notice->key)
			n->list[kept++] = *notice;
	}
	n->cnt = kept;
}

void shunt_notices_each(const struct shunt_notices *n, shunt_notice_fn fn, void *arg)
{
	unsigned i;

	for (i = 0; i < n->cnt; i++)
		if (n->list[i].key)
			fn(arg, &n->list[i]);
}

int shunt_notices_create(struct shunt_notices **out, const struct shunt_engine *engine,
			 struct shunt_err *err)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return shunt_err_set(err, ENOMEM, "notices: not enough memory");
	(*out)->engine = engine;
	return 0;
}

void shunt_notices_destroy(struct shunt_notices *n)
{
	if (!n)
		return;
	free(n->list);
	free(n);
}
