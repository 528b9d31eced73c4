// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/hex.h"
#include "base/clock.h"
#include "base/err.h"

Test(base, err_set_returns_the_negative_code)
{
	struct shunt_err err;

	cr_assert_eq(shunt_err_set(&err, ENODEV, "%s: %d", "eth1", 7), -ENODEV);
	cr_assert_str_eq(err.msg, "eth1: 7");
	cr_assert_eq(shunt_err_set(NULL, EINVAL, "nobody reads this"), -EINVAL);
}

Test(base, err_prefix_goes_in_front)
{
	struct shunt_err err;

	shunt_err_set(&err, EINVAL, "batch is 0");
	shunt_err_prefix(&err, "%s:%d: ", "a.yaml", 3);
	cr_assert_str_eq(err.msg, "a.yaml:3: batch is 0");
	shunt_err_prefix(NULL, "nothing");
}

Test(base, err_never_overflows)
{
	struct {
		struct shunt_err err;
		char guard[8];
	} s;
	char longer[2 * sizeof(s.err.msg)];
	unsigned i;

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	memset(s.guard, 'g', sizeof(s.guard));
	shunt_err_set(&s.err, EINVAL, "%s", longer);
	cr_assert_eq(strlen(s.err.msg), sizeof(s.err.msg) - 1);
	shunt_err_prefix(&s.err, "where: ");
	cr_assert_eq(strlen(s.err.msg), sizeof(s.err.msg) - 1);
	cr_assert_eq(strncmp(s.err.msg, "where: xxx", 10), 0);
	shunt_err_prefix(&s.err, "%s", longer);
	cr_assert_eq(strlen(s.err.msg), sizeof(s.err.msg) - 1);
	for (i = 0; i < sizeof(s.guard); i++)
		cr_assert_eq(s.guard[i], 'g');
}

Test(base, power_of_2)
{
	uint64_t bit;

	cr_assert_not(shunt_is_power_of_2(0));
	for (bit = 1; bit; bit <<= 1) {
		cr_assert(shunt_is_power_of_2(bit));
		cr_assert(bit <= 2 || !shunt_is_power_of_2(bit - 1));
		cr_assert(bit <= 1 || !shunt_is_power_of_2(bit + 1));
	}
}

Test(base, counter_adds)
{
	uint64_t counter = UINT64_MAX - 1;

	shunt_counter_add(&counter, 3);
	cr_assert_eq(shunt_counter_read(&counter), 1, "it wraps");
}

/* 30 ms by the kernel's clock is 30 ms by the cycle counter, within 2 %. The counter is read
 * between two readings of the clock, since a thread may lose its processor between any two. */
Test(base, clocks_agree)
{
	const struct timespec pause = {.tv_nsec = 30 * 1000 * 1000};
	uint64_t hz = shunt_clock_hz(), ns[4], cycles;
	double by_cycles;

	cr_assert_eq(shunt_clock_hz(), hz, "measured once");
	ns[0] = shunt_clock_ns();
	cycles = shunt_clock_cycles();
	ns[1] = shunt_clock_ns();
	nanosleep(&pause, NULL);
	ns[2] = shunt_clock_ns();
	cycles = shunt_clock_cycles() - cycles;
	ns[3] = shunt_clock_ns();
	by_cycles = (double)cycles * 1e9 / (double)hz;
	cr_assert_geq(ns[2] - ns[1], 30000000);
	cr_assert_gt(by_cycles, 0.98 * (double)(ns[2] - ns[1]));
	cr_assert_lt(by_cycles, 1.02 * (double)(ns[3] - ns[0]));
}

/* --- hexadecimal digits ----------------------------------------------------------------------- */

Test(base, hex_there_and_back)
{
	uint8_t bytes[256], back[256];
	char text[2 * sizeof(bytes) + 1];
	unsigned i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	shunt_hex_write(text, bytes, sizeof(bytes));
	cr_assert_eq(strlen(text), 2 * sizeof(bytes));
	cr_assert_eq(memcmp(text + 2 * 0xa9, "a9aaab", 6), 0);
	cr_assert_eq(shunt_hex_read(back, text, sizeof(back)), sizeof(back));
	cr_assert_eq(memcmp(back, bytes, sizeof(back)), 0);
	cr_assert_eq(shunt_hex_read(back, "aBFf", 2), 2);
	cr_assert(back[0] == 0xab && back[1] == 0xff);
}

Test(base, hex_ends_at_what_is_no_digit)
{
	static const char *const texts[] = {
		"", "0", "0g", "g0", "0:", "@0", " 0", "-1", "x0", "0`"};
	uint8_t byte;
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(texts); i++)
		cr_expect_eq(shunt_hex_read(&byte, texts[i], 1), 0, "'%s'", texts[i]);
	cr_expect_eq(shunt_hex_read(&byte, "00zz", 1), 1);
}
