/* SPDX-License-Identifier: BSD-2-Clause */
/* Spaces in the FIB (mirror/space.h): a part of mirror/fib.h. Table local is asked before theirs:
 * what it has a route to is the kernel's in every space, however long the space's own prefixes are.
 */
#ifndef SHUNT_MIRROR_FIB_SPACE_H
#define SHUNT_MIRROR_FIB_SPACE_H

#include "mirror/fib.h"

/* shunt_mirror_fib_is_hidden says whether table local has a route to a prefix of another space;
 * shunt_mirror_fib_is_local, whether it has one to exactly that prefix.
 * shunt_mirror_fib_hide asks for one to be looked at in all spaces, and what is below it: there is
 * one now, or none any more. */
bool shunt_mirror_fib_is_local(const struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			       unsigned len);
bool shunt_mirror_fib_is_hidden(const struct shunt_mirror_fib *fib, unsigned rib,
				const uint8_t *dst, unsigned len);
void shunt_mirror_fib_hide(struct shunt_mirror_fib *fib, unsigned rib, const uint8_t *dst,
			   unsigned len);

/* shunt_mirror_fib_withdraw_hidden takes those prefixes out of all spaces again, when their routes
 * are out. */
void shunt_mirror_fib_withdraw_hidden(struct shunt_mirror_fib *fib);

/* shunt_mirror_fib_begin_spaces begins a load: no space is in the FIB. */
void shunt_mirror_fib_begin_spaces(struct shunt_mirror_fib *fib);

#endif
