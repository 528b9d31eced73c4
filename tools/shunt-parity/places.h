/* SPDX-License-Identifier: BSD-2-Clause */
/* Networks that dut has routes to, and addresses that frames are sent to. */
#ifndef SHUNT_PARITY_PLACES_H
#define SHUNT_PARITY_PLACES_H

#include "parity.h"

enum {
	MULTIPATH = 1,
	UNRESOLVED = 2,
	EVEN = 4, /* in even variants only */
	ODD = 8,
	NOT_A_ROUTE = 16, /* a destination alone */
	OWN = 32,
};

struct parity_place {
	const char *prefix, *how;
	unsigned hosts; /* destinations used of it; 0: all */
	unsigned flags;
};

/* Those of IPv4, then those of IPv6; of each family first the plain networks behind links 1 to 3.
 */
extern const struct parity_place parity_places[];

/* parity_place_first returns the number of a family's first: 0 IPv4, 1 IPv6, 2 the end. */
unsigned parity_place_first(unsigned family);

#endif
