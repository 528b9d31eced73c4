/* SPDX-License-Identifier: BSD-2-Clause */
/* The journal's entries of a device that ntuple filters are set on:
 * `ntuple NETNS IFINDEX IFNAME FILTER` for each, with its location, and
 * `ntuple NETNS IFINDEX IFNAME on` where they had to be switched on. Filters of others stay as they
 * are. A filter that is there already is not shunt's, and stays at the end. */
#ifndef SHUNT_JOURNAL_NTUPLE_H
#define SHUNT_JOURNAL_NTUPLE_H

#include <net/if.h>
#include <stdio.h>

#include "config/config.h"

struct shunt_journal_ntuple {
	char ifname[IFNAMSIZ];
	char driver[32];
	bool is_turned_on; /* by us */
	unsigned cnt;
	struct shunt_filter filters[SHUNT_FILTER_MAX]; /* to be set, each with its location */
};

/* shunt_journal_ntuple_plan reads what is there and finds a place for what the port wants. Returns
 * 0 or -errno with err set: no such filters, no such queue, a place that is taken, none left.
 * Thread: init. */
int shunt_journal_ntuple_plan(struct shunt_journal_ntuple *n, int fd,
			      const struct shunt_port_config *port, struct shunt_err *err);

/* shunt_journal_ntuple_apply sets them, after the entries are in the journal. Returns 0 or -errno
 * with err set; then shunt_journal_ntuple_restore removes those that were set. Thread: init. */
int shunt_journal_ntuple_apply(const struct shunt_journal_ntuple *n, int fd, struct shunt_err *err);

/* shunt_journal_ntuple_restore removes the filters that are still as they were set. It switches
 * filters off again if shunt switched them on and nobody else has any. Returns how many things it
 * gave back. Thread: init, control. */
unsigned shunt_journal_ntuple_restore(const struct shunt_journal_ntuple *n, int fd);

/* shunt_journal_ntuple_print writes the entries' lines, each behind head;
 * shunt_journal_ntuple_parse adds what stands behind IFNAME in one. Returns 0 or -EINVAL. Thread:
 * init. */
void shunt_journal_ntuple_print(const struct shunt_journal_ntuple *n, const char *head, FILE *out);
int shunt_journal_ntuple_parse(struct shunt_journal_ntuple *n, const char *text);

#endif
