/* SPDX-License-Identifier: BSD-2-Clause */
/* The MAC table of the learning bridge: address, bridge and VLAN to port, for 100,000 stations and
 * more.
 *
 * Made small, because a lookup costs what its cache misses cost. A bucket is a cache line: seven
 * entries of one word, and behind them a byte each that says when the station was last heard. An
 * address is mixed by a bijection of 64 bits whose top bits are the bucket, so the word need only
 * hold the rest of them. A station has two buckets (cuckoo hashing) and takes the first whenever
 * that has room: 100,000 fit into 1 MiB, and at least three lookups in four touch one line.
 *
 * One thread, the writer, puts entries in, moves and removes them, each with one store of one
 * word; so a lookup needs no lock and never sees half an entry. An entry that moves to its other
 * bucket is written there before it is cleared here; a lookup that misses it in between floods one
 * frame. Workers store nothing but the byte. All store the same value, and a lost store does no
 * harm. The table is one for all workers: the two directions of a flow may reach different
 * workers, and with a table each they would flood.
 *
 * Limits: 4096 bridges, the first 15 of them with VLANs, 126 ports; time has a resolution of 1/64
 * of the ageing time.
 *
 *	shunt_mac_create(&macs, 100000, seed, &err);
 *	shunt_mac_learn(macs, key, port);                       the writer
 *	port = shunt_mac_lookup(macs, shunt_mac_hash(macs, key));    worker
 *	shunt_mac_age(macs, gone, arg);                         the writer, every 1/64 ageing time
 */
#ifndef SHUNT_FIB_MAC_H
#define SHUNT_FIB_MAC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "base/bytes.h"
#include "base/err.h"

#define SHUNT_MAC_SLOT_CNT	7
#define SHUNT_MAC_HOST		100  /* in the place of a port: this host's own address */
#define SHUNT_MAC_NONE		0xff /* no entry */
#define SHUNT_MAC_AGE_TICKS	64   /* ticks of the ageing time */
#define SHUNT_MAC_AGE_S_DEFAULT 300  /* as the kernel's bridge */

/* 93 % of 16384 buckets: 1 MiB. A unit test fills it. */
#define SHUNT_MAC_MAX_DEFAULT	106496u

#define SHUNT_MAC_KEY_BITS	64
#define SHUNT_MAC_VLAN_BRIDGES	15 /* only these, from 0, have VLANs */

/* A slot: valid << 63 | rest of the hash << 9 | in the second bucket << 8 | static, and stays << 7
 * | port + 1; an empty one is 0 and matches nothing. */
#define SHUNT_MAC_SLOT_VALID	(1ULL << 63)
#define SHUNT_MAC_SLOT_SECOND	(1ULL << 8)
#define SHUNT_MAC_SLOT_STATIC	(1ULL << 7)
#define SHUNT_MAC_SLOT_PORT	0x7fULL

struct shunt_mac_bucket {
	uint64_t slots[SHUNT_MAC_SLOT_CNT];
	uint8_t seen[8]; /* tick; the last is the writer's: slots of static entries that move, a bit
			    each */
} SHUNT_CACHE_ALIGNED;

_Static_assert(sizeof(struct shunt_mac_bucket) == SHUNT_CACHELINE, "a lookup is a cache line");

struct shunt_mac_table {
	/* per packet, read-only */
	struct shunt_mac_bucket *buckets;
	uint64_t factor; /* odd, secret: no sender can choose addresses that collide */
	uint8_t rest_bits;
	uint8_t tick; /* now; one writer */
	struct shunt_mac_control *control;
};

enum shunt_mac_result {
	SHUNT_MAC_KNOWN,  /* as it was */
	SHUNT_MAC_NEW,	  /* put in */
	SHUNT_MAC_MOVED,  /* its port is another now */
	SHUNT_MAC_STATIC, /* a static entry that stays stands, unchanged */
	SHUNT_MAC_FULL,	  /* no room */
};

struct shunt_mac_entry {
	uint64_t key;
	uint8_t port;
	bool is_static;	   /* never ages */
	bool stays;	   /* nor moves */
	uint8_t age_ticks; /* since last heard */
};

