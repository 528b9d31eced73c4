/* SPDX-License-Identifier: BSD-2-Clause */
/* Running in the background. The parent stays until the daemon forwards or has failed. So in
 * `shuntd -d ... && next`, next runs only when the daemon forwards. */
#ifndef SHUNTD_BACKGROUND_H
#define SHUNTD_BACKGROUND_H

#include "base/err.h"

/* shuntd_background_enter forks; the parent waits for shuntd_background_ready and
 * exits 0, or exits 1 when the child ends before. Returns 0 in the child, in a
 * session of its own, or -errno with err set. Thread: init, before any other. */
int shuntd_background_enter(struct shunt_err *err);

/* shuntd_background_ready lets the parent go and the terminal too. */
void shuntd_background_ready(void);

/* shuntd_background_pidfile writes this process's number to path. Returns 0 or
 * -errno with err set. */
int shuntd_background_pidfile(const char *path, struct shunt_err *err);

#endif
