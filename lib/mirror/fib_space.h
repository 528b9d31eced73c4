/* SPDX-License-Identifier: BSD-2-Clause */
/* Spaces in the FIB (mirror/space.h), and what is hidden in them: a part of mirror/fib.h.
 *
 * Table local is asked before the others: what it has a route to is hidden in all spaces but 0. A
 * rule for packets to or from a prefix may lead these anywhere: the prefix is hidden in all spaces.
 * What is hidden stands there as this host's, however long a space's own prefixes are: packets to
 * it are the kernel's, and packets from it where sources are looked at. */
#ifndef SHUNT_MIRROR_FIB_SPACE_H
#define SHUNT_MIRROR_FIB_SPACE_H

#include "mirror/fib.h"

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

#endif
