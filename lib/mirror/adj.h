/* SPDX-License-Identifier: BSD-2-Clause */
/* From a next hop of the kernel (device, gateway) to an adjacency of the FIB: complete once the
 * neighbour is resolved and the device is a port that is up, else one that punts. Routes, next-
 * hop objects and hosts share it. When the neighbour or the device changes, the adjacency is
 * replaced under its index; the routes are not touched.
 *
 * All of it: thread control.
 */
#ifndef SHUNT_MIRROR_ADJ_H
#define SHUNT_MIRROR_ADJ_H

#include "base/err.h"
#include "mirror/above.h"
#include "mirror/table.h"
#include "fib/count.h"
#include "fib/nexthop.h"

struct shunt_mirror_adj_key {
	uint32_t ifindex;
	uint8_t gw_family; /* 0: on the link, whatever the destination */
	uint8_t ip;	   /* enum shunt_mirror_ip of the packets: IPv4 may go by an IPv6 gateway */
	uint16_t pad;
	uint8_t gw[16];
};

struct shunt_mirror_adj {
	struct shunt_mirror_obj obj; /* next: the same with another MTU */
	struct shunt_mirror_adj_key key;
	uint32_t mtu; /* of the route; 0: the device's */
	uint32_t refs;
	uint32_t nh;
	uint32_t number; /* by which the neighbour is counted; a reference on that next hop; 0: none
			  */
	struct shunt_adj now; /* what nh is at present */
};

#define SHUNT_MIRROR_STATION_BITS (1u << 16)

struct shunt_mirror_adjs {
	struct shunt_mirror_store store;
	const struct shunt_mirror_table *table;
	struct shunt_nexthops *nexthops;
	struct shunt_counts *counts; /* NULL: nothing is counted */
	int (*port_of)(void *ctx, uint32_t ifindex);
	void *ctx;
	const struct shunt_mirror_aboves *aboves; /* NULL: there are no devices above ports */
	uint32_t idle_cnt;			  /* without a reference, freed by reap */
	/* Whether a neighbour behind a bridge may have a MAC address: a bit for each hash. */
	uint64_t stations[SHUNT_MIRROR_STATION_BITS / 64];
	bool is_failed; /* a change could not be made: out of memory */
};

static inline struct shunt_mirror_adj *shunt_mirror_adj_at(const struct shunt_mirror_adjs *adjs,
							   uint32_t idx)
{
	return shunt_mirror_store_at(&adjs->store, idx);
}

/* shunt_mirror_adj_get returns the adjacency, making it if need be, with a reference for the
 * caller. 0 for no memory. */
uint32_t shunt_mirror_adj_get(struct shunt_mirror_adjs *adjs,
			      const struct shunt_mirror_adj_key *key, uint32_t mtu);

/* shunt_mirror_adj_put returns a reference; the adjacency stays until shunt_mirror_adj_reap,
 * which is called when no route leads to it any more. */
void shunt_mirror_adj_put(struct shunt_mirror_adjs *adjs, uint32_t idx);
void shunt_mirror_adj_reap(struct shunt_mirror_adjs *adjs);

/* shunt_mirror_adj_is_used says whether an adjacency with a reference sends frames to the
 * neighbour. */
bool shunt_mirror_adj_is_used(const struct shunt_mirror_adjs *adjs,
			      const struct shunt_mirror_neigh_info *info);

/* shunt_mirror_adj_count says what the neighbour was sent since the first adjacency that leads to
 * it was made. Returns false where none does, or that is not counted. */
bool shunt_mirror_adj_count(const struct shunt_mirror_adjs *adjs,
			    const struct shunt_mirror_neigh_info *info, struct shunt_count *out);

/* shunt_mirror_adj_neigh and _link bring up to date what depends on a neighbour or a
 * device. */
void shunt_mirror_adj_neigh(struct shunt_mirror_adjs *adjs,
			    const struct shunt_mirror_neigh_info *info);
void shunt_mirror_adj_link(struct shunt_mirror_adjs *adjs, uint32_t ifindex);

/* shunt_mirror_adj_station brings up to date what leads to neighbours behind a bridge, when the
 * bridge knows a station elsewhere, or no more. Cost: a walk over the adjacencies where one of them
 * may lead there. */
void shunt_mirror_adj_station(struct shunt_mirror_adjs *adjs,
			      const struct shunt_mirror_neigh_info *entry);

/* shunt_mirror_adj_all brings all up to date with rules and VRFs. */
void shunt_mirror_adj_all(struct shunt_mirror_adjs *adjs);

#endif
