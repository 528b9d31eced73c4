/* SPDX-License-Identifier: BSD-2-Clause */
/* The port contract: what a worker asks of a queue, whatever is behind it (an
 * AF_XDP socket, memory, a capture file). A port is a device with one queue a
 * worker and queue index; a queue belongs to one worker and shares its pool.
 *
 * A turn of the worker, for each queue: reclaim, rx, (graph, tx), flush.
 *
 *   queue->ops->reclaim(queue);
 *   n = queue->ops->rx(queue, pkts, 64);
 *   sent = out->ops->tx(out, pkts, n);      the rest is still the caller's
 *   out->ops->flush(out);
 */
#ifndef SHUNT_IO_QUEUE_H
#define SHUNT_IO_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "io/pkt.h"
#include "io/pool.h"

/* Where in a frame a packet starts: behind the kernel's XDP headroom. */
#define SHUNT_FRAME_HEADROOM 256

/* Bytes of a frame that no packet can use: the headroom, and the 32 that virtio_net asks for. */
#define SHUNT_FRAME_OVERHEAD (SHUNT_FRAME_HEADROOM + 32)

/* Counters of a queue: one writer, the worker; read with shunt_counter_read. */
#define SHUNT_QUEUE_COUNTERS(X)                                                     \
	X(rx_packets, "packets received")                                           \
	X(rx_bytes, "bytes received, without FCS")                                  \
	X(rx_batches, "non-empty receives")                                         \
	X(tx_packets, "packets submitted to the transmit ring")                     \
	X(tx_bytes, "bytes submitted")                                              \
	X(tx_completed, "frames that the kernel gave back after transmission")      \
	X(tx_kicks, "transmit wakeups (syscalls)")                                  \
	X(rx_kicks, "receive wakeups (syscalls)")                                   \
	X(kick_errors, "wakeups that the kernel answered with an unexpected error") \
	X(fill_starved, "turns in which the pool had no frame for a fill ring that wanted one")

struct shunt_queue_stats {
#define X(name, help) uint64_t name;
	SHUNT_QUEUE_COUNTERS(X)
#undef X
};

struct shunt_queue;

struct shunt_queue_ops {
	const char *kind; /* "xsk", "mem", "pcap" */

	/* reclaim moves completed frames to the pool and refills the fill ring.
	 * Thread: owner worker. Cost: batch, no syscall. */
	void (*reclaim)(struct shunt_queue *queue);

	/* rx fills pkts[0..max) with received packets: addr, len and port set, the
	 * rest undefined. Returns the count; the frames are the caller's.
	 * Thread: owner worker. Cost: batch, no syscall. */
	unsigned (*rx)(struct shunt_queue *queue, struct shunt_pkt *pkts, unsigned max);

	/* tx accepts packets in order until its ring is full. Returns how many; the
	 * others remain the caller's. Nothing need leave before flush.
	 * Thread: owner worker. Cost: batch, no syscall. */
	unsigned (*tx)(struct shunt_queue *queue, const struct shunt_pkt *pkts, unsigned cnt);

	/* flush sees to it that what was accepted leaves, and that receive goes on:
	 * wakes the kernel where it asked for that. While queue->has_more a bounded
	 * number of frames may wait for a later flush. Thread: owner worker.
	 * Cost: batch, at most a few syscalls. */
	void (*flush)(struct shunt_queue *queue);

	/* busy_poll lets the driver's NAPI run in this thread; NULL where there is
	 * none. Thread: owner worker. Cost: a syscall. */
	void (*busy_poll)(struct shunt_queue *queue);

	/* beat says that the worker runs at now_ns (CLOCK_MONOTONIC), for the watch
	 * over workers; is_asleep: that it sleeps from now on until a frame comes.
	 * NULL where nothing watches. Thread: owner worker. Cost: a store. */
	void (*beat)(struct shunt_queue *queue, uint64_t now_ns, bool is_asleep);

