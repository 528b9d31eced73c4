/* SPDX-License-Identifier: BSD-2-Clause */
/* Which network namespace this process is in. */
#ifndef SHUNT_BASE_NETNS_H
#define SHUNT_BASE_NETNS_H

#include <stdint.h>

/* shunt_netns_number returns the number of the caller's network namespace: the inode of
 * /proc/self/ns/net, unique while the namespace lives. Returns 0 if it cannot be found.
 * Thread: any. Cost: setup, a syscall. */
uint64_t shunt_netns_number(void);

#endif
