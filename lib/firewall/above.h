/* SPDX-License-Identifier: BSD-2-Clause */
/* The VLAN devices above some devices, themselves above a VLAN device or not. What judges one's
 * packets judges packets of the device beneath: shunt reads both off the same port.
 *
 *	shunt_firewall_aboves_ask(&aboves, ifindexes, cnt);
 *	judges->aboves = &aboves;			from now on shunt_judges_add knows
 *	shunt_firewall_aboves_free(&aboves);
 */
#ifndef SHUNT_FIREWALL_ABOVE_H
#define SHUNT_FIREWALL_ABOVE_H

#include <stdbool.h>

struct shunt_firewall_above {
	int ifindex;
	int parent; /* and at last: which of the asked for it is above */
};

struct shunt_firewall_aboves {
	struct shunt_firewall_above *at;
	unsigned cnt, max;
	int ret; /* while they are taken: -ENOMEM */
};

/* shunt_firewall_aboves_ask finds the devices above ifindexes[cnt]. Returns 0, or -errno with none
 * found. Thread: any. Cost: a dump of VLAN devices. */
int shunt_firewall_aboves_ask(struct shunt_firewall_aboves *aboves, const int *ifindexes,
			      unsigned cnt);
void shunt_firewall_aboves_free(struct shunt_firewall_aboves *aboves);

/* shunt_firewall_base returns the device beneath, of those asked for; ifindex itself where there is
 * none. NULL is legal. Thread: any. */
int shunt_firewall_base(const struct shunt_firewall_aboves *aboves, int ifindex);

/* shunt_firewall_has says whether ifindex is among them. Thread: any. */
bool shunt_firewall_has(const int *ifindexes, unsigned cnt, int ifindex);

#endif
