/* SPDX-License-Identifier: BSD-2-Clause */
/* The AF_XDP port, over libxdp's ring helpers. All sockets of a worker share
 * the UMEM of its pool, whatever device or queue they are bound to, so that shunt
 * copies no frame between them. Whether the kernel copies is decided by the
 * kernel: ask shunt_xsk_in_use after open.
 *
 * Limits: aligned frames; the transmit ring is the worker's own, and so is
 * everything else. Packets of several frames need Linux 6.6 (XDP_USE_SG), a pool with
 * links, and for zero-copy a driver that has it. Kernel: Documentation/networking/af_xdp.rst.
 */
#ifndef SHUNT_IO_XSK_H
#define SHUNT_IO_XSK_H

#include "io/queue.h"
#include "shunt_steer.h"

struct shunt_xsk_opts {
	const char *ifname;
	uint16_t port;	/* index in the engine */
	uint16_t queue; /* on the device */
	enum shunt_copy_mode copy_mode;
	bool generic;	    /* the XDP program is attached in generic (skb) mode */
	uint32_t ring_size; /* fill, transmit and completion ring, power of two; receive: half */
	int xsks_fd;	    /* XSKMAP, or -1 */
	struct shunt_steer_gate *gate; /* of the queue, outlives it; NULL: no watch */
	bool busy_poll;		       /* SO_PREFER_BUSY_POLL */
	uint32_t busy_budget; /* packets a busy poll, 1..65535; above 64 needs CAP_NET_ADMIN */
};

/* What the kernel granted, and its six statistics (XDP_STATISTICS). */
struct shunt_xsk_in_use {
	bool zerocopy;
	bool need_wakeup;
	bool busy_poll;
	bool multi_buffer; /* packets may take several frames (XDP_USE_SG) */
};

#define SHUNT_XSK_KERNEL_COUNTERS(X)                                                            \
	X(rx_dropped, "frames dropped by the socket: fill ring empty, or too long for a frame") \
	X(rx_invalid_descs, "descriptors in the fill ring that name no frame")                  \
	X(tx_invalid_descs, "descriptors in the transmit ring that the kernel refused")         \
	X(rx_ring_full, "frames dropped because the receive ring was full")                     \
	X(rx_fill_ring_empty_descs, "times the kernel found the fill ring empty")               \
	X(tx_ring_empty_descs, "times the kernel found the transmit ring empty")

struct shunt_xsk_kernel_stats {
#define X(name, help) uint64_t name;
	SHUNT_XSK_KERNEL_COUNTERS(X)
#undef X
};

/* shunt_xsk_open binds an AF_XDP socket whose UMEM is pool's memory; the first
 * one of a pool registers it, and asks for packets of several frames where the pool has links. The
 * fill ring is filled before the bind. A busy queue (EBUSY right after another socket closed) is
 * tried again for two seconds, or longer where other processes have the CPUs. Returns 0 with *out
 * set, or -errno with err set and nothing held; when the first one of a umem fails, that umem is
 * good for destroy only. Thread: init. */
struct shunt_xsk_umem;
int shunt_xsk_open(struct shunt_queue **out, struct shunt_xsk_umem *umem,
		   const struct shunt_xsk_opts *opts, struct shunt_err *err);

/* shunt_xsk_umem_create registers pool's memory as a UMEM for the sockets of one
 * worker. Returns 0 or -errno with err set. destroy after the last close; NULL is
 * legal. Thread: init. */
int shunt_xsk_umem_create(struct shunt_xsk_umem **out, struct shunt_pool *pool,
			  struct shunt_err *err);
/* shunt_xsk_umem_create_tx does so with room before each frame for what transmit is told of it
 * (Linux 6.8). is_software: copying, the kernel computes checksums itself, for devices that would
 * hand the packet on without (veth). Returns also -EOPNOTSUPP: the kernel is too old. */
int shunt_xsk_umem_create_tx(struct shunt_xsk_umem **out, struct shunt_pool *pool, bool is_software,
			     struct shunt_err *err);

/* shunt_xsk_tx_checksum asks for a checksum over the packet from start on, written at start +
 * offset, where the sum of the pseudo header must stand. base is the pool's memory, its UMEM made
 * by shunt_xsk_umem_create_tx. Thread: owner worker. Cost: packet. */
void shunt_xsk_tx_checksum(struct shunt_pkt *pkt, uint8_t *base, uint16_t start, uint16_t offset);

void shunt_xsk_umem_destroy(struct shunt_xsk_umem *umem);

/* shunt_xsk_in_use reports what the kernel confirmed for an open xsk queue.
 * shunt_xsk_kernel_stats reads XDP_STATISTICS (kernels before 5.9 know the first
 * three only; the others stay 0). Both return 0, -EINVAL for another kind of
 * queue, or -errno. Thread: any, while the queue is open. Cost: a syscall. */
int shunt_xsk_in_use(const struct shunt_queue *queue, struct shunt_xsk_in_use *out);
int shunt_xsk_kernel_stats(const struct shunt_queue *queue, struct shunt_xsk_kernel_stats *out);

#endif
