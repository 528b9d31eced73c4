/* SPDX-License-Identifier: BSD-2-Clause */
/* What a daemon changes on devices and must give back, where the change would outlive it. Each
 * change stands in a file before it is made:
 * - the steering program, and another's program that it replaces;
 * - the punt device;
 * - the NAPI knobs that busy polling wants;
 * - the RSS table and the ntuple filters, where they are asked for;
 * - that the NIC takes VLAN tags off.
 * A port's detour goes with its program. Promiscuity is not in the file: the kernel takes it back.
 *
 * A clean stop gives all back and removes the file. A daemon that finds a file gives back what a
 * killed daemon had changed. The file is replaced as a whole (written, synced, renamed), so a crash
 * leaves the old one or the new one. An entry is skipped when it is of another boot, of a device
 * that was deleted since, or when somebody else has changed the value since. The journal of another
 * network namespace waits, renamed, for a start in that one.
 *
 *     shunt_journal_recover(path, &config, keep, &kept, &warning, &err);
 *     shunt_journal_open(&journal, path, &config, &kept, &err);
 *     ...
 *     shunt_journal_close(journal, false);
 */
#ifndef SHUNT_JOURNAL_JOURNAL_H
#define SHUNT_JOURNAL_JOURNAL_H

#include <stdbool.h>

#include "base/err.h"
#include "config/config.h"
#include "journal/tags.h"

struct shunt_journal;

/* shunt_journal_recover gives back what the journal at path says and removes it. With keep,
 * steering programs on devices that config serves stay where they are, to be replaced, and go on
 * seeing tags. kept has that for shunt_journal_open, and the file stays until then. warning says
 * what is left undone, "" if nothing. Returns how many things were given back, 0 without a journal,
 * or -errno with err set. Thread: init. */
int shunt_journal_recover(const char *path, const struct shunt_config *config, bool keep,
			  struct shunt_journal_kept *kept, struct shunt_err *warning,
			  struct shunt_err *err);

/* shunt_journal_open records what config will change, then changes all of it but the programs and
 * the punt device. Without a path ("") nothing is recorded, and a kill leaves it changed. Returns 0
 * with *out set, or -errno with err set and nothing changed. Thread: init. */
int shunt_journal_open(struct shunt_journal **out, const char *path,
		       const struct shunt_config *config, const struct shunt_journal_kept *kept,
		       struct shunt_err *err);

/* shunt_journal_give_back gives everything back after the programs are gone. With keep, the
 * programs stayed for a successor and still see tags. A process that was forked since may do it
 * with its copy; then shunt_journal_was_given_back tells the other copy. Thread: control. */
void shunt_journal_give_back(struct shunt_journal *journal, bool keep);
void shunt_journal_was_given_back(struct shunt_journal *journal);

/* shunt_journal_close gives back unless that was done, and removes the file, which with keep stays
 * for a successor. shunt_journal_leave does neither: the next start does. NULL is legal. Thread:
 * control. */
void shunt_journal_close(struct shunt_journal *journal, bool keep);
void shunt_journal_leave(struct shunt_journal *journal);

/* shunt_journal_warning returns a sentence about what could not be done and is not needed, a knob
 * or a pin, NULL where there is none. It is the journal's. Thread: init. */
const char *shunt_journal_warning(const struct shunt_journal *journal);

#endif
