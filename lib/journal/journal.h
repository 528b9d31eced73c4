/* SPDX-License-Identifier: BSD-2-Clause */
/* What a daemon borrowed and must give back. Everything that it changes on a
 * device and that outlives it stands in a file before it is changed: the steering
 * program, another's that gave way to it, the punt device, the NAPI knobs that busy polling wants,
 * the RSS table and the ntuple filters where they are asked for, and that the NIC takes VLAN tags
 * off. A clean stop gives all back and removes the file; a daemon that finds one gives back what
 * its predecessor was killed over; a port's detour goes with its program. (Promiscuity is not among
 * it: the kernel takes that back itself. Channels are never changed, nor offloads but the switch of
 * the filters and that of the tags.)
 *
 * The file is replaced as a whole (written, synced, renamed), so a crash leaves
 * the old one or the new one. An entry is skipped when it is of another boot, of a
 * device that was deleted since, or when somebody else has changed the value since.
 * The journal of another network namespace waits, renamed, for a start in that one.
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

/* shunt_journal_recover gives back what the journal at path says and removes it.
 * With keep, steering programs on devices that config serves stay where they are,
 * to be replaced, and go on seeing tags: that is in kept for shunt_journal_open, and the file stays
 * until then. What is left undone is in warning, "" if nothing. Returns how many
 * things were given back, 0 without a journal, or -errno with err set. Thread: init. */
int shunt_journal_recover(const char *path, const struct shunt_config *config, bool keep,
			  struct shunt_journal_kept *kept, struct shunt_err *warning,
			  struct shunt_err *err);

/* shunt_journal_open records what config will change, then turns what is no program's.
 * Without a path ("") nothing is recorded, and a kill leaves the knobs turned.
 * Returns 0 with *out set or -errno with err set and nothing changed. Thread: init. */
int shunt_journal_open(struct shunt_journal **out, const char *path,
		       const struct shunt_config *config, const struct shunt_journal_kept *kept,
		       struct shunt_err *err);

/* shunt_journal_close gives the knobs back after the programs are gone and removes
 * the file; with keep, the programs stayed for a successor and still see tags: he finds both in it.
 * NULL is legal. Thread: init. */
void shunt_journal_close(struct shunt_journal *journal, bool keep);

/* shunt_journal_warning returns a sentence about a NAPI knob that could not be turned, NULL
 * when all are as they should. It is the journal's. Thread: init. */
const char *shunt_journal_warning(const struct shunt_journal *journal);

#endif
