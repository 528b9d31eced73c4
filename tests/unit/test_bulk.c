// SPDX-License-Identifier: BSD-2-Clause
/* TCP in bulk, told by counters that the test moves, second by second. */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "choice/bulk.h"

#define MTU 1500

struct run {
	struct shunt_lane_bulk bulk;
	struct shunt_lane_bulk_counts counts;
	uint64_t now_s;
};

/* Returns whether bulk is seen after one more second. */
static bool second(struct run *r, uint64_t packets, uint64_t segments, uint64_t len)
{
	r->counts.packets += packets;
	r->counts.segments += segments;
	r->counts.bytes += packets * len;
	shunt_lane_bulk_tick(&r->bulk, &r->counts, MTU, ++r->now_s * SHUNT_NS_PER_SEC);
	return r->bulk.is_seen;
}

Test(bulk, seen_after_two_seconds_that_agree)
{
	struct run r = {.now_s = 100};

	cr_expect_not(second(&r, 20000, 20000, 1500), "the first second has nothing before it");
	cr_expect_not(second(&r, 20000, 20000, 1500));
	cr_expect(second(&r, 20000, 20000, 1500));
}

Test(bulk, not_seen)
{
	static const struct {
		const char *what;
		uint64_t packets, segments;
	} cases[] = {
		{"too few", 4999, 4999},
		{"half of the packets are others", 20000, 10000},
		{"no checksum is left to a device", 20000, 0},
	};
	unsigned i, s;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct run r = {.now_s = 100};

		for (s = 0; s < 10; s++)
			cr_expect_not(second(&r, cases[i].packets, cases[i].segments, 1500), "%s",
				      cases[i].what);
	}
}

static void see(struct run *r)
{
	while (!second(r, 20000, 20000, 1500))
		;
}

Test(bulk, over_after_two_seconds_of_packets_and_held_off_then)
{
	struct run r = {.now_s = 100};
	unsigned s;

	see(&r);
	cr_expect(second(&r, 20000, 0, 60000), "TSO: longer than the MTU");
	cr_expect(second(&r, 20000, 0, 60000));
	cr_expect(second(&r, 10, 0, 60), "too little to tell");
	cr_expect(second(&r, 20000, 0, 1500));
	cr_expect_not(second(&r, 20000, 0, 1500));
	/* it was right: 8 seconds until it is believed again */
	for (s = 1; s < 8; s++)
		cr_expect_not(second(&r, 20000, 20000, 1500), "second %u", s);
	cr_expect(second(&r, 20000, 20000, 1500));
}

Test(bulk, wrong_guesses_are_held_off_for_longer_and_longer)
{
	struct run r = {.now_s = 100};
	uint64_t held = 0, last = 0;
	unsigned round;

	for (round = 0; round < 9; round++) {
		see(&r);
		while (second(&r, 20000, 0, 1500))
			;
		held = (r.bulk.hold_ns - r.now_s * SHUNT_NS_PER_SEC) / SHUNT_NS_PER_SEC;
		cr_expect(held == 8 || held == 2 * last || held == 600, "%lu after %lu", held,
			  last);
		last = held;
	}
	cr_expect_eq(held, 600);
}
