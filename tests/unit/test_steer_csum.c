// SPDX-License-Identifier: BSD-2-Clause
/* Checksums that were left to a device are finished where a packet leaves, and nothing else is
 * touched. */
#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <string.h>

#include "steer_rig.h"

TestSuite(steer_csum, .timeout = 120);

#define LEN_MAX 1536

struct packet {
	uint8_t bytes[LEN_MAX];
	unsigned len, l3, l4, field; /* offsets of the headers and of layer 4's checksum */
	bool v6;
	uint8_t proto;
};

static uint32_t add(uint32_t sum, const uint8_t *p, unsigned len)
{
	unsigned i;

	for (i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	return len % 2 ? sum + ((uint32_t)p[i] << 8) : sum;
}

static uint16_t fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

static uint32_t pseudo(const struct packet *p)
{
	return add(p->proto + p->len - p->l4, p->bytes + p->l3 + (p->v6 ? 8 : 12), p->v6 ? 32 : 8);
}

static void put(struct packet *p, uint16_t checksum)
{
	p->bytes[p->field] = (uint8_t)(checksum >> 8);
	p->bytes[p->field + 1] = (uint8_t)checksum;
}

/* As the kernel's skb_checksum_help() does. */
static void put_whole(struct packet *p)
{
	uint16_t sum;

	put(p, 0);
	sum = (uint16_t)~fold(add(pseudo(p), p->bytes + p->l4, p->len - p->l4));
	put(p, sum ? sum : 0xffff);
}

static struct packet make(bool v6, uint8_t proto, unsigned tags, unsigned options, unsigned payload)
{
	struct packet p = {.v6 = v6, .proto = proto, .l3 = 14 + 4 * tags};
	uint8_t *ip = p.bytes + p.l3;
	unsigned i, l4_len = (proto == 6 ? 20 : 8) + payload, l3_len;

	p.l4 = p.l3 + (v6 ? 40 : 20 + options);
	p.len = p.l4 + l4_len;
	l3_len = v6 ? l4_len : p.len - p.l3;
	p.field = p.l4 + (proto == 6 ? 16 : 6);
	for (i = 0; i < p.len; i++)
		p.bytes[i] = (uint8_t)(i * 37 + (i >> 8));
	memcpy(p.bytes, "\x02\0\0\0\x01\x01\x02\0\0\0\x01\x02", 12);
	for (i = 0; i < tags; i++)
		memcpy(p.bytes + 12 + 4 * i, i + 1 < tags ? "\x88\xa8\0\x07" : "\x81\0\0\x08", 4);
	memcpy(p.bytes + p.l3 - 2, v6 ? "\x86\xdd" : "\x08", 2);
	if (v6) {
		memcpy(ip, "\x60\0\0\0", 4);
		ip[6] = proto;
		ip[7] = 64;
	} else {
		memcpy(ip, "\x45\0\0\0\0\1\0\0\x40\0\0\0", 12);
		ip[0] = (uint8_t)(0x45 + options / 4);
		ip[9] = proto;
	}
	ip[v6 ? 4 : 2] = (uint8_t)(l3_len >> 8);
	ip[v6 ? 5 : 3] = (uint8_t)l3_len;
	return p;
}

/* A rig whose frames go to a socket, which is enough of one to be redirected to. */
static void start(struct steer_rig *rig, unsigned lanes)
{
	const uint32_t queue = 0;

	steer_rig_start(rig, SHUNT_STEER_MODE_TRANSPARENT);
	if (rig->xsk_fd < 0)
		cr_skip_test("no AF_XDP here");
	cr_assert_eq(bpf_map_update_elem(bpf_map__fd(rig->skel->maps.shunt_xsks), &queue,
					 &rig->xsk_fd, 0),
		     0);
	rig->ctl->finishes = lanes;
}

/* Runs, as the frame that is looked at or not, and returns how many checksums were finished. */
static uint64_t run(struct steer_rig *rig, const struct packet *p, unsigned looks, uint8_t *out)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = p->bytes, .data_size_in = p->len,
		    .data_out = out, .data_size_out = LEN_MAX, .repeat = 1);
	struct shunt_steer_slot *slot = &rig->slots[0];
	const uint64_t before = slot->counters.csum_finished;

	slot->sample.csum_due = looks;
	cr_assert_eq(bpf_prog_test_run_opts(rig->prog_fd, &opts), 0);
	cr_assert_eq(opts.retval, XDP_REDIRECT);
	cr_assert_eq(opts.data_size_out, p->len);
	return slot->counters.csum_finished - before;
}

static void expect(struct steer_rig *rig, const struct packet *p, const struct packet *want,
		   const char *what)
{
	const bool is_same = !memcmp(p->bytes, want->bytes, p->len);
	uint8_t out[LEN_MAX];
	const uint64_t cnt = run(rig, p, 10, out);

	cr_expect_eq(cnt, !is_same, "%s: %u bytes, IPv%d, protocol %u: %lu finished", what, p->len,
		     p->v6 ? 6 : 4, p->proto, (unsigned long)cnt);
	cr_expect_arr_eq(out, want->bytes, p->len, "%s: %u bytes, IPv%d, protocol %u", what, p->len,
			 p->v6 ? 6 : 4, p->proto);
	cr_expect_eq(rig->slots[0].sample.csum_due, is_same ? 9 : SHUNT_STEER_CSUM_LOOKS, "%s",
		     what);
}

