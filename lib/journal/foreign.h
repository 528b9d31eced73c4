/* SPDX-License-Identifier: BSD-2-Clause */
/* The journal's entry of another's XDP program on a device, which shunt's replaces (--replace):
 * `foreign NETNS IFINDEX IFNAME native|generic`. Nothing else may hold that program. So it is
 * pinned in SHUNT_JOURNAL_FOREIGN_DIR meanwhile, and outlives a kill. Programs under libxdp's
 * dispatcher need none of this: shunt's runs beside them. */
#ifndef SHUNT_JOURNAL_FOREIGN_H
#define SHUNT_JOURNAL_FOREIGN_H

#include <stdint.h>

#include "base/err.h"
#include "xdp/xdp.h"

#define SHUNT_JOURNAL_FOREIGN_DIR "/sys/fs/bpf/shunt"

struct shunt_journal_foreign {
	int fd;	    /* the replaced program; -1: none */
	int dir_fd; /* -1: not pinned */
	enum shunt_xdp_mode mode;
	char pin[64];
};

/* shunt_journal_foreign_plan finds the program that is to be replaced, or that a daemon replaced
 * which left its own on the device. Thread: init. */
void shunt_journal_foreign_plan(struct shunt_journal_foreign *f, uint64_t netns, unsigned ifindex,
				bool replace);

/* shunt_journal_foreign_pin pins it, before the entry is in the journal. user ("": none) is made
 * able to unpin it. Where it cannot be pinned, warning says so, and only a stop gives it back.
 * Thread: init. */
void shunt_journal_foreign_pin(struct shunt_journal_foreign *f, const char *ifname,
			       const char *user, struct shunt_err *warning);

/* shunt_journal_foreign_restore puts it back on the device, unless another program is there by now,
 * and unpins it. With keep, shunt's own program stays, and so does the pin. Thread: init. */
void shunt_journal_foreign_restore(struct shunt_journal_foreign *f, unsigned ifindex, bool keep);

/* shunt_journal_foreign_undo does that by an entry of the file. is_gone: the device is gone.
 * Returns whether it put a program back. Thread: init. */
bool shunt_journal_foreign_undo(uint64_t netns, unsigned ifindex, const char *mode, bool is_gone);

#endif
