/* SPDX-License-Identifier: BSD-2-Clause */
/* A journal as a file, and the boot that it is bound to. Its folder may be another user's. That
 * user must not be able to lead root's writing elsewhere, or to keep a start waiting. */
#ifndef SHUNT_JOURNAL_FILE_H
#define SHUNT_JOURNAL_FILE_H

#include <stdio.h>

#include "base/err.h"

#define SHUNT_JOURNAL_BOOT_LEN 40

/* shunt_journal_file_create makes path anew, whatever it was. Returns the file, the caller's to
 * close, or NULL with errno set. Thread: init. */
FILE *shunt_journal_file_create(const char *path);

/* shunt_journal_file_open opens path for reading. Returns 0 with *out set, to NULL where there is
 * no such file, or -errno with err set, also for what is no regular file. Thread: init. */
int shunt_journal_file_open(FILE **out, const char *path, struct shunt_err *err);

/* shunt_journal_file_boot writes the name of this boot, "unknown" without one. Thread: init. */
void shunt_journal_file_boot(char out[static SHUNT_JOURNAL_BOOT_LEN]);

#endif