Test(steer_csum, what_was_left_to_a_device_is_finished)
{
	static const unsigned payloads[] = {0,	 1,   2,   3,	 10,   491,  492, 493,
					    503, 504, 505, 1003, 1016, 1017, 1400};
	struct steer_rig rig;
	unsigned i, k;

	start(&rig, 1 << SHUNT_LANE_USER);
	for (i = 0; i < 4 * 3 * 2; i++) {
		const bool v6 = i & 1;

		for (k = 0; k < sizeof(payloads) / sizeof(*payloads); k++) {
			struct packet p = make(v6, i & 2 ? 6 : 17, i / 4 % 3, v6 ? 0 : i / 12 * 8,
					       payloads[k]),
				      whole = p;

			put(&p, fold(pseudo(&p)));
			put_whole(&whole);
			expect(&rig, &p, &whole, "unfinished");
			expect(&rig, &whole, &whole, "whole");
			put(&p, (uint16_t)(fold(pseudo(&p)) + 1));
			expect(&rig, &p, &p, "wrong");
		}
	}
	steer_rig_fini(&rig);
}

/* One finished checksum in 65536 looks like an unfinished one. */
Test(steer_csum, one_that_looks_so_comes_to_the_same)
{
	struct packet p = make(false, 17, 0, 0, 10);
	struct steer_rig rig;
	uint8_t out[LEN_MAX];
	uint16_t rest;

	start(&rig, 1 << SHUNT_LANE_USER);
	/* the datagram's own words become such that the sum of all is the pseudo header's */
	put(&p, 0);
	memset(p.bytes + p.l4 + 8, 0, 2);
	rest = fold(add(2 * pseudo(&p), p.bytes + p.l4, p.len - p.l4));
	p.bytes[p.l4 + 8] = (uint8_t)((uint16_t)~rest >> 8);
	p.bytes[p.l4 + 9] = (uint8_t)~rest;
	put_whole(&p);
	cr_assert_eq(p.bytes[p.field] << 8 | p.bytes[p.field + 1], fold(pseudo(&p)));
	cr_expect_eq(run(&rig, &p, 10, out), 1);
	cr_expect_arr_eq(out, p.bytes, p.len);
	steer_rig_fini(&rig);
}

Test(steer_csum, what_has_none_is_not_touched)
{
	struct steer_rig rig;
	struct packet p;

	start(&rig, 1 << SHUNT_LANE_USER);
	p = make(false, 1, 0, 0, 60);
	expect(&rig, &p, &p, "ICMP");
	p = make(false, 17, 0, 0, 60);
	p.bytes[21] = 1;
	put(&p, fold(pseudo(&p)));
	expect(&rig, &p, &p, "a later fragment");
	p.bytes[21] = 0;
	p.bytes[20] = 0x20;
	expect(&rig, &p, &p, "a first fragment");
	p = make(false, 6, 0, 0, 60);
	put(&p, fold(pseudo(&p)));
	p.len -= 4;
	expect(&rig, &p, &p, "cut behind the field");
	p.len = p.field + 1;
	expect(&rig, &p, &p, "cut in the field");
	p = make(true, 17, 0, 0, 60);
	put(&p, fold(pseudo(&p)));
	p.len = 40;
	expect(&rig, &p, &p, "cut in IPv6's header");
	p = make(true, 17, 2, 0, 60);
	put(&p, fold(pseudo(&p)));
	p.len = 20;
	expect(&rig, &p, &p, "cut in the tags");
	p = make(false, 17, 0, 0, 60);
	memset(p.bytes + 16, 0, 2); /* no length */
	put(&p, fold(add(17 + 0xffff - 19, p.bytes + 26, 8)));
	expect(&rig, &p, &p, "shorter than its header");
	steer_rig_fini(&rig);
}

Test(steer_csum, where_nobody_asks_it_is_not_touched)
{
	struct packet p = make(false, 6, 0, 0, 60);
	struct steer_rig rig;
	uint8_t out[LEN_MAX];

	put(&p, fold(pseudo(&p)));
	start(&rig, 1 << SHUNT_LANE_XDP);
	cr_expect_eq(run(&rig, &p, 10, out), 0);
	cr_expect_eq(rig.slots[0].sample.csum_due, 9);
	cr_expect_arr_eq(out, p.bytes, p.len, "another lane's");
	rig.ctl->finishes = 1 << SHUNT_LANE_USER;
	cr_expect_eq(run(&rig, &p, 0, out), 0);
	cr_expect_arr_eq(out, p.bytes, p.len, "none due");
	steer_rig_fini(&rig);
}
