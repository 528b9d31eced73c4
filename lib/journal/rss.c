// SPDX-License-Identifier: BSD-2-Clause
#include "journal/rss.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device/netdev.h"

int shunt_journal_rss_plan(struct shunt_journal_rss *r, int fd,
			   const struct shunt_port_config *port, struct shunt_err *err)
{
	struct shunt_netdev netdev;
	int ret;

	snprintf(r->ifname, sizeof(r->ifname), "%.15s", port->name);
	if (!port->spread)
		return 0;
	ret = shunt_netdev_query(port->name, &netdev, err);
	if (ret)
		return ret;
	ret = shunt_rss_read(fd, r->ifname, &r->was);
	if (ret)
		return shunt_err_set(err, -ret,
				     "%s: spread is asked for, and the device has no table to set "
				     "(ethtool -x %s: %s); leave out spread and queues, so that "
				     "every queue is served",
				     r->ifname, r->ifname, strerror(-ret));
	r->queues =
		port->queues && port->queues < netdev.queue_cnt ? port->queues : netdev.queue_cnt;
	if (shunt_rss_is_spread(&r->was, r->queues))
		r->queues = 0;
	r->was_default = shunt_rss_is_default(fd, r->ifname, &r->was);
	return 0;
}

int shunt_journal_rss_apply(const struct shunt_journal_rss *r, int fd, struct shunt_err *err)
{
	struct shunt_rss wanted;
	int ret;

	if (!r->queues)
		return 0;
	shunt_rss_spread(&wanted, r->was.cnt, r->queues);
	ret = shunt_rss_write(fd, r->ifname, &wanted);
	if (!ret)
		return 0;
	return shunt_err_set(err, -ret,
			     "%s: cannot spread over %u queues (ethtool -X %s equal %u: %s)",
			     r->ifname, r->queues, r->ifname, r->queues, strerror(-ret));
}

bool shunt_journal_rss_restore(const struct shunt_journal_rss *r, int fd)
{
	struct shunt_rss is;

	if (!r->queues || shunt_rss_read(fd, r->ifname, &is) ||
	    !shunt_rss_is_spread(&is, r->queues))
		return false;
	if (r->was_default)
		return !shunt_rss_reset(fd, r->ifname);
	return is.cnt == r->was.cnt && !shunt_rss_write(fd, r->ifname, &r->was);
}

void shunt_journal_rss_print(const struct shunt_journal_rss *r, FILE *out)
{
	uint32_t i;

	fprintf(out, "%" PRIu32 " ", r->queues);
	if (r->was_default)
		fputs("default", out);
	for (i = 0; i < r->was.cnt && !r->was_default; i++)
		fprintf(out, "%s%" PRIu32, i ? "," : "", r->was.queue[i]);
	fputc('\n', out);
}

int shunt_journal_rss_parse(struct shunt_journal_rss *r, const char *text)
{
	char *end;

	r->was.cnt = 0;
	r->queues = (uint32_t)strtoul(text, &end, 10);
	if (end == text || !r->queues || *end != ' ')
		return -EINVAL;
	r->was_default = !strcmp(end, " default\n");
	if (r->was_default)
		return 0;
	do {
		if (r->was.cnt == SHUNT_RSS_MAX)
			return -EINVAL;
		text = end + 1;
		r->was.queue[r->was.cnt++] = (uint32_t)strtoul(text, &end, 10);
		if (end == text)
			return -EINVAL;
	} while (*end == ',');
	return *end == '\n' ? 0 : -EINVAL;
}
