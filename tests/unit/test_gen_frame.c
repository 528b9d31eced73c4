// SPDX-License-Identifier: BSD-2-Clause
/* What shunt-gen's programs and its userspace share: frames, buckets, pacing. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <string.h>

#include "measure/hist.h"
#include "measure/rng.h"
#include "tools/shunt_gen.h"

Test(gen_frame, buckets_are_those_of_the_histogram)
{
	uint64_t rng = 3;

	cr_assert_eq(SHUNT_GEN_BUCKETS, SHUNT_HIST_BUCKETS);
	for (unsigned i = 0; i < 200000; i++) {
		const uint64_t v = shunt_rng_next(&rng) >> shunt_rng_below(&rng, 64);

		cr_assert_eq(shunt_gen_bucket(v), shunt_hist_index(v), "%llu",
			     (unsigned long long)v);
	}
	for (uint64_t v = 0; v < 4096; v++)
		cr_assert_eq(shunt_gen_bucket(v), shunt_hist_index(v));
	cr_assert_eq(shunt_gen_bucket(UINT64_MAX), shunt_hist_index(UINT64_MAX));
}

static uint16_t naive_checksum(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* A template of random bytes where fields are constant, and its sums. */
static void make_template(struct shunt_gen_frame *f, bool v6, bool tcp, uint64_t *rng)
{
	uint8_t *const p = (uint8_t *)f->head, *const l4 = p + SHUNT_GEN_L4_OFF(v6);
	const unsigned proto = tcp ? 6 : 17;

	for (unsigned i = 0; i < sizeof(f->head); i++)
		p[i] = (uint8_t)shunt_rng_next(rng);
	p[v6 ? 20 : 23] = (uint8_t)proto;
	memset(p + (v6 ? 18 : 16), 0, 2);
	memset(p + (v6 ? 34 : 26), 0, 4);
	memset(p + (v6 ? 50 : 30), 0, 4);
	if (!v6)
		memset(p + 24, 0, 2);
	memset(l4, 0, 4);
	memset(l4 + (tcp ? 16 : 4), 0, tcp ? 2 : 4);
	memset(p + SHUNT_GEN_TAG_OFF(v6, tcp) + 6, 0, 12);
	f->ip_sum = v6 ? 0 : naive_checksum(p + 14, 20, 0);
	f->l4_sum = naive_checksum(p + (v6 ? 22 : 26), v6 ? 32 : 8, proto) +
		    naive_checksum(l4, SHUNT_GEN_L4_LEN(tcp) + SHUNT_GEN_TAG_LEN, 0);
}

static void check(const uint8_t *p, const struct shunt_gen_flow *fl, const struct shunt_gen_vary *v,
		  bool v6, bool tcp)
{
	const uint8_t *l4 = p + SHUNT_GEN_L4_OFF(v6), *tag = p + SHUNT_GEN_TAG_OFF(v6, tcp);
	const uint32_t l4_len = v->len - SHUNT_GEN_L4_OFF(v6);
	uint64_t word;
	uint32_t low;

	if (!v6)
		cr_assert_eq(naive_checksum(p + 14, 20, 0), 0xffff);
	cr_assert_eq(naive_checksum(p + (v6 ? 22 : 26), v6 ? 32 : 8,
				    (tcp ? 6U : 17U) + l4_len + naive_checksum(l4, l4_len, 0)),
		     0xffff);
	cr_assert_eq(p[v6 ? 18 : 16] << 8 | p[v6 ? 19 : 17], (int)(v6 ? l4_len : l4_len + 20));
	cr_assert_eq(memcmp(l4, &fl->sport_be, 4), 0);
	cr_assert_eq(memcmp(p + (v6 ? 34 : 26), &fl->src_be, 4), 0);
	cr_assert_eq(memcmp(p + (v6 ? 50 : 30), &fl->dst_be, 4), 0);
	memcpy(&word, tag + 6, sizeof(word));
	memcpy(&low, tag + 14, sizeof(low));
	word = __builtin_bswap64(word);
	cr_assert_eq(word >> 24, v->seq);
	cr_assert_eq(word >> 4 & 0xfffff, v->flow);
	cr_assert_eq((word & 15) << 32 | ntohl(low), v->time_ns & SHUNT_GEN_TIME_MASK);
}

