// SPDX-License-Identifier: BSD-2-Clause
#include "mirror/store.h"

#include <errno.h>
#include <stdlib.h>

#define SLOT_MIN 64

void shunt_mirror_store_init(struct shunt_mirror_store *store, uint32_t obj_bytes, uint32_t max)
{
	memset(store, 0, sizeof(*store));
	store->obj_bytes = obj_bytes;
	store->top = 1;
	store->max = max;
}

void shunt_mirror_store_fini(struct shunt_mirror_store *store)
{
	uint32_t i;

	for (i = 0; i < store->chunk_cnt; i++)
		free(store->chunks[i]);
	free(store->chunks);
	free(store->slots);
	memset(store, 0, sizeof(*store));
}

static void place(struct shunt_mirror_slot *slots, uint32_t mask, struct shunt_mirror_slot slot)
{
	uint32_t i = slot.hash & mask;

	while (slots[i].idx)
		i = (i + 1) & mask;
	slots[i] = slot;
}

/* Makes room for every object in use to be linked, at three of four slots: linear probing
 * looks at 8 slots, one cache line, for a key that is not there; at 7 of 8 it looks at 32. */
static bool reserve_slot(struct shunt_mirror_store *store)
{
	uint32_t i, len = store->slots ? store->mask + 1 : 0;
	uint32_t new_len = len ? len * 2 : SLOT_MIN;
	struct shunt_mirror_slot *slots;

	if (store->cnt + 1 <= len / 4 * 3)
		return true;
	slots = calloc(new_len, sizeof(*slots));
	if (!slots)
		return false;
	for (i = 0; i < len; i++) {
		if (store->slots[i].idx)
			place(slots, new_len - 1, store->slots[i]);
	}
	free(store->slots);
	store->slots = slots;
	store->mask = new_len - 1;
	return true;
}

static bool reserve_chunk(struct shunt_mirror_store *store)
{
	uint8_t **chunks, *chunk;
	uint32_t max;

	if (store->top >> SHUNT_MIRROR_CHUNK_BITS < store->chunk_cnt)
		return true;
	if (store->chunk_cnt == store->chunk_max) {
		max = store->chunk_max ? store->chunk_max * 2 : 8;
		chunks = realloc(store->chunks, max * sizeof(*chunks));
		if (!chunks)
			return false;
		store->chunks = chunks;
		store->chunk_max = max;
	}
	chunk = malloc((size_t)SHUNT_MIRROR_CHUNK_LEN * store->obj_bytes);
	if (!chunk)
		return false;
	store->chunks[store->chunk_cnt++] = chunk;
	return true;
}

uint32_t shunt_mirror_store_alloc(struct shunt_mirror_store *store)
{
	struct shunt_mirror_obj *obj;
	uint32_t idx = store->free;

	if ((store->max && store->cnt >= store->max) || !reserve_slot(store))
		return 0;
	if (!idx) {
		if (!reserve_chunk(store))
			return 0;
		idx = store->top++;
		obj = shunt_mirror_store_at(store, idx);
	} else {
		obj = shunt_mirror_store_at(store, idx);
		store->free = obj->next;
	}
	memset(obj, 0, store->obj_bytes);
	obj->live = 1;
	store->cnt++;
	return idx;
}

void shunt_mirror_store_free(struct shunt_mirror_store *store, uint32_t idx)
{
	struct shunt_mirror_obj *obj = shunt_mirror_store_at(store, idx);

	obj->live = 0;
	obj->next = store->free;
	store->free = idx;
	store->cnt--;
}

void shunt_mirror_store_link(struct shunt_mirror_store *store, uint32_t hash, uint32_t idx)
{
	place(store->slots, store->mask, (struct shunt_mirror_slot){hash, idx});
}

static uint32_t slot_of(const struct shunt_mirror_store *store, uint32_t hash, uint32_t idx)
{
	uint32_t i;

	for (i = hash & store->mask; store->slots[i].idx; i = (i + 1) & store->mask) {
		if (store->slots[i].idx == idx)
			return i;
	}
	return UINT32_MAX;
}

void shunt_mirror_store_unlink(struct shunt_mirror_store *store, uint32_t hash, uint32_t idx)
{
	struct shunt_mirror_slot *slots = store->slots;
	uint32_t hole = slot_of(store, hash, idx), mask = store->mask, i;

	if (hole == UINT32_MAX)
		return;
	/* Knuth 6.4, algorithm R: move back what the hole would cut off from its home. */
	for (i = (hole + 1) & mask; slots[i].idx; i = (i + 1) & mask) {
		if (((i - slots[i].hash) & mask) >= ((i - hole) & mask)) {
			slots[hole] = slots[i];
			hole = i;
		}
	}
	slots[hole].idx = 0;
}

void shunt_mirror_store_relink(struct shunt_mirror_store *store, uint32_t hash, uint32_t old,
			       uint32_t idx)
{
	uint32_t i = slot_of(store, hash, old);

	if (i != UINT32_MAX)
		store->slots[i].idx = idx;
}

int shunt_mirror_store_put(struct shunt_mirror_store *store, uint32_t hash,
			   bool (*eq)(const void *, const void *), const void *info, size_t bytes,
			   uint8_t mark, void *old)
{
	uint32_t idx = shunt_mirror_store_find(store, hash, eq, info);
	bool is_new = !idx;
	struct shunt_mirror_obj *obj;

	if (is_new) {
		idx = shunt_mirror_store_alloc(store);
		if (!idx)
			return -ENOMEM;
		shunt_mirror_store_link(store, hash, idx);
	}
	obj = shunt_mirror_store_at(store, idx);
	obj->seen = mark;
	if (!is_new && !memcmp(shunt_mirror_store_info(obj), info, bytes))
		return 0;
	if (old && !is_new)
		memcpy(old, shunt_mirror_store_info(obj), bytes);
	memcpy(shunt_mirror_store_info(obj), info, bytes);
	return 1;
}

void shunt_mirror_store_drop(struct shunt_mirror_store *store, uint32_t hash, uint32_t idx)
{
	shunt_mirror_store_unlink(store, hash, idx);
	shunt_mirror_store_free(store, idx);
}

uint32_t shunt_mirror_store_next(const struct shunt_mirror_store *store, uint32_t idx)
{
	for (idx++; idx < store->top; idx++) {
		if (((struct shunt_mirror_obj *)shunt_mirror_store_at(store, idx))->live)
			return idx;
	}
	return 0;
}

size_t shunt_mirror_store_bytes(const struct shunt_mirror_store *store)
{
	return (size_t)store->chunk_cnt * SHUNT_MIRROR_CHUNK_LEN * store->obj_bytes +
	       (store->slots ? (store->mask + 1) * sizeof(*store->slots) : 0) +
	       store->chunk_max * sizeof(*store->chunks);
}
