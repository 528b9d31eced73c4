/* SPDX-License-Identifier: BSD-2-Clause */
/* What of a bond netlink does not tell. */
#ifndef SHUNT_DEVICE_BOND_H
#define SHUNT_DEVICE_BOND_H

/* shunt_bond_order puts the names of a bond's members into names[max], in the order in which the
 * kernel chooses among them. Returns how many, -ENODEV where there is no such bond, -E2BIG where it
 * has more. Thread: any. Cost: a file of procfs, of the process's network namespace. Source: Linux,
 * Documentation/networking/bonding.rst, "Querying Bonding Configuration". */
int shunt_bond_order(const char *bond, char (*names)[16], unsigned max);

#endif
