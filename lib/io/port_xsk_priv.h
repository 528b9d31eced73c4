/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two halves of the AF_XDP port share; nobody else includes it. */
#ifndef SHUNT_IO_PORT_XSK_PRIV_H
#define SHUNT_IO_PORT_XSK_PRIV_H

#include <xdp/xsk.h>

#include "io/port_xsk.h"

struct ring_map {
	void *mem;
	size_t len;
};

struct xsk_queue {
	struct shunt_queue queue;
	/* per batch */
	struct xsk_ring_cons rx, comp;
	struct xsk_ring_prod tx, fill;
	uint32_t fill_owed;	 /* frames the fill ring wants */
	uint32_t fill_batch;	 /* refill when so many are owed */
	uint32_t tx_outstanding; /* submitted and not yet completed */
	uint32_t dry_below;	 /* frames the kernel can receive into: fewer is dry */
	struct shunt_steer_gate *gate;
	uint32_t tx_budget; /* packets a copying transmit call sends at most */
	struct shunt_xsk_in_use in_use;
	/* control */
	struct shunt_xsk_umem *umem;
	struct ring_map map[4];
	int xsks_fd;
};

extern const struct shunt_queue_ops shunt_xsk_ops;

void shunt_xsk_close(struct shunt_queue *queue);

#endif
