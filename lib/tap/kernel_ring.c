// SPDX-License-Identifier: BSD-2-Clause
#include "tap/kernel_ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int shunt_kernel_ring_open(struct shunt_kernel_ring *ring, int fd, uint32_t bytes,
			   struct shunt_err *err)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	void *consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	void *producer = MAP_FAILED;

	*ring = (struct shunt_kernel_ring){.size = bytes, .page_bytes = page};
	if (consumer != MAP_FAILED)
		producer = mmap(NULL, page + 2 * (uint64_t)bytes, PROT_READ, MAP_SHARED, fd,
				(off_t)page);
	if (producer == MAP_FAILED) {
		const int code = errno;

		if (consumer != MAP_FAILED)
			munmap(consumer, page);
		return shunt_err_set(err, code, "tap: the kernel's ring cannot be mapped: %s",
				     strerror(code));
	}
	ring->consumer = consumer;
	ring->producer = producer;
	ring->bytes = (const uint8_t *)producer + page;
	return 0;
}

void shunt_kernel_ring_close(struct shunt_kernel_ring *ring)
{
	if (!ring->consumer)
		return;
	munmap(ring->consumer, ring->page_bytes);
	munmap((void *)ring->producer, ring->page_bytes + 2 * ring->size);
	ring->consumer = NULL;
}

/* The head of an entry; 0: none is whole yet. What was discarded is passed over. */
static uint32_t head(struct shunt_kernel_ring *ring)
{
	uint32_t len;

	for (;;) {
		/* pairs with the kernel's bpf_ringbuf_reserve and _commit */
		if (ring->own >= __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE))
			return 0;
		len = __atomic_load_n(
			(const uint32_t *)(ring->bytes + (ring->own & (ring->size - 1))),
			__ATOMIC_ACQUIRE);
		if (len & BPF_RINGBUF_BUSY_BIT)
			return 0;
		if (!(len & BPF_RINGBUF_DISCARD_BIT))
			return len;
		ring->own += (BPF_RINGBUF_HDR_SZ + (len & ~BPF_RINGBUF_DISCARD_BIT) + 7) & ~7u;
		__atomic_store_n(ring->consumer, ring->own, __ATOMIC_RELEASE);
	}
}

const struct shunt_tap_record *shunt_kernel_ring_peek(struct shunt_kernel_ring *ring)
{
	if (!head(ring))
		return NULL;
	return (const void *)(ring->bytes + (ring->own & (ring->size - 1)) + BPF_RINGBUF_HDR_SZ);
}

void shunt_kernel_ring_release(struct shunt_kernel_ring *ring)
{
	ring->own += (BPF_RINGBUF_HDR_SZ + (uint64_t)head(ring) + 7) & ~7ull;
	__atomic_store_n(ring->consumer, ring->own, __ATOMIC_RELEASE);
}
