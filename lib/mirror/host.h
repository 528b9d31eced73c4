/* SPDX-License-Identifier: BSD-2-Clause */
/* Neighbours as host routes: a part of mirror/fib.h. */
#ifndef SHUNT_MIRROR_HOST_H
#define SHUNT_MIRROR_HOST_H

#include "mirror/fib.h"

/* shunt_mirror_fib_best returns the path of the first usable route of the chain that begins with
 * idx, NULL if there is none; *must_punt if the FIB cannot say what the chain means.
 * shunt_mirror_fib_push asks for a prefix to be looked at. */
struct shunt_mirror_path *shunt_mirror_fib_best(struct shunt_mirror_fib *fib, unsigned rib,
						uint32_t idx, bool *must_punt);
void shunt_mirror_fib_push(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			   unsigned len);

/* shunt_mirror_host_update returns what the FIB should have for the address: the neighbour's
 * next hop if the longest prefix that covers it is on the neighbour's link, else want, what its
 * own route says, 0 for none. It records which neighbours are in the FIB. */
uint32_t shunt_mirror_host_update(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *addr,
				  uint32_t want);

/* shunt_mirror_host_changed notes that a neighbour came, changed or went. */
void shunt_mirror_host_changed(struct shunt_mirror_fib *fib,
			       const struct shunt_mirror_neigh_info *info);

/* shunt_mirror_host_is_near says whether neighbours may lie within the prefix. It may be true when
 * there are none, never false when there are some. */
bool shunt_mirror_host_is_near(const struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			       unsigned len);

/* shunt_mirror_host_push_all asks for every neighbour to be looked at;
 * shunt_mirror_host_withdraw takes all out of the FIB. */
void shunt_mirror_host_push_all(struct shunt_mirror_fib *fib);
void shunt_mirror_host_withdraw(struct shunt_mirror_fib *fib);

#endif
