// SPDX-License-Identifier: BSD-2-Clause
/* One line about a frame: what a person needs to see which header is odd, then the bytes. */
#include <arpa/inet.h>
#include <string.h>

#include "parity.h"

#define HEX_MAX 96u

static unsigned load16(const uint8_t *p)
{
	return (unsigned)(p[0] << 8 | p[1]);
}

static void decode_packet(FILE *out, const uint8_t *p, unsigned len);

static void decode_l4(FILE *out, unsigned proto, const uint8_t *p, unsigned len, bool v6)
{
	bool quotes;

	if ((proto == 6 || proto == 17) && len >= 4) {
		fprintf(out, " %s %u>%u", proto == 6 ? "tcp" : "udp", load16(p), load16(p + 2));
		return;
	}
	if (!(proto == 1 && !v6) && !(proto == 58 && v6)) {
		fprintf(out, " proto %u", proto);
		return;
	}
	if (len < 8)
		return;
	fprintf(out, " icmp type %u code %u rest %08x", p[0], p[1],
		load16(p + 4) << 16 | load16(p + 6));
	quotes = v6 ? p[0] < 128 : p[0] == 3 || p[0] == 5 || p[0] == 11 || p[0] == 12;
	if (quotes && len > 8) {
		fprintf(out, " quoting [");
		decode_packet(out, p + 8, len - 8);
		fprintf(out, " ]");
	}
}

static void decode_ip4(FILE *out, const uint8_t *p, unsigned len)
{
	unsigned header_len = (p[0] & 15u) * 4;
	char src[INET_ADDRSTRLEN], dst[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, p + 12, src, sizeof(src));
	inet_ntop(AF_INET, p + 16, dst, sizeof(dst));
	fprintf(out, " ip %s > %s v%u ihl %u tos %02x len %u (%u there) id %04x frag %04x ttl %u",
		src, dst, p[0] >> 4, p[0] & 15, p[1], load16(p + 2), len, load16(p + 4),
		load16(p + 6), p[8]);
	if (header_len < 20 || header_len > len)
		return;
	if (parity_sum(p, header_len, 0))
		fprintf(out, " BAD SUM %04x", load16(p + 10));
	decode_l4(out, p[9], p + header_len, len - header_len, false);
}

static void decode_ip6(FILE *out, const uint8_t *p, unsigned len)
{
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
	unsigned next = p[6], at = 40;

	inet_ntop(AF_INET6, p + 8, src, sizeof(src));
	inet_ntop(AF_INET6, p + 24, dst, sizeof(dst));
	fprintf(out, " ip6 %s > %s payload %u (%u there) hop limit %u", src, dst, load16(p + 4),
		len - 40, p[7]);
	while ((next == 0 || next == 43 || next == 44 || next == 51 || next == 60) &&
	       at + 8 <= len) {
		fprintf(out, " ext %u", next);
		next = p[at];
		at += p[at - 0] == next && p[6] == 51 ? 16 : (p[at + 1] + 1u) * 8;
	}
	if (at < len)
		decode_l4(out, next, p + at, len - at, true);
}

static void decode_packet(FILE *out, const uint8_t *p, unsigned len)
{
	if (len >= 40 && p[0] >> 4 == 6)
		decode_ip6(out, p, len);
	else if (len >= 20 && p[0] >> 4 == 4)
		decode_ip4(out, p, len);
	else
		fprintf(out, " %u bytes", len);
}

void parity_decode(FILE *out, const uint8_t *data, unsigned len)
{
	unsigned i, type = load16(data + 12);

	fprintf(out, "%02x:%02x:%02x:%02x:%02x:%02x > %02x:%02x:%02x:%02x:%02x:%02x type %04x",
		data[6], data[7], data[8], data[9], data[10], data[11], data[0], data[1], data[2],
		data[3], data[4], data[5], type);
	if (type == 0x0800 && len >= 34)
		decode_ip4(out, data + 14, len - 14);
	else if (type == 0x86dd && len >= 54)
		decode_ip6(out, data + 14, len - 14);
	else
		fprintf(out, " %u bytes", len);
	fprintf(out, "\n      ");
	for (i = 0; i < len && i < HEX_MAX; i++)
		fprintf(out, "%02x", data[i]);
	fprintf(out, "%s (%u bytes)\n", i < len ? "..." : "", len);
}
