/* SPDX-License-Identifier: BSD-2-Clause */
/* A device's features by the kernel's names (`ethtool -k`). */
#ifndef SHUNT_IO_FEATURES_H
#define SHUNT_IO_FEATURES_H

#include <stdbool.h>

/* shunt_features_each calls fn for every feature; can_change: it can be switched. fd is any socket.
 * Returns 0 or -errno. Thread: control. Cost: three syscalls. */
typedef void shunt_features_fn(const char *name, bool is_on, bool can_change, void *data);
int shunt_features_each(int fd, const char *ifname, shunt_features_fn *fn, void *data);

#endif
