// SPDX-License-Identifier: BSD-2-Clause
/* How long workers mind that connections were approved. */
#include <criterion/criterion.h>

#include "lane/lanes.h"
#include "router/router.h"

/* From look to look, of a port of which none are approved any more, and of one of which some are.
 */
Test(lane_approved, ends_with_what_was_under_way)
{
	static struct shunt_router router;
	static struct shunt_port at[2];
	static struct shunt_ports ports = {.at = at, .cnt = 2};
	struct shunt_lanes lanes = {.ports = &ports, .router = &router};
	const bool are_through[] = {true, false, true};
	const uint8_t expected[] = {SHUNT_APPROVED_BEFORE, SHUNT_APPROVED_BEFORE,
				    SHUNT_APPROVED_NEVER};
	unsigned i;

	at[0].lane.approved_looks = 1;
	router.live[0].approved = SHUNT_APPROVED_BEFORE;
	router.live[1].approved = SHUNT_APPROVED_NOW;
	for (i = 0; i < 3; i++) {
		shunt_lanes_end_approved(&lanes, are_through[i]);
		cr_expect_eq(router.live[0].approved, expected[i], "look %u", i);
		cr_expect_eq(router.live[1].approved, SHUNT_APPROVED_NOW);
	}
	cr_expect_eq(at[0].lane.approved_looks, 0);
}
