/* SPDX-License-Identifier: BSD-2-Clause */
/* The journal's entries of a device on which the NIC took VLAN tags off received frames, so that
 * XDP and sockets would not see them: `tags NETNS IFINDEX IFNAME FEATURE` for each feature that was
 * switched off, by ethtool's name. */
#ifndef SHUNT_JOURNAL_TAGS_H
#define SHUNT_JOURNAL_TAGS_H

#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>

#include "config/config.h"

#define SHUNT_JOURNAL_TAGS 2 /* C-tags and S-tags */

struct shunt_journal_tags {
	unsigned ifindex;
	char ifname[IFNAMSIZ];
	bool is_turned_off[SHUNT_JOURNAL_TAGS]; /* by shunt */
};

/* Of devices that are handed over: what the daemon before switched off. It stays off, and the
 * successor switches it on at its own end. */
struct shunt_journal_kept {
	unsigned cnt;
	struct shunt_journal_tags tags[SHUNT_PORT_MAX];
};

/* shunt_journal_tags_plan finds what is to be switched off. t's ifindex and ifname are set; fd is
 * any socket. What the driver does not let change stays on. A veth is left alone: it says that it
 * has the features, and parses nothing. Thread: init. */
void shunt_journal_tags_plan(struct shunt_journal_tags *t, int fd,
			     const struct shunt_journal_kept *kept);

/* shunt_journal_tags_apply switches that off, after the entries are in the journal. A driver may
 * refuse: the notice `tags` tells of that. Thread: init. */
void shunt_journal_tags_apply(const struct shunt_journal_tags *t, int fd);

/* shunt_journal_tags_restore switches on what nobody else did since. Returns how many things it
 * gave back. Thread: init, control. */
unsigned shunt_journal_tags_restore(const struct shunt_journal_tags *t, int fd);

/* shunt_journal_tags_keep notes that what is off in t stays off. Thread: init. */
void shunt_journal_tags_keep(struct shunt_journal_kept *kept, const struct shunt_journal_tags *t);

/* shunt_journal_tags_print writes the entries' lines, each behind head; shunt_journal_tags_parse
 * adds what stands behind IFNAME in one. Returns 0 or -EINVAL. Thread: init. */
void shunt_journal_tags_print(const struct shunt_journal_tags *t, const char *head, FILE *out);
int shunt_journal_tags_parse(struct shunt_journal_tags *t, const char *text);

#endif
