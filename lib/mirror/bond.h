/* SPDX-License-Identifier: BSD-2-Clause */
/* Which members of a bond can send, and how the kernel chooses among them: its own state, as it
 * tells of bonds and their members (bond_update_slave_arr).
 *
 * Thread: control.
 */
#ifndef SHUNT_MIRROR_BOND_H
#define SHUNT_MIRROR_BOND_H

#include "mirror/above.h"

/* shunt_mirror_bond_members puts the bond's ports that can send, and its policy, into *out. Returns
 * `followed`, or why its packets are not shunt's: then *out has some of them, for show. */
enum shunt_above_state shunt_mirror_bond_members(const struct shunt_mirror_aboves *aboves,
						 const struct shunt_mirror_link *bond,
						 struct shunt_device *out);

#endif
