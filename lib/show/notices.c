// SPDX-License-Identifier: BSD-2-Clause
#include "notice/notice.h"
#include "base/json.h"
#include "show/show.h"

struct rows {
	const struct shunt_engine *engine;
	json_t *rows;
	int port; /* of this one alone; -1: of all */
};

static void set_index(json_t *row, const char *key, int value)
{
	json_object_set_new(row, key, value < 0 ? json_null() : json_integer(value));
}

static void add(void *arg, const struct shunt_notice *notice)
{
	struct rows *r = arg;
	json_t *row;

	if (r->port >= 0 && notice->port != r->port)
		return;
	row = json_object();
	set_text(row, "name", shunt_notice_name(notice->kind));
	set_text(row, "port", notice->port < 0 ? NULL : r->engine->ports.at[notice->port].name);
	set_index(row, "queue", notice->queue);
	set_index(row, "worker", notice->worker);
	set_u64(row, "since_ns", notice->since_ns);
	set_text(row, "text", notice->text.msg);
	json_array_append_new(r->rows, row);
}

json_t *shunt_show_notices_of(const struct shunt_show *show, int port)
{
	struct rows r = {.engine = show->engine, .rows = json_array(), .port = port};

	shunt_notices_each(show->notices, add, &r);
	return r.rows;
}

json_t *shunt_show_notices(const struct shunt_show *show)
{
	return timed("notices", shunt_show_notices_of(show, -1));
}
