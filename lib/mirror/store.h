/* SPDX-License-Identifier: BSD-2-Clause */
/* A store: objects of one size in chunks that never move, with a hash index over them. The
 * mirror keeps a million routes in one of these, so an object costs its own bytes and 8 bytes
 * a hash slot (three of four slots taken at most, three of eight after growth), and adding
 * one is no malloc.
 *
 * Objects are named by a number, 1 and up; 0 is none. An object begins with a struct
 * shunt_mirror_obj. Whether it is in the index is the owner's business: of routes to one
 * prefix only the first is.
 *
 * Limits: 2^32 - 2 objects; memory goes back to the system only in shunt_mirror_store_fini.
 *
 *	shunt_mirror_store_init(&store, sizeof(struct link), 0);
 *	idx = shunt_mirror_store_alloc(&store);
 *	shunt_mirror_store_link(&store, hash, idx);
 *	shunt_mirror_store_unlink(&store, hash, idx);
 *	shunt_mirror_store_free(&store, idx);
 */
#ifndef SHUNT_MIRROR_STORE_H
#define SHUNT_MIRROR_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

#define SHUNT_MIRROR_CHUNK_BITS 12
#define SHUNT_MIRROR_CHUNK_LEN	(1u << SHUNT_MIRROR_CHUNK_BITS)

struct shunt_mirror_obj {
	uint32_t next; /* while free: the next free one; in use: the owner's */
	uint8_t live;
	uint8_t seen; /* the sweep mark of the dump that last named it */
};

struct shunt_mirror_slot {
	uint32_t hash;
	uint32_t idx; /* 0: empty */
};

struct shunt_mirror_store {
	struct shunt_mirror_slot *slots;
	uint32_t mask; /* slots - 1 */
	uint8_t **chunks;
	uint32_t chunk_cnt;
	uint32_t chunk_max; /* room in chunks[] */
	uint32_t obj_bytes;
	uint32_t top;  /* numbers below have been given out at least once; starts at 1 */
	uint32_t free; /* first free one */
	uint32_t cnt;  /* in use */
	uint32_t max;  /* refuse more in use than this; 0: no bound */
};

static inline void *shunt_mirror_store_at(const struct shunt_mirror_store *store, uint32_t idx)
{
	return store->chunks[idx >> SHUNT_MIRROR_CHUNK_BITS] +
	       (size_t)(idx & (SHUNT_MIRROR_CHUNK_LEN - 1)) * store->obj_bytes;
}

/* shunt_mirror_hash mixes the bytes of a key. It does not withstand chosen keys: a peer that may
 * choose routes can do worse than slow the mirror down. Thread: any. */
static inline uint32_t shunt_mirror_hash(const void *key, size_t len, uint64_t seed)
{
	uint64_t h = seed ^ (len * 0x9e3779b97f4a7c15u), word;
	const uint8_t *p = key;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, p, len);
	h = (h ^ word) * 0xff51afd7ed558ccdu;
	return (uint32_t)(h ^ (h >> 29));
}

/* shunt_mirror_store_find returns the linked object of that hash for which eq is true, or 0.
 * Thread: the writer. Inlined, so that eq is. */
static inline uint32_t shunt_mirror_store_find(const struct shunt_mirror_store *store,
					       uint32_t hash,
					       bool (*eq)(const void *obj, const void *key),
					       const void *key)
{
	uint32_t i;

	if (!store->slots)
		return 0;
	for (i = hash & store->mask; store->slots[i].idx; i = (i + 1) & store->mask) {
		if (store->slots[i].hash == hash &&
		    eq(shunt_mirror_store_at(store, store->slots[i].idx), key))
			return store->slots[i].idx;
	}
	return 0;
}

/* The info behind an object's head; it begins with its key. */
static inline uint8_t *shunt_mirror_store_info(const void *obj)
{
	return (uint8_t *)obj + sizeof(struct shunt_mirror_obj);
}

/* shunt_mirror_store_init makes an empty store of objects of obj_bytes (a multiple of 4), at
 * most max of them (0: no bound). shunt_mirror_store_fini frees it; legal on zeroed memory.
 * Thread: the writer. */
void shunt_mirror_store_init(struct shunt_mirror_store *store, uint32_t obj_bytes, uint32_t max);
void shunt_mirror_store_fini(struct shunt_mirror_store *store);

/* shunt_mirror_store_alloc returns a zeroed, live object, or 0 for no memory. Room for its
 * link is made too, so that the link cannot fail. Thread: the writer. */
uint32_t shunt_mirror_store_alloc(struct shunt_mirror_store *store);
void shunt_mirror_store_free(struct shunt_mirror_store *store, uint32_t idx);

/* shunt_mirror_store_link and _unlink put an object into the index and take it out; relink
 * puts idx in the place of old. Unlinking one that is not linked does nothing.
 * Thread: the writer. */
void shunt_mirror_store_link(struct shunt_mirror_store *store, uint32_t hash, uint32_t idx);
void shunt_mirror_store_unlink(struct shunt_mirror_store *store, uint32_t hash, uint32_t idx);
void shunt_mirror_store_relink(struct shunt_mirror_store *store, uint32_t hash, uint32_t old,
			       uint32_t idx);

/* shunt_mirror_store_put sets the info of the object that eq finds, made and linked if need be,
 * and its sweep mark; old (if not NULL) receives the info that was replaced, if one was.
 * Returns 1 for a change, 0 for none, -ENOMEM. shunt_mirror_store_drop unlinks and frees.
 * Thread: the writer. */
int shunt_mirror_store_put(struct shunt_mirror_store *store, uint32_t hash,
			   bool (*eq)(const void *, const void *), const void *info, size_t bytes,
			   uint8_t mark, void *old);
void shunt_mirror_store_drop(struct shunt_mirror_store *store, uint32_t hash, uint32_t idx);

/* shunt_mirror_store_next returns the first live object after idx (0 to begin), or 0 at the
 * end. Objects may be freed or added while one steps. Thread: the writer. */
uint32_t shunt_mirror_store_next(const struct shunt_mirror_store *store, uint32_t idx);

/* shunt_mirror_store_bytes returns the memory taken. Thread: the writer. */
size_t shunt_mirror_store_bytes(const struct shunt_mirror_store *store);

#endif
