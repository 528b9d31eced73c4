/* SPDX-License-Identifier: BSD-2-Clause */
/* A device's features by the kernel's names (`ethtool -k`). */
#ifndef SHUNT_DEVICE_FEATURES_H
#define SHUNT_DEVICE_FEATURES_H

#include <stdbool.h>

/* The NIC takes VLAN tags off received frames: C-tags (ethtool's rxvlan), S-tags. */
#define SHUNT_FEATURE_RX_VLAN "rx-vlan-hw-parse"
#define SHUNT_FEATURE_RX_STAG "rx-vlan-stag-hw-parse"
/* It puts them into frames that it sends, so that the stack hands them over beside. */
#define SHUNT_FEATURE_TX_VLAN "tx-vlan-hw-insert"
#define SHUNT_FEATURE_TX_STAG "tx-vlan-stag-hw-insert"

/* shunt_features_each calls fn for every feature; can_change: it can be switched. fd is any socket.
 * Returns 0 or -errno. Thread: control. Cost: three syscalls. */
typedef void shunt_features_fn(const char *name, bool is_on, bool can_change, void *data);
int shunt_features_each(int fd, const char *ifname, shunt_features_fn *fn, void *data);

/* shunt_features_turn asks for one to be switched; others that depend on it may follow. Returns 0,
 * also where the driver left it as it was, -ENOENT without one of this name, or -errno. Thread:
 * control. Cost: three syscalls; the driver may restart the device. */
int shunt_features_turn(int fd, const char *ifname, const char *name, bool is_on);

#endif
