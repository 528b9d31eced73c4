// SPDX-License-Identifier: BSD-2-Clause
#include "frame_ip.h"

#include <string.h>

#define COUNT(a) ((unsigned)(sizeof(a) / sizeof((a)[0])))

void parity_fill(struct parity_rng *rng, uint8_t *p, unsigned len)
{
	for (; len >= 8; len -= 8, p += 8) {
		uint64_t v = parity_rand(rng);

		memcpy(p, &v, 8);
	}
	while (len--)
		*p++ = (uint8_t)parity_rand(rng);
}

uint16_t parity_sum(const uint8_t *p, unsigned len, uint32_t start)
{
	uint64_t sum = start;

	for (; len > 1; len -= 2, p += 2)
		sum += (uint32_t)(p[0] << 8 | p[1]);
	if (len)
		sum += (uint32_t)p[0] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

uint32_t parity_pseudo_sum(const uint8_t *addrs, unsigned len, unsigned proto, unsigned l4_len)
{
	return (uint16_t)~parity_sum(addrs, len, 0) + proto + l4_len;
}

/* Sizes as they come, and around every MTU of the world: 900, 1000, 1280, 1290, 1300, 1500. */
static unsigned pick_size(struct parity_rng *rng, unsigned least, unsigned max)
{
	static const uint16_t edges[] = {900, 1000, 1280, 1290, 1300, 1500};
	unsigned roll = parity_below(rng, 100), size;

	if (roll < 55)
		size = least + parity_below(rng, 64);
	else if (roll < 80)
		size = 64 + parity_below(rng, 500);
	else if (roll < 90)
		size = 500 + parity_below(rng, 1000);
	else
		size = edges[parity_below(rng, COUNT(edges))] + parity_below(rng, 9) - 4;
	size = size < least ? least : size;
	return size > max ? max : size;
}

static unsigned pick_ttl(struct parity_rng *rng)
{
	static const uint8_t edges[] = {0, 1, 1, 2, 255};

	if (parity_chance(rng, 85))
		return 64;
	return parity_chance(rng, 80) ? edges[parity_below(rng, COUNT(edges))]
				      : parity_below(rng, 256);
}

/* --- layer 4 --- */

static void write_udp(struct parity_rng *rng, uint8_t *p, unsigned len, uint32_t pseudo)
{
	unsigned sum;

	if (len < 8)
		return;
	parity_put16(p + 4, len);
	parity_put16(p + 6, 0);
	sum = parity_sum(p, len, pseudo);
	parity_put16(p + 6, sum ? sum : 0xffff);
	if (parity_chance(rng, 5))
		parity_put16(p + 6, parity_below(rng, 3));
}

static void write_tcp(struct parity_rng *rng, uint8_t *p, unsigned len, uint32_t pseudo)
{
	if (len < 20)
		return;
	p[12] = (uint8_t)(parity_chance(rng, 95) ? 0x50 : parity_rand(rng));
	parity_put16(p + 16, 0);
	parity_put16(p + 16, parity_sum(p, len, pseudo));
}

static void write_icmp(struct parity_rng *rng, uint8_t *p, unsigned len, uint32_t pseudo, bool v6)
{
	static const uint8_t types4[] = {8, 8, 8, 8, 0, 3, 4, 5, 9, 10, 11, 12, 13, 14, 15, 17, 42};
	static const uint8_t types6[] = {128, 128, 128, 128, 129, 1,   2,   3,	 4,  133,
					 135, 136, 137, 130, 132, 139, 160, 100, 200};

	if (len < 8)
		return;
	p[0] = v6 ? types6[parity_below(rng, COUNT(types6))]
		  : types4[parity_below(rng, COUNT(types4))];
	p[1] = (uint8_t)(parity_chance(rng, 80) ? 0 : parity_below(rng, 16));
	parity_put16(p + 2, 0);
	parity_put16(p + 2, parity_sum(p, len, pseudo));
	if (parity_chance(rng, 3))
		p[2] ^= 1;
}

static void write_l4(struct parity_rng *rng, unsigned proto, uint8_t *p, unsigned len,
		     uint32_t pseudo)
{
	parity_fill(rng, p, len);
	if (proto == 17)
		write_udp(rng, p, len, pseudo);
	else if (proto == 6)
		write_tcp(rng, p, len, pseudo);
	else if (proto == 1)
		write_icmp(rng, p, len, 0, false);
	else if (proto == 58)
		write_icmp(rng, p, len, pseudo, true);
}

static unsigned pick_proto(struct parity_rng *rng, unsigned icmp)
{
	static const uint8_t others[] = {0,  1,	 2,  4,	  41,  47,  50, 51,
					 58, 59, 89, 103, 112, 132, 255};
	unsigned roll = parity_below(rng, 100);

	if (roll < 45)
		return 17;
	if (roll < 70)
		return 6;
	return roll < 90 ? icmp : others[parity_below(rng, COUNT(others))];
}

/* --- IPv4 --- */

/* Options in words of four bytes; returns the count. Lengths and pointers are right mostly. */
static unsigned write_options(struct parity_rng *rng, uint8_t *p)
{
	static const uint8_t kinds[] = {1, 7, 68, 131, 137, 148, 130, 136, 0, 200};
	unsigned words = 1 + parity_below(rng, 10), len = words * 4;
	uint8_t kind = kinds[parity_below(rng, COUNT(kinds))];

	memset(p, 1, len);
	if (kind < 2) {
		memset(p, kind, len);
		return words;
	}
	if (kind == 148)
		len = 4;
	else if (kind != 68)
		len--;
	parity_fill(rng, p, len);
	p[0] = kind;
	p[1] = (uint8_t)len;
	p[2] = kind == 148 ? 0 : kind == 68 ? 5 : 4;
	p[3] = kind == 68 || kind == 148 ? 0 : p[3];
	if (parity_chance(rng, 15))
		p[1 + parity_below(rng, 2)] = (uint8_t)parity_rand(rng);
	return words;
}

static void spoil_ip4(struct parity_rng *rng, uint8_t *p, unsigned header_len)
{
	static const uint16_t lens[] = {0, 19, 20, 21, 28, 0xffff};

	switch (parity_below(rng, 30)) {
	case 0:
		p[0] = (uint8_t)parity_rand(rng);
		break;
	case 1:
		p[0] = (uint8_t)(0x40 | parity_below(rng, 16));
		break;
	case 2:
		parity_put16(p + 2, lens[parity_below(rng, COUNT(lens))]);
		break;
	case 3:
		parity_put16(p + 2, (unsigned)(p[2] << 8 | p[3]) + parity_below(rng, 41) - 20);
		break;
	default:
		break;
	}
	parity_put16(p + 10, 0);
	parity_put16(p + 10, parity_sum(p, header_len, 0));
	if (parity_chance(rng, 2))
		p[10 + parity_below(rng, 2)] ^= (uint8_t)(1 + parity_below(rng, 255));
}

static void write_fragment(struct parity_rng *rng, uint8_t *p)
{
	unsigned roll = parity_below(rng, 100), field = 0;

	if (roll < 30)
		field = 0x4000;
	else if (roll < 35)
		field = 0x2000;
	else if (roll < 40)
		field = (parity_chance(rng, 50) ? 0x2000 : 0) | (1 + parity_below(rng, 200));
	else if (roll < 41)
		field = (unsigned)parity_rand(rng) & 0xffff;
	parity_put16(p + 6, field);
}

unsigned parity_write_ip4(struct parity_rng *rng, const struct parity_frame *frame, uint8_t *p,
			  unsigned max)
{
	unsigned header_len = 20, len, proto = pick_proto(rng, 1);

	if (parity_chance(rng, 6))
		header_len += 4 * write_options(rng, p + 20);
	len = pick_size(rng, header_len, max);
	p[0] = (uint8_t)(0x40 | header_len / 4);
	p[1] = (uint8_t)(parity_chance(rng, 80) ? 0 : parity_rand(rng));
	parity_put16(p + 2, len);
	parity_put16(p + 4, (unsigned)parity_rand(rng));
	write_fragment(rng, p);
	p[8] = (uint8_t)pick_ttl(rng);
	p[9] = (uint8_t)proto;
	parity_pick_src(rng, false, frame->port, frame->vrf, p + 12);
	parity_pick_dst(rng, false, p + 16);
	write_l4(rng, proto, p + header_len, len - header_len,
		 parity_pseudo_sum(p + 12, 8, proto, len - header_len));
	spoil_ip4(rng, p, header_len);
	return len;
}

/* --- IPv6 --- */

/* An options header, hop-by-hop or destination: padding, router alert, jumbo, unknown ones. */
static unsigned write_options6(struct parity_rng *rng, uint8_t *p)
{
	static const uint8_t kinds[] = {1, 1, 5, 0xc2, 0x3e, 0x7e, 0xbe, 0xfe, 0x07};
	uint8_t kind = kinds[parity_below(rng, COUNT(kinds))];
	unsigned len = 8 + 8 * (kind == 0x07);

	memset(p + 2, 0, len - 2);
	p[1] = (uint8_t)(len / 8 - 1);
	p[2] = kind;
	p[3] = kind == 5 ? 2 : (uint8_t)(len - 4);
	if (kind == 5) {
		p[6] = 1;
		p[7] = 0;
	}
	if (parity_chance(rng, 10))
		p[1 + parity_below(rng, 3)] = (uint8_t)parity_rand(rng);
	return len;
}

static unsigned write_extension(struct parity_rng *rng, unsigned kind, uint8_t *p)
{
	static const uint8_t routing_types[] = {0, 2, 3, 4, 100};

	switch (kind) {
	case 0:
	case 60:
		return write_options6(rng, p);
	case 43:
		parity_fill(rng, p + 1, 23);
		p[1] = 2;
		p[2] = routing_types[parity_below(rng, COUNT(routing_types))];
		p[3] = (uint8_t)parity_below(rng, 2);
		return 24;
	case 44:
		parity_fill(rng, p + 1, 7);
		parity_put16(p + 2, parity_chance(rng, 50) ? 1 : parity_below(rng, 200) * 8);
		return 8;
	default: /* authentication header */
		parity_fill(rng, p + 1, 15);
		p[1] = 2;
		return 16;
	}
}

/* Up to three extension headers behind the fixed one; returns their length. */
static unsigned write_chain(struct parity_rng *rng, uint8_t *p, unsigned proto)
{
	static const uint8_t kinds[] = {0, 60, 43, 44, 51, 60, 0};
	unsigned cnt = parity_chance(rng, 15) ? 1 + parity_below(rng, 3) : 0, len = 0;
	uint8_t *next = p + 6;

	while (cnt--) {
		uint8_t kind = kinds[parity_below(rng, COUNT(kinds))];
		uint8_t *header = p + 40 + len;

		*next = kind;
		next = header;
		len += write_extension(rng, kind, header);
	}
	*next = (uint8_t)proto;
	return len;
}

static void spoil_ip6(struct parity_rng *rng, uint8_t *p)
{
	static const uint16_t lens[] = {0, 1, 7, 8, 40, 0xffff};

	switch (parity_below(rng, 30)) {
	case 0:
		p[0] = (uint8_t)parity_rand(rng);
		break;
	case 1:
		parity_put16(p + 4, lens[parity_below(rng, COUNT(lens))]);
		break;
	case 2:
		parity_put16(p + 4, (unsigned)(p[4] << 8 | p[5]) + parity_below(rng, 41) - 20);
		break;
	default:
		break;
	}
}

unsigned parity_write_ip6(struct parity_rng *rng, const struct parity_frame *frame, uint8_t *p,
			  unsigned max)
{
	unsigned proto = pick_proto(rng, 58), len, chain_len;

	chain_len = write_chain(rng, p, proto);
	len = pick_size(rng, 40 + chain_len, max);
	p[0] = 0x60;
	if (parity_chance(rng, 20))
		parity_fill(rng, p + 1, 3);
	parity_put16(p + 4, len - 40);
	p[7] = (uint8_t)pick_ttl(rng);
	parity_pick_src(rng, true, frame->port, frame->vrf, p + 8);
	parity_pick_dst(rng, true, p + 24);
	if (p[24] == 0xfe && parity_chance(rng, 50))
		p[7] = 255; /* as neighbour discovery has it */
	write_l4(rng, proto, p + 40 + chain_len, len - 40 - chain_len,
		 parity_pseudo_sum(p + 8, 32, proto, len - 40 - chain_len));
	spoil_ip6(rng, p);
	return len;
}
