/* SPDX-License-Identifier: BSD-2-Clause */
/* The mirror's netlink socket: routing messages, every multicast group that it follows. */
#ifndef SHUNT_MIRROR_SOCKET_H
#define SHUNT_MIRROR_SOCKET_H

#include <libmnl/libmnl.h>
#include <stdint.h>

#include "base/err.h"

/* shunt_mirror_socket_open opens the socket, not blocking, in the network namespace of
 * netns_fd (-1: the thread's own); it stays there, the thread comes back. Its receive buffer
 * is rcvbuf_bytes or, without CAP_NET_ADMIN, what net.core.rmem_max allows. Returns 0 with
 * *out to be closed by mnl_socket_close, or -errno with *err filled and *out NULL.
 * Thread: the writer. Cost: setup. */
int shunt_mirror_socket_open(struct mnl_socket **out, int netns_fd, uint32_t rcvbuf_bytes,
			     struct shunt_err *err);

#endif
