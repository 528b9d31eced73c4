// SPDX-License-Identifier: BSD-2-Clause
/* Checksums that were left to a device are told from finished ones. */
#include <criterion/criterion.h>
#include <string.h>

#include "steer_rig.h"

TestSuite(steer_csum, .timeout = 20);

struct packet {
	uint8_t bytes[120];
	unsigned len, l4, field; /* offsets of the layer 4 header and of its checksum */
	bool v6;
	uint8_t proto;
};

static uint32_t add(uint32_t sum, const uint8_t *p, unsigned len)
{
	unsigned i;

	for (i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

static uint32_t pseudo(const struct packet *p)
{
	return add(p->proto + p->len - p->l4, p->bytes + (p->v6 ? 22 : 26), p->v6 ? 32 : 8);
}

static void put(struct packet *p, uint16_t checksum)
{
	p->bytes[p->field] = (uint8_t)(checksum >> 8);
	p->bytes[p->field + 1] = (uint8_t)checksum;
}

static struct packet make(bool v6, uint8_t proto)
{
	struct packet p = {.len = 120, .v6 = v6, .proto = proto, .l4 = v6 ? 54 : 34};
	uint8_t *ip = p.bytes + 14;
	unsigned i;

	p.field = p.l4 + (proto == 6 ? 16 : 6);
	for (i = 0; i < p.len; i++)
		p.bytes[i] = (uint8_t)(i * 37);
	memcpy(p.bytes, "\x02\0\0\0\x01\x01\x02\0\0\0\x01\x02", 12);
	p.bytes[12] = v6 ? 0x86 : 8;
	p.bytes[13] = v6 ? 0xdd : 0;
	if (v6) {
		memcpy(ip, "\x60\0\0\0\0\x42\0\x40", 8);
		ip[6] = proto;
	} else {
		memcpy(ip, "\x45\0\0\x6a\0\1\0\0\x40\0\0\0", 12);
		ip[9] = proto;
	}
	return p;
}

static void expect(struct steer_rig *rig, const struct packet *p, unsigned l4, unsigned unfinished,
		   const char *what)
{
	struct shunt_steer_sample *s = &rig->slots[0].sample;

	s->due = 1;
	s->l4 = s->unfinished = 0;
	steer_rig_run(rig, p->bytes, p->len);
	cr_expect_eq(s->l4, l4, "%s, IPv%d, protocol %u", what, p->v6 ? 6 : 4, p->proto);
	cr_expect_eq(s->unfinished, unfinished, "%s, IPv%d, protocol %u", what, p->v6 ? 6 : 4,
		     p->proto);
}

Test(steer_csum, what_was_left_to_a_device)
{
	static const uint8_t protos[] = {6, 17};
	struct steer_rig rig;
	unsigned v6, i;

	steer_rig_start(&rig, SHUNT_STEER_MODE_XCONNECT);
	for (v6 = 0; v6 < 2; v6++) {
		for (i = 0; i < 2; i++) {
			struct packet p = make(v6, protos[i]);

			put(&p, fold(pseudo(&p)));
			expect(&rig, &p, 1, 1, "unfinished");
			put(&p, 0);
			put(&p, (uint16_t)~fold(add(pseudo(&p), p.bytes + p.l4, p.len - p.l4)));
			expect(&rig, &p, 1, 0, "whole");
			put(&p, (uint16_t)(fold(pseudo(&p)) + 1));
			expect(&rig, &p, 1, 0, "wrong");
		}
	}
	steer_rig_fini(&rig);
}

Test(steer_csum, what_has_none_is_not_looked_at)
{
	struct steer_rig rig;
	struct packet p;

	steer_rig_start(&rig, SHUNT_STEER_MODE_XCONNECT);
	p = make(false, 1);
	expect(&rig, &p, 0, 0, "ICMP");
	p = make(false, 17);
	p.bytes[21] = 1; /* a later fragment */
	put(&p, fold(pseudo(&p)));
	expect(&rig, &p, 0, 0, "fragment");
	p = make(false, 6);
	p.len = 50; /* its end is missing */
	expect(&rig, &p, 0, 0, "cut");
	p = make(true, 17);
	p.len = 40;
	expect(&rig, &p, 0, 0, "cut");
	steer_rig_fini(&rig);
}
