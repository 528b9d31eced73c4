// SPDX-License-Identifier: BSD-2-Clause
#include "ending.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

static sigset_t signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	return set;
}

void ending_prepare(void)
{
	const sigset_t set = signals();

	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

bool ending_is_asked(void)
{
	const struct timespec now = {0};
	const sigset_t set = signals();

	return sigtimedwait(&set, NULL, &now) > 0;
}
