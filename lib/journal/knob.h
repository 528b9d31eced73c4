/* SPDX-License-Identifier: BSD-2-Clause */
/* The journal's entries of a device whose NAPI knobs were turned for busy polling:
 * `knob NETNS IFINDEX IFNAME FILE WAS NOW`. */
#ifndef SHUNT_JOURNAL_KNOB_H
#define SHUNT_JOURNAL_KNOB_H

#include <net/if.h>
#include <stdbool.h>

#include "base/err.h"

#define SHUNT_JOURNAL_KNOBS 2 /* napi_defer_hard_irqs, gro_flush_timeout */

struct shunt_journal_knobs {
	bool is_turned[SHUNT_JOURNAL_KNOBS];
	unsigned long was[SHUNT_JOURNAL_KNOBS];
	int fds[SHUNT_JOURNAL_KNOBS]; /* of those turned; at stop there may be no right to open */
};

/* shunt_journal_knobs_plan reads what is there; nothing where sysfs shows another network
 * namespace. Thread: init. */
void shunt_journal_knobs_plan(struct shunt_journal_knobs *k, const char *ifname, unsigned ifindex);

/* shunt_journal_knobs_turn turns them, after the entries are in the journal. warning says which
 * could not be turned: busy polling works without, with interrupts in between. Thread: init. */
void shunt_journal_knobs_turn(struct shunt_journal_knobs *k, const char *ifname,
			      struct shunt_err *warning);

/* shunt_journal_knobs_restore puts back what nobody else has changed since. Thread: init. */
void shunt_journal_knobs_restore(struct shunt_journal_knobs *k);

/* shunt_journal_knob_name and _now: of knob i, its file and the value it is turned to.
 * shunt_journal_knob_undo gives back a knob by an entry of the file. Returns whether it did.
 * Thread: init. */
const char *shunt_journal_knob_name(unsigned i);
unsigned long shunt_journal_knob_now(unsigned i);
bool shunt_journal_knob_undo(const char *ifname, unsigned ifindex, const char *knob,
			     unsigned long was, unsigned long now);

#endif