struct shunt_mac_counts {
	uint32_t entries, statics, max;
	uint64_t bytes; /* memory of the table */
};

/* shunt_mac_create makes a table for max stations (1 to 2^24); seed makes the hash unpredictable.
 * Returns 0, -EINVAL or -ENOMEM with err set. shunt_mac_destroy: NULL is legal.
 * Thread: the writer. Cost: setup. */
int shunt_mac_create(struct shunt_mac_table **out, uint32_t max, uint64_t seed,
		     struct shunt_err *err);
void shunt_mac_destroy(struct shunt_mac_table *table);

/* shunt_mac_create_in does the same in the caller's memory, all zeros and aligned to a cache line,
 * which outlives the table. Returns -EINVAL also where bytes are too few. Thread: the writer. */
int shunt_mac_create_in(struct shunt_mac_table **out, void *mem, uint64_t bytes, uint32_t max,
			uint64_t seed, struct shunt_err *err);

/* shunt_mac_watch has changed(arg) called after each entry that has gone, or is another one by now:
 * what was looked up may be remembered until then. It is not called for new ones. NULL: for none.
 * Thread: the writer. */
void shunt_mac_watch(struct shunt_mac_table *table, void (*changed)(void *arg), void *arg);

/* shunt_mac_reserve keeps room for so many stations of a port, whatever stations others have: a
 * sender of ever new addresses can fill the table for its own port alone. Where less than what is
 * reserved is left, no other port's station is put in (SHUNT_MAC_FULL). The sum over ports is at
 * most the table's max. Thread: the writer. */
void shunt_mac_reserve(struct shunt_mac_table *table, unsigned port, uint32_t cnt);

/* shunt_mac_group returns what is above the address in a key: the bridge's number; in one that
 * keeps its VLANs apart, below SHUNT_MAC_VLAN_BRIDGES, with the VLAN's ID, 1 to 4094. Thread: any.
 */
static inline unsigned shunt_mac_group(unsigned bridge, unsigned vid)
{
	return vid ? (bridge + 1) << 12 | vid : bridge;
}

/* shunt_mac_key makes the key of six bytes at mac, in a bridge or group. Thread: any. */
static inline uint64_t shunt_mac_key(const uint8_t *mac, unsigned group)
{
	uint32_t low;
	uint16_t high;

	memcpy(&low, mac, sizeof(low));
	memcpy(&high, mac + 4, sizeof(high));
	return (uint64_t)(group & 0xffff) << 48 | (uint64_t)high << 32 | low;
}

/* shunt_mac_key_mac writes a key's six bytes. Thread: any. */
static inline void shunt_mac_key_mac(uint64_t key, uint8_t *mac)
{
	uint32_t low = (uint32_t)key;
	uint16_t high = (uint16_t)(key >> 32);

	memcpy(mac, &low, sizeof(low));
	memcpy(mac + 4, &high, sizeof(high));
}

/* shunt_mac_key_bridge and _vid return the key's bridge and VLAN, 0 for none. Thread: any. */
static inline unsigned shunt_mac_key_bridge(uint64_t key)
{
	return key >> 60 ? (unsigned)(key >> 60) - 1 : (unsigned)(key >> 48);
}

static inline unsigned shunt_mac_key_vid(uint64_t key)
{
	return key >> 60 ? (unsigned)(key >> 48 & 0xfff) : 0;
}

/* shunt_mac_hash mixes a key; the functions below take its value. Shifts of half the width are
 * their own inverse. Two rounds: with one, addresses that count up fall into a lattice, and the
 * table is full at 90 %. Thread: any. */
static inline uint64_t shunt_mac_hash(const struct shunt_mac_table *table, uint64_t key)
{
	key ^= key >> 32;
	key *= table->factor;
	key ^= key >> 32;
	key *= table->factor;
	return key ^ key >> 32;
}

static inline struct shunt_mac_bucket *shunt_mac_first(const struct shunt_mac_table *table,
						       uint64_t hash)
{
	return &table->buckets[hash >> table->rest_bits];
}

