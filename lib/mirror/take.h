/* SPDX-License-Identifier: BSD-2-Clause */
/* A netlink message taken over into the mirrored table: parsed, then put or deleted. */
#ifndef SHUNT_MIRROR_TAKE_H
#define SHUNT_MIRROR_TAKE_H

#include "mirror/dump.h"
#include "mirror/parse.h"

struct shunt_mirror_taker {
	struct shunt_mirror_table *table;
	struct shunt_mirror_dump *dump;
	/* scratch: too large for the stack */
	struct shunt_mirror_route_info route;
	struct shunt_mirror_member members[SHUNT_MIRROR_MEMBERS_MAX];
};

/* shunt_mirror_take takes the message over; is_dump: it answers the dump under way. Returns 1
 * when the table changed, 0 when not, -ENOMEM, -EBADMSG for one cut short.
 * Thread: the writer. */
int shunt_mirror_take(struct shunt_mirror_taker *taker, const struct nlmsghdr *nlh, bool is_dump);

#endif
