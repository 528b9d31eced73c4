/* SPDX-License-Identifier: BSD-2-Clause */
/* The journal's entry of a device on which shunt made the RSS table spread over the queues that are
 * served: `rss NETNS IFINDEX IFNAME QUEUES ENTRY,ENTRY,...`, or `... QUEUES default`. */
#ifndef SHUNT_JOURNAL_RSS_H
#define SHUNT_JOURNAL_RSS_H

#include <net/if.h>
#include <stdio.h>

#include "config/config.h"
#include "device/rss.h"

#define SHUNT_JOURNAL_LINE_MAX (128 + SHUNT_RSS_MAX * 6) /* bytes of the longest line */

struct shunt_journal_rss {
	char ifname[IFNAMSIZ];
	uint32_t queues;  /* spread over; 0: nothing was asked for or to be done */
	bool was_default; /* the kernel's own table: then its entries do not matter */
	struct shunt_rss was;
};

/* shunt_journal_rss_plan reads what is there and what the port wants. Returns 0 or -errno with
 * err set: spread was asked for, and the device has no table. Thread: init. */
int shunt_journal_rss_plan(struct shunt_journal_rss *r, int fd,
			   const struct shunt_port_config *port, struct shunt_err *err);

/* shunt_journal_rss_apply puts the new table in force, after the entry is in the journal.
 * Returns 0 or -errno with err set. Thread: init. */
int shunt_journal_rss_apply(const struct shunt_journal_rss *r, int fd, struct shunt_err *err);

/* shunt_journal_rss_restore puts the old one back, unless another changed it since. Returns
 * whether it did. Thread: init, control. */
bool shunt_journal_rss_restore(const struct shunt_journal_rss *r, int fd);

/* shunt_journal_rss_print writes what stands behind IFNAME in the entry's line;
 * shunt_journal_rss_parse reads it. Returns 0 or -EINVAL. Thread: init. */
void shunt_journal_rss_print(const struct shunt_journal_rss *r, FILE *out);
int shunt_journal_rss_parse(struct shunt_journal_rss *r, const char *text);

#endif
