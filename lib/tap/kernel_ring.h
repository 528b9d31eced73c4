/* SPDX-License-Identifier: BSD-2-Clause */
/* A ring of the kernel's (BPF_MAP_TYPE_RINGBUF, Documentation/bpf/ringbuf.rst), as its reader sees
 * it: records that tapped steering programs wrote. It takes no right but the descriptor.
 *
 *	shunt_kernel_ring_open(&ring, fd, bytes, &err);
 *	record = shunt_kernel_ring_peek(&ring);
 *	shunt_kernel_ring_release(&ring);
 *	shunt_kernel_ring_close(&ring);
 */
#ifndef SHUNT_TAP_KERNEL_RING_H
#define SHUNT_TAP_KERNEL_RING_H

#include <stdint.h>

#include "base/err.h"
#include "shunt_tap.h"

struct shunt_kernel_ring {
	uint64_t *consumer;	  /* a page, written by the reader; NULL: not open */
	const uint64_t *producer; /* a page, the kernel's, and behind it the ring twice */
	const uint8_t *bytes;
	uint64_t size, page_bytes;
	uint64_t own; /* released so far */
};

/* shunt_kernel_ring_open maps a ring of so many bytes, which stays the caller's. Returns 0 or
 * -errno with err set. close is legal on a zeroed ring. peek returns the oldest record, or NULL;
 * release ends the use of it. Thread: the reader. */
int shunt_kernel_ring_open(struct shunt_kernel_ring *ring, int fd, uint32_t bytes,
			   struct shunt_err *err);
void shunt_kernel_ring_close(struct shunt_kernel_ring *ring);
const struct shunt_tap_record *shunt_kernel_ring_peek(struct shunt_kernel_ring *ring);
void shunt_kernel_ring_release(struct shunt_kernel_ring *ring);

#endif
