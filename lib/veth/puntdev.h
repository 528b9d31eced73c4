/* SPDX-License-Identifier: BSD-2-Clause */
/* The punt device gives frames back to the kernel. A frame that userspace does not finish is sent
 * on a veth device of shunt's, marked with the index of the port that it came in on. A tc program
 * on egress makes it ingress of that port. To the kernel it is a frame off the wire: taps see it,
 * its checksums are verified, its MAC address decides whether it is for this host. It does not pass
 * the port's XDP program a second time.
 *
 * There is one veth pair a daemon, and one queue of copies a worker, sent once a turn. Limits: the
 * kernel works on the frame inside the sending call, on the worker's CPU. A frame that the kernel's
 * backlog has no room for is lost, and counted by /proc/net/softnet_stat alone.
 *
 *	shunt_puntdev_open(&punt, "shunt-p123", &err);
 *	shunt_puntdev_queue_create(&queue, punt, 4096, &err);
 *	room = shunt_puntdev_queue_put(queue, len, ifindex, 0);	worker
 *	memcpy(room, data, len);
 *	shunt_puntdev_queue_send(queue, done, arg);
 */
#ifndef SHUNT_VETH_PUNTDEV_H
#define SHUNT_VETH_PUNTDEV_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define SHUNT_PUNTDEV_QUEUE_LEN 256 /* frames that a queue holds */

struct shunt_puntdev;
struct shunt_puntdev_queue;

/* shunt_puntdev_name writes the name of this process's punt device to name[IFNAMSIZ].
 * Thread: any. */
void shunt_puntdev_name(char *name);

/* shunt_puntdev_is_name says whether a device's name is that of some daemon's punt device, or of
 * its other end. Thread: any. */
bool shunt_puntdev_is_name(const char *name);

/* shunt_puntdev_open makes the veth pair name (beginning with "shunt-p") and attaches the program.
 * Returns 0, or -errno with err set and nothing left. Thread: init. */
int shunt_puntdev_open(struct shunt_puntdev **out, const char *name, struct shunt_err *err);

/* shunt_puntdev_close removes the pair; NULL is legal. The queues must be gone. Thread: init. */
void shunt_puntdev_close(struct shunt_puntdev *punt);

/* shunt_puntdev_clean removes the pair that a killed daemon left. Returns 1, 0 without one, or
 * -errno with err set. Thread: init. */
int shunt_puntdev_clean(const char *name, struct shunt_err *err);

/* shunt_puntdev_queue_create opens a worker's socket and room for SHUNT_PUNTDEV_QUEUE_LEN frames of
 * frame_max bytes. Returns 0 or -errno with err set. shunt_puntdev_queue_destroy: NULL is legal.
 * Thread: init. */
int shunt_puntdev_queue_create(struct shunt_puntdev_queue **out, const struct shunt_puntdev *punt,
			       uint32_t frame_max, struct shunt_err *err);
void shunt_puntdev_queue_destroy(struct shunt_puntdev_queue *queue);

/* shunt_puntdev_queue_put queues a frame to be sent as received on ifindex; tag comes back with
 * its fate. Returns where the caller writes its len bytes before the next call, or NULL when
 * the queue is full, or the frame longer than frame_max. Thread: owner worker. Cost: packet. */
uint8_t *shunt_puntdev_queue_put(struct shunt_puntdev_queue *queue, uint32_t len, uint32_t ifindex,
				 uint64_t tag);

/* shunt_puntdev_queue_send sends what is queued and calls fate for each frame, with what
 * sendmmsg said: sent or not. Thread: owner worker. Cost: batch, a syscall or as many as
 * frames were refused. */
void shunt_puntdev_queue_send(struct shunt_puntdev_queue *queue,
			      void (*fate)(void *arg, uint64_t tag, bool sent), void *arg);

#endif
