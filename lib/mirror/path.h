/* SPDX-License-Identifier: BSD-2-Clause */
/* A path: what a route leads to, without its prefix. Routes with the same next hops, type,
 * protocol and attributes have one path together, as they have one fib_info in the kernel: a
 * million routes of a router have a few dozen. So a route is small, and a change of a device or a
 * neighbour is worked out once for each path. */
#ifndef SHUNT_MIRROR_PATH_H
#define SHUNT_MIRROR_PATH_H

#include "mirror/table.h"

/* Routes with more next hops are mirrored with so many and marked MANY: they are punted. */
#define SHUNT_MIRROR_HOPS_MAX	256

#define SHUNT_MIRROR_HOP_ENCAP	1 /* lightweight tunnel: the kernel's work */
#define SHUNT_MIRROR_HOP_ONLINK 2

struct shunt_mirror_hop {
	uint32_t ifindex;
	uint16_t weight;   /* 1 and up */
	uint8_t gw_family; /* AF_INET, AF_INET6; 0: the destination is on the link */
	uint8_t flags;
	uint8_t gw[16];
};

#define SHUNT_MIRROR_PATH_MANY	   1
#define SHUNT_MIRROR_PATH_MTU_LOCK 2
#define SHUNT_MIRROR_PATH_ECMP	   4 /* IPv6: other routes of its kind join it */

struct shunt_mirror_path_key {
	uint32_t nhid;	  /* next-hop object; then there are no hops here */
	uint32_t mtu;	  /* of the route; 0: the device's */
	uint32_t metrics; /* digest of the kernel's metrics */
	uint16_t hop_cnt;
	uint8_t family;
	uint8_t type; /* RTN_* */
	uint8_t proto;
	uint8_t scope;
	uint8_t flags;
	uint8_t src_len; /* IPv6 source-specific routes: over 0 */
	uint8_t prefsrc[16];
	uint8_t src[16];
};

struct shunt_mirror_path {
	struct shunt_mirror_obj obj;
	struct shunt_mirror_path_key key;
	uint32_t hash;
	uint32_t refs;
	bool is_doomed;
	bool is_stale;	/* mirror/fib.h: its routes must be looked at again */
	bool is_usable; /* mirror/fib.h: forwards, or says what to do; else the next route counts */
	bool is_known;	/* mirror/fib.h: nh and is_usable are worked out */
	uint32_t nh;	/* mirror/fib.h: index of the FIB's next hop */
	void *priv;	/* mirror/target.h */
	struct shunt_mirror_hop *hops; /* key.hop_cnt of them */
};

static inline struct shunt_mirror_path *shunt_mirror_path_at(const struct shunt_mirror_table *table,
							     uint32_t idx)
{
	return shunt_mirror_store_at(&table->paths, idx);
}

/* shunt_mirror_path_get returns the path with these attributes and next hops, making it if
 * need be; the caller holds a reference. 0 for no memory. */
uint32_t shunt_mirror_path_get(struct shunt_mirror_table *table,
			       const struct shunt_mirror_path_key *key,
			       const struct shunt_mirror_hop *hops);

/* shunt_mirror_path_find is shunt_mirror_path_get without making or holding one. */
uint32_t shunt_mirror_path_find(const struct shunt_mirror_table *table,
				const struct shunt_mirror_path_key *key,
				const struct shunt_mirror_hop *hops);

/* shunt_mirror_path_put lets go of a reference. The path itself stays until
 * shunt_mirror_path_reap, so that the FIB can be told first. */
void shunt_mirror_path_put(struct shunt_mirror_table *table, uint32_t path);

/* shunt_mirror_path_reap frees the paths that no route uses. */
void shunt_mirror_path_reap(struct shunt_mirror_table *table);

/* shunt_mirror_path_uses says whether one of the path's next hops leaves by the device. */
bool shunt_mirror_path_uses(const struct shunt_mirror_table *table,
			    const struct shunt_mirror_path *path, uint32_t ifindex);

/* shunt_mirror_path_doom dooms the path if a route uses it. */
void shunt_mirror_path_doom(struct shunt_mirror_table *table, struct shunt_mirror_path *path);

#endif
