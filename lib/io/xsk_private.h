/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the AF_XDP port share. */
#ifndef SHUNT_IO_XSK_PRIVATE_H
#define SHUNT_IO_XSK_PRIVATE_H

#include <xdp/xsk.h>

#include "io/pass.h"
#include "io/xsk.h"

struct ring_map {
	void *mem;
	size_t len;
};

/* Linux 6.8. */
#ifndef XDP_TX_METADATA
#define XDP_TX_METADATA (1 << 1)
#endif

struct shunt_xsk_umem {
	struct shunt_pool *pool;
	int fd;	    /* the socket that registered the memory, bound or not */
	bool taken; /* by the first queue, which owns fd from then on */
	unsigned users;
	bool has_tx_meta; /* room before each frame for transmit's */
};

/* shunt_xsk_socket returns an AF_XDP socket, or -errno with err set. */
int shunt_xsk_socket(struct shunt_err *err);

struct xsk_queue {
	struct shunt_queue queue;
	/* per batch */
	struct xsk_ring_cons rx, comp;
	struct xsk_ring_prod tx, fill;
	uint32_t fill_owed;	 /* frames the fill ring wants */
	uint32_t fill_batch;	 /* refill when so many are owed */
	uint32_t tx_outstanding; /* submitted and not yet completed */
	uint32_t tx_flushed;	 /* the transmit ring's producer at the latest flush */
	uint32_t dry_below;	 /* frames the kernel can receive into: fewer is dry */
	struct shunt_steer_gate *gate;
	uint64_t overtakers; /* frames that a hang had given away at the latest beat */
	uint32_t late_end;   /* the receive ring's producer at the latest beat in a hang */
	struct shunt_pass pass;
	uint32_t tx_budget; /* packets a copying transmit call sends at most */
	struct shunt_xsk_in_use in_use;
	/* control */
	struct shunt_xsk_umem *umem;
	struct ring_map map[4];
	int xsks_fd;
};

static inline struct xsk_queue *xsk_of(struct shunt_queue *queue)
{
	return shunt_container_of(queue, struct xsk_queue, queue);
}

static inline const struct xsk_queue *xsk_of_const(const struct shunt_queue *queue)
{
	return shunt_container_of(queue, struct xsk_queue, queue);
}

/* The second one's packets may take several frames; its rx and tx are in xsk_sg.c. */
extern const struct shunt_queue_ops shunt_xsk_ops, shunt_xsk_sg_ops;
extern const struct shunt_queue_ops
	shunt_xsk_tx_meta_ops; /* transmit looks for SHUNT_PKT_TX_META */

/* What the watch over workers is told and asked: xsk_beat.c. */
bool shunt_xsk_leave(struct shunt_queue *queue, const uint8_t *data, uint32_t len, uint64_t now_ns);
bool shunt_xsk_is_overtaken(const struct shunt_queue *queue);
unsigned shunt_xsk_late(const struct shunt_queue *queue);
void shunt_xsk_beat(struct shunt_queue *queue, uint64_t now_ns, bool is_asleep);

unsigned shunt_xsk_sg_rx(struct shunt_queue *queue, struct shunt_pkt *pkts, unsigned max);
unsigned shunt_xsk_sg_late(const struct shunt_queue *queue);
unsigned shunt_xsk_sg_tx(struct shunt_queue *queue, const struct shunt_pkt *pkts, unsigned cnt);

void shunt_xsk_close(struct shunt_queue *queue);

#endif
