// SPDX-License-Identifier: BSD-2-Clause
/* What is lost, counted by port, device and reason. */
#include <criterion/criterion.h>
#include <string.h>

#include "graph/loss.h"
#include "measure/rng.h"

static struct shunt_losses losses;

Test(loss, a_key_has_all_of_it)
{
	const struct shunt_loss all[] = {
		{0, 0, SHUNT_LOSS_DROP, 0},
		{UINT32_MAX, 63, SHUNT_LOSS_PUNT_FAILED, SHUNT_LOSS_REASONS - 1},
		{7, 1, SHUNT_LOSS_PUNT, SHUNT_PUNT_glean},
	};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(all); i++) {
		const struct shunt_loss back = shunt_loss_of(shunt_loss_key(&all[i]));

		cr_expect_neq(shunt_loss_key(&all[i]), 0);
		cr_expect(back.ifindex == all[i].ifindex && back.port == all[i].port &&
				  back.kind == all[i].kind && back.reason == all[i].reason,
			  "row %u", i);
	}
}

static uint64_t count_of(uint64_t key)
{
	unsigned i;
	uint64_t cnt = 0, found = 0;

	for (i = 0; i < SHUNT_LOSS_LINES; i++)
		if (losses.lines[i].key == key) {
			cnt += losses.lines[i].count;
			found++;
		}
	cr_assert_leq(found, 1, "a key has one line");
	return cnt;
}

/* A thousand devices with three reasons each: each has a line of its own. */
Test(loss, a_thousand_devices)
{
	static uint64_t naive_counts[1000][3];
	uint64_t rng = 17;
	unsigned i, k;

	for (i = 0; i < 100000; i++) {
		const unsigned device = (unsigned)shunt_rng_below(&rng, 1000);
		const struct shunt_loss loss = {.ifindex = 100 + device,
						.port = device % 4,
						.reason = (uint8_t)shunt_rng_below(&rng, 3)};
		const unsigned cnt = (unsigned)shunt_rng_below(&rng, 5);

		shunt_losses_add(&losses, shunt_loss_key(&loss), cnt);
		naive_counts[device][loss.reason] += cnt;
	}
	for (i = 0; i < 1000; i++)
		for (k = 0; k < 3; k++) {
			const struct shunt_loss loss = {
				.ifindex = 100 + i, .port = i % 4, .reason = (uint8_t)k};

			cr_assert_eq(count_of(shunt_loss_key(&loss)), naive_counts[i][k],
				     "device %u, reason %u", i, k);
		}
}

/* What has no line is counted all the same. */
Test(loss, no_room)
{
	uint64_t sum = 0;
	unsigned i, lines = 0;

	for (i = 0; i < 4 * SHUNT_LOSS_LINES; i++) {
		const struct shunt_loss loss = {
			.ifindex = i, .kind = SHUNT_LOSS_PUNT, .reason = SHUNT_PUNT_glean};

		shunt_losses_add(&losses, shunt_loss_key(&loss), 3);
	}
	for (i = 0; i < SHUNT_LOSS_LINES; i++) {
		lines += losses.lines[i].key != 0;
		sum += losses.lines[i].count;
	}
	cr_expect_gt(lines, SHUNT_LOSS_LINES * 9 / 10);
	cr_expect_eq(sum, 3 * lines);
	cr_expect_eq(sum + losses.rest[SHUNT_LOSS_PUNT][SHUNT_PUNT_glean],
		     3 * 4 * SHUNT_LOSS_LINES);
}
