// SPDX-License-Identifier: BSD-2-Clause
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graph/meta.h"
#include "shunt_steer_meta.h"

TestSuite(meta, .timeout = 120);

#define AT 64 /* where a packet begins in the test's memory */

static struct shunt_meta *m;
static uint8_t mem[256] __attribute__((aligned(8)));
static const struct shunt_pkt pkt = {.addr = AT, .len = 60};

static void begin(void)
{
	m = shunt_meta_create();
	cr_assert(m);
	memset(mem, 0, sizeof(mem));
	mem[AT + 12] = 8; /* IPv4 */
	mem[AT + 14] = 0x45;
	mem[AT + 23] = 17;
}

static void end(void)
{
	free(m);
}

static void put(uint32_t mark, uint32_t hash, uint64_t device_ns, uint64_t ns)
{
	const struct shunt_packet_meta meta = {device_ns, ns, hash, mark};

	memcpy(mem + AT - sizeof(meta), &meta, sizeof(meta));
}

Test(meta, what_is_there_is_used_and_used_once, .init = begin, .fini = end)
{
	put(SHUNT_STEER_META_MARK | SHUNT_STEER_META_HASH, 7, 0, 1000);
	shunt_meta_take(m, mem, &pkt, 1);
	shunt_meta_done(m, 1500);
	cr_expect_eq(m->hash_driver, 1);
	cr_expect_eq(m->time_program, 1);
	cr_expect_eq(m->latency.bucket[shunt_hist_index(500)], 1);
	/* the next packet in this frame comes without */
	shunt_meta_take(m, mem, &pkt, 1);
	shunt_meta_done(m, 2000);
	cr_expect_eq(m->missing, 1);
	cr_expect_eq(m->hash_software, 1);
	cr_expect_eq(shunt_hist_count(&m->latency), 1);
	/* nothing is counted twice */
	shunt_meta_done(m, 3000);
	cr_expect_eq(shunt_hist_count(&m->latency), 1);
}

Test(meta, a_device_s_time_counts_where_its_clock_is_the_host_s, .init = begin, .fini = end)
{
	const uint64_t ns = 5000000000, real = 1700000000ULL * 1000000000, tai = real + 37000000000;

	m->real_ns = real;
	m->tai_ns = tai;
	cr_expect_eq(shunt_meta_received(m, real + ns - 800, ns), ns - 800);
	cr_expect_eq(shunt_meta_received(m, tai + ns - 800, ns), ns - 800);
	cr_expect_eq(shunt_meta_received(m, real + ns + 800, ns), 0, "later than the program");
	cr_expect_eq(shunt_meta_received(m, real + ns - 200000000, ns), 0, "long ago");
	cr_expect_eq(shunt_meta_received(m, 12345, ns), 0, "since the card was switched on");
	put(SHUNT_STEER_META_MARK | SHUNT_STEER_META_TIME, 0, real + ns - 800, ns);
	shunt_meta_take(m, mem, &pkt, 1);
	put(SHUNT_STEER_META_MARK | SHUNT_STEER_META_TIME, 0, 12345, ns);
	shunt_meta_take(m, mem, &pkt, 1);
	cr_expect_eq(m->time_device, 1);
	cr_expect_eq(m->time_program, 1);
}

Test(meta, flows_of_a_second, .init = begin, .fini = end)
{
	static const uint32_t cnts[] = {0, 1, 1000, 50000};
	uint32_t i, k, n;

	for (i = 0; i < 4; i++) {
		for (n = 0; n < 2; n++) /* a flow's packets are one flow */
			for (k = 0; k < cnts[i]; k++) {
				put(SHUNT_STEER_META_MARK | (k & 1 ? SHUNT_STEER_META_HASH : 0),
				    k * 0x01000193u, 0, 1);
				memcpy(mem + AT + 26, &k, sizeof(k));
				shunt_meta_take(m, mem, &pkt, 1);
			}
		shunt_meta_tick(m);
		cr_expect_leq(llabs((long long)m->flow_cnt - cnts[i]), cnts[i] / 40,
			      "%u flows counted as %lu", cnts[i], m->flow_cnt);
	}
}
