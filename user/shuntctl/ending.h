/* SPDX-License-Identifier: BSD-2-Clause */
/* How a command that runs until Ctrl-C learns of it: signals wait until they are asked for. */
#ifndef SHUNTCTL_ENDING_H
#define SHUNTCTL_ENDING_H

#include <stdbool.h>

/* ending_prepare has SIGINT and SIGTERM wait. ending_is_asked says whether one has come. */
void ending_prepare(void);
bool ending_is_asked(void);

#endif
