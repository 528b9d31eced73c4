/* SPDX-License-Identifier: BSD-2-Clause */
/* A veth pair of shunt's own, by netlink. It is silent: without an IPv6 address it does no
 * neighbour discovery. */
#ifndef SHUNT_VETH_VETH_H
#define SHUNT_VETH_VETH_H

#include <stdint.h>

#include "base/err.h"

/* shunt_veth_create makes the pair, both ends up, each with so many queues to receive and as many
 * to transmit. Names have at most 15 characters, mtu is in bytes. Returns name's ifindex (over 0),
 * or -errno with err set and nothing made. Thread: init. Cost: a few syscalls. */
int shunt_veth_create(const char *name, const char *peer, uint32_t mtu, uint32_t queues,
		      struct shunt_err *err);

/* shunt_veth_set_mtu sets one end's MTU, in bytes. Returns 0 or -errno. Thread: control. */
int shunt_veth_set_mtu(const char *name, uint32_t mtu);

/* shunt_veth_delete removes the pair that name is an end of. Returns 0, -ENODEV if there is
 * none such, or -errno with err set. Thread: init. */
int shunt_veth_delete(const char *name, struct shunt_err *err);

#endif
