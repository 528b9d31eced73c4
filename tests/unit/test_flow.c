// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <string.h>

#include "base/bytes.h"
#include "fib/flow.h"

#define BIN_CNT	       64u

/* 99.9 % of uniform hashes stay below this with 63 degrees of freedom. */
#define CHI_SQUARE_MAX 103.4

static void make4(uint8_t ip[24], uint32_t src, uint32_t dst, uint16_t sport, uint16_t dport)
{
	memset(ip, 0, 24);
	ip[0] = 0x45;
	ip[9] = 17;
	memcpy(ip + 12, &src, 4);
	memcpy(ip + 16, &dst, 4);
	memcpy(ip + 20, &sport, 2);
	memcpy(ip + 22, &dport, 2);
}

static double chi_square(const uint32_t bins[BIN_CNT], uint32_t n)
{
	double want = (double)n / BIN_CNT, sum = 0;
	unsigned i;

	for (i = 0; i < BIN_CNT; i++)
		sum += (bins[i] - want) * (bins[i] - want) / want;
	return sum;
}

/* The poor inputs that networks have: one field counts up, all else is the same. Both ends of the
 * hash are looked at: groups take the top bits, others may take the low ones. */
static void spread4(const char *what, unsigned field, unsigned step)
{
	uint32_t top[BIN_CNT] = {0}, low[BIN_CNT] = {0}, h, i;
	uint8_t ip[24];

	for (i = 0; i < 65536; i++) {
		make4(ip, 0x0100000a, 0x0200000a, 0x1234, 0x5000);
		ip[field] = (uint8_t)(i * step);
		ip[field + 1] = (uint8_t)(i * step >> 8);
		h = shunt_flow4_hash(ip, 24, 0);
		top[h >> 26]++;
		low[h & 63]++;
	}
	cr_expect_lt(chi_square(top, 65536), CHI_SQUARE_MAX, "%s, top: %.1f", what,
		     chi_square(top, 65536));
	cr_expect_lt(chi_square(low, 65536), CHI_SQUARE_MAX, "%s, low: %.1f", what,
		     chi_square(low, 65536));
}

Test(flow, one_field_is_enough_to_spread)
{
	spread4("source", 14, 1);
	spread4("destination", 18, 1);
	spread4("source port", 20, 1);
	spread4("destination port", 22, 1);
	spread4("destination, odd steps", 18, 257);
}

Test(flow, ipv6_spreads)
{
	uint32_t bins[BIN_CNT], i, field;
	uint8_t ip[44];

	for (field = 8; field < 44; field += 4) {
		memset(bins, 0, sizeof(bins));
		for (i = 0; i < 65536; i++) {
			memset(ip, 0, sizeof(ip));
			ip[6] = 6;
			ip[8] = ip[24] = 0x20;
			ip[field] = (uint8_t)i;
			ip[field + 1] = (uint8_t)(i >> 8);
			bins[shunt_flow6_hash(ip, 44, 0) >> 26]++;
		}
		cr_expect_lt(chi_square(bins, 65536), CHI_SQUARE_MAX, "byte %u: %.1f", field,
			     chi_square(bins, 65536));
	}
}

Test(flow, a_flow_is_its_five_tuple)
{
	uint8_t a[24], b[24];

	make4(a, 1, 2, 3, 4);
	make4(b, 1, 2, 3, 4);
	b[1] = 0xb8; /* DSCP */
	b[4] = 9;    /* identification */
	b[8] = 12;   /* TTL */
	b[6] = 0x40; /* don't fragment */
	cr_expect_eq(shunt_flow4_hash(a, 24, 0), shunt_flow4_hash(b, 24, 0));
	b[9] = 6;
	cr_expect_neq(shunt_flow4_hash(a, 24, 0), shunt_flow4_hash(b, 24, 0), "protocol");
	make4(b, 1, 2, 4, 3);
	cr_expect_neq(shunt_flow4_hash(a, 24, 0), shunt_flow4_hash(b, 24, 0), "ports swapped");
	cr_expect_neq(shunt_flow4_hash(a, 24, 0), shunt_flow4_hash(a, 24, 1), "seed");
}

Test(flow, fragments_stay_together)
{
	uint8_t first[24], later[24];

	make4(first, 1, 2, 3, 4);
	make4(later, 1, 2, 0xdead, 0xbeef); /* payload where ports would be */
	first[6] = 0x20;
	later[7] = 185;
	cr_expect_eq(shunt_flow4_hash(first, 24, 0), shunt_flow4_hash(later, 24, 0));
}

Test(flow, short_and_portless_packets)
{
	uint8_t a[24], b[24];

	make4(a, 1, 2, 3, 4);
	make4(b, 1, 2, 5, 6);
	cr_expect_eq(shunt_flow4_hash(a, 23, 0), shunt_flow4_hash(b, 23, 0), "ports cut off");
	a[9] = b[9] = 1;
	cr_expect_eq(shunt_flow4_hash(a, 24, 0), shunt_flow4_hash(b, 24, 0), "ICMP has none");
	a[9] = b[9] = 17;
	a[0] = b[0] = 0x4f; /* options that run past the end */
	cr_expect_eq(shunt_flow4_hash(a, 24, 0), shunt_flow4_hash(b, 24, 0));
}
