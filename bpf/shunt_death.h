/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the program that sees the daemon die and userspace share. */
#ifndef SHUNT_DEATH_H
#define SHUNT_DEATH_H

#include <linux/types.h>

#define SHUNT_DEATH_PORTS_MAX 64

struct shunt_death_state {
	__u32 tgid;  /* of the daemon, in the first PID namespace; 0: nobody is watched */
	__u32 cnt;   /* ports */
	__u64 at_ns; /* CLOCK_MONOTONIC of the end; 0: it lives */
};

#endif
