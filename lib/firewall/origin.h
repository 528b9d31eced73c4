/* SPDX-License-Identifier: BSD-2-Clause */
/* What a translated packet was when it arrived. The steering program writes the new addresses and
 * ports of an approved connection into the packets that it gives to workers. What a worker hands
 * back to the kernel must be as it arrived, since the kernel translates itself. Connection tracking
 * knows: no two connections look alike on either side of a translation.
 *
 *	shunt_origin_create(&origin);
 *	shunt_origin_open(origin, &err);	when the first port asks for approved connections
 *	shunt_origin_restore(origin, frame, len);	workers, of what they hand back
 *	shunt_origin_destroy(origin);
 *
 * Source: nf_flow_snat and nf_flow_dnat of Linux 6.12, whose work is undone.
 */
#ifndef SHUNT_FIREWALL_ORIGIN_H
#define SHUNT_FIREWALL_ORIGIN_H

#include <stdint.h>

#include "base/err.h"

struct shunt_origin;

/* shunt_origin_create returns 0 or -ENOMEM. It asks the kernel for nothing, and loads no module of
 * it. shunt_origin_destroy: NULL is legal, no worker may run. Thread: control. */
int shunt_origin_create(struct shunt_origin **out);
void shunt_origin_destroy(struct shunt_origin *origin);

/* shunt_origin_open opens the socket, and asks for a connection that is not there. Returns 0, also
 * where that was done before, or -errno with err set: connection tracking does not answer. Thread:
 * control. Cost: a netlink exchange the first time, which may load a module of the kernel. */
int shunt_origin_open(struct shunt_origin *origin, struct shunt_err *err);

/* shunt_origin_restore writes addresses and ports into an Ethernet frame, of which the first len
 * bytes are there (82 have all headers, two tags among them), as the packet had them when it
 * arrived, and brings its checksums along. Returns 1; 0 where there was nothing to do: not TCP or
 * UDP over IP, a fragment, not translated; -ENOENT, or what the kernel answers: its connection is
 * not known, so neither is what it was. Thread: any. Cost: a netlink exchange, some microseconds.
 */
int shunt_origin_restore(struct shunt_origin *origin, uint8_t *frame, uint32_t len);

#endif
