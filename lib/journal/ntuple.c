// SPDX-License-Identifier: BSD-2-Clause
#include "journal/ntuple.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/netdev.h"
#include "device/ntuple.h"

/* What a refusal is about: device and filter. */
struct subject {
	const char *ifname, *driver;
	char text[SHUNT_FILTER_TEXT_MAX];
};

static int find_place(const struct subject *s, const struct shunt_ntuple *table,
		      struct shunt_filter *f, struct shunt_err *err)
{
	uint32_t i;

	if (f->location == SHUNT_FILTER_ANY) {
		f->location = shunt_ntuple_free(table);
		if (f->location < 0)
			return shunt_err_set(err, ENOSPC,
					     "%s: no place is left for filter '%s': the device has "
					     "%u, all in use (ethtool -n %s)",
					     s->ifname, s->text, table->size, s->ifname);
		return 0;
	}
	if ((uint32_t)f->location >= table->size)
		return shunt_err_set(err, EINVAL,
				     "%s: filter '%s': the device has locations 0 to %u only",
				     s->ifname, s->text, table->size - 1);
	for (i = 0; i < table->cnt; i++)
		if (table->at[i] == (uint32_t)f->location)
			return shunt_err_set(err, EEXIST,
					     "%s: filter '%s': another filter stands there "
					     "(ethtool -n %s rule %d); name another location or "
					     "leave it out",
					     s->ifname, s->text, s->ifname, f->location);
	return 0;
}

static int plan_one(struct shunt_journal_ntuple *n, int fd, struct shunt_ntuple *table,
		    const struct shunt_filter *filter, unsigned queues, struct shunt_err *err)
{
	struct subject s = {.ifname = n->ifname, .driver = n->driver};
	struct shunt_filter *f = &n->filters[n->cnt];
	int ret;

	shunt_filter_print(filter, s.text, sizeof(s.text));
	if (filter->queue >= queues)
		return shunt_err_set(err, EINVAL,
				     "%s: filter '%s': the device has %u queue%s, expected queue 0 "
				     "to %u (ethtool -L %s adds some)",
				     n->ifname, s.text, queues, queues > 1 ? "s" : "", queues - 1,
				     n->ifname);
	if (shunt_ntuple_find(fd, n->ifname, table, filter) >= 0)
		return 0;
	*f = *filter;
	ret = find_place(&s, table, f, err);
	if (ret)
		return ret;
	shunt_ntuple_take(table, (uint32_t)f->location);
	n->cnt++;
	return 0;
}

static int plan_all(struct shunt_journal_ntuple *n, int fd, const struct shunt_port_config *port,
		    struct shunt_ntuple *table, struct shunt_err *err)
{
	struct shunt_netdev netdev;
	unsigned i;
	int ret = shunt_netdev_query(port->name, &netdev, err);

	if (ret)
		return ret;
	snprintf(n->driver, sizeof(n->driver), "%s", *netdev.driver ? netdev.driver : "unknown");
	ret = shunt_ntuple_read(fd, n->ifname, table);
	if (ret)
		return shunt_err_set(err, -ret,
				     "%s: ntuple filters are asked for, and the driver %s has none "
				     "(ethtool -n %s: %s); leave out ntuple: rules choose the lane "
				     "on any device",
				     n->ifname, n->driver, n->ifname, strerror(-ret));
	for (i = 0; i < port->filter_cnt && !ret; i++)
		ret = plan_one(n, fd, table, &port->filters[i], netdev.queue_cnt, err);
	n->is_turned_on = n->cnt && !shunt_ntuple_is_on(fd, n->ifname);
	return ret;
}

int shunt_journal_ntuple_plan(struct shunt_journal_ntuple *n, int fd,
			      const struct shunt_port_config *port, struct shunt_err *err)
{
	struct shunt_ntuple *table;
	int ret;

	snprintf(n->ifname, sizeof(n->ifname), "%.15s", port->name);
	if (!port->filter_cnt)
		return 0;
	table = calloc(1, sizeof(*table));
	ret = table ? plan_all(n, fd, port, table, err)
		    : shunt_err_set(err, ENOMEM, "journal: not enough memory");
	free(table);
	return ret;
}

static const char *remedy(int ret)
{
	switch (ret) {
	case -EEXIST:
		return "the device has a filter that compares the same";
	case -EINVAL:
	case -EOPNOTSUPP:
		return "its NIC does not compare that";
	case -EPERM:
		return "CAP_NET_ADMIN is missing";
	default:
		return "see dmesg";
	}
}

int shunt_journal_ntuple_apply(const struct shunt_journal_ntuple *n, int fd, struct shunt_err *err)
{
	char text[SHUNT_FILTER_TEXT_MAX];
	unsigned i;
	int ret = n->is_turned_on ? shunt_ntuple_turn(fd, n->ifname, true) : 0;

	if (ret)
		return shunt_err_set(err, -ret,
				     "%s: cannot switch ntuple filters on (ethtool -K %s ntuple "
				     "on: %s)",
				     n->ifname, n->ifname, strerror(-ret));
	for (i = 0; i < n->cnt; i++) {
		ret = shunt_ntuple_add(fd, n->ifname, &n->filters[i]);
		if (!ret)
			continue;
		shunt_filter_print(&n->filters[i], text, sizeof(text));
		return shunt_err_set(err, -ret, "%s: the driver %s refuses filter '%s' (%s): %s",
				     n->ifname, n->driver, text, strerror(-ret), remedy(ret));
	}
	return 0;
}

static unsigned remove_all(const struct shunt_journal_ntuple *n, int fd, struct shunt_ntuple *table)
{
	unsigned done = 0, i;

	for (i = 0; i < n->cnt; i++) {
		const int at = shunt_ntuple_find(fd, n->ifname, table, &n->filters[i]);

		done += at >= 0 && !shunt_ntuple_del(fd, n->ifname, (uint32_t)at);
	}
	/* Switching them off takes everybody's away. */
	if (n->is_turned_on && !shunt_ntuple_read(fd, n->ifname, table) && !table->cnt &&
	    shunt_ntuple_is_on(fd, n->ifname))
		done += !shunt_ntuple_turn(fd, n->ifname, false);
	return done;
}

unsigned shunt_journal_ntuple_restore(const struct shunt_journal_ntuple *n, int fd)
{
	struct shunt_ntuple *table = n->cnt || n->is_turned_on ? calloc(1, sizeof(*table)) : NULL;
	unsigned done = 0;

	if (table && !shunt_ntuple_read(fd, n->ifname, table))
		done = remove_all(n, fd, table);
	free(table);
	return done;
}

void shunt_journal_ntuple_print(const struct shunt_journal_ntuple *n, const char *head, FILE *out)
{
	char text[SHUNT_FILTER_TEXT_MAX];
	unsigned i;

	for (i = 0; i < n->cnt; i++) {
		shunt_filter_print(&n->filters[i], text, sizeof(text));
		fprintf(out, "%s%s\n", head, text);
	}
	if (n->is_turned_on)
		fprintf(out, "%son\n", head);
}

int shunt_journal_ntuple_parse(struct shunt_journal_ntuple *n, const char *text)
{
	if (!strcmp(text, "on\n")) {
		n->is_turned_on = true;
		return 0;
	}
	if (n->cnt == SHUNT_FILTER_MAX || !strchr(text, '\n') ||
	    shunt_filter_parse(text, &n->filters[n->cnt], NULL) ||
	    n->filters[n->cnt].location == SHUNT_FILTER_ANY)
		return -EINVAL;
	n->cnt++;
	return 0;
}
