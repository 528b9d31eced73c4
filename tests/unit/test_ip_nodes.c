// SPDX-License-Identifier: BSD-2-Clause
/* The IP nodes: a good packet, each field broken in turn, and a seeded random run against a
 * router written naively from the kernel's sources. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "graph/nodes.h"
#include "ip_rig.h"
#include "measure/rng.h"

#define SEED	   20260101u
#define RANDOM_CNT 400000u
#define IP	   14u /* where the network header starts */

struct frame {
	uint8_t bytes[IP_RIG_FRAME_MAX];
	uint32_t len;
};

/* --- frames ----------------------------------------------------------------------------------- */

static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static unsigned get16(const uint8_t *p)
{
	return (unsigned)(p[0] << 8 | p[1]);
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

static uint32_t get32(const uint8_t *p)
{
	return get16(p) << 16 | get16(p + 2);
}

/* RFC 1071, byte by byte. */
static unsigned naive_sum(const uint8_t *p, unsigned len)
{
	uint32_t sum = 0;
	unsigned i;

	for (i = 0; i + 1 < len; i += 2)
		sum += get16(p + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void seal4(struct frame *f)
{
	uint8_t *ip = f->bytes + IP;
	unsigned len = SHUNT_MIN((ip[0] & 15u) * 4, f->len - IP);

	put16(ip + 10, 0);
	put16(ip + 10, ~naive_sum(ip, len) & 0xffff);
}

static struct frame frame4(uint32_t dst, uint32_t l3_len, uint32_t frame_len)
{
	struct frame f = {.len = frame_len};
	uint8_t *ip = f.bytes + IP;

	memcpy(f.bytes, ip_rig_mac, 6);
	memcpy(f.bytes + 6, "\x02\0\0\0\0\x77\x08\0", 8);
	ip[0] = 0x45;
	ip[1] = 0x28;
	put16(ip + 2, l3_len);
	ip[8] = 64;
	ip[9] = IPPROTO_UDP;
	put32(ip + 12, 0xc6120001); /* 198.18.0.1 */
	put32(ip + 16, dst);
	seal4(&f);
	return f;
}

static struct frame frame6(unsigned net, uint32_t l3_len, uint32_t frame_len)
{
	struct frame f = {.len = frame_len};
	uint8_t *ip = f.bytes + IP;

	memcpy(f.bytes, ip_rig_mac, 6);
	memcpy(f.bytes + 6, "\x02\0\0\0\0\x77\x86\xdd", 8);
	ip[0] = 0x62;
	ip[1] = 0x81;
	put16(ip + 4, l3_len - 40);
	ip[6] = IPPROTO_UDP;
	ip[7] = 64;
	memcpy(ip + 8, "\x20\x01\x0d\xb8\xff\xff\0\0\0\0\0\0\0\0\0\x05", 16);
	memcpy(ip + 24, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x09", 16);
	ip[29] = (uint8_t)net;
	return f;
}

/* --- the oracle ------------------------------------------------------------------------------- */

struct expected {
	enum ip_fate fate;
	unsigned reason;
	unsigned net; /* sent: by which adjacency; IP_RIG_GROUP: one of two */
	uint32_t len;
};

static struct expected dropped(enum shunt_drop reason)
{
	return (struct expected){.fate = IP_DROPPED, .reason = reason};
}

static struct expected punted(enum shunt_punt reason)
{
	return (struct expected){.fate = IP_PUNTED, .reason = reason};
}

static struct expected naive_send(unsigned net, uint32_t l3_len)
{
	switch (net) {
	case IP_RIG_GLEAN:
		return punted(SHUNT_PUNT_glean);
	case IP_RIG_LOCAL:
		return punted(SHUNT_PUNT_local);
	case IP_RIG_PUNT:
		return punted(SHUNT_PUNT_other_path);
	case IP_RIG_BLACKHOLE:
		return dropped(SHUNT_DROP_blackhole);
	case IP_RIG_UNREACHABLE:
		return punted(SHUNT_PUNT_unreachable);
	case IP_RIG_PROHIBIT:
		return punted(SHUNT_PUNT_prohibit);
	case IP_RIG_NARROW:
		if (l3_len > 100)
			return punted(SHUNT_PUNT_too_big);
		break;
	default:
		if (l3_len > 1500)
			return punted(SHUNT_PUNT_too_big);
		if (net == IP_RIG_BACK)
			return punted(SHUNT_PUNT_redirect);
	}
	return (struct expected){.fate = IP_SENT, .net = net, .len = IP + l3_len};
}

static struct expected naive_ip4(const uint8_t *ip, uint32_t len)
{
	unsigned words = ip[0] & 15, total;
	uint32_t src, dst;

	if (len < 20)
		return dropped(SHUNT_DROP_truncated);
	if (words < 5 || ip[0] >> 4 != 4)
		return dropped(SHUNT_DROP_bad_header);
	if (len < words * 4)
		return dropped(SHUNT_DROP_truncated);
	if (naive_sum(ip, words * 4) != 0xffff)
		return dropped(SHUNT_DROP_bad_checksum);
	total = get16(ip + 2);
	if (len < total)
		return dropped(SHUNT_DROP_truncated);
	if (total < words * 4)
		return dropped(SHUNT_DROP_bad_header);
	if (words > 5)
		return punted(SHUNT_PUNT_options);
	src = get32(ip + 12);
	dst = get32(ip + 16);
	if (src >> 24 == 0 || src >> 24 == 127 || src >> 28 == 14 || src == UINT32_MAX ||
	    dst >> 24 == 0 || dst >> 24 == 127 || dst >> 28 == 14 || dst == UINT32_MAX)
		return punted(SHUNT_PUNT_address);
	if (src == IP_RIG_OWN)
		return punted(SHUNT_PUNT_own_source);
	if (ip[8] < 2)
		return punted(SHUNT_PUNT_expired);
	if (dst >> 24 == 10)
		return naive_send((dst >> 16 & 255) < IP_RIG_NET_CNT ? dst >> 16 & 255 : 0, total);
	return dst >> 28 == 15 ? naive_send(IP_RIG_FAR, total) : punted(SHUNT_PUNT_noroute);
}

static bool naive_special6(const uint8_t *addr)
{
	static const uint8_t zeros[8];

	return addr[0] == 0xff || (addr[0] == 0xfe && addr[1] >= 0x80 && addr[1] < 0xc0) ||
	       !memcmp(addr, zeros, 8);
}

static struct expected naive_ip6(const uint8_t *ip, uint32_t len)
{
	if (len < 40)
		return dropped(SHUNT_DROP_truncated);
	if (ip[0] >> 4 != 6)
		return dropped(SHUNT_DROP_bad_header);
	if (ip[6] == 0)
		return punted(SHUNT_PUNT_options);
	if (naive_special6(ip + 8) || naive_special6(ip + 24))
		return punted(SHUNT_PUNT_address);
	if (get16(ip + 4) + 40 > len)
		return dropped(SHUNT_DROP_truncated);
	if (ip[7] < 2)
		return punted(SHUNT_PUNT_expired);
	if (memcmp(ip + 24, "\x20\x01\x0d\xb8", 4))
		return punted(SHUNT_PUNT_noroute);
	return naive_send(!ip[28] && ip[29] < IP_RIG_NET_CNT ? ip[29] : 0, get16(ip + 4) + 40);
}

static struct expected naive_route(const struct frame *f)
{
	if (memcmp(f->bytes, ip_rig_mac, 6))
		return punted(SHUNT_PUNT_other_mac);
	if (get16(f->bytes + 12) == 0x0800)
		return naive_ip4(f->bytes + IP, f->len - IP);
	if (get16(f->bytes + 12) == 0x86dd)
		return naive_ip6(f->bytes + IP, f->len - IP);
	if ((get16(f->bytes + 12) == 0x8100 || get16(f->bytes + 12) == 0x88a8) && f->len >= 22)
		return punted(SHUNT_PUNT_no_device);
	return punted(SHUNT_PUNT_not_ip);
}

/* The bytes that leave, but for the Ethernet header. */
static void naive_rewrite(uint8_t *ip)
{
	if (ip[0] >> 4 == 6) {
		ip[7]--;
		return;
	}
	ip[8]--;
	put16(ip + 10, 0);
	put16(ip + 10, ~naive_sum(ip, 20) & 0xffff);
}

static bool eth_is(const struct ip_outcome *out, const struct frame *f, unsigned net)
{
	if (net == IP_RIG_GROUP)
		return eth_is(out, f, IP_RIG_FAR) || eth_is(out, f, IP_RIG_NEAR);
	return out->port == ip_rig_adjs[net].port &&
	       !memcmp(out->bytes, ip_rig_adjs[net].eth, 12) &&
	       !memcmp(out->bytes + 12, f->bytes + 12, 2);
}

static void compare(const struct ip_outcome *out, const struct expected *want,
		    const struct frame *f, const char *what)
{
	struct frame copy = *f;

	cr_assert_eq(out->fate, want->fate, "%s: fate %u reason %u, expected %u %u", what,
		     out->fate, out->reason, want->fate, want->reason);
	if (out->fate != IP_SENT) {
		cr_assert_eq(out->reason, want->reason, "%s: reason %u, expected %u", what,
			     out->reason, want->reason);
		return;
	}
	naive_rewrite(copy.bytes + IP);
	cr_assert_eq(out->len, want->len, "%s: %u bytes, expected %u", what, out->len, want->len);
	cr_assert(eth_is(out, f, want->net), "%s: wrong Ethernet header", what);
	cr_assert_arr_eq(out->bytes + IP, copy.bytes + IP, SHUNT_MIN(want->len, f->len) - IP,
			 "%s: wrong bytes behind the Ethernet header", what);
}

static void check(struct ip_rig *rig, const struct frame *f, const char *what)
{
	struct expected want = naive_route(f);

	compare(ip_rig_run(rig, f->bytes, f->len), &want, f, what);
}

/* --- tables of packets ------------------------------------------------------------------------ */

/* Expected outcomes are spelt out here, so that the oracle is checked too. */
struct case4 {
	const char *what;
	unsigned at; /* offset from the network header; 0xff: nothing is changed */
	uint8_t value[4];
	unsigned len;  /* of value */
	bool keep_sum; /* leave the checksum as it was */
	struct expected want;
};

#define SENT(dest)                                                    \
	{                                                             \
		.fate = IP_SENT, .net = IP_RIG_##dest, .len = 14 + 46 \
	}
#define PUNTED(name)                                           \
	{                                                      \
		.fate = IP_PUNTED, .reason = SHUNT_PUNT_##name \
	}
#define DROPPED(name)                                           \
	{                                                       \
		.fate = IP_DROPPED, .reason = SHUNT_DROP_##name \
	}

static const struct case4 cases4[] = {
	{"good", 0xff, {0}, 0, 0, SENT(FAR)},
	{"version 5", 0, {0x55}, 1, 0, DROPPED(bad_header)},
	{"version 6", 0, {0x65}, 1, 0, DROPPED(bad_header)},
	{"four words", 0, {0x44}, 1, 0, DROPPED(bad_header)},
	{"no word", 0, {0x40}, 1, 0, DROPPED(bad_header)},
	{"fifteen words in 46 bytes", 0, {0x4f}, 1, 0, DROPPED(truncated)},
	{"options", 0, {0x46}, 1, 0, PUNTED(options)},
	{"options, wrong checksum", 0, {0x46}, 1, 1, DROPPED(bad_checksum)},
	{"checksum", 10, {0x12, 0x34}, 2, 1, DROPPED(bad_checksum)},
	{"checksum 0", 10, {0, 0}, 2, 1, DROPPED(bad_checksum)},
	{"checksum 0xffff", 10, {0xff, 0xff}, 2, 1, DROPPED(bad_checksum)},
	{"TTL without its checksum", 8, {63}, 1, 1, DROPPED(bad_checksum)},
	{"one byte too long", 2, {0, 47}, 2, 0, DROPPED(truncated)},
	{"far too long", 2, {0xff, 0xff}, 2, 0, DROPPED(truncated)},
	{"shorter than its header", 2, {0, 19}, 2, 0, DROPPED(bad_header)},
	{"length 0", 2, {0, 0}, 2, 0, DROPPED(bad_header)},
	{"TTL 0", 8, {0}, 1, 0, PUNTED(expired)},
	{"TTL 1", 8, {1}, 1, 0, PUNTED(expired)},
	{"TTL 2", 8, {2}, 1, 0, SENT(FAR)},
	{"TTL 255", 8, {255}, 1, 0, SENT(FAR)},
	{"source 0.0.0.1", 12, {0, 0, 0, 1}, 4, 0, PUNTED(address)},
	{"source 127.0.0.1", 12, {127, 0, 0, 1}, 4, 0, PUNTED(address)},
	{"source 224.0.0.1", 12, {224, 0, 0, 1}, 4, 0, PUNTED(address)},
	{"source 239.255.255.255", 12, {239, 255, 255, 255}, 4, 0, PUNTED(address)},
	{"source 255.255.255.255", 12, {255, 255, 255, 255}, 4, 0, PUNTED(address)},
	{"source 240.0.0.1", 12, {240, 0, 0, 1}, 4, 0, SENT(FAR)},
	{"source 255.255.255.254", 12, {255, 255, 255, 254}, 4, 0, SENT(FAR)},
	{"source 223.255.255.255", 12, {223, 255, 255, 255}, 4, 0, SENT(FAR)},
	{"source is our own", 12, {192, 0, 2, 1}, 4, 0, PUNTED(own_source)},
	{"source is our neighbour", 12, {192, 0, 2, 2}, 4, 0, SENT(FAR)},
	{"to 0.0.0.0", 16, {0, 0, 0, 0}, 4, 0, PUNTED(address)},
	{"to 127.1.2.3", 16, {127, 1, 2, 3}, 4, 0, PUNTED(address)},
	{"to 232.1.1.1", 16, {232, 1, 1, 1}, 4, 0, PUNTED(address)},
	{"to 255.255.255.255", 16, {255, 255, 255, 255}, 4, 0, PUNTED(address)},
	{"to 250.1.1.1", 16, {250, 1, 1, 1}, 4, 0, SENT(FAR)},
	{"to 255.1.1.1", 16, {255, 1, 1, 1}, 4, 0, SENT(FAR)},
	{"near", 16, {10, IP_RIG_NEAR, 0, 1}, 4, 0, SENT(NEAR)},
	{"glean", 16, {10, IP_RIG_GLEAN, 0, 1}, 4, 0, PUNTED(glean)},
	{"local", 16, {10, IP_RIG_LOCAL, 0, 1}, 4, 0, PUNTED(local)},
	{"punt", 16, {10, IP_RIG_PUNT, 0, 1}, 4, 0, PUNTED(other_path)},
	{"blackhole", 16, {10, IP_RIG_BLACKHOLE, 0, 1}, 4, 0, DROPPED(blackhole)},
	{"unreachable", 16, {10, IP_RIG_UNREACHABLE, 0, 1}, 4, 0, PUNTED(unreachable)},
	{"prohibit", 16, {10, IP_RIG_PROHIBIT, 0, 1}, 4, 0, PUNTED(prohibit)},
	{"back", 16, {10, IP_RIG_BACK, 0, 1}, 4, 0, PUNTED(redirect)},
	{"narrow", 16, {10, IP_RIG_NARROW, 0, 1}, 4, 0, SENT(NARROW)},
	{"group", 16, {10, IP_RIG_GROUP, 0, 1}, 4, 0, SENT(GROUP)},
	{"no route", 16, {11, 0, 0, 1}, 4, 0, PUNTED(noroute)},
};

Test(ip_nodes, ip4_field_by_field)
{
	struct ip_rig *rig = ip_rig_create(0);
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(cases4); i++) {
		const struct case4 *c = &cases4[i];
		struct frame f = frame4(0x0a6f0001, 46, 60);

		memcpy(f.bytes + IP + (c->at == 0xff ? 0 : c->at), c->value, c->len);
		if (!c->keep_sum)
			seal4(&f);
		compare(ip_rig_run(rig, f.bytes, f.len), &c->want, &f, c->what);
		check(rig, &f, c->what);
	}
	ip_rig_destroy(rig);
}

struct case6 {
	const char *what;
	unsigned at;
	uint8_t value[16];
	unsigned len;
	struct expected want;
};

static const struct case6 cases6[] = {
	{"good", 0xff, {0}, 0, SENT(FAR)},
	{"version 4", 0, {0x42}, 1, DROPPED(bad_header)},
	{"one byte too long", 4, {0, 7}, 2, DROPPED(truncated)},
	{"far too long", 4, {0xff, 0xff}, 2, DROPPED(truncated)},
	{"hop-by-hop", 6, {0}, 1, PUNTED(options)},
	{"routing header", 6, {43}, 1, SENT(FAR)},
	{"hop limit 0", 7, {0}, 1, PUNTED(expired)},
	{"hop limit 1", 7, {1}, 1, PUNTED(expired)},
	{"hop limit 2", 7, {2}, 1, SENT(FAR)},
	{"source ::", 8, {0}, 16, PUNTED(address)},
	{"source ::1", 8, {[15] = 1}, 16, PUNTED(address)},
	{"source ::ffff:1.2.3.4", 8, {[10] = 255, 255, 1, 2, 3, 4}, 16, PUNTED(address)},
	{"source 64:ff9b::1", 8, {0, 0x64, 0xff, 0x9b, [15] = 1}, 16, SENT(FAR)},
	{"source fe80::1", 8, {0xfe, 0x80, [15] = 1}, 16, PUNTED(address)},
	{"source fec0::1", 8, {0xfe, 0xc0, [15] = 1}, 16, SENT(FAR)},
	{"source fd00::1", 8, {0xfd, [15] = 1}, 16, SENT(FAR)},
	{"source ff02::1", 8, {0xff, 2, [15] = 1}, 16, PUNTED(address)},
	{"to ::1", 24, {[15] = 1}, 16, PUNTED(address)},
	{"to fe80::1", 24, {0xfe, 0x80, [15] = 1}, 16, PUNTED(address)},
	{"to ff02::1", 24, {0xff, 2, [15] = 1}, 16, PUNTED(address)},
	{"near", 29, {IP_RIG_NEAR}, 1, SENT(NEAR)},
	{"glean", 29, {IP_RIG_GLEAN}, 1, PUNTED(glean)},
	{"local", 29, {IP_RIG_LOCAL}, 1, PUNTED(local)},
	{"blackhole", 29, {IP_RIG_BLACKHOLE}, 1, DROPPED(blackhole)},
	{"back", 29, {IP_RIG_BACK}, 1, PUNTED(redirect)},
	{"group", 29, {IP_RIG_GROUP}, 1, SENT(GROUP)},
	{"no route", 24, {0x30}, 1, PUNTED(noroute)},
};

Test(ip_nodes, ip6_field_by_field)
{
	struct ip_rig *rig = ip_rig_create(0);
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(cases6); i++) {
		const struct case6 *c = &cases6[i];
		struct frame f = frame6(111, 46, 60);

		memcpy(f.bytes + IP + (c->at == 0xff ? 0 : c->at), c->value, c->len);
		compare(ip_rig_run(rig, f.bytes, f.len), &c->want, &f, c->what);
		check(rig, &f, c->what);
	}
	ip_rig_destroy(rig);
}

Test(ip_nodes, every_frame_length)
{
	struct ip_rig *rig = ip_rig_create(0);
	unsigned len, l3_len;

	for (len = 14; len <= 80; len++) {
		for (l3_len = 0; l3_len <= 70; l3_len++) {
			struct frame f = frame4(0x0a6f0001, l3_len, SHUNT_MAX(len, 34u));

			f.len = len;
			check(rig, &f, "IPv4");
			f = frame6(111, l3_len + 40, SHUNT_MAX(len, 54u));
			f.len = len;
			check(rig, &f, "IPv6");
		}
	}
	ip_rig_destroy(rig);
}

Test(ip_nodes, mtu_to_the_byte)
{
	struct ip_rig *rig = ip_rig_create(0);
	unsigned len;

	for (len = 98; len <= 102; len++) {
		struct frame f = frame4(0x0a000001 | IP_RIG_NARROW << 16, len, len + IP);

		check(rig, &f, "IPv4");
		/* it is the packet that counts, not the padding behind it */
		f = frame4(0x0a000001 | IP_RIG_NARROW << 16, len, len + IP + 40);
		check(rig, &f, "IPv4, padded");
		f = frame6(IP_RIG_NARROW, len, len + IP);
		check(rig, &f, "IPv6");
	}
	ip_rig_destroy(rig);
}

/* What leaves is counted by where it goes, of groups by the member; what is held back is not. */
Test(ip_nodes, neighbours_are_counted)
{
	static const enum ip_rig_net nets[] = {IP_RIG_FAR,  IP_RIG_NEAR,  IP_RIG_NARROW,
					       IP_RIG_BACK, IP_RIG_GROUP, IP_RIG_GLEAN};
	struct shunt_count want[IP_RIG_NET_CNT] = {0}, got;
	static uint8_t frames[SHUNT_BATCH_MAX][IP_RIG_FRAME_MAX];
	static struct ip_outcome out[SHUNT_BATCH_MAX];
	struct ip_rig *rig = ip_rig_create_counted();
	uint32_t lens[SHUNT_BATCH_MAX];
	uint64_t rng = 42;
	unsigned round, i, net, sent;

	for (round = 0; round < 200; round++) {
		for (i = 0; i < SHUNT_BATCH_MAX; i++) {
			const unsigned to = nets[shunt_rng_below(&rng, SHUNT_ARRAY_LEN(nets))];
			const uint32_t len = 40 + (uint32_t)shunt_rng_below(&rng, 100);
			const uint32_t dst =
				0x0a000000 | to << 16 | (uint32_t)shunt_rng_below(&rng, 999);
			struct frame f =
				round & 1 ? frame6(to, len, len + IP) : frame4(dst, len, len + IP);

			memcpy(frames[i], f.bytes, f.len);
			lens[i] = f.len;
		}
		sent = ip_rig_batch(rig, frames, lens, SHUNT_BATCH_MAX, out);
		for (i = 0; i < sent; i++) {
			for (net = 0; memcmp(out[i].bytes, ip_rig_adjs[net].eth, 6) != 0; net++)
				cr_assert_lt(net, IP_RIG_NET_CNT - 1u);
			want[net].packets++;
			want[net].bytes += out[i].len;
		}
	}
	for (net = 0; net < IP_RIG_GROUP; net++) {
		ip_rig_count(rig, net, &got);
		cr_expect_eq(got.packets, want[net].packets, "net %u: %llu, not %llu", net,
			     got.packets, want[net].packets);
		cr_expect_eq(got.bytes, want[net].bytes, "net %u", net);
		cr_expect_eq(got.packets > 0,
			     net == IP_RIG_FAR || net == IP_RIG_NEAR || net == IP_RIG_NARROW);
	}
	ip_rig_destroy(rig);
}

Test(ip_nodes, pads_with_zeros_where_a_driver_does_not)
{
	struct ip_rig *rig = ip_rig_create(60);
	static const uint8_t zeros[26];
	const struct ip_outcome *out;
	struct frame f;
	unsigned len;

	for (len = 20; len < 46; len++) {
		f = frame4(0x0a6f0001, len, 60);
		memset(f.bytes + IP + len, 0xee, 46 - len);
		out = ip_rig_run(rig, f.bytes, 60);
		cr_assert_eq(out->len, 60);
		cr_assert_arr_eq(out->bytes + IP + len, zeros, 46 - len, "length %u", len);
		/* received unpadded: the bytes behind are another frame's */
		out = ip_rig_run(rig, f.bytes, IP + len);
		cr_assert_eq(out->len, 60);
		cr_assert_arr_eq(out->bytes + IP + len, zeros, 46 - len, "length %u", len);
	}
	ip_rig_destroy(rig);
}

/* Every checksum there is, so that the end around carry of the update is met. */
Test(ip_nodes, every_checksum)
{
	struct ip_rig *rig = ip_rig_create(0);
	struct frame f = frame4(0x0a6f0001, 46, 60);
	unsigned id;

	for (id = 0; id < 65536; id++) {
		put16(f.bytes + IP + 4, id);
		seal4(&f);
		check(rig, &f, "checksum");
	}
	ip_rig_destroy(rig);
}

Test(ip_nodes, other_frames_are_punted)
{
	struct ip_rig *rig = ip_rig_create(0);
	struct frame f = frame4(0x0a6f0001, 46, 60);
	unsigned i;

	for (i = 0; i < 48; i++) {
		f.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		check(rig, &f, "another address");
		f.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	put16(f.bytes + 12, 0x0806);
	check(rig, &f, "ARP");
	put16(f.bytes + 12, 0x0008);
	check(rig, &f, "EtherType in the wrong order");
	ip_rig_destroy(rig);
}

/* --- random ----------------------------------------------------------------------------------- */

static uint32_t random_addr(uint64_t *rng)
{
	static const uint8_t octets[] = {0, 1, 10, 10, 10, 10, 127, 192, 223, 224, 239, 240, 255};
	uint32_t low = (uint32_t)shunt_rng_next(rng) & 0xffffff;

	switch (shunt_rng_below(rng, 8)) {
	case 0:
		return IP_RIG_OWN;
	case 1:
		return UINT32_MAX;
	case 2:
		return (uint32_t)shunt_rng_next(rng);
	default:
		low = (uint32_t)shunt_rng_below(rng, IP_RIG_NET_CNT + 2) << 16 | (low & 0xffff);
		return (uint32_t)octets[shunt_rng_below(rng, sizeof(octets))] << 24 | low;
	}
}

static struct frame random_frame(uint64_t *rng)
{
	bool is_ip6 = shunt_rng_below(rng, 2);
	uint32_t l3_len = (uint32_t)shunt_rng_below(rng, 160) + (is_ip6 ? 40 : 20);
	uint32_t len = IP + l3_len + (uint32_t)shunt_rng_below(rng, 8) - 1;
	struct frame f;
	unsigned flips = (unsigned)shunt_rng_below(rng, 3);

	if (is_ip6)
		f = frame6((unsigned)shunt_rng_below(rng, IP_RIG_NET_CNT + 2), l3_len, len);
	else
		f = frame4(0x0a000001 | (uint32_t)shunt_rng_below(rng, IP_RIG_NET_CNT + 2) << 16,
			   l3_len, len);
	if (!is_ip6 && shunt_rng_below(rng, 4) == 0)
		put32(f.bytes + IP + 12, random_addr(rng));
	if (!is_ip6 && shunt_rng_below(rng, 4) == 0)
		put32(f.bytes + IP + 16, random_addr(rng));
	while (flips--)
		f.bytes[shunt_rng_below(rng, is_ip6 ? 54 : 36)] = (uint8_t)shunt_rng_next(rng);
	if (!is_ip6 && shunt_rng_below(rng, 8))
		seal4(&f);
	return f;
}

Test(ip_nodes, random_frames_against_the_naive_router)
{
	struct ip_rig *rig = ip_rig_create(0);
	uint64_t rng = SEED;
	char what[64];
	unsigned i;

	for (i = 0; i < RANDOM_CNT; i++) {
		struct frame f = random_frame(&rng);

		snprintf(what, sizeof(what), "seed %u, frame %u", SEED, i);
		check(rig, &f, what);
	}
	ip_rig_destroy(rig);
}

/* A batch is more than its packets one by one: neighbours of every fate, and all sizes. */
Test(ip_nodes, batches_give_what_single_frames_give)
{
	static uint8_t frames[SHUNT_BATCH_MAX][IP_RIG_FRAME_MAX];
	static struct ip_outcome outs[SHUNT_BATCH_MAX];
	struct ip_rig *rig = ip_rig_create(0);
	uint32_t lens[SHUNT_BATCH_MAX];
	uint64_t rng = SEED;
	unsigned cnt, i, sent, at;

	for (cnt = 1; cnt <= SHUNT_BATCH_MAX; cnt++) {
		struct frame all[SHUNT_BATCH_MAX];

		for (i = 0; i < cnt; i++) {
			all[i] = random_frame(&rng);
			memcpy(frames[i], all[i].bytes, sizeof(frames[i]));
			lens[i] = all[i].len;
		}
		sent = ip_rig_batch(rig, frames, lens, cnt, outs);
		/* IPv4 and IPv6 leave apart, each in the order in which it came */
		for (i = 0, at = 0; i < 2 * cnt; i++) {
			const struct frame *f = &all[i % cnt];
			struct expected want = naive_route(f);

			if (want.fate == IP_SENT && (f->bytes[12] == 0x86) == (i >= cnt))
				compare(&outs[at++], &want, f, "batch");
		}
		cr_assert_eq(at, sent, "seed %u, batch of %u: %u sent, expected %u", SEED, cnt,
			     sent, at);
	}
	ip_rig_destroy(rig);
}

/* --- punt ------------------------------------------------------------------------------------- */

Test(ip_nodes, local4_finds_each_and_no_other)
{
	uint32_t addrs[300], i;
	struct shunt_local4 *local;
	uint64_t rng = SEED;

	for (i = 0; i < SHUNT_ARRAY_LEN(addrs); i++)
		addrs[i] = (uint32_t)shunt_rng_next(&rng) | 1;
	local = shunt_local4_create(addrs, SHUNT_ARRAY_LEN(addrs));
	for (i = 0; i < SHUNT_ARRAY_LEN(addrs); i++) {
		cr_assert(shunt_local4_has(local, addrs[i]));
		cr_assert_not(shunt_local4_has(local, addrs[i] - 1));
	}
	free(local);
}

/* Where the kernel would not forward, or asks for the way back, it decides. */
Test(ip_nodes, follows_the_ports_settings)
{
	struct ip_rig *rig = ip_rig_create(0);
	struct frame f4 = frame4(0x0a6f0001, 46, 60), f6 = frame6(111, 46, 60);
	const struct expected off = punted(SHUNT_PUNT_not_router);
	const struct expected rpf = punted(SHUNT_PUNT_rp_filter);

	ip_rig_live(rig)->ip4 = 0;
	compare(ip_rig_run(rig, f4.bytes, f4.len), &off, &f4, "IPv4 off");
	check(rig, &f6, "IPv4 off, IPv6 on");
	ip_rig_live(rig)->ip4 = 1;
	ip_rig_live(rig)->ip6 = 0;
	compare(ip_rig_run(rig, f6.bytes, f6.len), &off, &f6, "IPv6 off");
	check(rig, &f4, "IPv6 off, IPv4 on");

	ip_rig_live(rig)->rpf4 = SHUNT_SOURCE_NOT_LOCAL;
	check(rig, &f4, "no route back, and none is asked for");
	put32(f4.bytes + IP + 12, 0x0a000001 | IP_RIG_LOCAL << 16);
	seal4(&f4);
	compare(ip_rig_run(rig, f4.bytes, f4.len), &rpf, &f4, "the source is local by a route");
	ip_rig_live(rig)->rpf4 = SHUNT_SOURCE_RPF;
	put32(f4.bytes + IP + 12, 0x01020304);
	seal4(&f4);
	compare(ip_rig_run(rig, f4.bytes, f4.len), &rpf, &f4, "no route back");
	put32(f4.bytes + IP + 12, 0x0a000001 | IP_RIG_NEAR << 16);
	seal4(&f4);
	compare(ip_rig_run(rig, f4.bytes, f4.len), &rpf, &f4, "back by another port");
	put32(f4.bytes + IP + 12, 0x0a000001 | IP_RIG_BACK << 16);
	seal4(&f4);
	check(rig, &f4, "back by its port");
	ip_rig_destroy(rig);
}

/* Each family by the routes of its own, and the sources of IPv4. */
Test(ip_nodes, goes_by_the_ports_spaces)
{
	static const struct expected near = SENT(NEAR), narrow = SENT(NARROW);
	struct ip_rig *rig = ip_rig_create(0);
	struct shunt_port_live *live = ip_rig_live(rig);
	struct frame f4 = frame4(0x0a000001 | IP_RIG_NEAR << 16, 46, 60);
	const struct frame f6 = frame6(IP_RIG_NEAR, 46, 60);
	const struct frame other4 = frame4(0x0a000001, 46, 60), other6 = frame6(0, 46, 60);
	const struct expected noroute = punted(SHUNT_PUNT_noroute);
	const struct expected rpf = punted(SHUNT_PUNT_rp_filter);

	ip_rig_add_route_in(rig, 5, IP_RIG_NEAR, &ip_rig_adjs[IP_RIG_NARROW]);
	ip_rig_add_route_in(rig, 5, IP_RIG_NET_CNT, &ip_rig_adjs[IP_RIG_BACK]);
	live->space4 = 5;
	compare(ip_rig_run(rig, f4.bytes, f4.len), &narrow, &f4, "IPv4 in space 5");
	compare(ip_rig_run(rig, f6.bytes, f6.len), &near, &f6, "IPv6 in main");
	live->space4 = 0;
	live->space6 = 5;
	compare(ip_rig_run(rig, f4.bytes, f4.len), &near, &f4, "IPv4 in main");
	compare(ip_rig_run(rig, f6.bytes, f6.len), &narrow, &f6, "IPv6 in space 5");
	compare(ip_rig_run(rig, other6.bytes, other6.len), &noroute, &other6, "main's, IPv6");
	live->space4 = 5;
	compare(ip_rig_run(rig, other4.bytes, other4.len), &noroute, &other4, "main's, IPv4");

	live->rpf4 = SHUNT_SOURCE_RPF;
	put32(f4.bytes + IP + 12, 0x0a000001 | IP_RIG_NET_CNT << 16);
	seal4(&f4);
	compare(ip_rig_run(rig, f4.bytes, f4.len), &narrow, &f4, "back by space 5");
	put32(f4.bytes + IP + 12, 0x0a000001 | IP_RIG_BACK << 16);
	seal4(&f4);
	compare(ip_rig_run(rig, f4.bytes, f4.len), &rpf, &f4, "back by main alone");
	ip_rig_destroy(rig);
}

/* The kernel has looked at their sources. What goes back to it is first made what it was. */
Test(ip_nodes, approved_packets)
{
	struct ip_rig *rig = ip_rig_create(0);
	struct frame f4 = frame4(0x0a000001 | IP_RIG_NEAR << 16, 46, 60);
	struct frame narrow = frame4(0x0a000001 | IP_RIG_NARROW << 16, 400, 414);
	const struct expected own = punted(SHUNT_PUNT_own_source);
	const struct expected big = punted(SHUNT_PUNT_too_big);

	put32(f4.bytes + IP + 12, IP_RIG_OWN);
	seal4(&f4);
	compare(ip_rig_run(rig, f4.bytes, f4.len), &own, &f4, "the source is this host's");
	compare(ip_rig_run(rig, narrow.bytes, narrow.len), &big, &narrow, "too big");
	cr_expect_eq(ip_rig_restored(rig), 0);
	ip_rig_live(rig)->rpf4 = SHUNT_SOURCE_RPF;
	ip_rig_live(rig)->approved = SHUNT_APPROVED_NOW;
	cr_expect_eq(ip_rig_run(rig, f4.bytes, f4.len)->fate, IP_SENT);
	cr_expect_eq(ip_rig_restored(rig), 0);
	compare(ip_rig_run(rig, narrow.bytes, narrow.len), &big, &narrow, "approved, too big");
	cr_expect_eq(ip_rig_restored(rig), 1);
	ip_rig_live(rig)->approved = SHUNT_APPROVED_BEFORE;
	compare(ip_rig_run(rig, f4.bytes, f4.len), &own, &f4, "approved before");
	cr_expect_eq(ip_rig_restored(rig), 2);
	ip_rig_destroy(rig);
}

/* One of no connection may have been translated while all are approved, and was not before or
 * after. What else the kernel answers says nothing about it. */
Test(ip_nodes, approved_packets_of_no_connection)
{
	static const struct {
		enum shunt_approved approved;
		int restored;
		bool is_known;
	} cases[] = {
		{SHUNT_APPROVED_NOW, 1, true},		{SHUNT_APPROVED_NOW, 0, true},
		{SHUNT_APPROVED_NOW, -ENOENT, false},	{SHUNT_APPROVED_NOW, -EAGAIN, false},
		{SHUNT_APPROVED_BEFORE, 1, true},	{SHUNT_APPROVED_BEFORE, 0, true},
		{SHUNT_APPROVED_BEFORE, -ENOENT, true}, {SHUNT_APPROVED_BEFORE, -EAGAIN, false},
	};
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(cases); i++)
		cr_expect_eq(shunt_approved_is_known(cases[i].approved, cases[i].restored),
			     cases[i].is_known, "case %u", i);
}
