/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of the helper process: it answers requests (message.h) until the daemon's end of the
 * socket is closed. */
#ifndef SHUNT_HELPER_PROCESS_H
#define SHUNT_HELPER_PROCESS_H

#include <sys/types.h>

#include "helper/helper.h"

/* shunt_helper_run drops this process's rights, tells so, and answers until the daemon's end. Then
 * the process is to end. fd is its end of the socket, daemon the process that forked it. Thread:
 * the only one. */
void shunt_helper_run(int fd, pid_t daemon, const struct shunt_helper_opts *opts);

#endif
