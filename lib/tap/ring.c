// SPDX-License-Identifier: BSD-2-Clause
#include "tap/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A ring's part of the file: this page, then its bytes. */
#define HEAD_BYTES 4096u
#define SIZE_MIN   65536u
#define SIZE_MAX_  (1ull << 30)
#define EMPTY	   UINT32_MAX

struct shunt_tap_ring_head {
	/* the writer's */
	uint64_t committed SHUNT_CACHE_ALIGNED; /* bytes, all that there ever were */
	uint64_t lost[SHUNT_TAP_RING_PORTS];
	uint64_t size;
	uint64_t cnt; /* rings in the file */
	/* the reader's */
	uint64_t released SHUNT_CACHE_ALIGNED;
};

struct entry {
	uint32_t len; /* of the record, with its bytes; EMPTY */
	uint32_t zero;
};

static uint64_t entry_len(uint64_t record_len)
{
	return (sizeof(struct entry) + record_len + 7) & ~7ull;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int set_up(int fd, unsigned cnt, uint64_t bytes)
{
	const struct shunt_tap_ring_head head = {.size = bytes, .cnt = cnt};
	unsigned i;

	if (ftruncate(fd, (off_t)((HEAD_BYTES + bytes) * cnt)) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	for (i = 0; i < cnt; i++)
		if (pwrite(fd, &head, sizeof(head), (off_t)((HEAD_BYTES + bytes) * i)) !=
		    (ssize_t)sizeof(head))
			return -errno;
	return 0;
}

int shunt_tap_ring_make(unsigned cnt, uint64_t bytes, struct shunt_err *err)
{
	int fd, ret;

	if (!shunt_is_power_of_2(bytes) || bytes < SIZE_MIN || bytes > SIZE_MAX_ || !cnt)
		return shunt_err_set(err, EINVAL,
				     "tap: %u rings of %llu bytes: expected a power of 2 from %u",
				     cnt, (unsigned long long)bytes, SIZE_MIN);
	fd = memfd_create("shunt-tap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ret = fd < 0 ? -errno : set_up(fd, cnt, bytes);
	if (!ret)
		return fd;
	if (fd >= 0)
		close(fd);
	return shunt_err_set(err, -ret, "tap: no memory for %u rings of %llu bytes: %s", cnt,
			     (unsigned long long)bytes, strerror(-ret));
}

static int read_head(int fd, struct shunt_tap_ring_head *head)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) ||
	    pread(fd, head, sizeof(*head), 0) != (ssize_t)sizeof(*head) ||
	    !shunt_is_power_of_2(head->size) || head->size < SIZE_MIN || head->size > SIZE_MAX_ ||
	    head->cnt > 4096 || (uint64_t)st.st_size != (HEAD_BYTES + head->size) * head->cnt)
		return -EBADF;
	return 0;
}

int shunt_tap_ring_open(struct shunt_tap_ring *ring, int fd, unsigned i, struct shunt_err *err)
{
	struct shunt_tap_ring_head head;
	uint8_t *at;

	memset(ring, 0, sizeof(*ring));
	if (read_head(fd, &head) || i >= head.cnt)
		return shunt_err_set(err, EBADF, "tap: descriptor %d has no ring %u", fd, i);
	/* Its pages are there before a worker writes: it is not to wait for one. */
	at = mmap(NULL, HEAD_BYTES + head.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		  fd, (off_t)((HEAD_BYTES + head.size) * i));
	if (at == MAP_FAILED)
		return shunt_err_set(err, errno, "tap: ring %u cannot be mapped: %s", i,
				     strerror(errno));
	ring->shared = (struct shunt_tap_ring_head *)at;
	ring->bytes = at + HEAD_BYTES;
	ring->size = head.size;
	return 0;
}

void shunt_tap_ring_close(struct shunt_tap_ring *ring)
{
	if (ring->shared)
		munmap(ring->shared, HEAD_BYTES + ring->size);
	memset(ring, 0, sizeof(*ring));
}

/* ---- the writer ------------------------------------------------------------------------------ */

static struct entry *entry_at(const struct shunt_tap_ring *ring, uint64_t place)
{
	return (struct entry *)(ring->bytes + (place & (ring->size - 1)));
}

/* Whether len more bytes fit. What the reader says is believed as far as it can be true. */
static bool has_room(struct shunt_tap_ring *ring, uint64_t len)
{
	if (ring->own + len - ring->other <= ring->size)
		return true;
	ring->other = __atomic_load_n(&ring->shared->released, __ATOMIC_ACQUIRE);
	if (ring->own - ring->other > ring->size)
		ring->other = ring->own - ring->size; /* it lies: full */
	return ring->own + len - ring->other <= ring->size;
}

struct shunt_tap_record *shunt_tap_ring_reserve(struct shunt_tap_ring *ring, uint32_t cap_len,
						unsigned port)
{
	const uint64_t len = sizeof(struct shunt_tap_record) + cap_len, needed = entry_len(len);
	const uint64_t to_end = ring->size - (ring->own & (ring->size - 1));
	const uint64_t skipped = needed > to_end ? to_end : 0;
	struct entry *entry;

	if (!has_room(ring, skipped + needed)) {
		shunt_counter_add(&ring->shared->lost[port % SHUNT_TAP_RING_PORTS], 1);
		return NULL;
	}
	if (skipped) {
		entry_at(ring, ring->own)->len = EMPTY;
		ring->own += skipped;
	}
	entry = entry_at(ring, ring->own);
	*entry = (struct entry){.len = (uint32_t)len};
	ring->own += needed;
	return (struct shunt_tap_record *)(entry + 1);
}

void shunt_tap_ring_commit(struct shunt_tap_ring *ring)
{
	/* pairs with shunt_tap_ring_peek */
	__atomic_store_n(&ring->shared->committed, ring->own, __ATOMIC_RELEASE);
}

/* ---- the reader ------------------------------------------------------------------------------ */

static bool is_empty(struct shunt_tap_ring *ring)
{
	if (ring->own != ring->other)
		return false;
	/* pairs with shunt_tap_ring_commit */
	ring->other = __atomic_load_n(&ring->shared->committed, __ATOMIC_ACQUIRE);
	return ring->own == ring->other;
}

const struct shunt_tap_record *shunt_tap_ring_peek(struct shunt_tap_ring *ring)
{
	struct entry *entry;

	if (is_empty(ring))
		return NULL;
	entry = entry_at(ring, ring->own);
	if (entry->len == EMPTY) {
		ring->own += ring->size - (ring->own & (ring->size - 1));
		entry = entry_at(ring, ring->own);
	}
	return (const struct shunt_tap_record *)(entry + 1);
}

void shunt_tap_ring_release(struct shunt_tap_ring *ring)
{
	ring->own += entry_len(entry_at(ring, ring->own)->len);
	/* pairs with has_room */
	__atomic_store_n(&ring->shared->released, ring->own, __ATOMIC_RELEASE);
}

uint64_t shunt_tap_ring_lost(const struct shunt_tap_ring *ring, unsigned port)
{
	return shunt_counter_read(&ring->shared->lost[port % SHUNT_TAP_RING_PORTS]);
}
