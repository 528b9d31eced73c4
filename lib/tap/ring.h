/* SPDX-License-Identifier: BSD-2-Clause */
/* A ring of records (bpf/shunt_tap.h) in memory that two processes share: one writer, a worker, and
 * one reader, who opened the tap. The writer trusts nothing that the reader can write: it keeps its
 * own place and the ring's size, and of the reader's place it believes only what can be. A reader
 * that stops costs its own records.
 *
 * Each entry begins at a multiple of 8 with its length in bytes, 32 bits, and 32 bits of zero. One
 * that would not fit before the end of the ring begins at the start; EMPTY stands where it would
 * have begun.
 *
 *	fd = shunt_tap_ring_make(cnt, bytes, &err);		cnt rings in one file
 *	shunt_tap_ring_open(&ring, fd, i, &err);		either side
 *	record = shunt_tap_ring_reserve(&ring, cap_len, port);	the writer
 *	shunt_tap_ring_commit(&ring);
 *	record = shunt_tap_ring_peek(&ring);			the reader
 *	shunt_tap_ring_release(&ring);
 *	shunt_tap_ring_close(&ring);
 */
#ifndef SHUNT_TAP_RING_H
#define SHUNT_TAP_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "shunt_tap.h"

struct shunt_tap_ring_head; /* in the shared memory */

struct shunt_tap_ring {
	struct shunt_tap_ring_head *shared; /* NULL: not open */
	uint8_t *bytes;
	uint64_t size; /* a power of 2 */
	/* The writer's: what is reserved, and what the reader was last seen to have released.
	 * The reader's: what is released, and what the writer was last seen to have committed. */
	uint64_t own, other;
};

/* shunt_tap_ring_make makes a file in memory with cnt empty rings of so many bytes each (a power of
 * 2, from 65536). It can neither grow nor shrink. Returns its descriptor, the caller's, or -errno
 * with err set. Thread: any. */
int shunt_tap_ring_make(unsigned cnt, uint64_t bytes, struct shunt_err *err);

/* shunt_tap_ring_open maps ring number i of the file. Returns 0; -EBADF: the file is none that
 * shunt_tap_ring_make made; -errno. shunt_tap_ring_close unmaps it; legal on a zeroed ring.
 * Thread: any. */
int shunt_tap_ring_open(struct shunt_tap_ring *ring, int fd, unsigned i, struct shunt_err *err);
void shunt_tap_ring_close(struct shunt_tap_ring *ring);

/* shunt_tap_ring_reserve returns room for a record with cap_len bytes, to be filled, or NULL where
 * there is none: that is counted as lost, of a port below SHUNT_TAP_RING_PORTS. Thread: the writer.
 * Cost: some loads. */
#define SHUNT_TAP_RING_PORTS 64u
struct shunt_tap_record *shunt_tap_ring_reserve(struct shunt_tap_ring *ring, uint32_t cap_len,
						unsigned port);

/* shunt_tap_ring_commit shows the reader what was reserved since. Thread: the writer. Cost: a
 * store. */
void shunt_tap_ring_commit(struct shunt_tap_ring *ring);

/* shunt_tap_ring_peek returns the oldest record, or NULL. shunt_tap_ring_release ends the use of
 * it. shunt_tap_ring_lost returns how many records of a port had no room. Thread: the reader. */
const struct shunt_tap_record *shunt_tap_ring_peek(struct shunt_tap_ring *ring);
void shunt_tap_ring_release(struct shunt_tap_ring *ring);
uint64_t shunt_tap_ring_lost(const struct shunt_tap_ring *ring, unsigned port);

#endif