Test(gen_frame, checksums_and_fields_are_right)
{
	uint64_t rng = 5;

	for (unsigned i = 0; i < 40000; i++) {
		uint8_t buf[1514] = {};
		struct shunt_gen_frame f;
		const bool v6 = i & 1, tcp = i & 2;
		const uint32_t least = SHUNT_GEN_HEAD_LEN(v6, tcp);
		const struct shunt_gen_flow fl = shunt_gen_flow_make(
			(uint32_t)shunt_rng_next(&rng), (uint32_t)shunt_rng_next(&rng),
			(uint16_t)shunt_rng_next(&rng), (uint16_t)shunt_rng_next(&rng));
		const struct shunt_gen_vary v = {
			.seq = shunt_rng_next(&rng) >> (64 - SHUNT_GEN_SEQ_BITS),
			.time_ns = shunt_rng_next(&rng),
			.flow = (uint32_t)shunt_rng_below(&rng, SHUNT_GEN_FLOW_MAX),
			.len = least + (uint32_t)shunt_rng_below(&rng, 1514 - least + 1)};

		make_template(&f, v6, tcp, &rng);
		if (v6 && tcp)
			shunt_gen_write(buf, &f, &fl, &v, true, true);
		else if (v6)
			shunt_gen_write(buf, &f, &fl, &v, true, false);
		else if (tcp)
			shunt_gen_write(buf, &f, &fl, &v, false, true);
		else
			shunt_gen_write(buf, &f, &fl, &v, false, false);
		check(buf, &fl, &v, v6, tcp);
	}
}

/* Asked every 100 ns, but for a second in which nobody asked. */
Test(gen_frame, pacing_makes_up_at_five_quarters)
{
	const struct shunt_gen_pace pace = {.interval = 1000 << SHUNT_GEN_PACE_SHIFT,
					    .catchup = 800 << SHUNT_GEN_PACE_SHIFT,
					    .burst = 50000ULL << SHUNT_GEN_PACE_SHIFT};
	struct shunt_gen_state st = {.start_ns = 1};
	unsigned sent = 0;
	uint64_t ns;

	for (ns = 1; ns <= 1000000; ns += 100)
		sent += shunt_gen_is_due(&st, &pace, pace.interval, ns);
	cr_assert_eq(sent, 1000);
	cr_assert_eq(st.delayed, 0);
	for (ns = 2000001, sent = 0; ns <= 3000000; ns += 100)
		sent += shunt_gen_is_due(&st, &pace, pace.interval, ns);
	/* 1250 at 5/4 of the rate, and what 50 us hold. */
	cr_assert(sent >= 1250 && sent <= 1250 + 50000 / 800 + 1, "%u", sent);
	cr_assert_gt(st.delayed, 0);
	cr_assert_geq(st.late_max >> SHUNT_GEN_PACE_SHIFT, 999000);
	for (sent = 0; ns <= 9000000; ns += 100)
		sent += shunt_gen_is_due(&st, &pace, pace.interval, ns);
	cr_assert(st.seq == 0 && st.due >= (8999000ULL << SHUNT_GEN_PACE_SHIFT), "even again");
}

/* Threads are told when to begin, and may be asked before. */
Test(gen_frame, nothing_is_due_before_the_start)
{
	const struct shunt_gen_pace pace = {.interval = 1000 << SHUNT_GEN_PACE_SHIFT};
	struct shunt_gen_state st = {.start_ns = 5000};

	cr_assert(!shunt_gen_is_due(&st, &pace, pace.interval, 4999));
	cr_assert(st.due == 0 && st.late_max == 0);
	cr_assert(shunt_gen_is_due(&st, &pace, pace.interval, 5000));
	cr_assert(!shunt_gen_is_due(&st, &pace, pace.interval, 5999));
	cr_assert(shunt_gen_is_due(&st, &pace, pace.interval, 6000));
}
