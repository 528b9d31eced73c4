/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of mirror/fib.h have from one another. */
#ifndef SHUNT_MIRROR_FIB_PRIVATE_H
#define SHUNT_MIRROR_FIB_PRIVATE_H

#include "mirror/fib.h"

/* --- neighbours as host routes: host.c ----------------------------------------------------------
 */

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

/* --- spaces (mirror/space.h): fib_space.c ----------------------------------------------------- */

/* Table local is asked before the others: what it has a route to is hidden in all spaces but 0. A
 * rule for packets to or from a prefix may lead these anywhere: the prefix is hidden in all spaces.
 * What is hidden stands there as this host's, however long a space's own prefixes are: packets to
 * it are the kernel's, and packets from it where sources are looked at. */

/* shunt_mirror_fib_hides says whether this prefix hides what lies below it in the space, and
 * shunt_mirror_fib_is_hidden whether this one or a shorter one does. shunt_mirror_fib_hide asks for
 * the prefix and all below it to be looked at, in the spaces from first on. */
bool shunt_mirror_fib_hides(const struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			    unsigned len);
bool shunt_mirror_fib_is_hidden(const struct shunt_mirror_fib *fib, unsigned rib,
				const uint8_t *dst, unsigned len);
void shunt_mirror_fib_hide(struct shunt_mirror_fib *fib, unsigned first, enum shunt_mirror_ip ip,
			   const uint8_t *dst, unsigned len);

/* shunt_mirror_fib_withdraw_hidden takes those prefixes out of all spaces again, when their routes
 * are out. */
void shunt_mirror_fib_withdraw_hidden(struct shunt_mirror_fib *fib);

/* shunt_mirror_fib_begin_spaces begins a load: no space is in the FIB. */
void shunt_mirror_fib_begin_spaces(struct shunt_mirror_fib *fib);

/* --- devices: fib_link.c ------------------------------------------------------------------------
 */

/* shunt_mirror_fib_link_changed brings up to date what is above a device that came, changed or
 * went, and has the rest looked at by the next flush. ctx: the FIB. */
void shunt_mirror_fib_link_changed(void *ctx, uint32_t ifindex);

#endif
