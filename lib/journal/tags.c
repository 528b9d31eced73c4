// SPDX-License-Identifier: BSD-2-Clause
#include "journal/tags.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "device/driver.h"
#include "device/features.h"
#include "device/netdev.h"

static const char *const features[] = {SHUNT_FEATURE_RX_VLAN, SHUNT_FEATURE_RX_STAG};

_Static_assert(SHUNT_ARRAY_LEN(features) == SHUNT_JOURNAL_TAGS, "one each");

static void find_on(const char *name, bool is_on, bool can_change, void *data)
{
	struct shunt_journal_tags *t = data;
	unsigned i;

	for (i = 0; i < SHUNT_JOURNAL_TAGS; i++)
		if (!strcmp(features[i], name))
			t->is_turned_off[i] |= is_on && can_change;
}

void shunt_journal_tags_plan(struct shunt_journal_tags *t, int fd,
			     const struct shunt_journal_kept *kept)
{
	struct shunt_netdev netdev;
	unsigned i;

	for (i = 0; i < kept->cnt; i++)
		if (kept->tags[i].ifindex == t->ifindex)
			memcpy(t->is_turned_off, kept->tags[i].is_turned_off,
			       sizeof(t->is_turned_off));
	if (!shunt_netdev_query(t->ifname, &netdev, NULL) &&
	    !shunt_driver_of(netdev.driver)->is_pair)
		shunt_features_each(fd, t->ifname, find_on, t);
}

void shunt_journal_tags_apply(const struct shunt_journal_tags *t, int fd)
{
	unsigned i;

	for (i = 0; i < SHUNT_JOURNAL_TAGS; i++)
		if (t->is_turned_off[i])
			shunt_features_turn(fd, t->ifname, features[i], false);
}

struct state {
	const char *name;
	bool is_off;
};

static void find_off(const char *name, bool is_on, bool can_change, void *data)
{
	struct state *s = data;

	(void)can_change;
	if (!strcmp(s->name, name))
		s->is_off = !is_on;
}

unsigned shunt_journal_tags_restore(const struct shunt_journal_tags *t, int fd)
{
	unsigned done = 0, i;

	for (i = 0; i < SHUNT_JOURNAL_TAGS; i++) {
		struct state s = {.name = features[i]};

		if (t->is_turned_off[i] && !shunt_features_each(fd, t->ifname, find_off, &s) &&
		    s.is_off)
			done += !shunt_features_turn(fd, t->ifname, features[i], true);
	}
	return done;
}

void shunt_journal_tags_keep(struct shunt_journal_kept *kept, const struct shunt_journal_tags *t)
{
	unsigned at = 0, i;

	while (at < kept->cnt && kept->tags[at].ifindex != t->ifindex)
		at++;
	if (at == SHUNT_PORT_MAX)
		return;
	if (at == kept->cnt)
		kept->tags[kept->cnt++] = *t;
	for (i = 0; i < SHUNT_JOURNAL_TAGS; i++)
		kept->tags[at].is_turned_off[i] |= t->is_turned_off[i];
}

void shunt_journal_tags_print(const struct shunt_journal_tags *t, const char *head, FILE *out)
{
	unsigned i;

	for (i = 0; i < SHUNT_JOURNAL_TAGS; i++)
		if (t->is_turned_off[i])
			fprintf(out, "%s%s\n", head, features[i]);
}

int shunt_journal_tags_parse(struct shunt_journal_tags *t, const char *text)
{
	const size_t len = strcspn(text, "\n");
	unsigned i;

	for (i = 0; i < SHUNT_JOURNAL_TAGS; i++)
		if (text[len] && strlen(features[i]) == len && !strncmp(text, features[i], len)) {
			t->is_turned_off[i] = true;
			return 0;
		}
	return -EINVAL;
}