static inline uint64_t shunt_mac_rest(const struct shunt_mac_table *table, uint64_t hash)
{
	return hash & ((1ULL << table->rest_bits) - 1);
}

/* The distance between an entry's two buckets, the same both ways. */
static inline uint64_t shunt_mac_leap(const struct shunt_mac_table *table, uint64_t rest)
{
	return (rest * 0x9e3779b97f4a7c15ULL) >> table->rest_bits;
}

/* shunt_mac_prefetch fetches the line that shunt_mac_lookup will most likely read.
 * Thread: any worker. */
static inline void shunt_mac_prefetch(const struct shunt_mac_table *table, uint64_t hash)
{
	__builtin_prefetch(shunt_mac_first(table, hash));
}

static inline uint64_t shunt_mac_word(uint64_t rest)
{
	return SHUNT_MAC_SLOT_VALID | rest << 9;
}

/* The slots of a bucket that hold want, a bit each. What follows the last slot is none. */
#if defined(__AVX512F__)
static inline unsigned shunt_mac_hits(const struct shunt_mac_bucket *bucket, uint64_t want)
{
	__m512i line = _mm512_srli_epi64(_mm512_load_si512(bucket), 8);

	return _mm512_mask_cmpeq_epi64_mask((1 << SHUNT_MAC_SLOT_CNT) - 1, line,
					    _mm512_set1_epi64((long long)(want >> 8)));
}
#elif defined(__AVX2__)
static inline unsigned shunt_mac_hits(const struct shunt_mac_bucket *bucket, uint64_t want)
{
	const __m256i *half = (const __m256i *)bucket;
	const __m256i key = _mm256_set1_epi64x((long long)(want >> 8));
	__m256i low = _mm256_cmpeq_epi64(_mm256_srli_epi64(_mm256_load_si256(half), 8), key);
	__m256i high = _mm256_cmpeq_epi64(_mm256_srli_epi64(_mm256_load_si256(half + 1), 8), key);
	unsigned hits = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(low)) |
			(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4;

	return hits & ((1 << SHUNT_MAC_SLOT_CNT) - 1);
}
#endif

/* The slot of a bucket that holds want, without a branch: SHUNT_MAC_SLOT_CNT if none. */
#if defined(__AVX2__) && !defined(__SANITIZE_THREAD__)
/* The whole line in one comparison. It says where to look; the word itself is then loaded as
 * one, and looked at once more: the writer may have changed it in between. */
static inline unsigned shunt_mac_match(const struct shunt_mac_bucket *bucket, uint64_t want,
				       uint64_t *word)
{
	unsigned hits = shunt_mac_hits(bucket, want);
	unsigned at = (unsigned)__builtin_ctz(hits | 1u << SHUNT_MAC_SLOT_CNT);

	*word = 0;
	if (unlikely(at == SHUNT_MAC_SLOT_CNT))
		return at;
	*word = __atomic_load_n(&bucket->slots[at], __ATOMIC_RELAXED);
	return likely(*word >> 8 == want >> 8) ? at : SHUNT_MAC_SLOT_CNT;
}
#else
static inline unsigned shunt_mac_match(const struct shunt_mac_bucket *bucket, uint64_t want,
				       uint64_t *word)
{
	unsigned at = SHUNT_MAC_SLOT_CNT, i;
	uint64_t found = 0;

	for (i = 0; i < SHUNT_MAC_SLOT_CNT; i++) {
		uint64_t slot = __atomic_load_n(&bucket->slots[i], __ATOMIC_RELAXED);
		bool hit = slot >> 8 == want >> 8;

		at = hit ? i : at;
		found = hit ? slot : found;
	}
	*word = found;
	return at;
}
#endif

/* shunt_mac_find returns the bucket of an entry and sets *at and *word, or NULL. Workers call
 * shunt_mac_lookup and shunt_mac_heard. Thread: any. */
