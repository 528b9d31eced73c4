// SPDX-License-Identifier: BSD-2-Clause
#include "io/chain.h"

#include <string.h>

void shunt_chain_free(struct shunt_pool *pool, uint64_t addr)
{
	for (;;) {
		const struct shunt_link link = *shunt_chain_link(pool, addr);

		shunt_pool_free(pool, &addr, 1);
		if (link.cnt <= 1)
			return;
		addr = link.next;
	}
}

void shunt_chain_copy(const struct shunt_pool *pool, const struct shunt_pkt *pkt, uint8_t *out)
{
	uint64_t addr = pkt->addr;
	uint32_t left = pkt->len;

	if (!shunt_chain_is(pool, pkt)) {
		memcpy(out, pool->mem + addr, left);
		return;
	}
	for (;;) {
		const struct shunt_link *link = shunt_chain_link(pool, addr);
		const uint32_t len = SHUNT_MIN(left, link->len);

		memcpy(out, pool->mem + addr, len);
		out += len;
		left -= len;
		if (!left || link->cnt <= 1)
			return;
		addr = link->next;
	}
}

/* A walk over the bytes to be put: from memory, or from another packet's pieces. */
struct source {
	const struct shunt_pool *pool; /* NULL: bytes is all there is */
	const uint8_t *bytes;
	uint32_t left; /* of bytes */
	uint64_t addr; /* of the piece that bytes are in */
};

static void take(struct source *from, uint8_t *out, uint32_t len)
{
	while (len) {
		uint32_t n = SHUNT_MIN(len, from->left);

		memcpy(out, from->bytes, n);
		out += n;
		len -= n;
		from->bytes += n;
		from->left -= n;
		if (!len)
			return;
		from->addr = shunt_chain_link(from->pool, from->addr)->next;
		from->bytes = from->pool->mem + from->addr;
		from->left = shunt_chain_link(from->pool, from->addr)->len;
	}
}

static bool put(struct shunt_pool *pool, struct shunt_pkt *pkt, uint32_t offset,
		struct source *from, uint32_t len)
{
	const uint32_t room = pool->frame_size - offset;
	const uint32_t cnt = shunt_chain_frames(pool, offset, len);
	uint64_t frames[SHUNT_CHAIN_MAX] = {0};
	uint32_t i, left = len;

	if (cnt > SHUNT_CHAIN_MAX || (cnt > 1 && !pool->links) || cnt > pool->free_cnt)
		return false;
	shunt_pool_alloc(pool, frames, cnt);
	for (i = 0; i < cnt; i++) {
		const uint32_t n = SHUNT_MIN(left, room);

		take(from, pool->mem + frames[i] + offset, n);
		left -= n;
		if (cnt > 1)
			*shunt_chain_link(pool, frames[i]) = (struct shunt_link){
				.next = i + 1 < cnt ? frames[i + 1] + offset : 0,
				.len = n,
				.cnt = cnt - i,
			};
	}
	pkt->addr = frames[0] + offset;
	pkt->len = len;
	pkt->flags = cnt > 1 ? SHUNT_PKT_CHAINED : 0;
	return true;
}

bool shunt_chain_put(struct shunt_pool *pool, struct shunt_pkt *pkt, uint32_t offset,
		     const uint8_t *bytes, uint32_t len)
{
	struct source from = {.bytes = bytes, .left = len};

	return put(pool, pkt, offset, &from, len);
}

bool shunt_chain_clone(struct shunt_pool *pool, const struct shunt_pkt *pkt, struct shunt_pkt *copy)
{
	struct source from = {
		.pool = pool,
		.bytes = pool->mem + pkt->addr,
		.left = shunt_chain_is(pool, pkt) ? shunt_chain_link(pool, pkt->addr)->len
						  : pkt->len,
		.addr = pkt->addr,
	};
	const struct shunt_pkt original = *pkt;

	*copy = original;
	return put(pool, copy, (uint32_t)(pkt->addr & ~pool->frame_mask), &from, pkt->len);
}