	/* is_overtaken says, while the watch takes the worker for hung, whether frames of the queue
	 * have gone another way since the latest beat. late returns the packets lying in the queue
	 * that frames of it have overtaken in this way: those before the beat that ended it.
	 * NULL where nothing watches. Thread: owner worker. Cost: some loads. */
	bool (*is_overtaken)(const struct shunt_queue *queue);
	unsigned (*late)(const struct shunt_queue *queue);

	/* leave has the steering program give frames to this one's destination to the kernel
	 * itself for a while: bpf/shunt_steer_queue.h. data: the frame's first len bytes, 14 at
	 * least. Returns false where nothing can. NULL where there is no program.
	 * Thread: owner worker. Cost: some loads. */
	bool (*leave)(struct shunt_queue *queue, const uint8_t *data, uint32_t len,
		      uint64_t now_ns);

	/* ledger adds the frames that the queue holds to *ledger.
	 * Thread: owner worker. */
	void (*ledger)(const struct shunt_queue *queue, struct shunt_ledger *ledger);

	/* audit counts in seen[] each frame lying in a ring of the queue; frames
	 * inside the driver are not visible. Thread: owner worker. */
	void (*audit)(const struct shunt_queue *queue, uint8_t *seen);

	/* close gives everything back and frees the queue. Thread: init, the worker
	 * being stopped. */
	void (*close)(struct shunt_queue *queue);
};

struct shunt_queue {
	const struct shunt_queue_ops *ops;
	struct shunt_pool *pool; /* of the owner worker */
	uint16_t port;		 /* index of the port in the engine */
	uint16_t index;		 /* receive and transmit queue number on the device */
	int fd;			 /* to poll() for POLLIN; -1 where there is none */
	bool is_steered;	 /* a steering program saw its packets before */
	bool has_more;		 /* the worker's word: another turn follows at once, with packets */
	/* Not 0 while the watch takes the worker for hung: the kernel has the queue's frames. NULL
	 * where nothing watches. */
	const uint8_t *hung;
	bool is_late;	 /* beat's word: it was, and late packets may lie in the queue */
	bool has_unsent; /* flush's word: the kernel took less, and nothing but a flush helps */
	struct shunt_queue_stats stats SHUNT_CACHE_ALIGNED;
};

/* shunt_queue_is_hung says whether the watch takes the queue's worker for hung;
 * shunt_queue_is_overtaken, whether frames of the queue that came after all that it received were
 * forwarded meanwhile. To send these now would reorder flows. Thread: owner worker. Cost: two
 * loads. */
static inline bool shunt_queue_is_hung(const struct shunt_queue *queue)
{
	return queue->hung && __atomic_load_n(queue->hung, __ATOMIC_RELAXED);
}

static inline bool shunt_queue_is_overtaken(const struct shunt_queue *queue)
{
	return shunt_queue_is_hung(queue) && queue->ops->is_overtaken(queue);
}

/* shunt_queue_count_rx counts a receive of n packets, n over 0; shunt_queue_count_tx n packets
 * that tx accepted. Thread: owner worker. Cost: batch. */
static inline void shunt_queue_count_rx(struct shunt_queue *queue, unsigned n, uint64_t bytes)
{
	shunt_counter_add(&queue->stats.rx_packets, n);
	shunt_counter_add(&queue->stats.rx_bytes, bytes);
	shunt_counter_add(&queue->stats.rx_batches, 1);
}

static inline void shunt_queue_count_tx(struct shunt_queue *queue, unsigned n, uint64_t bytes)
{
	shunt_counter_add(&queue->stats.tx_packets, n);
	shunt_counter_add(&queue->stats.tx_bytes, bytes);
}

/* What a queue without rings has for reclaim or flush, for ledger and for audit. */
static inline void shunt_queue_nothing(struct shunt_queue *queue)
{
	(void)queue;
}

static inline void shunt_queue_ledger_none(const struct shunt_queue *queue,
					   struct shunt_ledger *ledger)
{
	(void)queue;
	(void)ledger;
}

static inline void shunt_queue_audit_none(const struct shunt_queue *queue, uint8_t *seen)
{
	(void)queue;
	(void)seen;
}

#endif
