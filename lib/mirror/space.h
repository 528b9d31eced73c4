/* SPDX-License-Identifier: BSD-2-Clause */
/* Spaces: the tables of the kernel's beside local and main whose routes are mirrored, and which of
 * them decides on a packet. A table is wanted by a VRF, or by a rule (ip rule) that leads all that
 * comes in by a device to it.
 *
 * A space has the routes of its table alone. What the table has no route for is the kernel's, which
 * goes on with the next rule; so is what table local has a route for, which rules mostly ask first.
 *
 * Limit: 31 tables. What goes by others is the kernel's.
 *
 * All of it: thread control.
 */
#ifndef SHUNT_MIRROR_SPACE_H
#define SHUNT_MIRROR_SPACE_H

#include "mirror/table.h"

/* shunt_mirror_space_find returns the number of the space that has the table, 0 for local and main,
 * -1 for none. */
int shunt_mirror_space_find(const struct shunt_mirror_table *table, uint32_t kernel_table);

/* shunt_mirror_space_want makes a space for a table, if there is none, and room for one. */
void shunt_mirror_space_want(struct shunt_mirror_table *table, uint32_t kernel_table);

/* shunt_mirror_space_of_device returns the number of the space by whose routes packets of the
 * family go that come in by a device; -1: only the kernel knows. Rules (linux/fib_rules.h) are
 * asked in their order, as long as it is certain whether they match. One for a prefix is passed by:
 * what it can match is hidden (mirror/fib_space.c). Where rules are ignored, the device's VRF alone
 * counts. */
int shunt_mirror_space_of_device(const struct shunt_mirror_table *table, enum shunt_mirror_ip ip,
				 const struct shunt_mirror_link *link);

/* shunt_mirror_vrf returns the VRF that a device belongs to, NULL for none. */
const struct shunt_mirror_link *shunt_mirror_vrf(const struct shunt_mirror_table *table,
						 const struct shunt_mirror_link *link);

#endif