static inline struct shunt_mac_bucket *shunt_mac_find(const struct shunt_mac_table *table,
						      uint64_t hash, unsigned *at, uint64_t *word)
{
	uint64_t rest = shunt_mac_rest(table, hash);
	struct shunt_mac_bucket *bucket = shunt_mac_first(table, hash);

	*at = shunt_mac_match(bucket, shunt_mac_word(rest), word);
	if (likely(*at < SHUNT_MAC_SLOT_CNT))
		return bucket;
	bucket = &table->buckets[(hash >> table->rest_bits) ^ shunt_mac_leap(table, rest)];
	*at = shunt_mac_match(bucket, shunt_mac_word(rest) | SHUNT_MAC_SLOT_SECOND, word);
	return *at < SHUNT_MAC_SLOT_CNT ? bucket : NULL;
}

/* shunt_mac_lookup returns the port of a station, SHUNT_MAC_HOST for this host, SHUNT_MAC_NONE for
 * an unknown one. Thread: any worker. Cost: packet. */
static inline unsigned shunt_mac_lookup(const struct shunt_mac_table *table, uint64_t hash)
{
	uint64_t word;
	unsigned at;

	if (!shunt_mac_find(table, hash, &at, &word))
		return SHUNT_MAC_NONE;
	return (unsigned)(word & SHUNT_MAC_SLOT_PORT) - 1;
}

/* shunt_mac_heard notes that a station was heard on port. Returns false when the table says
 * otherwise, and shunt_mac_learn is due; true also for static entries that stay, which learning
 * does not change. Thread: any worker. Cost: packet; writes at most once a tick. */
static inline bool shunt_mac_heard(const struct shunt_mac_table *table, uint64_t hash,
				   unsigned port)
{
	uint8_t tick = __atomic_load_n(&table->tick, __ATOMIC_RELAXED);
	struct shunt_mac_bucket *bucket;
	uint64_t word;
	unsigned at;

	bucket = shunt_mac_find(table, hash, &at, &word);
	if (unlikely(!bucket))
		return false;
	if (unlikely((word & SHUNT_MAC_SLOT_PORT) != port + 1))
		return word & SHUNT_MAC_SLOT_STATIC;
	if (unlikely(__atomic_load_n(&bucket->seen[at], __ATOMIC_RELAXED) != tick))
		__atomic_store_n(&bucket->seen[at], tick, __ATOMIC_RELAXED);
	return true;
}

/* shunt_mac_learn puts in, moves or refreshes an entry; a static one that stays stands.
 * shunt_mac_set makes a static entry, in the place of any, which stays where it is, or moves when
 * it is heard elsewhere. port is below 100 or SHUNT_MAC_HOST. Thread: the writer. Cost:
 * SHUNT_MAC_FULL searches some hundred buckets. */
enum shunt_mac_result shunt_mac_learn(struct shunt_mac_table *table, uint64_t key, unsigned port);
enum shunt_mac_result shunt_mac_set(struct shunt_mac_table *table, uint64_t key, unsigned port,
				    bool stays);

/* shunt_mac_del removes an entry. Returns 0 or -ENOENT. Thread: the writer. */
int shunt_mac_del(struct shunt_mac_table *table, uint64_t key);

/* shunt_mac_age lets a tick pass and removes what was not heard for SHUNT_MAC_AGE_TICKS of them,
 * calling gone (may be NULL) for each. Returns how many. Thread: the writer. Cost: a walk over the
 * table. */
unsigned shunt_mac_age(struct shunt_mac_table *table,
		       void (*gone)(void *arg, const struct shunt_mac_entry *entry), void *arg);

/* shunt_mac_flush removes the dynamic entries of a port of a bridge, as a change of the spanning
 * tree asks for. Returns how many. Thread: the writer. */
unsigned shunt_mac_flush(struct shunt_mac_table *table, unsigned bridge, unsigned port);

/* shunt_mac_next walks the entries: *at 0 first. Returns false at the end. Between two steps
 * nothing may be put in. Thread: the writer. */
bool shunt_mac_next(const struct shunt_mac_table *table, uint64_t *at,
		    struct shunt_mac_entry *entry);

/* shunt_mac_get reads one entry. Returns 0 or -ENOENT. Thread: the writer. */
int shunt_mac_get(const struct shunt_mac_table *table, uint64_t key, struct shunt_mac_entry *entry);

void shunt_mac_counts(const struct shunt_mac_table *table, struct shunt_mac_counts *out);

#endif
